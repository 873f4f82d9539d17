// Keys of the database (storage/FORMAT.md, Keys): the only place that knows their bytes.
//
// An Append* writes a key or the beginning of one; Parse* reads one back and fails on bytes that no
// Append* can have written.
#ifndef TALLYD_STORAGE_LEVELDB_CODEC_KEY_CODEC_H_
#define TALLYD_STORAGE_LEVELDB_CODEC_KEY_CODEC_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "config/schema/key_ranges.h"
#include "config/values/time.h"
#include "storage/bytes/coding.h"
#include "storage/table_info.h"

namespace tallyd {

// DO NOT CHANGE THESE VALUES: they are stored.
enum class KeySpace : uint8_t {
  kMeta = 0x00,
  kRows = 0x10,
  kBlockFiles = 0x11,
  kFileNotes = 0x12,
  kCopies = 0x13,
  kLatest = 0x20,
  kLatestChanges = 0x21,
  kDeletes = 0x30,
};
enum class MetaKind : uint8_t {
  kFormat = 0x00,
  kLastSequence = 0x01,
  kNextTable = 0x02,
  kSealedHead = 0x03,
  kRetentionClock = 0x04,
  kClosedHead = 0x05,
  kStoreId = 0x06,
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
std::string LatestChangesKey(uint64_t sequence);

// Reads an escaped string and its terminator.
bool GetEscaped(ByteReader* in, std::string* out);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_CODEC_KEY_CODEC_H_
