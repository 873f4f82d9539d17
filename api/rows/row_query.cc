#include "api/rows/row_query.h"

#include <algorithm>
#include <utility>
#include <vector>

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

Status ReadCursor(const Params& params, RowQuery* query) {
  const auto cursor = params.Get("cursor");
  if (!cursor) return {};
  Result<CursorReader> reader = CursorReader::Open(*cursor, query->hash);
  if (!reader) return reader.error();
  std::string last;
  if (!reader->TakeText(&last) || !reader->AtEnd()) return BadCursor();
  if (query->spec.reverse) {
    query->spec.ranges.front().end = last;
  } else {
    query->spec.ranges.front().start = last + '\0';
  }
  return {};
}

Status ReadAnswer(const Request& request, RowCount count, RowQuery* query) {
  const Params& params = request.params;
  if (const auto value = params.Get("value")) query->value = *value;
  const Result<bool> raw = params.Flag("raw");
  if (!raw) return raw.error();
  query->raw = *raw;
  const Result<AnswerFormat> format = ChooseFormat(request);
  if (!format) return format.error();
  query->format = *format;
  if (count == RowCount::kOne) return {};
  const Result<bool> reverse = params.Flag("reverse");
  if (!reverse) return reverse.error();
  query->spec.reverse = *reverse;
  const Result<std::optional<uint64_t>> limit = params.Number("limit", 1, kMaxLimit);
  if (!limit) return limit.error();
  query->limit = *limit;
  const bool is_page = query->limit || query->format == AnswerFormat::kJson;
  // One more tells whether there is a next page.
  if (is_page && !query->value) query->spec.limit = query->limit.value_or(kDefaultLimit) + 1;
  if (Status status = ReadRange(params, &query->spec.ranges.front()); !status) return status;
  return ReadCursor(params, query);
}

}  // namespace

Result<TablePtr> FindStoredTable(const Store& store, std::string_view name) {
  if (TablePtr table = store.FindTable(name)) return table;
  std::vector<std::string> names;
  for (const TablePtr& table : store.Tables()) names.push_back(table->name);
  std::string message = "there is no table '" + std::string(name) + "'";
  const std::vector<std::string> nearest = NearestNames(name, names);
  for (size_t i = 0; i < nearest.size(); ++i) {
    message += (i == 0 ? "; the nearest are '" : ", '") + nearest[i] + "'";
  }
  return Error(ErrorCode::kNotFound, std::move(message));
}

KeyRange RangeOfKey(std::string_view key) { return {std::string(key), std::string(key) + '\0'}; }

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

Result<RowQuery> ParseRowQuery(const Request& request, ApiContext& context, RowCount count) {
  RowQuery query;
  query.snapshot = context.snapshot();
  const std::string& name = request.arguments[0];
  const Result<TablePtr> stored = FindStoredTable(context.store, name);
  if (!stored) return stored.error();
  query.stored = *stored;
  query.table = query.snapshot->schema->FindTable(name);
  query.hash = HashOfQuery("rows", name, request.params);
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
  if (Status status = ReadAnswer(request, count, &query); !status) return status.error();
  if (count == RowCount::kOne) query.spec.ranges = {RangeOfKey(request.arguments[1])};
  return query;
}

}  // namespace tallyd
