// EntryReader: what a head holds of an entry (storage/FORMAT.md, Entries) -> columns and values,
// for those who move whole entries. It remembers the column sets that it met. One thread.
#ifndef TALLYD_STORAGE_LEVELDB_READ_ENTRY_READER_H_
#define TALLYD_STORAGE_LEVELDB_READ_ENTRY_READER_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "storage/leveldb/catalogue/registries.h"
#include "storage/table_info.h"

namespace tallyd {

// The cells of an entry. Columns and values view what was read.
struct StoredCells {
  const ColumnSet* set = nullptr;  // Null: `columns` names them.
  std::vector<ColumnRef> columns;
  std::vector<Value> values;  // Null: absent.
};

class EntryReader {
 public:
  // `sets` outlives it.
  EntryReader(TableId table, const ColumnRegistry& sets) : table_(table), sets_(sets) {}

  // *cells is replaced. False if the entry is malformed.
  bool Read(std::string_view stored, StoredCells* cells);
  // The set of an entry by set, and *values as stored; *is_whole: it has, as it says, a value for
  // each column. Null: Read is to be asked.
  const ColumnSet* FindValues(std::string_view stored, std::string_view* values, bool* is_whole);

 private:
  const ColumnSet* FindSet(uint32_t number);

  const TableId table_;
  const ColumnRegistry& sets_;
  std::vector<const ColumnSet*> known_;  // By number, of those that it met.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_READ_ENTRY_READER_H_
