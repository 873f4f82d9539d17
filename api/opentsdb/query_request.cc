#include "api/opentsdb/query_request.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "api/opentsdb/metric_text.h"
#include "api/opentsdb/query_time.h"

namespace tallyd {
namespace {

constexpr size_t kMostQueries = 256;
constexpr size_t kMostBodyBytes = 1 << 20;

std::string ShownBriefly(std::string_view text) {
  return "'" + std::string(text.substr(0, 100)) + "'";
}

// What all sub-queries of a request share.
struct Shared {
  TimeRange time;
  bool uses_calendar = false;
  bool is_utc = true;
  int64_t resolution_us = kUsPerSecond;
};

std::string_view TextIn(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string()) return {};
  return found->get_ref<const std::string&>();
}

bool FlagIn(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && (*found == true || *found == "true");
}

// A number, or a text that spells one; nothing where it is absent or null.
Result<std::optional<std::string>> NumberIn(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return std::optional<std::string>();
  if (found->is_string()) return std::optional(found->get<std::string>());
  if (found->is_number()) return std::optional(Dump(*found));
  return Invalid(std::string(name) + ": it is neither a number nor a text");
}

Result<TimeRange> ReadTimes(const std::optional<std::string>& start,
                            const std::optional<std::string>& end, TimeUs now) {
  if (!start || start->empty()) return Invalid("Missing start time");
  const Result<TimeUs> from = ParseOpentsdbTime(*start, now);
  if (!from) return from.error();
  const Result<TimeUs> last = end && !end->empty() ? ParseOpentsdbTime(*end, now) : now;
  if (!last) return last.error();
  if (*last < *from) {
    return Invalid("End time [" + std::to_string(*last / kUsPerMs) +
                   "] must be greater than the start time [" + std::to_string(*from / kUsPerMs) +
                   "]");
  }
  return TimeRange{*from, *last + 1};
}

// "counter,1000,10": what stands in the braces behind "rate".
Result<SeriesRate> ParseRateOptions(std::string_view text) {
  SeriesRate rate;
  size_t place = 0;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (place == 0 && (part == "counter" || part == "dropcounter")) {
      rate.counts = true;
      rate.drops_resets = part == "dropcounter";
    } else if (place > 2 || (place == 0 && !part.empty())) {
      return Invalid("Invalid rate options: " + ShownBriefly(part) +
                     " is not as in rate{counter,MAXIMUM,RESET}");
    } else if (!part.empty()) {
      const std::optional<Value> number = ParseNumber(part);
      if (!number) return Invalid("Invalid rate options: " + ShownBriefly(part) + " is no number");
      if (place == 1) rate.counter_end = *number;
      if (place == 2) rate.largest = number->AsDouble();
    }
    ++place;
  }
  return rate;
}

Status SetDownsample(std::string_view text, const Shared& shared, OpentsdbSubQuery* query) {
  const Result<OpentsdbDownsample> parsed =
      ParseOpentsdbDownsample(text, shared.time.from, shared.uses_calendar);
  if (!parsed) return parsed.error();
  if (parsed->uses_calendar && !shared.is_utc) {
    return Invalid("timezone: the periods of the calendar are those of UTC here");
  }
  query->question.downsample = parsed->downsample;
  query->blank_is_null = parsed->blank_is_null;
  query->downsample = text;
  return {};
}

Status SetAggregator(std::string_view name, OpentsdbSubQuery* query) {
  if (name.empty()) return Invalid("Missing the aggregation function");
  const Result<SeriesAggregation> aggregation = ParseSeriesAggregation(name);
  if (!aggregation) return aggregation.error();
  query->question.joined_by = *aggregation;
  return {};
}

