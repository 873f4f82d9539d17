#include "storage/leveldb/codec/entry_codec.h"

#include <algorithm>
#include <cstring>
#include <limits>

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

std::string_view UnescapedRow(std::string_view row_prefix) {
  if (row_prefix.size() < kTablePrefixBytes + 2) return {};
  const std::string_view escaped = row_prefix.substr(kTablePrefixBytes);
  const size_t size = escaped.size() - 2;
  const bool ends = escaped.find(kEscape) == size && escaped.back() == kTerminator;
  return ends ? escaped.substr(0, size) : std::string_view();
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

namespace {

std::string SequenceKey(KeySpace space, uint64_t sequence) {
  std::string key(1, static_cast<char>(space));
  PutU64(&key, sequence);
  return key;
}

}  // namespace

std::string GroupKey(uint64_t sequence) { return SequenceKey(KeySpace::kGroups, sequence); }

std::string LatestChangesKey(uint64_t sequence) {
  return SequenceKey(KeySpace::kLatestChanges, sequence);
}

std::string MemoKey(std::string_view key) {
  std::string stored(1, static_cast<char>(KeySpace::kMemos));
  return stored.append(key);
}

bool AppendEntry(const ColumnSet& set, std::span<const Value> values, ByteBuffer* out) {
  const size_t begin = out->size();
  size_t absent = 0;
  size_t text_bytes = 0;
  for (const Value& value : values) text_bytes += value.text_size();
  char* to = out->Reserve(1 + kMaxVarintBytes + values.size() * kMaxNumberBytes + text_bytes);
  to = EncodeVarint(to + 1, set.id);
  for (const Value& value : values) {
    to = EncodeValue(to, value);
    absent += value.is_null() ? 1 : 0;
  }
  const EntryTag tag = absent == 0 ? EntryTag::kBySet : EntryTag::kBySetSparse;
  out->data()[begin] = static_cast<char>(tag);
  out->Finish(absent == values.size() ? out->data() + begin : to);
  return absent < values.size();
}

bool AppendEntry(std::span<const ColumnRef> columns, std::span<const Value> values,
                 ByteBuffer* out) {
  size_t present = 0;
  size_t room = 1 + kMaxVarintBytes;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].is_null()) continue;
    ++present;
    room += 2 * kMaxVarintBytes + columns[i].qualifier.size() + MaxValueBytes(values[i]);
  }
  if (present == 0) return false;
  char* to = out->Reserve(room);
  *to++ = static_cast<char>(EntryTag::kByName);
  to = EncodeVarint(to, present);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].is_null()) continue;
    const std::string_view qualifier = columns[i].qualifier;
    to = EncodeVarint(to, columns[i].family);
    to = EncodeVarint(to, qualifier.size());
    if (!qualifier.empty()) std::memcpy(to, qualifier.data(), qualifier.size());
    to = EncodeValue(to + qualifier.size(), values[i]);
  }
  out->Finish(to);
  return true;
}

char* EncodeGroupEntry(char* to, const GroupEntry& entry) {
  to = EncodeVarint(to, entry.key.size());
  to = EncodeVarint(to, entry.value.size());
  std::memcpy(to, entry.key.data(), entry.key.size());
  to += entry.key.size();
  std::memcpy(to, entry.value.data(), entry.value.size());
  return to + entry.value.size();
}

bool ReadGroupEntry(ByteReader* in, GroupEntry* entry) {
  uint32_t key_size = 0;
  uint32_t value_size = 0;
  return in->GetNumber(&key_size, std::numeric_limits<uint32_t>::max()) &&
         in->GetNumber(&value_size, std::numeric_limits<uint32_t>::max()) && value_size > 0 &&
         in->GetBytes(key_size, &entry->key) && in->GetBytes(value_size, &entry->value) &&
         key_size > 0 && static_cast<KeySpace>(entry->key[0]) == KeySpace::kRows;
}

std::string_view ValuesOfEntry(std::string_view entry) {
  ByteReader in(entry);
  EntryHead head;
  if (!GetEntryHead(&in, &head) || head.tag == EntryTag::kByName) return {};
  return in.rest();
}

char* EncodeWithSet(char* to, std::string_view entry, uint32_t set) {
  const std::string_view values = ValuesOfEntry(entry);
  *to++ = entry[0];
  to = EncodeVarint(to, set);
  std::memcpy(to, values.data(), values.size());
  return to + values.size();
}

std::string WithSet(std::string_view entry, uint32_t set) {
  std::string changed(entry.size() + kMaxVarintBytes, '\0');
  const char* const end = EncodeWithSet(changed.data(), entry, set);
  changed.resize(static_cast<size_t>(end - changed.data()));
  return changed;
}

bool GetColumn(ByteReader* in, ColumnRef* column) {
  return in->GetNumber(&column->family, std::numeric_limits<FamilyId>::max()) &&
         in->GetString(&column->qualifier);
}

char* DropShortValues(char* to, std::string_view entry, const ShortValues& values, size_t columns,
                      uint64_t dropped) {
  // A word of each is taken and put down, of which the next one covers what is too much: no branch
  // depends on a size, nor on which go. The copy has words behind the last value, too.
  char* const copy = to + entry.size() + ShortValues::kMostBytes;
  std::memcpy(copy, entry.data(), entry.size());
  const size_t head = entry.size() - values.begin(columns);
  std::memcpy(to, entry.data(), head);
  *to = static_cast<char>(EntryTag::kBySetSparse);
  to += head;
  for (size_t i = 0; i < columns; ++i) {
    const size_t begin = values.begin(i);
    const uint64_t goes = uint64_t{0} - (dropped >> i & 1);
    uint64_t word;
    std::memcpy(&word, copy + head + begin, sizeof word);
    word = (word & ~goes) | (uint64_t{kKindAbsent} & goes);
    std::memcpy(to, &word, sizeof word);
    to += ((values.begin(i + 1) - begin - 1) & ~goes) + 1;
  }
  return to;
}

}  // namespace tallyd
