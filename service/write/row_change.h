// RowChange: what is done to one row, put into a batch. A delete hides what was put before it, and
// nothing that comes; between two of them what is set at one time is put as what one event wrote.
//
//   RowChange change({stored, table, key}, sampling, &batch);
//   for (const Mutation& mutation : mutations) change.Add(mutation);
//   WrittenRows written = change.Finish();
//
// One thread. All that it is given outlives it.
#ifndef TALLYD_SERVICE_WRITE_ROW_CHANGE_H_
#define TALLYD_SERVICE_WRITE_ROW_CHANGE_H_

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "config/schema/key_ranges.h"
#include "config/schema/schema.h"
#include "ingest/map/written_rows.h"
#include "service/write/mutation.h"
#include "storage/batch.h"
#include "storage/batch_counts.h"

namespace tallyd {

class RowChange {
 public:
  struct Row {
    TablePtr stored;
    const Table& table;
    std::string_view key;
  };

  RowChange(const Row& row, const RowSampling& sampling, Batch* batch)
      : row_(row), sampling_(sampling), batch_(*batch), bytes_(sampling) {}

  void Add(const Mutation& mutation);
  // A cell that was put twice is one; one that was deleted behind it counts nevertheless, but not
  // towards the size of the row.
  WrittenRows Finish();

  // In the order of the list.
  const std::vector<DeleteSpec>& deleted() const { return deleted_; }
  // What was in the row before is gone.
  bool replaces_row() const { return replaces_row_; }

 private:
  struct Cells {
    std::vector<ColumnRef> columns;
    std::vector<Value> values;
  };

  void Delete(const Mutation& mutation);
  void Put(TimeUs time, const std::vector<ColumnRef>& columns, const std::vector<Value>& values);
  void PutWhatIsSet();

  const Row row_;
  const RowSampling sampling_;
  Batch& batch_;
  std::map<TimeUs, Cells> set_;
  BatchCounts counts_;
  RowBytes bytes_;
  size_t large_values_ = 0;
  std::optional<TimeUs> newest_;  // Of what was put.
  std::vector<DeleteSpec> deleted_;
  bool replaces_row_ = false;
};

// What the stream's events are known to have: a column, or a label of the key, may be the first of
// its field.
void LearnFields(std::span<const Mutation> mutations, const RowChange::Row& row,
                 Batch* batch);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_WRITE_ROW_CHANGE_H_
