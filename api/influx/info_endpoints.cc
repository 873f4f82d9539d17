#include "api/influx/info_endpoints.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/influx/influx_endpoint.h"
#include "api/influx/query_statement.h"
#include "ingest/text/json.h"

namespace tallyd {

namespace asio = boost::asio;

namespace {

Response WithInfluxHeaders(Response answer) {
  AddInfluxHeaders(&answer);
  return answer;
}

class PingEndpoint final : public InfluxEndpoint {
 public:
  explicit PingEndpoint(Exchange& exchange) : InfluxEndpoint(exchange, InfluxDialect::kV1) {}

  asio::awaitable<Response> Answer() override {
    const std::string_view verbose = exchange_.request.params.Get("verbose").value_or("");
    Response answer;
    if (verbose.empty() || verbose == "0" || verbose == "false") {
      answer.status = 204;
    } else {
      answer = Response::Of(200, Json{{"version", kSpokenInflux}});
    }
    co_return WithInfluxHeaders(std::move(answer));
  }
};

class HealthEndpoint final : public InfluxEndpoint {
 public:
  explicit HealthEndpoint(Exchange& exchange) : InfluxEndpoint(exchange, InfluxDialect::kV2) {}

  asio::awaitable<Response> Answer() override {
    const bool is_ready = context().WhyNotReady().empty();
    const Json health = {
        {"name", "influxdb"},
        {"message", is_ready ? "ready for queries and writes" : "writes have to wait"},
        {"status", is_ready ? "pass" : "fail"},
        {"checks", Json::array()},
        {"version", kSpokenInflux}};
    co_return WithInfluxHeaders(Response::Of(is_ready ? 200 : 503, health));
  }
};

class QueryEndpointOfInflux final : public InfluxEndpoint {
 public:
  explicit QueryEndpointOfInflux(Exchange& exchange)
      : InfluxEndpoint(exchange, InfluxDialect::kV1) {}

  asio::awaitable<Response> Answer() override {
    Response answer = AnswerTo(exchange_.body.bytes);
    exchange_.body.LetGo();
    co_return answer;
  }

 private:
  Response AnswerTo(std::string_view form);
  Json ResultOf(InfluxStatement statement, size_t id, std::string_view database) const;
};

// The question stands in the target or, as a form, in the body.
Response QueryEndpointOfInflux::AnswerTo(std::string_view form) {
  const Result<Params> posted = Params::Parse(form);
  const auto find = [&](std::string_view name) {
    const auto value = request().params.Get(name);
    return value || !posted ? value : posted->Get(name);
  };
  const std::string_view text = find("q").value_or("");
  if (text.empty()) return InfluxError(dialect(), 400, "missing required parameter \"q\"");
  const Result<std::vector<InfluxStatement>> statements = ParseInfluxStatements(text);
  if (!statements) {
    return InfluxError(dialect(), 400, "error parsing query: " + statements.error().message());
  }
  Json results = Json::array();
  for (size_t i = 0; i < statements->size(); ++i) {
    results.push_back(ResultOf((*statements)[i], i, find("db").value_or("")));
  }
  return WithInfluxHeaders(Response::Of(200, Json{{"results", std::move(results)}}));
}

Json QueryEndpointOfInflux::ResultOf(InfluxStatement statement, size_t id,
                                     std::string_view database) const {
  Json result = {{"statement_id", id}};
  if (statement == InfluxStatement::kCreateDatabase) return result;
  // Agents look for the one that they write to.
  Json names = Json::array();
  const std::string own = protocol().has_fixed_stream() ? protocol().stream : "tallyd";
  if (!database.empty() && database != own) names.push_back(Json::array({database}));
  names.push_back(Json::array({own}));
  Json series = {
      {"name", "databases"}, {"columns", Json::array({"name"})}, {"values", std::move(names)}};
  result["series"] = Json::array({std::move(series)});
  return result;
}

}  // namespace

std::unique_ptr<Endpoint> MakeInfluxPing(Exchange& exchange) {
  return std::make_unique<PingEndpoint>(exchange);
}

std::unique_ptr<Endpoint> MakeInfluxHealth(Exchange& exchange) {
  return std::make_unique<HealthEndpoint>(exchange);
}

std::unique_ptr<Endpoint> MakeInfluxQuery(Exchange& exchange) {
  return std::make_unique<QueryEndpointOfInflux>(exchange);
}

}  // namespace tallyd
