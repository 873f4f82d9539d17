#include "tools/transfer/csv_spelling.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "config/values/value.h"
#include "ingest/text/json_text.h"

namespace tallyd {
namespace {

// What answers call the time, and a field of that name that is not the time.
constexpr std::string_view kTime = "ts";
constexpr std::string_view kFieldLikeTime = "field.ts";
constexpr size_t kShownBytes = 100;

Error NoEvents(std::string_view found) {
  return Error(ErrorCode::kIo, "the daemon answers with what is no CSV of events: " +
                                   std::string(found.substr(0, kShownBytes)));
}

// The cells of a record without its line end, as they are spelled.
std::vector<std::string_view> CellsOf(std::string_view record) {
  std::vector<std::string_view> cells;
  bool quoted = false;
  size_t begin = 0;
  for (size_t at = 0; at < record.size(); ++at) {
    if (record[at] == '"') quoted = !quoted;
    if (record[at] != ',' || quoted) continue;
    cells.push_back(record.substr(begin, at - begin));
    begin = at + 1;
  }
  cells.push_back(record.substr(begin));
  return cells;
}

// Always in quotes, which a header may have: a name is no number there.
std::string QuotedCell(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '"') quoted.push_back('"');
    quoted.push_back(c);
  }
  quoted.push_back('"');
  return quoted;
}

std::string CellOfName(std::string_view name) {
  const bool is_plain = name.find_first_of(",\"\r\n") == std::string_view::npos;
  return is_plain ? std::string(name) : QuotedCell(name);
}

}  // namespace

std::string_view FirstRecord(std::string_view csv) {
  bool quoted = false;
  for (size_t at = 0; at < csv.size(); ++at) {
    if (csv[at] == '"') quoted = !quoted;
    if (csv[at] == '\n' && !quoted) return csv.substr(0, at + 1);
  }
  return csv;
}

Result<std::string> CsvSpelling::Header(std::string_view header) const {
  const size_t end = header.find_last_not_of("\r\n") + 1;  // 0: nothing else.
  const std::string_view line_end = header.substr(end);
  const std::vector<std::string_view> cells = CellsOf(header.substr(0, end));
  if (cells.front() != kTime) return NoEvents(header);
  // A table that goes by a time of its own has it among the fields, as it was sent.
  const std::string time = CellOfName(time_field_);
  if (std::ranges::find(cells.begin() + 1, cells.end(), time) != cells.end()) {
    return std::string(header);
  }
  std::set<std::string> names;
  std::string spelled;
  for (size_t i = 0; i < cells.size(); ++i) {
    std::string cell(cells[i]);
    if (i == 0) cell = time;
    if (i > 0 && time_field_ != kTime && cell == kFieldLikeTime) cell = kTime;
    const bool is_quoted = cell.starts_with('"');
    if (!names.insert(is_quoted ? cell : QuotedCell(cell)).second) {
      return Error(ErrorCode::kConflict,
                   fmt::format("two columns would be called {}: use NDJSON", cell));
    }
    if (i > 0) spelled.push_back(',');
    spelled += cell;
  }
  return spelled.append(line_end);
}

Status CsvSpelling::AppendLines(std::string_view lines, std::string* out) const {
  if (unit_ == kAnswerTimeUnit) {
    out->append(lines);
    return {};
  }
  while (!lines.empty()) {
    const std::string_view record = FirstRecord(lines);
    lines.remove_prefix(record.size());
    const std::string_view time = record.substr(0, record.find_first_of(",\r\n"));
    const std::optional<Value> number = ParseNumber(time);
    if (!number) return NoEvents(record);
    const Result<TimeUs> at = ParseEventTime(*number, kAnswerTimeUnit, time);
    if (!at) return NoEvents(record);
    AppendTime(*at, unit_, out);
    out->append(record.substr(time.size()));
  }
  return {};
}

}  // namespace tallyd
