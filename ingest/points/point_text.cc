#include "ingest/points/point_text.h"

#include <algorithm>
#include <string>

#include "config/values/digits.h"

namespace tallyd {
namespace {

constexpr int64_t kMaxSeconds = 0xFFFF'FFFF;
constexpr int64_t kMaxMilliseconds = 9'999'999'999'999;
constexpr size_t kMicrosecondDigits = 6;

std::string_view TakeDigits(std::string_view* text) {
  const auto end = std::ranges::find_if_not(*text, IsDigit);
  const std::string_view digits = text->substr(0, static_cast<size_t>(end - text->begin()));
  text->remove_prefix(digits.size());
  return digits;
}

// As JSON spells it; empty: it is no number.
std::string Respelled(std::string_view text) {
  std::string spelled;
  if (text.starts_with('-')) spelled.push_back('-');
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  std::string_view whole = TakeDigits(&text);
  const bool has_whole = !whole.empty();
  whole.remove_prefix(std::min(whole.find_first_not_of('0'), whole.size()));
  spelled.append(whole.empty() ? "0" : whole);
  bool has_fraction = false;
  const bool has_point = text.starts_with('.');
  if (has_point) {
    text.remove_prefix(1);
    const std::string_view fraction = TakeDigits(&text);
    has_fraction = !fraction.empty();
    spelled.append(".").append(has_fraction ? fraction : "0");
  }
  if (!has_whole && !has_fraction) return {};
  if (text.empty()) return spelled;
  if (text[0] != 'e' && text[0] != 'E') return {};
  return spelled.append(text);
}

}  // namespace

std::optional<Value> ParsePointValue(std::string_view text) {
  if (std::optional<Value> number = ParseNumber(text)) return number;
  const std::string spelled = Respelled(text);
  return spelled.empty() ? std::nullopt : ParseNumber(spelled);
}

std::optional<TimeUs> PointTime(int64_t time) {
  if (time <= 0 || time > kMaxMilliseconds) return std::nullopt;
  return time <= kMaxSeconds ? time * kUsPerSecond : time * 1000;
}

std::optional<TimeUs> ParsePointTime(std::string_view text) {
  const size_t point = text.find('.');
  const std::optional<int64_t> whole = ParseDigits(text.substr(0, point));
  if (!whole) return std::nullopt;
  if (point == text.npos) return PointTime(*whole);
  std::string_view rest = text.substr(point + 1);
  const std::string_view fraction = TakeDigits(&rest);
  if (fraction.empty() || !rest.empty() || *whole > kMaxSeconds) return std::nullopt;
  std::string digits(fraction.substr(0, kMicrosecondDigits));
  digits.resize(kMicrosecondDigits, '0');
  const TimeUs time = *whole * kUsPerSecond + *ParseDigits(digits);
  return time > 0 ? std::optional(time) : std::nullopt;
}

}  // namespace tallyd
