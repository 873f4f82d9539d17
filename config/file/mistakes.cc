#include "config/file/mistakes.h"

#include <algorithm>

namespace tallyd {

void Mistakes::Add(uint32_t line, std::string_view key, std::string_view text) {
  items_.push_back({line, std::string(key).append(": ").append(text)});
}

Error Mistakes::ToError(std::string_view file) const {
  std::vector<Item> sorted = items_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Item& a, const Item& b) { return a.line < b.line; });
  std::string message;
  for (const Item& item : sorted) {
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
