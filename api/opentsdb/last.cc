// /api/query/last: the newest point of each series.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/opentsdb/metric_text.h"
#include "api/opentsdb/query_answer.h"
#include "api/opentsdb/query_request.h"
#include "api/opentsdb/question_parts.h"
#include "api/opentsdb/questions.h"
#include "service/points/metrics.h"
#include "service/points/read_series.h"

namespace tallyd {
namespace {

constexpr size_t kMostLastQueries = 256;

struct LastQuery {
  std::vector<MetricText> series;
  std::vector<SeriesName> named;
  int64_t back_us = 0;  // Of history, where no latest table tells.
  bool resolves = false;
};

Status AddSeries(std::string_view text, LastQuery* query) {
  Result<MetricText> metric = ParseMetricText(text);
  if (!metric) return metric.error();
  query->series.push_back(std::move(*metric));
  return {};
}

Status AddTsuid(std::string_view text, LastQuery* query) {
  std::optional<SeriesName> name = DecodeTsuid(text);
  if (!name) return Invalid("No such TSUID: '" + std::string(text.substr(0, 100)) + "'");
  query->named.push_back(std::move(*name));
  return {};
}

Status SetBackScan(uint64_t hours, LastQuery* query) {
  constexpr uint64_t kMostHours = kMaxTimeUs / (3600 * kUsPerSecond);
  query->back_us = static_cast<int64_t>(std::min(hours, kMostHours)) * 3600 * kUsPerSecond;
  return {};
}

Status ReadParams(const Params& params, LastQuery* query) {
  query->resolves = params.Has("resolve");
  const auto hours = params.Number("back_scan", 0, UINT32_MAX);
  if (!hours) return hours.error();
  if (Status status = SetBackScan(hours->value_or(0), query); !status) return status;
  for (const auto& [name, value] : params.all()) {
    Status status;
    if (name == "timeseries") status = AddSeries(value, query);
    if (!status) return status;
  }
  for (const std::string& tsuid : params.List("tsuids")) {
    if (Status status = AddTsuid(tsuid, query); !status) return status;
  }
  return {};
}

Status ReadMember(const Json& one, LastQuery* query) {
  if (!one.is_object()) return Invalid("queries: one of them is no object");
  if (const auto tsuids = one.find("tsuids"); tsuids != one.end() && tsuids->is_array()) {
    for (const Json& tsuid : *tsuids) {
      const std::string text = tsuid.is_string() ? tsuid.get<std::string>() : std::string();
      if (Status status = AddTsuid(text, query); !status) return status;
    }
    return {};
  }
  const auto metric = one.find("metric");
  if (metric == one.end() || !metric->is_string()) return Invalid("Missing the metric or tsuids");
  MetricText text{metric->get<std::string>(), {}};
  if (const auto tags = one.find("tags"); tags != one.end() && tags->is_object()) {
    for (const auto& [tag, value] : tags->items()) {
      if (!value.is_string()) return Invalid("tags: a value is no text");
      Result<TagFilter> filter = ParseTagValue(tag, value.get_ref<const std::string&>());
      if (!filter) return filter.error();
      text.filters.push_back(std::move(*filter));
    }
  }
  query->series.push_back(std::move(text));
  return {};
}

Status ReadLastBody(std::string_view body, LastQuery* query) {
  const Result<Json> json = ReadQuestionBody(body);
  if (!json) return json.error();
  query->resolves = json->value("resolveNames", Json(false)) == true;
  const Json hours = json->value("backScan", Json(0));
  if (hours.is_number_unsigned()) {
    if (Status status = SetBackScan(hours.get<uint64_t>(), query); !status) return status;
  }
  const auto queries = json->find("queries");
  if (queries == json->end() || !queries->is_array()) return Invalid("Missing queries");
  for (const Json& one : *queries) {
    if (Status status = ReadMember(one, query); !status) return status;
  }
  return {};
}

// The questions of it, each with the metric's name.
std::vector<std::pair<std::string, SeriesQuestion>> QuestionsOf(const LastQuery& query,
                                                                TimeUs now) {
  std::vector<std::pair<std::string, SeriesQuestion>> questions;
  SeriesQuestion newest;
  newest.newest = true;
  newest.time = {now, now};  // Of history nothing.
  if (query.back_us > 0) newest.time = {now - std::min(query.back_us, now), now + 1};
  for (const MetricText& series : query.series) {
    questions.emplace_back(series.metric, newest);
    questions.back().second.filters = series.filters;
  }
  for (const SeriesName& named : query.named) {
    questions.emplace_back(named.metric, newest);
    questions.back().second.only = {named.tags};
  }
  return questions;
}

}  // namespace

Response AnswerOpentsdbLast(const Request& request, ApiContext& context) {
  const Result<bool> is_body = AsksByBody(request);
  if (!is_body) return ProblemOf(is_body.error());
  LastQuery query;
  const Status read =
      *is_body ? ReadLastBody(request.body, &query) : ReadParams(request.params, &query);
  if (!read) return ProblemOf(read.error());
  const auto questions = QuestionsOf(query, context.clock.Now());
  if (questions.empty() || questions.size() > kMostLastQueries) {
    return Problem(400, questions.empty() ? "Missing timeseries or tsuids"
                                          : "there are more than 256 queries");
  }
  const Access access = context.AccessOf(*request.principal);
  const ReadParts parts = context.read_parts();
  const Metrics metrics(access, context.store, OwnStream(context));
  Response response;
  response.held = MemoryCharge(request.memory);
  std::string& body = response.body;
  body = "[";
  for (const auto& [name, asked] : questions) {
    const std::optional<MetricField> metric = metrics.Find(name);
    if (!metric) continue;
    SeriesQuestion question = asked;
    question.metric = *metric;
    const Result<PointSet> set = ReadSeries(question, access, parts, request.memory);
    if (!set) return ProblemOf(set.error());
    for (const PointSeries& series : set->series) {
      if (series.points.empty()) continue;
      const SeriesPoint& point = series.points.back();
      Json json = Json::object();
      if (query.resolves) {
        json = {{"metric", JsonOfText(name)}, {"tags", JsonOfTags(*set, series)}};
      }
      json["timestamp"] = point.time / kUsPerMs;
      json["value"] = ToText(point.value);
      json["tsuid"] = TsuidOf(name, *set, series);
      if (body.size() > 1) body.push_back(',');
      body += Dump(json);
      if (!response.held.Covers(body.capacity())) return ProblemOf(response.held.refusal());
    }
  }
  body.append("]\n");
  return response;
}

}  // namespace tallyd