Status AddTsuids(const std::vector<std::string>& tsuids, OpentsdbSubQuery* query) {
  for (const std::string& text : tsuids) {
    std::optional<SeriesName> name = DecodeTsuid(text);
    if (!name) return Invalid("No such TSUID: " + ShownBriefly(text));
    if (!query->metric.empty() && query->metric != name->metric) {
      return Invalid("the TSUIDs of one query are of different metrics");
    }
    query->metric = std::move(name->metric);
    query->question.only.push_back(std::move(name->tags));
  }
  return {};
}

// The parts between colons; those inside of braces stay.
std::vector<std::string_view> SplitColons(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '{') ++depth;
    if (i < text.size() && text[i] == '}') --depth;
    if (i < text.size() && (text[i] != ':' || depth > 0)) continue;
    parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  return parts;
}

Status ReadModifier(std::string_view part, const Shared& shared, OpentsdbSubQuery* query) {
  if (part == "explicit_tags") {
    query->question.explicit_tags = true;
    return {};
  }
  if (part == "rate") {
    query->question.rate = SeriesRate{};
    return {};
  }
  if (part.starts_with("rate{") && part.ends_with('}')) {
    const Result<SeriesRate> rate = ParseRateOptions(part.substr(5, part.size() - 6));
    if (!rate) return rate.error();
    query->question.rate = *rate;
    return {};
  }
  if (!part.empty() && part[0] >= '0' && part[0] <= '9') {
    return SetDownsample(part, shared, query);
  }
  return Invalid("Invalid parameter m: " + ShownBriefly(part) +
                 " is none of rate, rate{counter,MAXIMUM,RESET}, explicit_tags, 1m-avg");
}

OpentsdbSubQuery BeginQuery(const Shared& shared) {
  OpentsdbSubQuery query;
  query.question.time = shared.time;
  query.question.resolution_us = shared.resolution_us;
  return query;
}

// "sum:1m-avg:rate:metric{host=*}", or with TSUIDs in the metric's place.
Result<OpentsdbSubQuery> ReadM(std::string_view text, bool is_tsuid, const Shared& shared) {
  OpentsdbSubQuery query = BeginQuery(shared);
  const std::vector<std::string_view> parts = SplitColons(text);
  if (parts.size() < 2) {
    return Invalid("Invalid parameter m: " + ShownBriefly(text) +
                   " is not AGGREGATOR:...:METRIC{TAGS}");
  }
  if (Status status = SetAggregator(parts.front(), &query); !status) return status.error();
  for (size_t i = 1; i + 1 < parts.size(); ++i) {
    if (Status status = ReadModifier(parts[i], shared, &query); !status) return status.error();
  }
  if (is_tsuid) {
    std::vector<std::string> tsuids;
    std::string_view list = parts.back();
    while (!list.empty()) {
      const size_t comma = std::min(list.find(','), list.size());
      tsuids.emplace_back(list.substr(0, comma));
      list.remove_prefix(std::min(comma + 1, list.size()));
    }
    if (Status status = AddTsuids(tsuids, &query); !status) return status.error();
    return query;
  }
  Result<MetricText> metric = ParseMetricText(parts.back());
  if (!metric) return metric.error();
  query.metric = std::move(metric->metric);
  query.question.filters = std::move(metric->filters);
  return query;
}

Status ReadFilters(const Json& object, OpentsdbSubQuery* query) {
  if (const auto tags = object.find("tags"); tags != object.end() && tags->is_object()) {
    for (const auto& [tag, value] : tags->items()) {
      if (!value.is_string())
        return Invalid("tags: the value of " + ShownBriefly(tag) + " is no text");
      Result<TagFilter> filter = ParseTagValue(tag, value.get_ref<const std::string&>());
      if (!filter) return filter.error();
      filter->groups = true;
      query->question.filters.push_back(std::move(*filter));
    }
  }
  const auto filters = object.find("filters");
  if (filters == object.end() || filters->is_null()) return {};
  if (!filters->is_array()) return Invalid("filters: it is no list");
  for (const Json& one : *filters) {
    if (!one.is_object()) return Invalid("filters: one of them is no object");
    Result<TagFilter> filter =
        ParseTypedFilter(TextIn(one, "type"), TextIn(one, "tagk"), TextIn(one, "filter"));
    if (!filter) return filter.error();
    filter->groups = FlagIn(one, "groupBy") || FlagIn(one, "group_by");
    query->question.filters.push_back(std::move(*filter));
  }
  return {};
}

