#include "config/schema.h"

#include <algorithm>

namespace tallyd {
namespace {

template <class T>
const T* FindByName(const std::vector<T>& items, std::string_view name) {
  const auto it =
      std::find_if(items.begin(), items.end(), [name](const T& item) { return item.name == name; });
  return it == items.end() ? nullptr : &*it;
}

}  // namespace

std::string_view ToString(Pattern pattern) {
  switch (pattern) {
    case Pattern::kSingleTimestamp:
      return "single-timestamp";
    case Pattern::kSingleTimestampSerialized:
      return "single-timestamp-serialized";
    case Pattern::kNewCell:
      return "new-cell";
    case Pattern::kNewColumn:
      return "new-column";
    case Pattern::kLatest:
      return "latest";
  }
  return "unknown";
}

const Family* Table::FindFamily(std::string_view family_name) const {
  return FindByName(families, family_name);
}

int Table::FamilyIndex(std::string_view family_name) const {
  const Family* family = FindFamily(family_name);
  return family == nullptr ? -1 : static_cast<int>(family - families.data());
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
