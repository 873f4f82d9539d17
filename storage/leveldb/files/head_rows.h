// HeadRows: the entries of one table in a head's runs, row by row, which is cheaper than one by one
// where rows have several: behind the first one, those that a run has of a row are taken at once.
//
//   HeadRows rows(entries, table);
//   for (Result<bool> next = rows.Next(); next && *next; next = rows.Next()) Use(rows.entries());
//
// One thread. Reads nothing but memory.
#ifndef TALLYD_STORAGE_LEVELDB_FILES_HEAD_ROWS_H_
#define TALLYD_STORAGE_LEVELDB_FILES_HEAD_ROWS_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/result.h"
#include "config/values/time.h"
#include "storage/leveldb/files/entry_run.h"
#include "storage/leveldb/files/head_iterator.h"
#include "storage/leveldb/files/run_iterator.h"
#include "storage/table_info.h"

namespace tallyd {

class HeadRows {
 public:
  struct Entry {
    TimeUs time = 0;
    uint64_t sequence = 0;
    std::string_view value;  // Lives as long as the runs.
  };

  // REQUIRES: no damage. They outlive its use.
  HeadRows(const HeadEntries& entries, TableId table);

  // To the next row; false at the end. kCorruption if a key is malformed.
  Result<bool> Next();
  // Of the row at hand, until Next.
  std::string_view row_key() const { return row_key_; }  // As long as these.
  // In the order of the store: newest first, of one time the later commit first.
  std::span<const Entry> entries() const { return row_; }

 private:
  bool IsAtEnd() const;
  bool ReadRowKey(std::string_view prefix);
  bool TakeOthers(std::string_view prefix);

  const std::string end_;  // Of the table.
  RunIterator runs_;
  bool begun_ = false;
  std::vector<const EntryRun::Entry*> fetched_;  // From memory; they are read next.
  std::vector<Entry> row_;
  std::string_view row_key_;
  std::string unescaped_;  // Where the row key is not in its entries as it is.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_FILES_HEAD_ROWS_H_
