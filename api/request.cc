#include "api/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "config/values/glob.h"
#include "ingest/text/percent.h"

namespace tallyd {

Result<Params> Params::Parse(std::string_view query) {
  Params params;
  while (!query.empty()) {
    const size_t amp = query.find('&');
    const std::string_view pair = query.substr(0, amp);
    query = amp == std::string_view::npos ? std::string_view() : query.substr(amp + 1);
    if (pair.empty()) continue;
    const size_t equals = pair.find('=');
    std::optional<std::string> name = DecodePercent(pair.substr(0, equals), PlusIs::kSpace);
    std::optional<std::string> value = equals == std::string_view::npos
                                           ? std::string()
                                           : DecodePercent(pair.substr(equals + 1), PlusIs::kSpace);
    if (!name || !value) {
      return Invalid(fmt::format(
          "parameter {}: a '%' must be followed by two hexadecimal digits; a literal one is %25",
          params.all_.size() + 1));
    }
    params.all_.emplace_back(std::move(*name), std::move(*value));
  }
  return params;
}

bool Params::Has(std::string_view name) const { return Get(name).has_value(); }

std::optional<std::string_view> Params::Get(std::string_view name) const {
  for (const auto& [key, value] : all_) {
    if (key == name) return value;
  }
  return std::nullopt;
}

std::vector<std::string> Params::List(std::string_view name) const {
  std::vector<std::string> list;
  for (const auto& [key, value] : all_) {
    if (key != name) continue;
    std::string item;
    for (size_t i = 0; i <= value.size(); ++i) {
      if (i == value.size() || value[i] == ',') {
        if (!item.empty()) list.push_back(std::move(item));
        item.clear();
      } else if (std::string_view(value).substr(i, 2) == "\\,") {
        item.push_back(value[++i]);
      } else {
        item.push_back(value[i]);
      }
    }
  }
  return list;
}

Result<bool> Params::Flag(std::string_view name) const {
  const auto value = Get(name);
  if (!value || *value == "0" || *value == "false") return false;
  if (value->empty() || *value == "1" || *value == "true") return true;
  return Invalid(fmt::format("{}={}: expected 1, true, 0 or false", name, *value));
}

Result<std::optional<uint64_t>> Params::Number(std::string_view name, uint64_t min,
                                               uint64_t max) const {
  const auto text = Get(name);
  if (!text) return std::optional<uint64_t>();
  uint64_t number = 0;
  const auto [end, ec] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (ec != std::errc() || end != text->data() + text->size() || number < min || number > max) {
    return Invalid(fmt::format("{}={}: expected an integer from {} to {}", name, *text, min, max));
  }
  return std::optional<uint64_t>(number);
}

Status Params::RefuseUnknown(const std::vector<std::string>& known) const {
  for (const auto& [name, value] : all_) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string accepted = fmt::format("{}", fmt::join(known, ", "));
    return Invalid(fmt::format("unknown parameter \"{}\"; accepted here: {}", name,
                               known.empty() ? "none" : accepted));
  }
  return {};
}

Status Params::ExpectOnce(std::string_view name) const {
  const auto is_it = [name](const auto& parameter) { return parameter.first == name; };
  if (std::count_if(all_.begin(), all_.end(), is_it) < 2) return {};
  return Invalid(fmt::format("{}: given more than once; it has one value", name));
}

Status Params::RefuseRepeated(const std::vector<std::string>& lists) const {
  for (const auto& [name, value] : all_) {
    if (std::find(lists.begin(), lists.end(), name) != lists.end()) continue;
    if (Status status = ExpectOnce(name); !status) return status;
  }
  return {};
}

}  // namespace tallyd
