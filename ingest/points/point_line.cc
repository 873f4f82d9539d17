#include "ingest/points/point_line.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "ingest/points/point_text.h"

namespace tallyd {
namespace {

constexpr std::string_view kSpaces = " \t";
constexpr size_t kLeastWords = 4;

std::string_view SkipSpaces(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size()));
  return text;
}

size_t CountWords(std::string_view text) {
  size_t words = 0;
  while (!TakeWord(&text).empty()) ++words;
  return words;
}

std::string Argument(std::string_view what) { return fmt::format("illegal argument: {}", what); }

// Why the line can be no point's, whatever stands in it; empty: it can.
std::string WhyNoText(std::string_view line) {
  const bool has_control = std::ranges::any_of(line, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t') || byte == 0x7F;
  });
  if (has_control) return Argument("a control character stands in it");
  if (!simdjson::validate_utf8(line.data(), line.size())) return Argument("it is no UTF-8");
  return {};
}

std::optional<uint32_t> ReadTagWords(std::string_view words, DataPoints* points,
                                     std::string* why) {
  if (const auto known = points->FindTags(words)) return known;
  points->BeginTags();
  std::string_view rest = words;
  for (std::string_view word = TakeWord(&rest); !word.empty(); word = TakeWord(&rest)) {
    const size_t equals = word.find('=');
    const bool is_tag = equals != 0 && equals < word.size() - 1 && word.rfind('=') == equals;
    if (!is_tag) {
      *why = fmt::format("invalid tag: {}", Shown(word));
      return std::nullopt;
    }
    points->AddTag(word.substr(0, equals), word.substr(equals + 1));
  }
  return points->EndTags(words, why);
}

// Empty: the point was added.
std::string WhyNoPoint(std::string_view line, std::string_view rest, DataPoints* points) {
  if (std::string why = WhyNoText(line); !why.empty()) return why;
  const std::string_view all = rest;
  const std::string_view metric = TakeWord(&rest);
  const std::string_view time_word = TakeWord(&rest);
  const std::string_view value_word = TakeWord(&rest);
  rest = SkipSpaces(rest);
  if (rest.empty()) {
    return Argument(fmt::format("not enough arguments (need least {}, got {})", kLeastWords,
                                CountWords(all)));
  }
  const std::optional<TimeUs> time = ParsePointTime(time_word);
  if (!time) return Argument(fmt::format("invalid timestamp: {}", Shown(time_word)));
  std::string why;
  const std::optional<uint32_t> tags = ReadTagWords(rest, points, &why);
  if (!tags) return Argument(why);
  const std::optional<Value> value = ParsePointValue(value_word);
  if (!value) return fmt::format("invalid value: {}", Shown(value_word));
  if (!points->Add(metric, *time, *value, *tags, line, &why)) return Argument(why);
  return {};
}

}  // namespace

std::string_view TakeWord(std::string_view* line) {
  *line = SkipSpaces(*line);
  const std::string_view word = line->substr(0, line->find_first_of(kSpaces));
  line->remove_prefix(word.size());
  return word;
}

void ReadPointLine(std::string_view line, std::string_view rest, DataPoints* points) {
  std::string why = WhyNoPoint(line, rest, points);
  if (!why.empty()) points->Refuse(line, std::move(why));
}

}  // namespace tallyd
