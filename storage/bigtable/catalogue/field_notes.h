// FieldNotes: the fields that streams have and tables missed, as the daemons noted them. Known here
// without asking: what this daemon wrote at once, what others wrote when it looks again, for which
// only rows are read that changed since. Thread-safe; one loads at a time.
#ifndef TALLYD_STORAGE_BIGTABLE_CATALOGUE_FIELD_NOTES_H_
#define TALLYD_STORAGE_BIGTABLE_CATALOGUE_FIELD_NOTES_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/schema/key_ranges.h"
#include "config/values/result.h"
#include "storage/bigtable/batch/bigtable_batch.h"
#include "storage/bigtable/catalogue/catalogue_rows.h"
#include "storage/table_catalogue.h"

namespace tallyd {

class FieldNotes {
 public:
  // Reads what is new; what is known stays known.
  Status Load(CatalogueRows* rows, std::optional<SteadyTime> until = {});

  // The rows that say what is new in a batch's notes; `sequence`: of what it missed.
  std::vector<CatalogueEntry> EntriesOf(const BigtableBatch::Notes& notes, uint64_t sequence,
                                        TimeUs now);
  // Once they are written.
  void Learn(const std::vector<CatalogueEntry>& entries);

  std::vector<FieldInfo> Fields(std::string_view stream) const;  // By name.
  std::vector<MissedField> Missed(TableId table) const;          // By name.
  // What is kept of a table goes from memory; the entry takes it out of the catalogue. No other
  // table is ever given its number.
  CatalogueEntry Forget(TableId table);

 private:
  struct Field {
    uint8_t type_bits = 0;
    uint64_t spelled = 0;
  };
  using OfStream = std::map<std::string, Field, std::less<>>;
  // By how and name, when that happened last.
  using OfTable = std::map<std::pair<uint8_t, std::string>, uint64_t>;

  // The rows whose mark is not the one that they were read with.
  Result<std::vector<KeyRange>> Changed(std::string_view prefix, CatalogueRows* rows,
                                        std::optional<SteadyTime> until) const;
  Status LoadRows(std::vector<KeyRange> ranges, CatalogueRows* rows,
                  std::optional<SteadyTime> until);
  void Take(std::string_view row, std::string_view qualifier, std::string_view value);

  mutable std::mutex mutex_;
  std::map<std::string, OfStream, std::less<>> streams_;  // Guarded by mutex_, like the next.
  std::map<TableId, OfTable> tables_;
  uint64_t last_spelled_ = 0;
  // By row what it had in kChangedColumn when it was read. Of who loads, like the next.
  std::map<std::string, std::string> read_;
  bool has_loaded_ = false;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_CATALOGUE_FIELD_NOTES_H_
