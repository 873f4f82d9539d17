// What there is to ask for: /api/suggest, /api/search/lookup, /api/aggregators,
// /api/config/filters.
#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "api/opentsdb/metric_text.h"
#include "api/opentsdb/query_answer.h"
#include "api/opentsdb/query_request.h"
#include "api/opentsdb/question_parts.h"
#include "api/opentsdb/questions.h"
#include "service/points/find_series.h"
#include "service/points/metrics.h"

namespace tallyd {
namespace {

struct SuggestQuery {
  std::string type;
  std::string prefix;
  size_t most = kOpentsdbMax;
};

std::string TextAt(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// A count of a body: a number, or its text.
Result<size_t> CountAt(const Json& object, const char* name, size_t otherwise) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return otherwise;
  const std::string text = found->is_string() ? found->get<std::string>() : Dump(*found);
  size_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size()) {
    return Invalid("Unable to parse '" + std::string(name) + "' as a number");
  }
  return std::min<size_t>(count, kMaxLimit);
}

// Zero of a list is none; more than a page has are a page.
Result<size_t> CountOf(const Params& params, const char* name) {
  const auto count = params.Number(name, 0, UINT32_MAX);
  if (!count) return count.error();
  return static_cast<size_t>(std::min<uint64_t>(count->value_or(kOpentsdbMax), kMaxLimit));
}

Result<SuggestQuery> ReadSuggest(const Request& request) {
  const Result<bool> is_body = AsksByBody(request);
  if (!is_body) return is_body.error();
  SuggestQuery query;
  if (*is_body) {
    const Result<Json> json = ReadQuestionBody(request.body);
    if (!json) return json.error();
    const Result<size_t> most = CountAt(*json, "max", kOpentsdbMax);
    if (!most) return most.error();
    query = {TextAt(*json, "type"), TextAt(*json, "q"), *most};
  } else {
    const Result<size_t> most = CountOf(request.params, "max");
    if (!most) return most.error();
    query = {std::string(request.params.Get("type").value_or("")),
             std::string(request.params.Get("q").value_or("")), *most};
  }
  if (query.type.empty()) return Invalid("Missing required parameter [type]");
  return query;
}

std::vector<std::string> NamesOfTags(const Schema& schema, const Store& store,
                                     const SuggestQuery& query) {
  std::set<std::string> names;
  for (const Stream& stream : schema.streams) {
    const StreamFields known(schema, stream, store);
    for (std::string& tag : TagsOf(schema, stream, known)) {
      if (known.WasSeen(tag) && tag.starts_with(query.prefix)) names.insert(std::move(tag));
    }
  }
  while (names.size() > query.most) names.erase(std::prev(names.end()));
  return {names.begin(), names.end()};
}

struct LookupQuery {
  MetricText metric;
  size_t limit = kOpentsdbMax;
};

Result<LookupQuery> ReadLookup(const Request& request) {
  const Result<bool> is_body = AsksByBody(request);
  if (!is_body) return is_body.error();
  LookupQuery query;
  if (!*is_body) {
    Result<MetricText> metric = ParseMetricText(request.params.Get("m").value_or(""));
    if (!metric) return metric.error();
    const Result<size_t> limit = CountOf(request.params, "limit");
    if (!limit) return limit.error();
    return LookupQuery{std::move(*metric), *limit};
  }
  const Result<Json> json = ReadQuestionBody(request.body);
  if (!json) return json.error();
  query.metric.metric = TextAt(*json, "metric");
  if (query.metric.metric.empty()) return Invalid("Missing the metric name");
  const Result<size_t> limit = CountAt(*json, "limit", kOpentsdbMax);
  if (!limit) return limit.error();
  query.limit = *limit;
  const auto tags = json->find("tags");
  if (tags == json->end() || !tags->is_array()) return query;
  for (const Json& tag : *tags) {
    if (!tag.is_object()) return Invalid("tags: one of them is no object");
    Result<TagFilter> filter = ParseTagValue(TextAt(tag, "key"), TextAt(tag, "value"));
    if (!filter) return filter.error();
    query.metric.filters.push_back(std::move(*filter));
  }
  return query;
}

Json JsonOfLookup(const LookupQuery& query) {
  Json tags = Json::array();
  for (const TagFilter& filter : query.metric.filters) {
    const bool is_any = filter.values == std::vector<std::string>{"*"};
    tags.push_back({{"key", JsonOfText(filter.tag)},
                    {"value", is_any ? Json("*") : JsonOfText(TextOf(filter))}});
  }
  return {{"type", "LOOKUP"},
          {"metric", JsonOfText(query.metric.metric)},
          {"tags", std::move(tags)},
          {"limit", query.limit}};
}

}  // namespace

