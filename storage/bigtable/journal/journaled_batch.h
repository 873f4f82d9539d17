// JournaledBatch: a batch as a row of the journal has it (storage/FORMAT.md, The journal on Cloud
// Bigtable): its rows as the calls that write them, what tells them apart, and the notes that come
// behind. Notes that come before were written before the row was. Pure functions.
#ifndef TALLYD_STORAGE_BIGTABLE_JOURNAL_JOURNALED_BATCH_H_
#define TALLYD_STORAGE_BIGTABLE_JOURNAL_JOURNALED_BATCH_H_

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/result.h"
#include "config/values/time.h"
#include "storage/bigtable/batch/bigtable_batch.h"
#include "storage/table_info.h"

namespace tallyd {

struct JournaledBatch {
  struct Table {
    TableId id = 0;
    std::string name;  // Without the prefix.
  };
  struct Row {
    size_t table = 0;  // Its place in `tables`.
    bool folds = false;
    bool counts = false;
    TimeUs time = 0;
    data_api::MutateRowsRequest::Entry entry;
  };
  TimeUs written = 0;
  std::string claim;
  std::vector<Table> tables;
  std::vector<Row> rows;
  std::map<std::string, std::optional<std::string>> memos;  // None: it is dropped.
  std::set<std::string> around;  // Those of them whose order is NoteOrder::kAround.
};

// REQUIRES: the batch deletes no ranges.
std::string EncodeJournaled(const BigtableBatch& batch, TimeUs written);
// kCorruption: it is damaged, or of a version that is not known.
Result<JournaledBatch> DecodeJournaled(std::string_view bytes);
// The time of a batch of any version; nothing: not even that can be read.
std::optional<TimeUs> WrittenOfJournaled(std::string_view bytes);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_JOURNAL_JOURNALED_BATCH_H_
