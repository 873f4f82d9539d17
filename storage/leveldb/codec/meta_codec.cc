#include "storage/leveldb/codec/meta_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <random>

#include "storage/bytes/coding.h"
#include "storage/leveldb/codec/entry_codec.h"

namespace tallyd {
namespace {

constexpr std::string_view kMagic = "tallyd";
constexpr char kRecordVersion = 1;
constexpr char kLabelledStreamVersion = 2;
constexpr char kTableVersion = 2;
constexpr uint8_t kPlainFamily = 0;  // Others are their Aggregate.
constexpr size_t kKnownOpenings = 1024;
constexpr char kNoMemo = 0;
constexpr char kMemo = 1;
constexpr uint8_t kDeleteHasFamily = 1;
constexpr uint8_t kDeleteHasQualifier = 2;
constexpr uint64_t kMaxFamilies = std::numeric_limits<FamilyId>::max();

Error Damaged(std::string_view what) {
  return Error(ErrorCode::kCorruption, "the record of " + std::string(what) +
                                           " is damaged, or was written by a newer tallyd");
}

bool GetRecordVersion(ByteReader* in, char known = kRecordVersion) {
  uint8_t version = 0;
  return in->GetByte(&version) && version == known;
}

bool GetText(ByteReader* in, std::string* text) {
  std::string_view view;
  if (!in->GetString(&view)) return false;
  *text = view;
  return true;
}

void PutTexts(std::string* record, const std::vector<std::string>& texts) {
  PutVarint(record, texts.size());
  for (const std::string& text : texts) PutString(record, text);
}

bool GetTexts(ByteReader* in, std::vector<std::string>* texts) {
  uint64_t count = 0;
  if (!in->GetVarint(&count)) return false;
  for (; count > 0; --count) {
    if (!GetText(in, &texts->emplace_back())) return false;
  }
  return true;
}

bool GetTime(ByteReader* in, TimeUs* time) {
  return in->GetNumber(time, static_cast<uint64_t>(kNeverWhole));
}

void PutMark(std::string* record, const RuleMark& mark) {
  PutString(record, mark.rule);
  PutVarint(record, mark.since);
  PutVarint(record, static_cast<uint64_t>(mark.whole_from));
  PutVarint(record, mark.away_since);
}

bool GetMark(ByteReader* in, RuleMark* mark) {
  return GetText(in, &mark->rule) && in->GetVarint(&mark->since) &&
         GetTime(in, &mark->whole_from) && in->GetVarint(&mark->away_since);
}

// An absent number is 0, others are one more.
template <class T>
void PutOptional(std::string* record, const std::optional<T>& number) {
  PutVarint(record, number ? static_cast<uint64_t>(*number) + 1 : 0);
}

template <class T>
bool GetOptional(ByteReader* in, std::optional<T>* number) {
  uint64_t stored = 0;
  if (!in->GetNumber(&stored, static_cast<uint64_t>(std::numeric_limits<T>::max()) + 1)) {
    return false;
  }
  if (stored > 0) *number = static_cast<T>(stored - 1);
  return true;
}

void PutFamily(std::string* record, const StoredFamily& family) {
  PutString(record, family.name);
  const Family& last = family.last;
  record->push_back(
      static_cast<char>(last.aggregate ? static_cast<uint8_t>(*last.aggregate) : kPlainFamily));
  if (last.aggregate) PutOptional(record, last.bucket_us);
  PutOptional(record, family.last.max_age_us);
  PutOptional(record, family.last.max_versions);
  record->push_back(family.last.expire_by_both ? 1 : 0);
  PutVarint(record, static_cast<uint64_t>(family.whole_from));
}

bool GetKind(ByteReader* in, Family* family) {
  uint8_t kind = 0;
  if (!in->GetByte(&kind)) return false;
  if (kind == kPlainFamily) return true;
  family->aggregate = AggregateOfNumber(kind);
  if (!family->aggregate) return false;
  // Cell times are divided by it.
  return GetOptional(in, &family->bucket_us) && family->bucket_us != int64_t{0};
}

bool GetFamily(ByteReader* in, StoredFamily* family) {
  uint8_t by_both = 0;
  if (!GetText(in, &family->name) || !GetKind(in, &family->last) ||
      !GetOptional(in, &family->last.max_age_us) || !GetOptional(in, &family->last.max_versions) ||
      !in->GetByte(&by_both) || by_both > 1 || !GetTime(in, &family->whole_from)) {
    return false;
  }
  family->last.name = family->name;
  family->last.expire_by_both = by_both == 1;
  return true;
}

}  // namespace

std::string EncodeFormat(uint32_t version) {
  std::string record(kMagic);
  PutU32(&record, version);
  return record;
}

Result<uint32_t> DecodeFormat(std::string_view record) {
  if (!record.starts_with(kMagic) || record.size() != kMagic.size() + sizeof(uint32_t)) {
    return Damaged("the format");
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

// Without labels the record is the one that there was before them.
std::string EncodeStream(const StoredStream& stream) {
  const bool has_labels = !stream.labels.empty();
  std::string record{has_labels ? kLabelledStreamVersion : kRecordVersion,
                     static_cast<char>(stream.unit)};
  if (has_labels) PutTexts(&record, stream.labels);
  return record;
}

Result<StoredStream> DecodeStream(std::string_view record) {
  ByteReader in(record);
  StoredStream stream;
  uint8_t version = 0;
  uint8_t unit = 0;
  bool good = in.GetByte(&version) && in.GetByte(&unit) &&
              unit <= static_cast<uint8_t>(TimeUnit::kNanoseconds);
  good = good && (version == kRecordVersion ||
                  (version == kLabelledStreamVersion && GetTexts(&in, &stream.labels)));
  if (!good || !in.done()) return Damaged("a stream");
  stream.unit = static_cast<TimeUnit>(unit);
  return stream;
}

std::string EncodeTable(const TableInfo& table) {
  std::string record{kTableVersion, static_cast<char>(table.mode)};
  PutString(&record, table.name);
  PutString(&record, table.stream);
  PutString(&record, table.pattern);
  PutString(&record, table.row_key);
  PutString(&record, table.time_field);
  PutTexts(&record, table.when);
  PutMark(&record, table.membership);
  PutVarint(&record, table.rules.size());
  for (const RuleMark& mark : table.rules) PutMark(&record, mark);
  PutVarint(&record, table.families.size());
  for (const StoredFamily& family : table.families) PutFamily(&record, family);
  return record;
}

Result<TableInfo> DecodeTable(std::string_view record) {
  const Error damaged = Damaged("a table");
  ByteReader in(record);
  TableInfo table;
  uint8_t mode = 0;
  uint64_t rules = 0;
  uint64_t families = 0;
  if (!GetRecordVersion(&in, kTableVersion) || !in.GetByte(&mode) ||
      mode > static_cast<uint8_t>(TableMode::kLatestRow)) {
    return damaged;
  }
  table.mode = static_cast<TableMode>(mode);
  if (!GetText(&in, &table.name) || !GetText(&in, &table.stream) || !GetText(&in, &table.pattern) ||
      !GetText(&in, &table.row_key) || !GetText(&in, &table.time_field) ||
      !GetTexts(&in, &table.when) || !GetMark(&in, &table.membership) || !in.GetVarint(&rules)) {
    return damaged;
  }
  for (; rules > 0; --rules) {
    if (!GetMark(&in, &table.rules.emplace_back())) return damaged;
  }
  if (!in.GetNumber(&families, kMaxFamilies)) return damaged;
  for (; families > 0; --families) {
    if (!GetFamily(&in, &table.families.emplace_back())) return damaged;
  }
  if (!in.done()) return damaged;
  return table;
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
  const Error damaged = Damaged("a column set");
  ByteReader in(record);
  std::vector<Column> columns;
  uint64_t count = 0;
  if (!GetRecordVersion(&in) || !in.GetVarint(&count)) return damaged;
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
  if (!GetRecordVersion(&in) || !in.GetByte(&marks.type_bits) || !in.GetVarint(&marks.spelled) ||
      !in.done()) {
    return Damaged("a field");
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
  if (!GetRecordVersion(&in) || !in.GetByte(&missed.how) || !in.GetVarint(&missed.sequence) ||
      !in.done()) {
    return Damaged("a missed field");
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
  const Error damaged = Damaged("a delete");
  ByteReader in(record);
  DeleteSpec what;
  uint8_t flags = 0;
  constexpr auto kLatest = static_cast<uint64_t>(kMaxTimeUs + 1);
  if (!GetRecordVersion(&in) || !in.GetByte(&flags) ||
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
    return Damaged("a sealed head");
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
  if (!GetRecordVersion(&in) || !in.GetVarint(&origin.number) || !in.GetVarint(&origin.after) ||
      !in.done()) {
    return Damaged("where a head began");
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
  const Error damaged = Damaged("the openings");
  ByteReader in(record);
  Openings openings;
  uint64_t count = 0;
  if (!GetRecordVersion(&in) || !in.GetVarint(&openings.forgotten) || !in.GetVarint(&count)) {
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
    return Damaged("a memo");
  }
  return Found(record.substr(1));
}

}  // namespace tallyd