Status ReadRate(const Json& object, OpentsdbSubQuery* query) {
  if (!FlagIn(object, "rate")) return {};
  SeriesRate rate;
  if (const auto options = object.find("rateOptions");
      options != object.end() && options->is_object()) {
    rate.counts = FlagIn(*options, "counter");
    rate.drops_resets = FlagIn(*options, "dropResets");
    for (const char* name : {"counterMax", "resetValue"}) {
      const Result<std::optional<std::string>> text = NumberIn(*options, name);
      if (!text) return text.error();
      if (!*text || (*text)->empty()) continue;
      const std::optional<Value> number = ParseNumber(**text);
      if (!number) return Invalid(std::string(name) + ": it is no number");
      if (name == std::string_view("counterMax")) {
        rate.counter_end = *number;
      } else {
        rate.largest = number->AsDouble();
      }
    }
  }
  query->question.rate = rate;
  return {};
}

Result<OpentsdbSubQuery> ReadSubQuery(const Json& object, const Shared& shared) {
  if (!object.is_object()) return Invalid("queries: one of them is no object");
  OpentsdbSubQuery query = BeginQuery(shared);
  if (Status status = SetAggregator(TextIn(object, "aggregator"), &query); !status) {
    return status.error();
  }
  if (const auto tsuids = object.find("tsuids"); tsuids != object.end() && tsuids->is_array()) {
    std::vector<std::string> texts;
    for (const Json& text : *tsuids)
      texts.push_back(text.is_string() ? text.get<std::string>() : "");
    if (Status status = AddTsuids(texts, &query); !status) return status.error();
  }
  if (query.question.only.empty()) query.metric = TextIn(object, "metric");
  if (query.metric.empty()) {
    return Invalid("Missing the metric or tsuids, provide at least one");
  }
  const std::string_view downsample = TextIn(object, "downsample");
  if (!downsample.empty()) {
    if (Status status = SetDownsample(downsample, shared, &query); !status) return status.error();
  }
  query.question.explicit_tags = FlagIn(object, "explicitTags");
  if (Status status = ReadFilters(object, &query); !status) return status.error();
  if (Status status = ReadRate(object, &query); !status) return status.error();
  return query;
}

bool IsUtc(std::string_view zone) {
  return zone.empty() || zone == "UTC" || zone == "GMT" || zone == "Etc/UTC" || zone == "Z";
}

Status AddQuery(Result<OpentsdbSubQuery> query, OpentsdbQuery* all) {
  if (!query) return query.error();
  if (all->queries.size() == kMostQueries) {
    return Invalid("there are more than " + std::to_string(kMostQueries) + " queries");
  }
  // The same sub-query twice is answered once.
  if (std::ranges::find(all->queries, *query) == all->queries.end()) {
    all->queries.push_back(std::move(*query));
  }
  return {};
}

Status ReadBody(std::string_view body, TimeUs now, Shared* shared, OpentsdbQuery* all) {
  const Result<Json> json = ReadQuestionBody(body);
  if (!json) return json.error();
  const Result<std::optional<std::string>> start = NumberIn(*json, "start");
  if (!start) return start.error();
  const Result<std::optional<std::string>> end = NumberIn(*json, "end");
  if (!end) return end.error();
  const Result<TimeRange> time = ReadTimes(*start, *end, now);
  if (!time) return time.error();
  if (FlagIn(*json, "delete")) return Invalid("Deleting data is not enabled");
  all->tells_ms = all->tells_ms || FlagIn(*json, "msResolution") || FlagIn(*json, "ms");
  all->shows_query = all->shows_query || FlagIn(*json, "showQuery");
  all->shows_tsuids = all->shows_tsuids || FlagIn(*json, "showTSUIDs");
  shared->time = *time;
  shared->uses_calendar = FlagIn(*json, "useCalendar");
  shared->is_utc = IsUtc(TextIn(*json, "timezone"));
  shared->resolution_us = all->tells_ms ? kUsPerMs : kUsPerSecond;
  const auto queries = json->find("queries");
  if (queries == json->end() || !queries->is_array() || queries->empty()) {
    return Invalid("Missing queries");
  }
  for (const Json& object : *queries) {
    if (Status status = AddQuery(ReadSubQuery(object, *shared), all); !status) return status;
  }
  return {};
}