Response AnswerOpentsdbSuggest(const Request& request, ApiContext& context) {
  const Result<SuggestQuery> query = ReadSuggest(request);
  if (!query) return ProblemOf(query.error());
  const Access access = context.AccessOf(*request.principal);
  std::vector<std::string> names;
  if (query->type == "metrics") {
    const Metrics metrics(access, context.store, OwnStream(context));
    names = metrics.Names(query->prefix, query->most);
  } else if (query->type == "tagk") {
    names = NamesOfTags(access.schema(), context.store, *query);
  } else if (query->type == "tagv") {
    Result<std::vector<std::string>> values =
        ValuesOfTags(query->prefix, query->most, access, context.read_parts(), request.memory);
    if (!values) return ProblemOf(values.error());
    names = std::move(*values);
  } else {
    return Problem(400, "Invalid 'type' parameter:" + query->type);
  }
  Json list = Json::array();
  for (const std::string& name : names) list.push_back(JsonOfText(name));
  return Response::Of(200, list);
}

Response AnswerOpentsdbLookup(const Request& request, ApiContext& context) {
  const Result<LookupQuery> query = ReadLookup(request);
  if (!query) return ProblemOf(query.error());
  const TimeUs began = context.clock.Now();
  const Access access = context.AccessOf(*request.principal);
  const Metrics metrics(access, context.store, OwnStream(context));
  Response response;
  response.held = MemoryCharge(request.memory);
  Json answer = JsonOfLookup(*query);
  std::string results = "[";
  size_t total = 0;
  if (const auto metric = metrics.Find(query->metric.metric)) {
    SeriesQuestion question;
    question.metric = *metric;
    question.filters = query->metric.filters;
    const Result<PointSet> set =
        FindSeries(std::move(question), access, context.read_parts(), request.memory);
    if (!set) return ProblemOf(set.error());
    total = set->series.size();
    for (size_t i = 0; i < std::min(total, query->limit); ++i) {
      const PointSeries& series = set->series[i];
      const Json one = {{"tsuid", TsuidOf(query->metric.metric, *set, series)},
                        {"metric", JsonOfText(query->metric.metric)},
                        {"tags", JsonOfTags(*set, series)}};
      if (i > 0) results.push_back(',');
      results += Dump(one);
      if (!response.held.Covers(2 * results.capacity())) return ProblemOf(response.held.refusal());
    }
  }
  answer["time"] = (context.clock.Now() - began) / kUsPerMs;
  answer["startIndex"] = 0;
  answer["totalResults"] = total;
  response.body = Dump(answer);
  response.body.pop_back();
  response.body.append(",\"results\":").append(results).append("]}\n");
  return response;
}

Response ListOpentsdbAggregators(const Request& /*request*/, ApiContext& /*context*/) {
  Json names = Json::array();
  for (const SeriesAggregationInfo& aggregation : kSeriesAggregations) {
    names.push_back(aggregation.name);
  }
  return Response::Of(200, names);
}

Response ListOpentsdbFilters(const Request& /*request*/, ApiContext& /*context*/) {
  Json filters = Json::object();
  for (const TagFilterName& filter : kTagFilterNames) {
    filters[std::string(filter.name)] = {{"examples", filter.example},
                                         {"description", filter.description}};
  }
  return Response::Of(200, filters);
}

}  // namespace tallyd
