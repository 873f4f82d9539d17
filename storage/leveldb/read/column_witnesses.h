// ColumnWitnesses: which columns a table has cells of, hidden or not. For each column that was
// asked for it remembers one block file that has it, so that nothing is read again while that file
// is there; what merges made lately is looked at first. Reads the heads of blocks, no values.
// Thread-safe; one asks at a time.
#ifndef TALLYD_STORAGE_LEVELDB_READ_COLUMN_WITNESSES_H_
#define TALLYD_STORAGE_LEVELDB_READ_COLUMN_WITNESSES_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "config/values/result.h"
#include "storage/leveldb/files/view.h"
#include "storage/leveldb/latest/latest_tables.h"
#include "storage/table_info.h"

namespace tallyd {

// Columns that are looked for, each until it is found.
class ColumnSearch {
 public:
  explicit ColumnSearch(std::span<const Column> columns);

  // Its place; -1 if it is not looked for, or was found.
  int64_t Find(const ColumnRef& column);
  bool done() const { return left_.empty(); }
  const std::vector<bool>& found() const { return found_; }

 private:
  static std::string KeyOf(const ColumnRef& column);

  std::unordered_map<std::string, size_t> left_;
  std::vector<bool> found_;
};

class ColumnWitnesses {
 public:
  // By place, whether one of these files, all that the table has, has the column.
  Result<std::vector<bool>> Find(TableId table, const View::Files& files,
                                 std::span<const Column> columns);

 private:
  std::mutex mutex_;
  // By table and column: the number of a file.
  std::map<TableId, std::map<std::pair<FamilyId, std::string>, uint64_t>> files_;
};

// The same of a latest table, all of whose rows are in memory.
Result<std::vector<bool>> FindInLatest(const LatestTables& latest, const ColumnRegistry& sets,
                                       TableId table, std::span<const Column> columns);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_READ_COLUMN_WITNESSES_H_