Status ReadQueryString(const Params& params, TimeUs now, Shared* shared, OpentsdbQuery* all) {
  const auto text_of = [&](const char* name) -> std::optional<std::string> {
    const auto value = params.Get(name);
    return value ? std::optional(std::string(*value)) : std::nullopt;
  };
  const Result<TimeRange> time = ReadTimes(text_of("start"), text_of("end"), now);
  if (!time) return time.error();
  shared->time = *time;
  shared->is_utc = IsUtc(params.Get("tz").value_or(""));
  shared->resolution_us = all->tells_ms ? kUsPerMs : kUsPerSecond;
  for (const auto& [name, value] : params.all()) {
    const bool is_tsuid = name == "tsuid" || name == "tsuids";
    if (name != "m" && !is_tsuid) continue;
    if (Status status = AddQuery(ReadM(value, is_tsuid, *shared), all); !status) return status;
  }
  if (all->queries.empty()) return Invalid("Missing sub query: give m=AGGREGATOR:METRIC{TAGS}");
  return {};
}

}  // namespace

Result<Json> ReadQuestionBody(std::string_view body) {
  if (body.size() > kMostBodyBytes) {
    return Error(ErrorCode::kTooLarge, "the body of a question may have 1 MiB");
  }
  Json json = Json::parse(body, nullptr, false);
  if (json.is_discarded() || !json.is_object()) {
    return Invalid("Unable to parse the given JSON: the body is no object");
  }
  return json;
}

Result<OpentsdbQuery> ReadOpentsdbQuery(const Request& request, bool is_body, TimeUs now) {
  OpentsdbQuery query;
  const Params& params = request.params;
  query.tells_ms = params.Has("ms");
  query.as_arrays = params.Has("arrays");
  query.shows_query = params.Has("show_query");
  query.shows_tsuids = params.Has("show_tsuids");
  Shared shared;
  const Status read = is_body ? ReadBody(request.body, now, &shared, &query)
                              : ReadQueryString(params, now, &shared, &query);
  if (!read) return read.error();
  return query;
}

Json JsonOfSubQuery(const OpentsdbSubQuery& query, size_t index) {
  const SeriesQuestion& question = query.question;
  Json filters = Json::array();
  Json tags = Json::object();
  for (const TagFilter& filter : question.filters) {
    const std::string text = TextOf(filter);
    filters.push_back({{"tagk", filter.tag},
                       {"filter", text},
                       {"group_by", filter.groups},
                       {"type", NameOf(filter.match)}});
    if (filter.groups) tags[filter.tag] = std::string(NameOf(filter.match)) + "(" + text + ")";
  }
  Json json = {{"aggregator", InfoOf(question.joined_by).name}, {"metric", query.metric}};
  Json tsuids = Json::array();
  for (const SeriesTags& only : question.only) tsuids.push_back(EncodeTsuid({query.metric, only}));
  json["tsuids"] = tsuids.empty() ? Json() : std::move(tsuids);
  json["downsample"] = query.downsample.empty() ? Json() : Json(query.downsample);
  json["rate"] = question.rate.has_value();
  json["filters"] = std::move(filters);
  json["explicitTags"] = question.explicit_tags;
  json["index"] = index;
  json["tags"] = std::move(tags);
  return json;
}

}  // namespace tallyd
