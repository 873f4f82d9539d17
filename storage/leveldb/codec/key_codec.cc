#include "storage/leveldb/codec/key_codec.h"

namespace tallyd {
namespace {

constexpr char kEscape = '\x00';
constexpr char kEscapedZero = '\xff';
constexpr char kTerminator = '\x01';

}  // namespace

std::string TablePrefix(KeySpace space, TableId table) {
  std::string prefix(1, static_cast<char>(space));
  PutU32(&prefix, table);
  return prefix;
}

std::string TableEnd(KeySpace space, TableId table) { return PrefixEnd(TablePrefix(space, table)); }

char* EncodeEscaped(char* to, std::string_view row_key) {
  if (row_key.find(kEscape) == std::string_view::npos) {
    to = std::copy(row_key.begin(), row_key.end(), to);
  } else {
    for (const char c : row_key) {
      *to++ = c;
      if (c == kEscape) *to++ = kEscapedZero;
    }
  }
  *to++ = kEscape;
  *to++ = kTerminator;
  return to;
}

void AppendEscaped(std::string_view row_key, std::string* out) {
  const size_t size = out->size();
  out->resize(size + 2 * row_key.size() + 2);
  const char* end = EncodeEscaped(out->data() + size, row_key);
  out->resize(static_cast<size_t>(end - out->data()));
}

std::string RowPrefix(KeySpace space, TableId table, std::string_view row_key) {
  std::string prefix = TablePrefix(space, table);
  AppendEscaped(row_key, &prefix);
  return prefix;
}

std::string AfterRow(std::string_view row_prefix) {
  // The terminator 00 01 becomes 00 02, which no key contains.
  std::string after(row_prefix);
  after.back() = static_cast<char>(kTerminator + 1);
  return after;
}

KeyRange DatabaseRange(KeySpace space, TableId table, const KeyRange& range) {
  KeyRange database{RowPrefix(space, table, range.start), TableEnd(space, table)};
  if (range.start.empty()) database.start = TablePrefix(space, table);
  if (!range.end.empty()) database.end = RowPrefix(space, table, range.end);
  return database;
}

char* EncodeEntryKey(char* to, TableId table, std::string_view row_key, TimeUs time) {
  *to++ = static_cast<char>(KeySpace::kRows);
  to = EncodeU32(to, table);
  to = EncodeEscaped(to, row_key);
  to = EncodeU64(to, ~static_cast<uint64_t>(time));
  return EncodeU64(to, 0);
}

void PatchSequence(char* key, size_t key_size, uint64_t sequence) {
  EncodeU64(key + key_size - sizeof sequence, ~sequence);
}

void AppendEntrySeek(std::string_view row_prefix, TimeUs to, std::string* out) {
  out->append(row_prefix);
  PutU64(out, ~static_cast<uint64_t>(to - 1));
}

bool ParseEntryKey(std::string_view key, EntryKey* entry) {
  if (key.size() < kTablePrefixBytes + 2 + kEntrySuffixBytes) return false;
  const size_t prefix = key.size() - kEntrySuffixBytes;
  if (key[prefix - 2] != kEscape || key[prefix - 1] != kTerminator) return false;
  const uint64_t time = ~DecodeU64(key.data() + prefix);
  if (time > static_cast<uint64_t>(kMaxTimeUs)) return false;
  entry->row_prefix = key.substr(0, prefix);
  entry->time = static_cast<TimeUs>(time);
  entry->sequence = ~DecodeU64(key.data() + prefix + sizeof time);
  return true;
}

bool DecodeRowPrefix(std::string_view row_prefix, std::string* row_key) {
  if (row_prefix.size() < kTablePrefixBytes + 2) return false;
  ByteReader in(row_prefix.substr(kTablePrefixBytes));
  return GetEscaped(&in, row_key) && in.done();
}

bool GetEscaped(ByteReader* in, std::string* out) {
  out->clear();
  while (true) {
    const std::string_view rest = in->rest();
    const size_t zero = rest.find(kEscape);
    std::string_view text;
    if (zero == std::string_view::npos || zero + 1 >= rest.size()) return false;
    in->GetBytes(zero + 2, &text);
    out->append(text.substr(0, zero));
    if (text.back() == kTerminator) return true;
    if (text.back() != kEscapedZero) return false;
    out->push_back(kEscape);
  }
}

std::string MetaKey(MetaKind kind) {
  return {static_cast<char>(KeySpace::kMeta), static_cast<char>(kind)};
}

std::string StreamKey(std::string_view stream) { return MetaKey(MetaKind::kStream).append(stream); }

std::string TableKey(TableId table) {
  std::string key = MetaKey(MetaKind::kTable);
  PutU32(&key, table);
  return key;
}

std::string ColumnSetKey(TableId table, uint32_t set) {
  std::string key = MetaKey(MetaKind::kColumnSet);
  PutU32(&key, table);
  PutU32(&key, set);
  return key;
}

std::string FieldKey(std::string_view stream, std::string_view field) {
  std::string key = MetaKey(MetaKind::kField);
  AppendEscaped(stream, &key);
  return key.append(field);
}

std::string MissedFieldKey(TableId table, std::string_view field) {
  std::string key = MetaKey(MetaKind::kMissedField);
  PutU32(&key, table);
  return key.append(field);
}

std::string DeleteKey(TableId table, uint64_t sequence) {
  std::string key = TablePrefix(KeySpace::kDeletes, table);
  PutU64(&key, sequence);
  return key;
}

std::string LatestChangesKey(uint64_t sequence) {
  std::string key(1, static_cast<char>(KeySpace::kLatestChanges));
  PutU64(&key, sequence);
  return key;
}

}  // namespace tallyd
