#include "config/file/mistakes.h"

#include <algorithm>

namespace tallyd {

namespace {

// The table that a key such as tables.METRIC.row_key or tables."A.B".columns[0] belongs to.
std::string TableOf(std::string_view key) {
  constexpr std::string_view kTables = "tables.";
  if (!key.starts_with(kTables)) return {};
  key.remove_prefix(kTables.size());
  const bool quoted = key.starts_with('"');
  if (quoted) key.remove_prefix(1);
  return std::string(key.substr(0, key.find(quoted ? '"' : '.')));
}

}  // namespace

void Mistakes::Add(uint32_t line, std::string_view key, std::string_view text, int rule) {
  items_.push_back({line, std::string(key).append(": ").append(text), rule, TableOf(key)});
}

bool Mistakes::AnyWithoutRule() const {
  return std::ranges::any_of(items_, [](const Item& item) { return item.rule == 0; });
}

std::vector<RuledMistake> Mistakes::Ruled() const {
  std::vector<RuledMistake> ruled;
  for (const Item& item : InFileOrder()) {
    if (item.rule != 0) ruled.push_back({item.rule, item.table, item.text});
  }
  return ruled;
}

std::vector<Mistakes::Item> Mistakes::InFileOrder() const {
  std::vector<Item> sorted = items_;
  std::ranges::stable_sort(sorted, {}, &Item::line);
  return sorted;
}

Error Mistakes::ToError(std::string_view file) const {
  std::string message;
  for (const Item& item : InFileOrder()) {
    if (!message.empty()) message.push_back('\n');
    message.append(file).append(":").append(std::to_string(item.line)).append(": ");
    message.append(item.text);
  }
  return Invalid(std::move(message));
}

std::string Listed(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list.append(list.empty() ? "" : ", ").append(name);
  return list;
}

}  // namespace tallyd
