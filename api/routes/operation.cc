// What operators ask: health, readiness, metrics, status, reload.
#include <fmt/format.h>
#include <prometheus/text_serializer.h>

#include "api/cell_json.h"
#include "api/handlers.h"

namespace tallyd {

namespace {

void AppendMember(std::string_view name, std::string_view text, std::string* out) {
  AppendJsonString(name, out);
  out->push_back(':');
  AppendJsonString(text, out);
}

void AppendFiles(std::string_view name, const std::vector<FoundFile>& files, std::string* out) {
  AppendJsonString(name, out);
  *out += ":[";
  for (const FoundFile& found : files) {
    if (&found != &files.front()) out->push_back(',');
    out->push_back('{');
    AppendMember("file", found.file, out);
    fmt::format_to(std::back_inserter(*out), ",\"bytes\":{}}}", found.bytes);
  }
  out->push_back(']');
}

void AppendStoreState(const StoreState& state, std::string* out) {
  fmt::format_to(std::back_inserter(*out), "{{\"writable\":{},", state.writable);
  AppendMember("reason", state.reason, out);
  fmt::format_to(std::back_inserter(*out),
                 ",\"queued_bytes\":{},\"queued_batches\":{},\"pending_deletes\":{},"
                 "\"block_files\":{},\"disk_bytes\":{},\"free_bytes\":{},\"level_files\":[{}],",
                 state.queued_bytes, state.queued_batches, state.pending_deletes, state.block_files,
                 state.disk_bytes, state.free_bytes, fmt::join(state.level_files, ","));
  AppendFiles("cut_tails", state.cut_tails, out);
  out->push_back('}');
}

void AppendRetentionClock(const RetentionClock::State& clock, std::string* out) {
  *out += "{\"time\":";
  AppendJsonTime(clock.time, out);
  fmt::format_to(std::back_inserter(*out),
                 ",\"lag_s\":{:.3f},\"believes_wall_clock\":{},\"believes_in_s\":{}}}",
                 static_cast<double>(clock.lag_us) / kUsPerSecond, clock.believes_wall,
                 clock.believes_in_us / kUsPerSecond);
}

}  // namespace

Response GetHealth(const Request&, ApiContext&) {
  return Response::Json(200, R"({"status":"ok"})");
}

Response GetReady(const Request&, ApiContext& context) {
  if (context.ready) return Response::Json(200, R"({"status":"ready"})");
  Response response = Response::Json(503, R"({"status":"not ready"})");
  response.headers.emplace_back("Retry-After", "1");
  return response;
}

Response GetMetrics(const Request&, ApiContext& context) {
  context.gauges.Update(context.store.State());
  Response response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = prometheus::TextSerializer().Serialize(context.registry.Collect());
  return response;
}

Response GetStatus(const Request& request, ApiContext& context) {
  if (Status ok = request.params.RefuseUnknown({}); !ok) return ProblemOf(ok.error());
  std::string body = "{";
  AppendMember("version", context.version, &body);
  const TimeUs now = context.clock.Now();
  fmt::format_to(std::back_inserter(body),
                 ",\"ready\":{},\"uptime_s\":{},\"now\":", context.ready.load(),
                 (now - context.started) / kUsPerSecond);
  AppendJsonTime(now, &body);
  const StoreState state = context.store.State();
  fmt::format_to(std::back_inserter(body),
                 ",\"unsealed_bytes\":{},\"store\":", state.unsealed_bytes);
  AppendStoreState(state, &body);
  body += ",\"retention_clock\":";
  AppendRetentionClock(state.retention, &body);
  body += ",\"orphaned_tables\":[";
  bool first = true;
  for (const TablePtr& table : context.store.Tables()) {
    if (!table->orphaned) continue;
    if (!first) body.push_back(',');
    first = false;
    AppendJsonString(table->name, &body);
  }
  return Response::Json(200, body + "]}");
}

Response PostSettle(const Request& request, ApiContext& context) {
  if (Status ok = request.params.RefuseUnknown({}); !ok) return ProblemOf(ok.error());
  const TimeUs start = context.clock.Now();
  if (Status settled = context.store.Settle(); !settled) return ProblemOf(settled.error());
  const auto took = static_cast<double>(context.clock.Now() - start) / kUsPerSecond;
  return Response::Json(200,
                        fmt::format(R"({{"settled":true,"unsealed_bytes":{},"seconds":{:.3f}}})",
                                    context.store.State().unsealed_bytes, took));
}

Response PostTrustClock(const Request& request, ApiContext& context) {
  if (Status ok = request.params.RefuseUnknown({}); !ok) return ProblemOf(ok.error());
  if (Status trusted = context.store.TrustClock(); !trusted) return ProblemOf(trusted.error());
  std::string body = "{\"retention_clock\":";
  AppendRetentionClock(context.store.State().retention, &body);
  return Response::Json(200, body + "}");
}

Response PostReload(const Request& request, ApiContext& context) {
  if (Status ok = request.params.RefuseUnknown({}); !ok) return ProblemOf(ok.error());
  if (Status reloaded = context.reload(); !reloaded) {
    return ProblemOf(reloaded.error().Prefixed("the configuration in force stays"));
  }
  return Response::Json(200, R"({"status":"reloaded"})");
}

}  // namespace tallyd
