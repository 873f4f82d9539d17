#include "config/values/daily.h"

#include <vector>

#include "config/values/calendar_format.h"
#include "config/values/digits.h"

namespace tallyd {
namespace {

constexpr std::string_view kDatePlaceholder = "{date}";
constexpr std::string_view kCompactDate = "%Y%m%d";
constexpr std::string_view kDate = "%Y-%m-%d";
constexpr size_t kCompactDateBytes = 8;

std::optional<TimeUs> FindDate(std::string_view format, std::string_view text) {
  const std::optional<TimeRange> period = FindCalendarPeriod(format, text);
  if (!period) return std::nullopt;
  return period->from;
}

std::string Formatted(std::string_view format, TimeUs day) {
  std::string text;
  AppendCalendar(format, day, &text);
  return text;
}

// The name with '0' for each digit of the date.
std::string WithoutDate(const Daily& daily, std::vector<bool>* of_date) {
  of_date->assign(daily.before.size(), false);
  of_date->resize(daily.before.size() + kCompactDateBytes, true);
  of_date->resize(of_date->size() + daily.after.size(), false);
  return daily.before + std::string(kCompactDateBytes, '0') + daily.after;
}

}  // namespace

std::string Daily::NameOf(TimeUs day) const { return before + CompactDate(day) + after; }

std::optional<TimeUs> Daily::FindDay(std::string_view table) const {
  if (table.size() != before.size() + kCompactDateBytes + after.size()) return std::nullopt;
  if (!table.starts_with(before) || !table.ends_with(after)) return std::nullopt;
  return ParseCompactDate(table.substr(before.size(), kCompactDateBytes));
}

std::string CompactDate(TimeUs day) { return Formatted(kCompactDate, day); }
std::string FormatDate(TimeUs day) { return Formatted(kDate, day); }

std::optional<TimeUs> ParseCompactDate(std::string_view text) {
  return FindDate(kCompactDate, text);
}
std::optional<TimeUs> ParseDate(std::string_view text) { return FindDate(kDate, text); }

Result<Daily> ParseDailyName(std::string_view text) {
  const size_t at = text.find(kDatePlaceholder);
  Daily daily;
  daily.before = text.substr(0, at);
  if (at != std::string_view::npos) daily.after = text.substr(at + kDatePlaceholder.size());
  const bool has_braces = (daily.before + daily.after).find_first_of("{}") != std::string::npos;
  if (at == std::string_view::npos || has_braces) {
    return Invalid("\"" + std::string(text) +
                   "\" names no table for each day; accepted: a table's name with {date} in it "
                   "once, as \"SENSOR_{date}\"");
  }
  return daily;
}

std::string FormatTimeOfDay(int64_t us) { return Formatted("%H:%M", us); }

std::optional<int64_t> ParseTimeOfDay(std::string_view text) {
  if (text.size() != 5 || text[2] != ':') return std::nullopt;
  const std::optional<int64_t> hour = ParseDigits(text.substr(0, 2));
  const std::optional<int64_t> minute = ParseDigits(text.substr(3));
  if (!hour || !minute || *hour > 23 || *minute > 59) return std::nullopt;
  return (*hour * 60 + *minute) * 60 * kUsPerSecond;
}

bool MayShareNames(const Daily& a, const Daily& b) {
  std::vector<bool> date_of_a;
  std::vector<bool> date_of_b;
  const std::string name_of_a = WithoutDate(a, &date_of_a);
  const std::string name_of_b = WithoutDate(b, &date_of_b);
  if (name_of_a.size() != name_of_b.size()) return false;
  for (size_t i = 0; i < name_of_a.size(); ++i) {
    if (date_of_a[i] && date_of_b[i]) continue;
    if (date_of_a[i] && IsDigit(name_of_b[i])) continue;
    if (date_of_b[i] && IsDigit(name_of_a[i])) continue;
    if (date_of_a[i] || date_of_b[i] || name_of_a[i] != name_of_b[i]) return false;
  }
  return true;
}

}  // namespace tallyd
