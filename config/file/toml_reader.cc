#include "config/file/toml_reader.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>

#include "config/values/byte_size.h"
#include "config/values/daily.h"
#include "config/values/glob.h"
#include "config/values/time.h"

namespace tallyd {
namespace {

std::string_view TypeName(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a float";
    case toml::node_type::boolean:
      return "a bool";
    default:
      return "a date or time";
  }
}

std::string Between(const std::string& least, const std::string& most) {
  return least + " to " + most;
}

// Keys that read like no bare TOML key are shown quoted, as the file has them.
std::string Shown(std::string_view key) {
  const bool bare = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
  return bare ? std::string(key) : "\"" + std::string(key) + "\"";
}

// Members in the order in which the file has them; toml++ keeps them sorted by name.
std::vector<std::pair<const toml::key*, const toml::node*>> InFileOrder(const toml::table& table) {
  std::vector<std::pair<const toml::key*, const toml::node*>> members;
  for (const auto& [key, node] : table) members.emplace_back(&key, &node);
  std::stable_sort(members.begin(), members.end(), [](const auto& a, const auto& b) {
    const toml::source_position x = a.first->source().begin;
    const toml::source_position y = b.first->source().begin;
    return std::pair(x.line, x.column) < std::pair(y.line, y.column);
  });
  return members;
}

}  // namespace

TomlReader::TomlReader(const toml::table& table, std::string path, uint32_t line,
                       Mistakes* mistakes)
    : table_(&table), path_(std::move(path)), name_(path_), line_(line), mistakes_(mistakes) {}

bool TomlReader::String(std::string_view key, std::string* out) {
  const toml::node* node = Find(key);
  if (node == nullptr) return false;
  const auto* text = node->as_string();
  if (text == nullptr) {
    WrongType(key, *node, "a string");
    return false;
  }
  *out = text->get();
  return true;
}

bool TomlReader::Strings(std::string_view key, std::vector<std::string>* out) {
  const toml::node* node = Find(key);
  if (node == nullptr) return false;
  const toml::array* array = node->as_array();
  if (array == nullptr) {
    WrongType(key, *node, "an array of strings");
    return false;
  }
  std::vector<std::string> strings;
  for (const toml::node& element : *array) {
    const auto* text = element.as_string();
    if (text == nullptr || text->get().empty()) {
      const std::string found(text == nullptr ? TypeName(element) : "an empty string");
      mistakes_->Add(element.source().begin.line, PathOf(key),
                     "holds " + found + "; accepted: strings that are not empty");
      return false;
    }
    strings.push_back(text->get());
  }
  *out = std::move(strings);
  return true;
}

bool TomlReader::StringOrStrings(std::string_view key, std::vector<std::string>* out) {
  const toml::node* node = Find(key);
  if (node == nullptr) return false;
  const auto* text = node->as_string();
  if (text == nullptr && !node->is_array()) {
    WrongType(key, *node, "a string, or an array of strings");
    return false;
  }
  if (text == nullptr) return Strings(key, out);
  *out = {text->get()};
  return true;
}

bool TomlReader::Bool(std::string_view key, bool* out) {
  const toml::node* node = Find(key);
  if (node == nullptr) return false;
  const auto* value = node->as_boolean();
  if (value == nullptr) {
    WrongType(key, *node, "true, false");
    return false;
  }
  *out = value->get();
  return true;
}

bool TomlReader::Integer(std::string_view key, Bounds<uint64_t> bounds, uint64_t* out) {
  const toml::node* node = Find(key);
  if (node == nullptr) return false;
  const std::string accepted =
      "an integer from " + Between(std::to_string(bounds.least), std::to_string(bounds.most));
  const auto* value = node->as_integer();
  if (value == nullptr) {
    WrongType(key, *node, accepted);
    return false;
  }
  const int64_t v = value->get();
  if (v < 0 || static_cast<uint64_t>(v) < bounds.least || static_cast<uint64_t>(v) > bounds.most) {
    Mistake(key, std::to_string(v) + " is out of range; accepted: " + accepted);
    return false;
  }
  *out = static_cast<uint64_t>(v);
  return true;
}

bool TomlReader::PositiveNumber(std::string_view key, double* out) {
  const toml::node* node = Find(key);
  if (node == nullptr) return false;
  const std::optional<double> value =
      node->is_number() ? node->value<double>() : std::optional<double>();
  if (!value) {
    WrongType(key, *node, "a number above 0");
    return false;
  }
  if (!std::isfinite(*value) || *value <= 0) {
    Mistake(key, "is out of range; accepted: a number above 0");
    return false;
  }
  *out = *value;
  return true;
}

