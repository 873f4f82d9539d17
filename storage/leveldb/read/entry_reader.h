// EntryReader: what a head holds of an entry (storage/FORMAT.md, Entries) -> columns and values,
// for those who move whole entries. It remembers the column sets that it met. One thread.
#ifndef TALLYD_STORAGE_LEVELDB_READ_ENTRY_READER_H_
#define TALLYD_STORAGE_LEVELDB_READ_ENTRY_READER_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "storage/bytes/coding.h"
#include "storage/leveldb/catalogue/registries.h"
#include "storage/leveldb/codec/entry_codec.h"
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
  const ColumnSet* FindValues(std::string_view stored, std::string_view* values, bool* is_whole) {
    ByteReader in(stored);
    EntryHead head;
    if (!GetEntryHead(&in, &head) || head.tag == EntryTag::kByName) return nullptr;
    *values = in.rest();
    *is_whole = head.tag == EntryTag::kBySet;
    return FindSet(head.number);
  }

 private:
  // Neighbours may be of different sets, as where a column is a time of day.
  const ColumnSet* FindSet(uint32_t number) {
    const bool is_known = number < known_.size() && known_[number] != nullptr;
    return is_known ? known_[number] : MeetSet(number);
  }
  const ColumnSet* MeetSet(uint32_t number);

  const TableId table_;
  const ColumnRegistry& sets_;
  std::vector<const ColumnSet*> known_;  // By number, of those that it met.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_READ_ENTRY_READER_H_
