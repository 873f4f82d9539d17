#include "storage/catalogue/record_codec.h"

#include <cstdint>
#include <limits>
#include <optional>

#include "storage/bytes/coding.h"
#include "storage/bytes/record_parts.h"

namespace tallyd {
namespace {

constexpr char kStreamVersion = 1;
constexpr char kLabelledStreamVersion = 2;
constexpr char kTableVersion = 2;
constexpr uint8_t kPlainFamily = 0;  // Others are their Aggregate.
constexpr uint64_t kMaxFamilies = std::numeric_limits<FamilyId>::max();

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

// Without labels the record is the one that there was before them.
std::string EncodeStream(const StoredStream& stream) {
  const bool has_labels = !stream.labels.empty();
  std::string record{has_labels ? kLabelledStreamVersion : kStreamVersion,
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
  good = good && (version == kStreamVersion ||
                  (version == kLabelledStreamVersion && GetTexts(&in, &stream.labels)));
  if (!good || !in.done()) return DamagedRecord("a stream");
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
  const Error damaged = DamagedRecord("a table");
  ByteReader in(record);
  TableInfo table;
  uint8_t mode = 0;
  uint64_t rules = 0;
  uint64_t families = 0;
  if (!GetVersion(&in, kTableVersion) || !in.GetByte(&mode) ||
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

}  // namespace tallyd