bool TomlReader::Size(std::string_view key, Bounds<uint64_t> bounds, uint64_t* out) {
  const toml::node* node = Find(key);
  if (node == nullptr) return false;
  const std::string accepted =
      "a number of bytes or a size like \"64KiB\", \"32MiB\", \"1GiB\", from " +
      Between(FormatSize(bounds.least), FormatSize(bounds.most));
  std::optional<uint64_t> size;
  std::string shown;
  if (const auto* number = node->as_integer()) {
    shown = std::to_string(number->get());
    size = ParseSize(shown);
  } else if (const auto* text = node->as_string()) {
    shown = "\"" + text->get() + "\"";
    size = ParseSize(text->get());
  } else {
    WrongType(key, *node, accepted);
    return false;
  }
  if (!size || *size < bounds.least || *size > bounds.most) {
    Mistake(key, shown + (size ? " is out of range" : " is no size") + "; accepted: " + accepted);
    return false;
  }
  *out = *size;
  return true;
}

bool TomlReader::Duration(std::string_view key, Bounds<int64_t> bounds, int64_t* out) {
  const toml::node* node = Find(key);
  if (node == nullptr) return false;
  const auto* text = node->as_string();
  if (text == nullptr) {
    WrongType(key, *node, "a duration like \"500ms\", \"30m\", \"7d\"");
    return false;
  }
  const Result<int64_t> us = ParseDuration(text->get());
  if (!us) {
    Mistake(key, us.error().message());
    return false;
  }
  if (*us < bounds.least || *us > bounds.most) {
    Mistake(key, "\"" + text->get() + "\" is out of range; accepted: " +
                     Between(FormatDuration(bounds.least), FormatDuration(bounds.most)));
    return false;
  }
  *out = *us;
  return true;
}

bool TomlReader::DurationOrOff(std::string_view key, Bounds<int64_t> bounds,
                               std::optional<int64_t>* out) {
  const toml::node* node = Find(key);
  if (node == nullptr) return false;
  if (node->value<std::string_view>() == "off") {
    out->reset();
    return true;
  }
  const auto* text = node->as_string();
  if (text == nullptr) {
    WrongType(key, *node, "a duration like \"30m\", \"2d\", or \"off\"");
    return false;
  }
  const Result<int64_t> us = ParseDuration(text->get());
  if (!us || *us < bounds.least || *us > bounds.most) {
    Mistake(key, "\"" + text->get() + (us ? "\" is out of range" : "\" is no duration") +
                     "; accepted: off, or " +
                     Between(FormatDuration(bounds.least), FormatDuration(bounds.most)));
    return false;
  }
  *out = *us;
  return true;
}

bool TomlReader::Moment(std::string_view key, TimeUs* out) {
  const toml::node* node = Find(key);
  if (node == nullptr) return false;
  std::ostringstream text;
  if (const auto* string = node->as_string()) {
    text << string->get();
  } else if (const auto* date = node->as_date()) {
    text << date->get();
  } else if (const auto* date_time = node->as_date_time()) {
    text << date_time->get();
  } else {
    WrongType(key, *node, "a date (\"1973-03-03\") or an RFC 3339 time (\"1973-03-03T09:46:40Z\")");
    return false;
  }
  constexpr size_t kDateBytes = 10;
  if (text.view().size() == kDateBytes) text << "T00:00:00Z";
  const Result<TimeUs> moment = ParseRfc3339(text.view());
  if (!moment) {
    Mistake(key, moment.error().message() + ", or a date (\"1973-03-03\")");
    return false;
  }
  *out = *moment;
  return true;
}

bool TomlReader::TimeOfDay(std::string_view key, int64_t* out) {
  std::string text;
  if (!String(key, &text)) return false;
  const std::optional<int64_t> us = ParseTimeOfDay(text);
  if (!us) {
    Mistake(key,
            "\"" + text + "\" is no time of a day; accepted: hours and minutes, UTC, as \"00:30\"");
    return false;
  }
  *out = *us;
  return true;
}

