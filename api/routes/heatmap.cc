// GET /v1/heatmap: how many rows of which key ranges were written or read, minute by minute, and in
// words which prefixes take at least half of it.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "api/handlers.h"
#include "api/rows/read_row_query.h"
#include "ingest/text/json.h"
#include "service/rows/row_query.h"

namespace tallyd {
namespace {

constexpr int64_t kUsPerMinute = 60 * kUsPerSecond;
// A prefix is hot when one in so many rows are its own.
constexpr uint64_t kHotShare = 2;

struct HeatQuery {
  Access access;
  TablePtr stored;
  HeatOf of;
  TimeRange time;
};

Result<HeatQuery> ParseHeatQuery(const Request& request, ApiContext& context) {
  const Params& params = request.params;
  if (Status ok = params.RefuseUnknown({"table", "metric", "from", "to"}); !ok) return ok.error();
  if (Status ok = params.RefuseRepeated(); !ok) return ok.error();
  HeatQuery query;
  const std::string_view name = params.Get("table").value_or("");
  if (name.empty()) return Invalid("table: say of which table, as in table=METRIC");
  query.access = context.AccessOf(*request.principal);
  Result<TablePtr> stored = FindStoredTable(query.access, context.store, name);
  if (!stored) return stored.error();
  query.stored = *stored;
  query.of.table = query.stored->id;
  const std::string_view metric = params.Get("metric").value_or("writes");
  if (metric != "writes" && metric != "reads") {
    return Invalid(fmt::format("metric: \"{}\" is unknown; accepted: writes, reads", metric));
  }
  query.of.metric = metric == "reads" ? HeatMetric::kReads : HeatMetric::kWrites;
  const TimeUs now = context.clock.Now();
  const Result<TimeRange> time = ParseCellTimes(params, now);
  if (!time) return time.error();
  query.time = *time;
  if (!params.Has("from")) query.time.from = std::min(query.time.to, now) - kUsPerDay;
  return query;
}

// Where the newest rows of a prefix go, as its row key has it.
std::string_view PlaceOfNewest(const TableInfo& table) {
  const auto row_key = RowKeyTemplate::Parse(table.row_key, table.time_field);
  if (!row_key) return "";
  for (const Segment& segment : row_key->segments()) {
    if (!segment.ends_stem()) continue;
    if (!segment.is_time || !segment.spec.sorts_by_time) return "";
    return segment.spec.info().descends ? "beginning" : "end";
  }
  return "";
}

std::string CommonPrefix(const KeyRange& range) {
  const auto [in_start, in_end] =
      std::mismatch(range.start.begin(),
                    range.start.begin() +
                        static_cast<std::ptrdiff_t>(std::min(range.start.size(), range.end.size())),
                    range.end.begin());
  return {range.start.begin(), in_start};
}

class HeatWriter {
 public:
  HeatWriter(const HeatQuery& query, const HeatChart& chart) : query_(query), chart_(chart) {
    for (const uint64_t rows : chart.totals) total_ += rows;
  }

  Json Hot() const {
    Json hot = Json::array();
    for (size_t i = 0; i < chart_.ranges.size(); ++i) {
      if (total_ > 0 && chart_.totals[i] * kHotShare >= total_) hot.push_back(HotAt(i));
    }
    return hot;
  }

  // By range, for each minute.
  void AppendValues(std::string* out) const {
    for (size_t range = 0; range < chart_.ranges.size(); ++range) {
      *out += range == 0 ? "[" : ",[";
      for (size_t i = 0; i < chart_.minutes; ++i) {
        if (i > 0) *out += ',';
        fmt::format_to(std::back_inserter(*out), "{}", chart_.rows[range * chart_.minutes + i]);
      }
      *out += ']';
    }
  }

 private:
  Json HotAt(size_t i) const {
    const KeyRange& range = chart_.ranges[i];
    const bool is_prefix = !chart_.is_partition || range == PrefixRange(range.start);
    const std::string prefix = is_prefix ? range.start : CommonPrefix(range);
    const bool writes = query_.of.metric == HeatMetric::kWrites;
    return {{"prefix", JsonOfText(prefix)},
            {"start", JsonOfText(range.start)},
            {"end", JsonOfText(range.end)},
            {writes ? "writes" : "reads", chart_.totals[i]},
            {"share", static_cast<double>(chart_.totals[i]) / static_cast<double>(total_)},
            {"detail", Detail(i, prefix)}};
  }

  std::string Detail(size_t i, const std::string& prefix) const {
    const uint64_t rows = chart_.totals[i];
    const bool writes = query_.of.metric == HeatMetric::kWrites;
    const std::string_view what = writes ? "writes" : "reads";
    const std::string share = rows == total_ ? fmt::format("all {} {}", rows, what)
                                             : fmt::format("{} of {} {}", rows, total_, what);
    const std::string keys =
        prefix.empty() ? "the table" : fmt::format("the keys that begin with \"{}\"", prefix);
    const std::string_view place =
        writes && !chart_.is_partition ? PlaceOfNewest(*query_.stored) : "";
    if (place.empty()) return fmt::format("{} go to {}", share, keys);
    if (chart_.at_ends[i] == rows) return fmt::format("{} go to the {} of {}", share, place, keys);
    return fmt::format("{} go to {}, {} of them to the {}", share, keys, chart_.at_ends[i], place);
  }

  const HeatQuery& query_;
  const HeatChart& chart_;
  uint64_t total_ = 0;
};

}  // namespace

Response GetHeatmap(const Request& request, ApiContext& context) {
  const Result<HeatQuery> query = ParseHeatQuery(request, context);
  if (!query) return ProblemOf(query.error());
  ChartMaker::IsTold is_told;
  if (const RowClamp* const clamp = query->access.ClampOf(query->stored->name)) {
    is_told = [clamp](const KeyRange& range) { return clamp->OwnsStem(range); };
  }
  const Result<HeatChart> chart = context.heat.Chart(&context.store, query->of, query->time,
                                                     context.clock.Now(), std::move(is_told));
  if (!chart) return ProblemOf(chart.error());
  const HeatWriter writer(*query, *chart);
  Json ranges = Json::array();
  for (const KeyRange& range : chart->ranges) {
    ranges.push_back({{"start", JsonOfText(range.start)}, {"end", JsonOfText(range.end)}});
  }
  Json times = Json::array();
  for (size_t i = 0; i < chart->minutes; ++i) {
    times.push_back(JsonOfTime((chart->first_minute + static_cast<int64_t>(i)) * kUsPerMinute));
  }
  const Json head = {{"table", query->stored->name},
                     {"metric", query->of.metric == HeatMetric::kWrites ? "writes" : "reads"},
                     {"ranges", std::move(ranges)},
                     {"times", std::move(times)}};
  std::string body = Dump(head);
  body.back() = ',';
  body += "\"values\":[";
  writer.AppendValues(&body);
  body += ']';
  AppendMembers({{"hot", writer.Hot()}}, &body);
  return Response::Json(200, body + "}");
}

}  // namespace tallyd
