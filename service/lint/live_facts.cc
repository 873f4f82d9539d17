#include "service/lint/live_facts.h"

#include <algorithm>
#include <array>

#include "service/lint/table_sample.h"
#include "storage/merge_witness.h"

namespace tallyd {
namespace {

constexpr size_t kFewestValues = 5;
constexpr size_t kFewestNumbers = 20;
constexpr uint64_t kFewestRows = 20;

bool IsHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsNumeral(char c) { return c >= '0' && c <= '9'; }

// Lengths that hashes of 64 to 512 bits have.
bool IsHexHash(std::string_view text) {
  constexpr std::array<size_t, 7> kLengths = {16, 32, 40, 48, 56, 64, 128};
  if (std::ranges::count(kLengths, text.size()) == 0) return false;
  const bool lower = std::ranges::all_of(text, IsHex);
  const bool upper =
      std::ranges::all_of(text, [](char c) { return IsNumeral(c) || (c >= 'A' && c <= 'F'); });
  return lower || upper;
}

bool IsBase64Hash(std::string_view text) {
  constexpr std::array<size_t, 8> kLengths = {22, 24, 27, 28, 43, 44, 86, 88};
  if (std::ranges::count(kLengths, text.size()) == 0) return false;
  while (text.ends_with('=')) text.remove_suffix(1);
  return std::ranges::all_of(text, [](char c) {
    return IsUpper(c) || IsLower(c) || IsNumeral(c) || c == '+' || c == '/' || c == '-' || c == '_';
  });
}

bool AnyHas(const std::set<std::string>& values, bool (*is)(char)) {
  return std::ranges::any_of(
      values, [&](const std::string& value) { return std::ranges::any_of(value, is); });
}

// Whether the numbers came one after the other while the table grew: the first rows of most are
// later than those of the number before, and lie over at least half of the table's time.
bool LookSequential(const TableSample& sample) {
  if (sample.numbers.size() < kFewestNumbers || sample.numbers.size() != sample.values) {
    return false;
  }
  size_t later = 0;
  TimeUs before = -1;
  for (const auto& [number, time] : sample.numbers) {
    if (time > before) ++later;
    before = time;
  }
  const TimeUs span = sample.numbers.rbegin()->second - sample.numbers.begin()->second;
  const TimeUs whole = sample.times.to - sample.times.from;
  return later * 10 >= sample.numbers.size() * 9 && span * 2 >= whole;
}

void AddTypes(const Store& store, const Stream& stream, LiveFacts* facts) {
  for (const FieldInfo& info : store.Fields(stream.name)) {
    LiveField& field = facts->fields[stream.name][info.name];
    field.is_text = (info.type_bits & (TypeBit(ValueType::kString) | kLabelBit)) != 0;
    field.is_integer = (info.type_bits & TypeBit(ValueType::kInt64)) != 0;
    field.is_bytes = (info.type_bits & TypeBit(ValueType::kBytes)) != 0;
    field.is_float = (info.type_bits & TypeBit(ValueType::kFloat64)) != 0;
    field.is_bool = (info.type_bits & TypeBit(ValueType::kBool)) != 0;
    field.is_label = (info.type_bits & kLabelBit) != 0;
  }
}

void AddSample(const Table& table, const TableSample& sample, LiveFacts* facts) {
  std::map<std::string, LiveField>& fields = facts->fields[table.stream];
  for (const auto& [field, values] : sample.texts) {
    if (LookHashed(values)) fields[field].looks_like_hash = true;
  }
  facts->tables[table.name] = {sample.value_bytes, sample.column, 0};
  if (sample.leading.empty()) return;
  LiveField& leading = fields[sample.leading];
  if (LookSequential(sample)) leading.looks_sequential = true;
  if (sample.knows_all_values && sample.rows >= kFewestRows) {
    leading.distinct = std::max(leading.distinct.value_or(0), sample.values);
  }
}

}  // namespace

bool LookHashed(const std::set<std::string>& values) {
  if (values.size() < kFewestValues || !AnyHas(values, IsNumeral)) return false;
  if (std::ranges::all_of(values, IsHexHash))
    return AnyHas(values, IsLower) || AnyHas(values, IsUpper);
  return std::ranges::all_of(values, IsBase64Hash) && AnyHas(values, IsLower) &&
         AnyHas(values, IsUpper);
}

LiveFacts ReadFieldTypes(const Schema& schema, const Store& store) {
  LiveFacts facts;
  for (const Stream& stream : schema.streams) AddTypes(store, stream, &facts);
  return facts;
}

Result<LiveFacts> ReadLiveFacts(const Schema& schema, Store& store, TimeUs now) {
  LiveFacts facts = ReadFieldTypes(schema, store);
  for (const Table& table : schema.tables) {
    const TablePtr stored = store.FindTable(table.name);
    if (stored == nullptr) continue;
    const Result<TableSample> sample = SampleTable(table, stored, store, now);
    if (!sample) return sample.error();
    AddSample(table, *sample, &facts);
    facts.tables[table.name].merged_events = MergedIn(store, *stored).count;
  }
  return facts;
}

}  // namespace tallyd