bool TomlReader::Word(std::string_view key, std::span<const std::string_view> words,
                      std::string* out) {
  std::string text;
  if (!String(key, &text)) return false;
  if (std::ranges::find(words, text) == words.end()) {
    Mistake(key, "\"" + text + "\" is unknown; accepted: " + Listed({words.begin(), words.end()}));
    return false;
  }
  *out = std::move(text);
  return true;
}

std::vector<TomlReader> TomlReader::Table(std::string_view key) {
  const toml::node* node = Find(key);
  if (node == nullptr) return {};
  const toml::table* table = node->as_table();
  if (table == nullptr) {
    WrongType(key, *node, "a table");
    return {};
  }
  return {Under(*table, key)};
}

std::vector<TomlReader> TomlReader::TablesOf(std::string_view key) {
  const toml::node* node = Find(key);
  if (node == nullptr) return {};
  const toml::array* array = node->as_array();
  if (array == nullptr) {
    WrongType(key, *node, "an array of tables");
    return {};
  }
  std::vector<TomlReader> readers;
  for (size_t i = 0; i < array->size(); ++i) {
    const toml::node& element = *array->get(i);
    const uint32_t line = element.source().begin.line;
    const std::string path = PathOf(key) + "[" + std::to_string(i) + "]";
    if (const toml::table* table = element.as_table()) {
      readers.emplace_back(*table, path, line, mistakes_);
    } else {
      mistakes_->Add(line, path,
                     "is " + std::string(TypeName(element)) + "; accepted: a table in braces");
    }
  }
  return readers;
}

std::vector<TomlReader> TomlReader::Members() {
  std::vector<TomlReader> readers;
  for (const auto& [key, node] : InFileOrder(*table_)) {
    accepted_.emplace_back(key->str());
    if (const toml::table* table = node->as_table()) {
      readers.push_back(Under(*table, key->str()));
    } else {
      WrongType(key->str(), *node, "a table");
    }
  }
  return readers;
}

std::vector<std::pair<std::string, std::string>> TomlReader::StringMembers() {
  std::vector<std::pair<std::string, std::string>> members;
  for (const auto& [key, node] : InFileOrder(*table_)) {
    std::string text;
    if (String(key->str(), &text)) members.emplace_back(key->str(), std::move(text));
  }
  return members;
}

bool TomlReader::IsString(std::string_view key) const {
  const toml::node* node = table_->get(key);
  return node != nullptr && node->is_string();
}

bool TomlReader::IsEmptyArray(std::string_view key) const {
  const toml::node* node = table_->get(key);
  return node != nullptr && node->is_array() && node->as_array()->empty();
}

void TomlReader::Mistake(std::string_view key, std::string_view text, int rule) const {
  mistakes_->Add(LineOf(key), PathOf(key), text, rule);
}

void TomlReader::Mistake(std::string_view text, int rule) const {
  mistakes_->Add(line_, path_, text, rule);
}

void TomlReader::Finish() const {
  for (const auto& [key, node] : InFileOrder(*table_)) {
    const std::string name(key->str());
    if (std::find(accepted_.begin(), accepted_.end(), name) != accepted_.end()) continue;
    std::vector<std::string> accepted = accepted_;
    std::sort(accepted.begin(), accepted.end());
    accepted.erase(std::unique(accepted.begin(), accepted.end()), accepted.end());
    const std::vector<std::string> nearest = NearestNames(name, accepted, 1);
    const std::string hint = nearest.empty() ? "" : ", the nearest is " + nearest[0];
    Mistake(name, "unknown key" + hint + "; accepted: " + Listed(accepted));
  }
}

const toml::node* TomlReader::Find(std::string_view key) {
  accepted_.emplace_back(key);
  return table_->get(key);
}

std::string TomlReader::PathOf(std::string_view key) const {
  return path_.empty() ? Shown(key) : path_ + "." + Shown(key);
}

uint32_t TomlReader::LineOf(std::string_view key) const {
  const auto it = table_->find(key);
  return it == table_->end() ? line_ : it->first.source().begin.line;
}

TomlReader TomlReader::Under(const toml::table& table, std::string_view key) const {
  TomlReader reader(table, PathOf(key), LineOf(key), mistakes_);
  reader.name_ = key;
  return reader;
}

void TomlReader::WrongType(std::string_view key, const toml::node& node,
                           std::string_view accepted) const {
  Mistake(key, "is " + std::string(TypeName(node)) + "; accepted: " + std::string(accepted));
}

}  // namespace tallyd
