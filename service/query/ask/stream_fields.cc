#include "service/query/ask/stream_fields.h"

#include <algorithm>

#include "config/schema/table_rules.h"
#include "config/values/glob.h"

namespace tallyd {

StreamFields::StreamFields(const Schema& schema, const Stream& stream, const Store& store)
    : stream_(stream.name) {
  for (const auto& [name, hints] : stream.fields) type_bits_.try_emplace(name);
  type_bits_.try_emplace(stream.time_field);
  for (const size_t index : stream.tables) {
    for (const std::string& name : FieldsNamedBy(schema.tables[index])) {
      type_bits_.try_emplace(name);
    }
  }
  std::map<std::string, uint64_t, std::less<>> spelled;
  for (const FieldInfo& field : store.Fields(stream.name)) {
    type_bits_[field.name] |= field.type_bits;
    if (field.spelled != 0) spelled[field.name] = field.spelled;
  }
  names_.reserve(type_bits_.size());
  const bool tells_labels = MayTellLabels(schema, stream);
  for (const auto& [name, bits] : type_bits_) {
    names_.push_back(name);
    if (!tells_labels && ListsAsLabel(stream, name)) listed_.insert(name);
  }
  const auto when = [&spelled](const std::string& name) {
    const auto found = spelled.find(name);
    return found == spelled.end() ? uint64_t{0} : found->second;
  };
  // Where nobody told, the first by name counts as the last.
  spellings_.assign(names_.rbegin(), names_.rend());
  std::ranges::stable_sort(spellings_, {}, when);
  for (const size_t index : stream.tables) {
    for (const std::string& name : names_) {
      if (!IsCompacted(schema.tables[index], name)) continue;
      compact_.insert(CompactName(name));
      compacted_.insert(name);
    }
  }
}

uint8_t StreamFields::TypesOf(std::string_view name) const {
  const auto it = type_bits_.find(name);
  return it == type_bits_.end() ? uint8_t{0} : it->second;
}

bool StreamFields::IsNumber(std::string_view name) const {
  return (TypesOf(name) & (TypeBit(ValueType::kInt64) | TypeBit(ValueType::kFloat64))) != 0;
}

// What is remembered of a field that is nothing but a label.
uint8_t StreamFields::OfLabels(std::string_view name) const {
  constexpr uint8_t kOfLabels = kLabelBit | kNumberTextBit;
  return listed_.contains(name) ? kOfLabels | TypeBit(ValueType::kString) : kOfLabels;
}

bool StreamFields::WasLabel(std::string_view name) const {
  return (OfLabels(name) & TypesOf(name) & ~unsigned{kNumberTextBit}) != 0;
}

bool StreamFields::IsLabelAsText(std::string_view name) const {
  const bool was_plain_text = (TypesOf(name) & TypeBit(ValueType::kString)) != 0;
  return WasLabel(name) && (listed_.contains(name) || !was_plain_text);
}

bool StreamFields::IsLabelAlone(std::string_view name) const {
  return WasLabel(name) && (TypesOf(name) & ~unsigned{OfLabels(name)}) == 0;
}

bool StreamFields::ReadsAsAnother(std::string_view name) const {
  constexpr uint8_t kOthers =
      TypeBit(ValueType::kBool) | TypeBit(ValueType::kBytes) | kNumberTextBit;
  return (TypesOf(name) & kOthers) != 0;
}

std::vector<std::string> StreamFields::SpellingsOf(std::string_view name) const {
  std::vector<std::string> seen;
  if (compact_.empty()) return seen;
  const std::string compact = CompactName(name);
  if (!compact_.contains(compact)) return seen;
  for (const std::string& spelling : spellings_) {
    const bool is_one = compacted_.contains(spelling) && CompactName(spelling) == compact;
    if (is_one && WasSeen(spelling)) seen.push_back(spelling);
  }
  return seen;
}

std::vector<std::string> StreamFields::Matching(std::string_view pattern) const {
  if (!IsGlob(pattern)) {
    return Knows(pattern) ? std::vector{std::string(pattern)} : std::vector<std::string>{};
  }
  std::vector<std::string> matching;
  for (const std::string& name : names_) {
    if (GlobMatches(pattern, name)) matching.push_back(name);
  }
  return matching;
}

Error StreamFields::Unknown(std::string_view name) const {
  std::string message = "stream '" + stream_ + "' has no field '" + std::string(name) + "'";
  const std::vector<std::string> nearest = NearestNames(name, names_);
  for (size_t i = 0; i < nearest.size(); ++i) {
    message += (i == 0 ? "; the nearest are '" : ", '") + nearest[i] + "'";
  }
  return Invalid(std::move(message));
}

}  // namespace tallyd
