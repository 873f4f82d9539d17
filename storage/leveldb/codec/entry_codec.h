// What one event wrote to one row, as stored (storage/FORMAT.md, Entries): columns by the number of
// their set, or by name, and a value each.
#ifndef TALLYD_STORAGE_LEVELDB_CODEC_ENTRY_CODEC_H_
#define TALLYD_STORAGE_LEVELDB_CODEC_ENTRY_CODEC_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "config/values/value.h"
#include "storage/bytes/coding.h"
#include "storage/table_info.h"

namespace tallyd {

// DO NOT CHANGE THESE VALUES: they are stored.
enum class EntryTag : uint8_t {
  kBySet = 1,        // Every column of a set.
  kByName = 2,       // Columns by name.
  kBySetSparse = 3,  // Some columns of a set.
};

// Both return false, and append nothing, when every value is null.
bool AppendEntry(const ColumnSet& set, std::span<const Value> values, ByteBuffer* out);
// `columns` in read order; nulls are left out.
bool AppendEntry(std::span<const ColumnRef> columns, std::span<const Value> values,
                 ByteBuffer* out);

// The beginning of an entry; `in` stands at its first value (by set) or first column (by name).
struct EntryHead {
  EntryTag tag = EntryTag::kBySet;
  uint32_t number = 0;  // Of the set, or how many columns by name follow.
};
bool GetEntryHead(ByteReader* in, EntryHead* head);
// The values of an entry by set, after its head; empty of others.
std::string_view ValuesOfEntry(std::string_view entry);
// The same entry with another set, of as many columns. REQUIRES: it is by set.
std::string WithSet(std::string_view entry, uint32_t set);
// One column of an entry by name; its value follows.
bool GetColumn(ByteReader* in, ColumnRef* column);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_CODEC_ENTRY_CODEC_H_
