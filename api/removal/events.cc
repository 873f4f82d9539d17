// DELETE /v1/streams/{stream}/events.
#include <fmt/format.h>

#include <utility>

#include "api/handlers.h"
#include "api/query/read_event_query.h"
#include "api/removal/count_json.h"
#include "config/schema/table_rules.h"
#include "ingest/text/json.h"
#include "service/removal/event_removal.h"
#include "service/rows/row_query.h"

namespace tallyd {
namespace {

// Whether tables that cannot be removed from without doubt stay as they are (`aggregates=keep`).
Result<bool> KeepsAggregates(const Params& params) {
  const auto aggregates = params.Get("aggregates");
  if (!aggregates || *aggregates == "keep") return aggregates.has_value();
  return Invalid(
      fmt::format("aggregates: '{}' is not keep, which leaves tables as they are of "
                  "whose buckets the range takes a part",
                  *aggregates));
}

Json JsonOfRemoved(const EventsRemoved& removed) {
  Json tables = Json::object();
  for (const EventsRemoved::OfTable& table : removed.tables) {
    Json& told = tables[table.table] = {{"ranges", table.ranges}};
    told.update(JsonOfCount(table.count));
    if (!table.time_field.empty()) told["time"] = JsonName(table.time_field);
  }
  Json answer = {{"tables", std::move(tables)}};
  if (!removed.kept.empty()) answer["kept"] = removed.kept;
  if (removed.held_rows > 0) answer["held_rows"] = removed.held_rows;
  return answer;
}

}  // namespace

Response DeleteEvents(const Request& request, ApiContext& context) {
  EventRemoval removal(context.removal_parts(request.principal));
  const Result<EventRequest> asked = ReadEventRequest(request, context, QueryKind::kRemoval);
  if (!asked) return ProblemOf(asked.error());
  if (Status whose = EventRemoval::CheckEntity(asked->query); !whose) {
    return ProblemOf(whose.error());
  }
  const Result<bool> keeps_aggregates = KeepsAggregates(request.params);
  if (!keeps_aggregates) return ProblemOf(keeps_aggregates.error());
  const Result<EventsRemoved> removed = removal.Run(asked->query, *keeps_aggregates);
  return removed ? Response::Of(200, JsonOfRemoved(*removed)) : ProblemOf(removed.error());
}

}  // namespace tallyd
