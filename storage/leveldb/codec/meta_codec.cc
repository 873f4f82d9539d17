#include "storage/leveldb/codec/meta_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <random>

#include "storage/bytes/coding.h"
#include "storage/bytes/record_parts.h"
#include "storage/leveldb/codec/entry_codec.h"

namespace tallyd {
namespace {

constexpr std::string_view kMagic = "tallyd";
constexpr char kRecordVersion = 1;
constexpr size_t kKnownOpenings = 1024;
constexpr char kNoMemo = 0;
constexpr char kMemo = 1;
constexpr uint8_t kDeleteHasFamily = 1;
constexpr uint8_t kDeleteHasQualifier = 2;
constexpr uint64_t kMaxFamilies = std::numeric_limits<FamilyId>::max();

}  // namespace

std::string EncodeFormat(uint32_t version) {
  std::string record(kMagic);
  PutU32(&record, version);
  return record;
}

Result<uint32_t> DecodeFormat(std::string_view record) {
  if (!record.starts_with(kMagic) || record.size() != kMagic.size() + sizeof(uint32_t)) {
    return DamagedRecord("the format");
  }
  return DecodeU32(record.data() + kMagic.size());
}

std::string NewStoreId() {
  constexpr int kWords = 4;
  std::random_device random;
  std::string id;
  for (int i = 0; i < kWords; ++i) PutU32(&id, random());
  return id;
}

std::string HexOfStoreId(std::string_view id) {
  std::string hex;
  for (const char c : id) fmt::format_to(std::back_inserter(hex), "{:02x}", c & 0xff);
  return hex;
}

std::string EncodeColumnSet(const std::vector<Column>& columns) {
  std::string record{kRecordVersion};
  PutVarint(&record, columns.size());
  for (const Column& column : columns) {
    PutVarint(&record, column.family);
    PutString(&record, column.qualifier);
  }
  return record;
}

namespace {

bool NamesOneTwice(const std::vector<Column>& columns) {
  std::vector<std::pair<FamilyId, std::string_view>> names;
  for (const Column& column : columns) names.emplace_back(column.family, column.qualifier);
  std::sort(names.begin(), names.end());
  return std::adjacent_find(names.begin(), names.end()) != names.end();
}

}  // namespace

Result<std::vector<Column>> DecodeColumnSet(std::string_view record) {
  const Error damaged = DamagedRecord("a column set");
  ByteReader in(record);
  std::vector<Column> columns;
  uint64_t count = 0;
  if (!GetVersion(&in, kRecordVersion) || !in.GetVarint(&count)) return damaged;
  for (; count > 0; --count) {
    Column column;
    if (!in.GetNumber(&column.family, kMaxFamilies) || !GetText(&in, &column.qualifier)) {
      return damaged;
    }
    columns.push_back(std::move(column));
  }
  if (columns.empty() || !in.done() || NamesOneTwice(columns)) return damaged;
  return columns;
}

std::string EncodeField(const FieldMarks& marks) {
  std::string record{kRecordVersion, static_cast<char>(marks.type_bits)};
  PutVarint(&record, marks.spelled);
  return record;
}

Result<FieldMarks> DecodeField(std::string_view record) {
  ByteReader in(record);
  FieldMarks marks;
  if (!GetVersion(&in, kRecordVersion) || !in.GetByte(&marks.type_bits) ||
      !in.GetVarint(&marks.spelled) || !in.done()) {
    return DamagedRecord("a field");
  }
  return marks;
}

std::string EncodeMissedField(const MissedField& missed) {
  std::string record{kRecordVersion, static_cast<char>(missed.how)};
  PutVarint(&record, missed.sequence);
  return record;
}

Result<MissedField> DecodeMissedField(std::string_view record) {
  ByteReader in(record);
  MissedField missed;
  if (!GetVersion(&in, kRecordVersion) || !in.GetByte(&missed.how) ||
      !in.GetVarint(&missed.sequence) || !in.done()) {
    return DamagedRecord("a missed field");
  }
  return missed;
}

std::string EncodeDelete(const DeleteSpec& what, TimeUs at) {
  const int flags =
      (what.family ? kDeleteHasFamily : 0) | (what.qualifier ? kDeleteHasQualifier : 0);
  std::string record{kRecordVersion, static_cast<char>(flags)};
  PutString(&record, what.rows.start);
  PutString(&record, what.rows.end);
  PutVarint(&record, static_cast<uint64_t>(std::max<TimeUs>(what.cells.from, 0)));
  PutVarint(&record, static_cast<uint64_t>(std::clamp<TimeUs>(what.cells.to, 0, kMaxTimeUs + 1)));
  PutVarint(&record, static_cast<uint64_t>(std::clamp<TimeUs>(at, 0, kMaxTimeUs)));
  if (what.family) PutVarint(&record, *what.family);
  if (what.qualifier) PutString(&record, *what.qualifier);
  return record;
}

Result<DeleteSpec> DecodeDelete(std::string_view record, TimeUs* at) {
  const Error damaged = DamagedRecord("a delete");
  ByteReader in(record);
  DeleteSpec what;
  uint8_t flags = 0;
  constexpr auto kLatest = static_cast<uint64_t>(kMaxTimeUs + 1);
  if (!GetVersion(&in, kRecordVersion) || !in.GetByte(&flags) ||
      (flags & ~(kDeleteHasFamily | kDeleteHasQualifier)) != 0 || !GetText(&in, &what.rows.start) ||
      !GetText(&in, &what.rows.end) || !in.GetNumber(&what.cells.from, kLatest) ||
      !in.GetNumber(&what.cells.to, kLatest) || !in.GetNumber(at, kLatest)) {
    return damaged;
  }
  if ((flags & kDeleteHasFamily) != 0 && !in.GetNumber(&what.family.emplace(), kMaxFamilies)) {
    return damaged;
  }
  if ((flags & kDeleteHasQualifier) != 0 && !GetText(&in, &what.qualifier.emplace())) {
    return damaged;
  }
  if (!in.done()) return damaged;
  return what;
}

std::string HeadNoteKey(uint64_t head) {
  std::string key = MetaKey(MetaKind::kHeadNote);
  PutU64(&key, head);
  return key;
}

std::string EncodeHeadNote(const HeadNote& note) {
  std::string record;
  PutU64(&record, note.entries);
  PutU64(&record, note.others);
  return record;
}

Result<HeadNote> DecodeHeadNote(std::string_view record) {
  ByteReader in(record);
  HeadNote note;
  if (!in.GetU64(&note.entries) || !in.GetU64(&note.others) || !in.done()) {
    return DamagedRecord("a sealed head");
  }
  return note;
}

std::string EncodeHeadOrigin(const HeadOrigin& origin) {
  std::string record{kRecordVersion};
  PutVarint(&record, origin.number);
  PutVarint(&record, origin.after);
  return record;
}

Result<HeadOrigin> DecodeHeadOrigin(std::string_view record) {
  ByteReader in(record);
  HeadOrigin origin;
  if (!GetVersion(&in, kRecordVersion) || !in.GetVarint(&origin.number) ||
      !in.GetVarint(&origin.after) || !in.done()) {
    return DamagedRecord("where a head began");
  }
  return origin;
}

void Openings::Add(uint64_t sequence) {
  std::random_device random;
  const uint64_t id = uint64_t{random()} << 32 | random() | 1;  // Never 0.
  known.push_back({id, sequence});
  if (known.size() <= kKnownOpenings) return;
  known.erase(known.begin());
  ++forgotten;
}

std::string EncodeOpenings(const Openings& openings) {
  std::string record{kRecordVersion};
  PutVarint(&record, openings.forgotten);
  PutVarint(&record, openings.known.size());
  for (const Opening& opening : openings.known) {
    PutU64(&record, opening.id);
    PutVarint(&record, opening.sequence);
  }
  return record;
}

Result<Openings> DecodeOpenings(std::string_view record) {
  const Error damaged = DamagedRecord("the openings");
  ByteReader in(record);
  Openings openings;
  uint64_t count = 0;
  if (!GetVersion(&in, kRecordVersion) || !in.GetVarint(&openings.forgotten) ||
      !in.GetVarint(&count)) {
    return damaged;
  }
  for (; count > 0; --count) {
    Opening& opening = openings.known.emplace_back();
    if (!in.GetU64(&opening.id) || !in.GetVarint(&opening.sequence)) return damaged;
  }
  if (!in.done()) return damaged;
  return openings;
}

std::string EncodeMemo(std::optional<std::string_view> value) {
  std::string record(1, value ? kMemo : kNoMemo);
  if (value) record.append(*value);
  return record;
}

Result<std::optional<std::string_view>> DecodeMemo(std::string_view record) {
  using Found = std::optional<std::string_view>;
  if (record.size() == 1 && record[0] == kNoMemo) return Found();
  if (record.empty() || record[0] != kMemo || record.size() > kMaxMemoValueBytes + 1) {
    return DamagedRecord("a memo");
  }
  return Found(record.substr(1));
}

}  // namespace tallyd
