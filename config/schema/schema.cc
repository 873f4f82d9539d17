#include "config/schema/schema.h"

#include <algorithm>

#include "config/values/glob.h"

namespace tallyd {
namespace {

template <class T>
const T* FindByName(const std::vector<T>& items, std::string_view name) {
  const auto it =
      std::find_if(items.begin(), items.end(), [name](const T& item) { return item.name == name; });
  return it == items.end() ? nullptr : &*it;
}

// Unlike any other text, whatever is appended before and behind.
void AppendCounted(std::string_view text, std::string* out) {
  *out += std::to_string(text.size());
  out->push_back(':');
  *out += text;
}

bool IsFieldsName(const ColumnRule& rule) { return rule.name.text() == "{field}"; }

// Whether the rule may make a column of this name, as far as its template tells.
bool MayMake(const ColumnRule& rule, std::string_view qualifier) {
  for (const auto& [field, renamed] : rule.rename) {
    if (renamed == qualifier) return true;
  }
  if (rule.name.is_constant()) return rule.name.text() == qualifier;
  if (IsFieldsName(rule) && !rule.compact_names && !rule.fields.empty()) {
    return std::any_of(rule.fields.begin(), rule.fields.end(),
                       [&](const std::string& field) { return GlobMatches(field, qualifier); });
  }
  std::vector<KeyField> parts;
  return rule.name.Match(qualifier, &parts);
}

// Whether `maker` may make a name that is known of `named`: a constant, or a rename.
bool MayMakeAKnownNameOf(const ColumnRule& maker, const ColumnRule& named) {
  if (named.name.is_constant() && MayMake(maker, named.name.text())) return true;
  return std::any_of(named.rename.begin(), named.rename.end(),
                     [&](const auto& renamed) { return MayMake(maker, renamed.second); });
}

}  // namespace

std::string CanonicalText(const ColumnRule& rule) {
  std::string text = rule.per_field ? "field" : "event";
  text += rule.compact_names ? " compact " : " ";
  text += std::to_string(static_cast<int>(rule.serialize));
  for (const std::string* part : {&rule.family, &rule.name.text(), &rule.value.text()}) {
    text.push_back(' ');
    AppendCounted(*part, &text);
  }
  std::vector<std::string> fields = rule.fields;
  std::sort(fields.begin(), fields.end());
  text += " fields";
  for (const std::string& field : fields) AppendCounted(field, &text);
  std::vector<std::pair<std::string, std::string>> rename = rule.rename;
  std::sort(rename.begin(), rename.end());
  text += " rename";
  for (const auto& [field, qualifier] : rename) {
    AppendCounted(field, &text);
    AppendCounted(qualifier, &text);
  }
  return text;
}

bool MayShareColumns(const ColumnRule& a, const ColumnRule& b) {
  if (a.family != b.family) return false;
  if (MayMakeAKnownNameOf(a, b) || MayMakeAKnownNameOf(b, a)) return true;
  if (a.name.is_constant() || b.name.is_constant()) return false;
  // Columns that are named for their fields are told apart by which rule takes the field.
  return !(IsFieldsName(a) && IsFieldsName(b) && a.compact_names == b.compact_names);
}

std::string KindOf(const Family& family) {
  if (!family.aggregate) return "a plain family";
  std::string kind = "an aggregate family of ";
  kind.append(ToString(*family.aggregate));
  if (family.bucket_us) kind.append(" with a bucket of ").append(FormatDuration(*family.bucket_us));
  return kind;
}

const Family* Table::FindFamily(std::string_view family_name) const {
  return FindByName(families, family_name);
}

int Table::FamilyIndex(std::string_view family_name) const {
  const Family* family = FindFamily(family_name);
  return family == nullptr ? -1 : static_cast<int>(family - families.data());
}

bool ListsAsLabel(const Stream& stream, std::string_view field) {
  return field != stream.time_field &&
         std::ranges::any_of(stream.labels, [field](const std::string& listed) {
           return GlobMatches(listed, field);
         });
}

bool MayTellLabels(const Schema& schema, const Stream& stream) {
  const std::optional<InfluxConfig>& influx = schema.protocols.influx;
  return stream.of_protocol || (influx && !influx->has_fixed_stream());
}

const Stream* Schema::FindStream(std::string_view name) const { return FindByName(streams, name); }

const Table* Schema::FindTable(std::string_view name) const { return FindByName(tables, name); }

std::string CompactName(std::string_view name) {
  std::string compact;
  compact.reserve(name.size());
  for (const char c : name) {
    if (c == ' ' || c == '\t') continue;
    compact.push_back(c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c);
  }
  return compact;
}

}  // namespace tallyd
