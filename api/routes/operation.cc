// What operators ask: health, readiness, metrics, status, reload, backup.
#include <fmt/format.h>
#include <prometheus/text_serializer.h>

#include <nlohmann/json.hpp>

#include "api/cell_json.h"
#include "api/handlers.h"
#include "api/metrics/process_metrics.h"
#include "api/metrics/store_gauges.h"

namespace tallyd {

namespace {

void AppendMembers(const StoreMember::Members& members, std::string* out);

void AppendValue(const StoreMember& member, std::string* out) {
  if (const auto* flag = std::get_if<bool>(&member.value)) {
    *out += *flag ? "true" : "false";
  } else if (const auto* number = std::get_if<uint64_t>(&member.value)) {
    *out += std::to_string(*number);
  } else if (const auto* text = std::get_if<std::string>(&member.value)) {
    AppendJsonString(*text, out);
  } else {
    const auto& members = std::get<StoreMember::Members>(member.value);
    const bool is_list = members.empty() || members.front().name.empty();
    out->push_back(is_list ? '[' : '{');
    AppendMembers(members, out);
    out->push_back(is_list ? ']' : '}');
  }
}

// With commas between them.
void AppendMembers(const StoreMember::Members& members, std::string* out) {
  for (const StoreMember& member : members) {
    if (&member != &members.front()) out->push_back(',');
    if (!member.name.empty()) {
      AppendJsonString(member.name, out);
      out->push_back(':');
    }
    AppendValue(member, out);
  }
}

void AppendStoreState(const StoreState& state, std::string* out) {
  StoreMember::Members members = {{"writable", state.writable},
                                  {"reason", state.reason},
                                  {"queued_bytes", state.queued_bytes},
                                  {"queued_batches", state.queued_batches}};
  members.insert(members.end(), state.members.begin(), state.members.end());
  out->push_back('{');
  AppendMembers(members, out);
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

Result<std::string> ReadBackupTarget(std::string_view body) {
  constexpr size_t kMaxBodyBytes = 64u << 10;
  if (body.size() > kMaxBodyBytes) return Error(ErrorCode::kTooLarge, "the body is too large");
  const auto json = nlohmann::json::parse(body, nullptr, false);
  const auto to = json.is_object() ? json.find("to") : json.end();
  if (!json.is_object() || to == json.end() || !to->is_string() || json.size() != 1) {
    return Invalid(R"(the body is to be {"to": "DIR"} with the absolute path of a directory)");
  }
  return to->get<std::string>();
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
  std::vector<prometheus::MetricFamily> families = context.registry.Collect();
  for (prometheus::MetricFamily& family : GaugesOf(context.store.State())) {
    families.push_back(std::move(family));
  }
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
  std::string body = "{";
  AppendMembers({{"version", context.version}}, &body);
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

Response PostBackup(const Request& request, ApiContext& context) {
  if (Status ok = request.params.RefuseUnknown({}); !ok) return ProblemOf(ok.error());
  const Result<std::string> to = ReadBackupTarget(request.body);
  if (!to) return ProblemOf(to.error());
  const Result<StoreMember::Members> made = context.store.Backup(*to, context.stopping);
  if (!made) return ProblemOf(made.error());
  std::string body = "{";
  AppendMembers(*made, &body);
  return Response::Json(200, body + "}");
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
