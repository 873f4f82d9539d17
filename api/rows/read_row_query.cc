#include "api/rows/read_row_query.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "api/answer.h"
#include "api/cursor.h"
#include "config/values/glob.h"

namespace tallyd {
namespace {

Status ReadRange(const Params& params, KeyRange* range) {
  const auto prefix = params.Get("prefix");
  const auto start = params.Get("start");
  const auto end = params.Get("end");
  if (prefix && (start || end)) return Invalid("prefix: give either prefix, or start and end");
  if (prefix) *range = PrefixRange(*prefix);
  if (start) range->start = *start;
  if (end) {
    if (end->empty()) return Invalid("end: it is empty; leave it out to read to the table's end");
    range->end = *end;
  }
  return {};
}

bool HasFamily(const TableInfo& table, std::string_view pattern) {
  return std::ranges::any_of(table.families, [pattern](const StoredFamily& family) {
    return GlobMatches(pattern, family.name);
  });
}

// "METRIC:CPU/*", "METRIC" (the whole family), "*:CPU/*".
Status ReadColumns(const Params& params, const TableInfo& table,
                   std::vector<ColumnPattern>* columns) {
  for (const std::string& text : params.List("columns")) {
    const size_t colon = text.find(':');
    ColumnPattern pattern;
    pattern.family = text.substr(0, colon);
    if (colon != text.npos) pattern.qualifier = text.substr(colon + 1);
    if (!HasFamily(table, pattern.family)) {
      std::string message = "columns: " + table.name + " has no family '" + pattern.family + "'";
      for (const StoredFamily& family : table.families) {
        message += (&family == &table.families.front() ? "; it has " : ", ") + family.name;
      }
      return Invalid(std::move(message));
    }
    columns->push_back(std::move(pattern));
  }
  return {};
}

Status ReadVersions(const Params& params, uint32_t* versions) {
  const auto text = params.Get("versions");
  if (!text || *text == "all") return {};
  const Result<std::optional<uint64_t>> number =
      params.Number("versions", 1, std::numeric_limits<uint32_t>::max());
  if (!number)
    return Invalid("versions: an integer from 1, or all; not '" + std::string(*text) + "'");
  *versions = static_cast<uint32_t>(**number);
  return {};
}

Status ReadCursor(const Params& params, uint64_t query_hash, RowQuery* query) {
  const auto cursor = params.Get("cursor");
  if (!cursor) return {};
  Result<CursorReader> reader = CursorReader::Open(*cursor, query_hash);
  if (!reader) return reader.error();
  std::string last;
  if (!reader->TakeText(&last) || !reader->AtEnd()) return BadCursor();
  query->BeginBehind(last);
  return {};
}

Status ReadAnswer(const Request& request, RowCount count, RowRequest* asked) {
  const Params& params = request.params;
  RowQuery* const query = &asked->query;
  if (const auto value = params.Get("value")) query->value = *value;
  const Result<bool> raw = params.Flag("raw");
  if (!raw) return raw.error();
  asked->raw = *raw;
  const Result<AnswerFormat> format = ChooseFormat(request);
  if (!format) return format.error();
  asked->format = *format;
  if (count == RowCount::kOne) return {};
  const Result<bool> reverse = params.Flag("reverse");
  if (!reverse) return reverse.error();
  query->spec.reverse = *reverse;
  const Result<std::optional<uint64_t>> limit = params.Number("limit", 1, kMaxLimit);
  if (!limit) return limit.error();
  query->limit = *limit;
  query->is_page = query->limit || asked->format == AnswerFormat::kJson;
  if (Status status = ReadRange(params, &query->spec.ranges.front()); !status) return status;
  return ReadCursor(params, asked->hash, query);
}

}  // namespace

Result<TimeRange> ParseCellTimes(const Params& params, TimeUs now) {
  TimeRange range;
  for (const auto& [name, bound] : {std::pair{"from", &range.from}, std::pair{"to", &range.to}}) {
    const auto text = params.Get(name);
    if (!text) continue;
    const Result<TimeUs> time = ParseQueryTime(*text, now);
    if (!time) return time.error().Prefixed(name);
    *bound = *time;
  }
  if (range.from > range.to) return Invalid("from: it lies after to");
  return range;
}

std::string RowCursor(std::string_view last_key, uint64_t query_hash) {
  CursorWriter cursor(query_hash);
  cursor.AddText(last_key);
  return cursor.Finish();
}

Result<RowRequest> ReadRowRequest(const Request& request, ApiContext& context, RowCount count) {
  RowRequest asked;
  RowQuery& query = asked.query;
  query.access = context.AccessOf(*request.principal);
  const std::string& name = request.arguments[0];
  const Result<TablePtr> stored = FindStoredTable(query.access, context.store, name);
  if (!stored) return stored.error();
  query.stored = *stored;
  query.table = query.access.schema().FindTable(name);
  asked.hash = HashOfQuery("rows", name, request.params);
  const Params& params = request.params;
  std::vector<std::string> names = {"columns", "from", "to", "versions", "value", "raw", "format"};
  if (count == RowCount::kMany) {
    names.insert(names.end(), {"prefix", "start", "end", "reverse", "limit", "cursor"});
  }
  if (Status status = params.RefuseUnknown(names); !status) return status.error();
  if (Status status = params.RefuseRepeated({"columns"}); !status) return status.error();
  if (Status status = ReadColumns(params, *query.stored, &query.spec.columns); !status) {
    return status.error();
  }
  query.spec.now = context.clock.Now();
  const Result<TimeRange> times = ParseCellTimes(params, query.spec.now);
  if (!times) return times.error();
  query.spec.cells = *times;
  if (Status status = ReadVersions(params, &query.spec.versions); !status) return status.error();
  if (Status status = ReadAnswer(request, count, &asked); !status) return status.error();
  if (count == RowCount::kOne) query.spec.ranges = {RangeOfKey(request.arguments[1])};
  return asked;
}

}  // namespace tallyd
