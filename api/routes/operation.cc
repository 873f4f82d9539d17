// What operators ask: health, readiness, metrics, status, reload, backup.
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <tuple>

#include "api/handlers.h"
#include "api/lint/findings_json.h"
#include "api/metrics/process_metrics.h"
#include "api/metrics/store_gauges.h"
#include "api/routes/nightly_json.h"
#include "api/warnings.h"
#include "ingest/text/json.h"
#include "service/fill/filler.h"
#include "service/removal/latest_restorer.h"
#include "service/series/series_indexes.h"

namespace tallyd {

namespace {

Json JsonOfStore(const StoreState& state) {
  Json json = {{"writable", state.writable},
               {"reason", JsonOfText(state.reason)},
               {"queued_bytes", state.queued_bytes},
               {"queued_batches", state.queued_batches}};
  if (!state.members.empty()) json.update(JsonOfMembers(state.members));
  return json;
}

// What the engine has, and what it has not.
Json JsonOfEngine(const Capabilities& capabilities) {
  Json json = {{"name", capabilities.engine}};
  for (const auto& [name, has] : NamesOf(capabilities)) json[std::string(name)] = has;
  return json;
}

// What there is of what is bounded, and what is larger than recommended.
Json JsonOfLimits(ApiContext& context) {
  constexpr size_t kMostRows = 100;
  Json rows = Json::array();
  for (const RowSizes::LargeRow& row : context.row_sizes.Large()) {
    if (rows.size() == kMostRows) break;
    rows.push_back(
        {{"table", row.table->name}, {"key", JsonOfText(row.key)}, {"bytes", row.bytes}});
  }
  Json families = Json::array();
  const std::vector<TablePtr> tables = context.store.Tables();
  for (const TablePtr& table : tables) {
    const auto configured = std::ranges::count(table->families, true, &StoredFamily::configured);
    if (configured > static_cast<ptrdiff_t>(kRecommendedFamilies)) {
      families.push_back({{"table", table->name}, {"families", configured}});
    }
  }
  return {{"tables", tables.size()},
          {"tables_max", kMaxTables},
          {"large_values", static_cast<uint64_t>(context.metrics.large_values.Value())},
          {"large_rows", std::move(rows)},
          {"many_families", std::move(families)}};
}

const char* NameOf(FillState::Kind kind) {
  switch (kind) {
    case FillState::Kind::kFilling:
      return "filling";
    case FillState::Kind::kChecking:
      return "checking";
    case FillState::Kind::kWaiting:
      return "waiting";
    case FillState::Kind::kStuck:
      return "incomplete";
    case FillState::Kind::kDeclined:
      return "declined";
    case FillState::Kind::kNotFilled:
      return "failed";
    case FillState::Kind::kFilled:
      return "filled";
  }
  return "";
}

// The tables that lack something, and those that were filled.
Json JsonOfFills(ApiContext& context) {
  Json json = Json::array();
  for (const FillState& state : context.jobs.filler.States()) {
    const FillRecord& record = state.record;
    Json one = {{"table", record.table}, {"state", NameOf(state.kind)}};
    if (!state.why.empty()) one["reason"] = JsonOfText(state.why);
    if (!record.source.empty()) {
      one["from"] = record.source;
      one["events"] = record.events;
      if (record.passed > 0) one["events_outside"] = record.passed;
      if (record.compared > 0) one["values_compared"] = record.compared;
      if (record.through <= kMaxTimeUs) one["through"] = JsonOfTime(record.through);
    }
    if (record.before < kNeverWhole) one["before"] = JsonOfTime(record.before);
    if (record.began_at > 0) one["began_at"] = JsonOfTime(record.began_at);
    if (record.ended_at > 0) one["ended_at"] = JsonOfTime(record.ended_at);
    json.push_back(std::move(one));
  }
  return json;
}

Json JsonOfClock(const RetentionClock::State& clock) {
  return {{"time", JsonOfTime(clock.time)},
          {"lag_s", JsonOfSeconds(clock.lag_us)},
          {"believes_wall_clock", clock.believes_wall},
          {"believes_in_s", clock.believes_in_us / kUsPerSecond}};
}

Json JsonOfTls(const TlsMetrics& tls) {
  const auto count = [](const prometheus::Counter& counter) {
    return static_cast<uint64_t>(counter.Value());
  };
  Json failed;
  for (size_t i = 0; i < tls.failed.size(); ++i) {
    failed[std::string(NameOf(static_cast<TlsFailure>(i)))] = count(*tls.failed[i]);
  }
  Json json = {{"connections", static_cast<uint64_t>(tls.connections.Value())},
               {"handshakes", {{"full", count(tls.full)}, {"resumed", count(tls.resumed)}}},
               {"handshakes_failed", std::move(failed)}};
  const auto expires = static_cast<TimeUs>(tls.valid_to.Value() * kUsPerSecond);
  if (expires > 0) json["certificate_expires"] = FormatRfc3339(expires);
  return json;
}

// The first findings, and how many there are of each severity.
Json JsonOfLint(const std::vector<LintFinding>& findings) {
  constexpr size_t kMostShown = 20;
  const auto count = [&](Severity severity) {
    return std::ranges::count(findings, severity, &LintFinding::severity);
  };
  return {{"errors", count(Severity::kError)},
          {"warnings", count(Severity::kWarn)},
          {"hints", count(Severity::kInfo)},
          {"findings", JsonOfFindings(findings, kMostShown)}};
}

prometheus::MetricFamily GaugeOf(const char* name, const char* help, uint64_t value) {
  prometheus::ClientMetric metric;
  metric.gauge.value = static_cast<double>(value);
  return {name, help, prometheus::MetricType::Gauge, {metric}};
}

// Of each table whose series are followed, as they are counted.
template <class Use>
void ForEachSeriesIndex(const ApiContext& context, const Use& use) {
  const auto snapshot = context.snapshot();
  if (snapshot == nullptr || snapshot->series == nullptr) return;
  for (const auto& [stream, of] : snapshot->series->streams) {
    for (const SeriesIndexPtr& index : of.tables) use(stream, *index);
  }
}

Json JsonOfSeries(const ApiContext& context) {
  Json json = Json::array();
  ForEachSeriesIndex(context, [&json](const std::string& stream, const SeriesIndex& index) {
    json.push_back({{"stream", stream},
                    {"table", index.table()->name},
                    {"series", index.size()},
                    {"complete", index.is_complete()},
                    {"bytes", index.bytes()}});
  });
  return json;
}

prometheus::MetricFamily SeriesGauge(const ApiContext& context) {
  prometheus::MetricFamily family = {"tallyd_series",
                                     "Series of a table, of streams with labels or max_series.",
                                     prometheus::MetricType::Gauge,
                                     {}};
  ForEachSeriesIndex(context, [&family](const std::string& stream, const SeriesIndex& index) {
    prometheus::ClientMetric& metric = family.metric.emplace_back();
    metric.gauge.value = static_cast<double>(index.size());
    metric.label.push_back({"stream", stream});
    metric.label.push_back({"table", index.table()->name});
  });
  return family;
}

Result<std::string> ReadBackupTarget(std::string_view body) {
  constexpr size_t kMaxBodyBytes = 64u << 10;
  if (body.size() > kMaxBodyBytes) return Error(ErrorCode::kTooLarge, "the body is too large");
  const auto json = Json::parse(body, nullptr, false);
  const auto to = json.is_object() ? json.find("to") : json.end();
  if (!json.is_object() || to == json.end() || !to->is_string() || json.size() != 1) {
    return Invalid(R"(the body is to be {"to": "DIR"} with the absolute path of a directory)");
  }
  return to->get<std::string>();
}

}  // namespace

Response GetHealth(const Request&, ApiContext&) { return Response::Of(200, {{"status", "ok"}}); }

Response GetReady(const Request&, ApiContext& context) {
  const std::string_view why = context.WhyNotReady();
  if (why.empty()) return Response::Of(200, {{"status", "ready"}});
  Response response = Response::Of(503, {{"status", "not ready"}, {"why", std::string(why)}});
  response.headers.emplace_back("Retry-After", "1");
  return response;
}

Response GetMetrics(const Request&, ApiContext& context) {
  std::vector<prometheus::MetricFamily> families = context.registry.Collect();
  for (prometheus::MetricFamily& family : GaugesOf(context.store.State())) {
    families.push_back(std::move(family));
  }
  families.push_back(GaugeOf("tallyd_query_memory_bytes",
                             "What running reads hold, of server.query_memory.",
                             context.query_memory.held()));
  families.push_back(GaugeOf("tallyd_queries_waiting_for_memory",
                             "Reads that wait until others have given back some.",
                             context.query_memory.waiting()));
  families.push_back(GaugeOf("tallyd_body_memory_bytes",
                             "What bodies of requests hold, of server.body_memory.",
                             context.bodies.held()));
  // A store that is away would keep whoever wants to know of that waiting.
  const bool may_ask = context.WhyNotReady().empty();
  for (prometheus::MetricFamily& family :
       may_ask ? context.table_gauges.Collect(&context.store) : context.table_gauges.Known()) {
    families.push_back(std::move(family));
  }
  prometheus::MetricFamily series = SeriesGauge(context);
  if (!series.metric.empty()) families.push_back(std::move(series));
  Response response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  for (prometheus::MetricFamily& family : CollectProcessMetrics()) {
    families.push_back(std::move(family));
  }
  response.body = prometheus::TextSerializer().Serialize(families);
  return response;
}

Response GetStatus(const Request& request, ApiContext& context) {
  if (Status ok = request.params.RefuseUnknown({}); !ok) return ProblemOf(ok.error());
  const TimeUs now = context.clock.Now();
  const StoreState state = context.store.State();
  Json orphans = Json::array();
  for (const TablePtr& table : context.store.Tables()) {
    if (table->orphaned) orphans.push_back(JsonOfText(table->name));
  }
  return Response::Of(200, {{"version", context.version},
                            {"ready", context.WhyNotReady().empty()},
                            {"uptime_s", (now - context.started) / kUsPerSecond},
                            {"now", JsonOfTime(now)},
                            {"unsealed_bytes", state.unsealed_bytes},
                            {"engine", JsonOfEngine(context.store.capabilities())},
                            {"store", JsonOfStore(state)},
                            {"retention_clock", JsonOfClock(state.retention)},
                            {"nightly", JsonOfNightly(context)},
                            {"fills", JsonOfFills(context)},
                            {"limits", JsonOfLimits(context)},
                            {"series", JsonOfSeries(context)},
                            {"tls", JsonOfTls(context.metrics.tls)},
                            {"orphaned_tables", std::move(orphans)},
                            {"lint", JsonOfLint(context.snapshot()->findings)}});
}

Response PostSettle(const Request& request, ApiContext& context) {
  if (Status ok = request.params.RefuseUnknown({}); !ok) return ProblemOf(ok.error());
  const TimeUs start = context.clock.Now();
  // What it cannot do now is tried again, and told in the log.
  std::ignore = context.jobs.restorer.Look();
  if (Status told = context.writer.series().Settle(); !told) return ProblemOf(told.error());
  if (Status settled = context.store.Settle(); !settled) return ProblemOf(settled.error());
  const int64_t took_us = context.clock.Now() - start;
  return Response::Of(200, {{"settled", true},
                            {"unsealed_bytes", context.store.State().unsealed_bytes},
                            {"seconds", JsonOfSeconds(took_us)}});
}

Response PostBackup(const Request& request, ApiContext& context) {
  if (Status ok = request.params.RefuseUnknown({}); !ok) return ProblemOf(ok.error());
  const Result<std::string> to = ReadBackupTarget(request.body);
  if (!to) return ProblemOf(to.error());
  const Result<StoreMember::Members> made = context.store.Backup(*to, context.stopping);
  if (!made) return ProblemOf(made.error());
  return Response::Of(200, JsonOfMembers(*made));
}

Response PostTrustClock(const Request& request, ApiContext& context) {
  if (Status ok = request.params.RefuseUnknown({}); !ok) return ProblemOf(ok.error());
  if (Status trusted = context.store.TrustClock(); !trusted) return ProblemOf(trusted.error());
  return Response::Of(200, {{"retention_clock", JsonOfClock(context.store.State().retention)}});
}

Response PostReload(const Request& request, ApiContext& context) {
  if (Status ok = request.params.RefuseUnknown({}); !ok) return ProblemOf(ok.error());
  const Result<Reloaded> reloaded = context.reload();
  if (!reloaded) return ProblemOf(reloaded.error().Prefixed("the configuration in force stays"));
  Json answer = {{"status", "reloaded"}};
  for (const auto& [what, names] : {std::pair("streams", &reloaded->streams),
                                    std::pair("tables", &reloaded->tables)}) {
    if (!names->empty()) answer["removed"][what] = *names;
  }
  AddWarnings(reloaded->warnings, &answer);
  return Response::Of(200, answer);
}

}  // namespace tallyd
