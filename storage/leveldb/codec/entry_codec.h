// The bytes of keys and of what tables hold under them (storage/FORMAT.md: Keys, Entries): what one
// event wrote to one row, with columns by the number of their set or by name. The only place that
// knows these bytes.
//
// An Append*, Encode* writes; a Parse*, Get*, Decode* reads back and fails on bytes that nothing
// here can have written.
#ifndef TALLYD_STORAGE_LEVELDB_CODEC_ENTRY_CODEC_H_
#define TALLYD_STORAGE_LEVELDB_CODEC_ENTRY_CODEC_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/key_ranges.h"
#include "config/values/time.h"
#include "config/values/value.h"
#include "storage/bytes/coding.h"
#include "storage/bytes/short_values.h"
#include "storage/table_info.h"

namespace tallyd {

// What a key begins with. DO NOT CHANGE THESE VALUES: they are stored.
enum class KeySpace : uint8_t {
  kMeta = 0x00,
  kRows = 0x10,
  kBlockFiles = 0x11,
  kFileNotes = 0x12,
  kCopies = 0x13,
  kGroups = 0x14,
  kLatest = 0x20,
  kLatestChanges = 0x21,
  kDeletes = 0x30,
  kMemos = 0x40,
};
enum class MetaKind : uint8_t {
  kFormat = 0x00,
  kLastSequence = 0x01,
  kNextTable = 0x02,
  kSealedHead = 0x03,
  kRetentionClock = 0x04,
  kClosedHead = 0x05,
  kStoreId = 0x06,
  kHeadNote = 0x07,
  kOpenings = 0x08,
  kHeadOrigin = 0x09,
  kStream = 0x10,
  kTable = 0x11,
  kColumnSet = 0x12,
  kField = 0x13,
  kMissedField = 0x14,
};

inline constexpr size_t kTablePrefixBytes = 5;   // Space and table number.
inline constexpr size_t kEntrySuffixBytes = 16;  // ~time and ~sequence.
// What escaping can make of a row key, with everything around it.
constexpr size_t MaxEntryKeyBytes(size_t row_key_bytes) {
  return kTablePrefixBytes + 2 * row_key_bytes + 2 + kEntrySuffixBytes;
}

std::string TablePrefix(KeySpace space, TableId table);
// The smallest key after every key of the table in that space.
std::string TableEnd(KeySpace space, TableId table);

// REQUIRES: 2 * row_key.size() + 2 bytes of room.
char* EncodeEscaped(char* to, std::string_view row_key);
void AppendEscaped(std::string_view row_key, std::string* out);

// The key of a row without its entries' time and sequence: the prefix of all of them.
std::string RowPrefix(KeySpace space, TableId table, std::string_view row_key);
// The smallest key after every entry of the row with this prefix.
std::string AfterRow(std::string_view row_prefix);
// The database range that holds the rows [range.start, range.end) of a table.
KeyRange DatabaseRange(KeySpace space, TableId table, const KeyRange& range);

// REQUIRES: MaxEntryKeyBytes(row_key.size()) of room. The sequence is patched in at commit.
char* EncodeEntryKey(char* to, TableId table, std::string_view row_key, TimeUs time);
void PatchSequence(char* key, size_t key_size, uint64_t sequence);
// The seek target of the first entry of a row with a time below `to`.
void AppendEntrySeek(std::string_view row_prefix, TimeUs to, std::string* out);

struct EntryKey {
  std::string_view row_prefix;  // Into the key.
  TimeUs time = 0;
  uint64_t sequence = 0;
};
bool ParseEntryKey(std::string_view key, EntryKey* entry);
// A view of the row key, where it stands in the prefix as it is; else empty.
std::string_view UnescapedRow(std::string_view row_prefix);
// The row key of a row prefix (a latest table's whole key); false if it is malformed. *row_key is
// replaced.
bool DecodeRowPrefix(std::string_view row_prefix, std::string* row_key);

std::string MetaKey(MetaKind kind);
std::string StreamKey(std::string_view stream);
std::string TableKey(TableId table);
std::string ColumnSetKey(TableId table, uint32_t set);
std::string FieldKey(std::string_view stream, std::string_view field);
std::string MissedFieldKey(TableId table, std::string_view field);
std::string DeleteKey(TableId table, uint64_t sequence);
std::string GroupKey(uint64_t sequence);
std::string LatestChangesKey(uint64_t sequence);
std::string MemoKey(std::string_view key);

// Reads an escaped string and its terminator.
bool GetEscaped(ByteReader* in, std::string* out);

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

// The entries of a group of batches as one record of a head, in the order of their keys. One of
// them, with the key of Rows, takes GroupEntryBytes.
inline size_t GroupEntryBytes(size_t key_size, size_t value_size) {
  return VarintSize(key_size) + VarintSize(value_size) + key_size + value_size;
}
struct GroupEntry {
  std::string_view key;
  std::string_view value;  // Right behind the key.
};
// A varint may be written beyond its end.
inline constexpr size_t kGroupSlackBytes = kMaxVarintBytes;
// REQUIRES: room for it, and kGroupSlackBytes more. Returns its end.
char* EncodeGroupEntry(char* to, const GroupEntry& entry);
bool ReadGroupEntry(ByteReader* in, GroupEntry* entry);

// The beginning of an entry; `in` stands at its first value (by set) or first column (by name).
struct EntryHead {
  EntryTag tag = EntryTag::kBySet;
  uint32_t number = 0;  // Of the set, or how many columns by name follow.
};
inline bool GetEntryHead(ByteReader* in, EntryHead* head) {
  uint8_t tag = 0;
  if (!in->GetByte(&tag)) return false;
  if (tag < static_cast<uint8_t>(EntryTag::kBySet) ||
      tag > static_cast<uint8_t>(EntryTag::kBySetSparse)) {
    return false;
  }
  head->tag = static_cast<EntryTag>(tag);
  if (!in->GetNumber(&head->number, UINT32_MAX)) return false;
  // A column by name takes at least three bytes.
  return head->tag != EntryTag::kByName || head->number <= in->left() / 3;
}
// The values of an entry by set, after its head; empty of others.
std::string_view ValuesOfEntry(std::string_view entry);
// The same entry with another set, of as many columns. REQUIRES, both: it is by set; the first one:
// room for kMaxVarintBytes more than it has.
char* EncodeWithSet(char* to, std::string_view entry, uint32_t set);
std::string WithSet(std::string_view entry, uint32_t set);
// One column of an entry by name; its value follows.
bool GetColumn(ByteReader* in, ColumnRef* column);

// Appends the entry by set, of so many columns, without the values for whose column `drop` is true:
// it is asked once for each column, in order, and told whether a value is there; if not, what it
// says is not heeded. Nothing is appended if none is left, nor, with *changed false, if none goes.
// False, and nothing appended: malformed.
template <class Drop>
bool DropValues(std::string_view entry, size_t columns, const Drop& drop, ByteBuffer* out,
                bool* changed) {
  ByteReader in(entry);
  EntryHead head;
  if (!GetEntryHead(&in, &head) || head.tag == EntryTag::kByName) return false;
  *changed = false;
  const std::string_view values = in.rest();
  if (columns > values.size() || values.size() > UINT32_MAX) return false;
  // Which are there, and which of them go, is often chance: no branch depends on it. The copy comes
  // later, and is seldom needed; where in `values` those are that go lies behind the room for it.
  using Place = std::array<uint32_t, 2>;  // Begin and end.
  char* to = out->Reserve(entry.size() + columns * sizeof(Place));
  char* const places = to + entry.size();
  size_t there = 0;
  size_t dropped = 0;
  for (size_t i = 0; i < columns; ++i) {
    if (in.done()) return false;
    const char* const value = in.rest().data();
    const bool is_there = !IsAbsent(value);
    if (!SkipValue(&in)) return false;
    const Place place{static_cast<uint32_t>(value - values.data()),
                      static_cast<uint32_t>(in.rest().data() - values.data())};
    std::memcpy(places + dropped * sizeof place, &place, sizeof place);
    there += is_there ? 1 : 0;
    dropped += is_there & drop(i, is_there) ? 1 : 0;
  }
  if (!in.done() || (there < columns && head.tag != EntryTag::kBySetSparse)) return false;
  *changed = dropped > 0;
  if (dropped == 0 || dropped == there) return true;
  char* const begin = to;
  to = std::copy(entry.data(), values.data(), to);
  *begin = static_cast<char>(EntryTag::kBySetSparse);
  size_t copied = 0;
  for (size_t i = 0; i < dropped; ++i) {
    Place place;
    std::memcpy(&place, places + i * sizeof place, sizeof place);
    to = std::copy(values.data() + copied, values.data() + place[0], to);
    *to++ = kAbsentValue;
    copied = place[1];
  }
  out->Finish(std::copy(values.data() + copied, values.data() + values.size(), to));
  return true;
}

// The same where its values were found, without those whose bits are set: some that are there, but
// not all. REQUIRES: DroppedRoom(entry.size()) of room. Returns the end.
constexpr size_t DroppedRoom(size_t entry_size) {
  return 2 * (entry_size + ShortValues::kMostBytes);
}
char* DropShortValues(char* to, std::string_view entry, const ShortValues& values, size_t columns,
                      uint64_t dropped);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_CODEC_ENTRY_CODEC_H_
