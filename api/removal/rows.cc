// Deletes that name a table: rows by prefix, one row, the cells of one column, a whole orphaned
// table. Each answers when it is durable.
#include <fmt/format.h>

#include "api/handlers.h"
#include "api/removal/count_json.h"
#include "api/rows/read_row_query.h"
#include "ingest/text/json.h"
#include "service/removal/row_removal.h"
#include "service/rows/row_query.h"

namespace tallyd {
namespace {

// What a request calls its delete, in the answer.
struct Named {
  const char* what;
  std::string_view name;
};

Response Deleted(const Named& named, const RemovalCount& count) {
  Json answer = {{"deleted", {{named.what, JsonOfText(named.name)}}}};
  answer.update(JsonOfCount(count));
  return Response::Of(200, answer);
}

Response Forget(const Request& request, ApiContext& context, const TablePtr& table,
                const DeleteSpec& what, const Named& named) {
  const Access access = context.AccessOf(*request.principal);
  const Result<RemovalCount> count = RemoveRows(context.removal_parts(request.principal), table,
                                                what, access.ClampOf(table->name));
  return count ? Deleted(named, *count) : ProblemOf(count.error());
}

Result<TablePtr> FindForDelete(const Request& request, ApiContext& context,
                               const std::vector<std::string>& parameters) {
  Result<TablePtr> table =
      FindStoredTable(context.AccessOf(*request.principal), context.store, request.arguments[0]);
  if (!table) return table;
  if (Status known = request.params.RefuseUnknown(parameters); !known) return known.error();
  if (Status once = request.params.RefuseRepeated(); !once) return once.error();
  return table;
}

struct ColumnName {
  FamilyId family;
  std::string qualifier;
};

Result<ColumnName> ParseColumn(const TableInfo& table, std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return Invalid(fmt::format("\"{}\": a column is family:qualifier", text));
  }
  const std::optional<FamilyId> family = table.FindFamily(text.substr(0, colon));
  if (!family) {
    return Error(ErrorCode::kNotFound,
                 fmt::format("table {} has no family \"{}\"", table.name, text.substr(0, colon)));
  }
  return ColumnName{*family, std::string(text.substr(colon + 1))};
}

}  // namespace

Response DeleteRows(const Request& request, ApiContext& context) {
  Result<TablePtr> table = FindForDelete(request, context, {"prefix"});
  if (!table) return ProblemOf(table.error());
  const std::string_view prefix = request.params.Get("prefix").value_or("");
  if (prefix.empty()) {
    return Problem(400, "prefix: say which rows, as in prefix=altostrat%23 with the delimiter");
  }
  DeleteSpec what;
  what.rows = PrefixRange(prefix);
  return Forget(request, context, *table, what, {"prefix", prefix});
}

Response DeleteRow(const Request& request, ApiContext& context) {
  Result<TablePtr> table = FindForDelete(request, context, {});
  if (!table) return ProblemOf(table.error());
  DeleteSpec what;
  what.rows = RangeOfKey(request.arguments[1]);
  return Forget(request, context, *table, what, {"key", request.arguments[1]});
}

Response DeleteCells(const Request& request, ApiContext& context) {
  Result<TablePtr> table = FindForDelete(request, context, {"from", "to"});
  if (!table) return ProblemOf(table.error());
  Result<ColumnName> column = ParseColumn(**table, request.arguments[2]);
  if (!column) return ProblemOf(column.error());
  Result<TimeRange> times = ParseCellTimes(request.params, context.clock.Now());
  if (!times) return ProblemOf(times.error());
  DeleteSpec what;
  what.rows = RangeOfKey(request.arguments[1]);
  what.family = column->family;
  what.qualifier = column->qualifier;
  what.cells = *times;
  return Forget(request, context, *table, what, {"column", request.arguments[2]});
}

Response DropTable(const Request& request, ApiContext& context) {
  Result<TablePtr> table = FindForDelete(request, context, {});
  if (!table) return ProblemOf(table.error());
  if (Status removed = RemoveTable(context.removal_parts(request.principal), *table); !removed) {
    return ProblemOf(removed.error());
  }
  return Response::Of(200, {{"deleted", {{"table", JsonOfText((*table)->name)}}}});
}

}  // namespace tallyd
