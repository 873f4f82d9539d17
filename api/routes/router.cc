#include "api/routes/router.h"

#include <fmt/format.h>

#include "api/endpoint/query_endpoint.h"
#include "api/handlers.h"
#include "api/influx/info_endpoints.h"
#include "api/influx/write_endpoint.h"
#include "api/mutations/mutations.h"
#include "api/opentsdb/put_endpoint.h"
#include "api/opentsdb/question_endpoint.h"
#include "api/opentsdb/questions.h"
#include "api/opentsdb/version_endpoint.h"
#include "api/routes/ingest_endpoint.h"
#include "api/ui/page_endpoint.h"
#include "config/values/glob.h"
#include "ingest/text/percent.h"

namespace tallyd {

namespace {

// Of a path, to look for another one that is like it.
constexpr size_t kLikenedBytes = 200;

// On the connection's own thread: the handler never blocks.
template <Handler handler>
std::unique_ptr<Endpoint> MakeInline(Exchange& exchange) {
  return std::make_unique<InlineEndpoint>(exchange, handler);
}

template <Handler handler>
std::unique_ptr<Endpoint> MakeQuery(Exchange& exchange) {
  return std::make_unique<QueryEndpoint>(exchange, handler, exchange.threads.queries);
}

template <Handler handler, DescribeKeyed describe>
std::unique_ptr<Endpoint> MakeKeyedQuery(Exchange& exchange) {
  return std::make_unique<KeyedQueryEndpoint>(exchange, handler, describe);
}

// On a thread of its own: it may take minutes.
template <Handler handler>
std::unique_ptr<Endpoint> MakeOperation(Exchange& exchange) {
  return std::make_unique<QueryEndpoint>(exchange, handler, exchange.threads.operations);
}

template <InfluxDialect dialect>
std::unique_ptr<Endpoint> MakeInfluxWriteOf(Exchange& exchange) {
  return MakeInfluxWrite(exchange, dialect);
}

template <Handler handler>
std::unique_ptr<Endpoint> MakeQuestion(Exchange& exchange) {
  return std::make_unique<OpentsdbQuestionEndpoint>(exchange, handler);
}

constexpr std::optional<Role> kOpen;
constexpr ForScoped kNever = ForScoped::kNever;
constexpr ForScoped kBounded = ForScoped::kBounded;

constexpr Route WithoutStore(Route route) {
  route.needs_no_store = true;
  return route;
}

constexpr Route kRoutes[] = {
    WithoutStore({Method::kGet, "/healthz", kOpen, MakeInline<GetHealth>}),
    WithoutStore({Method::kGet, "/readyz", kOpen, MakeInline<GetReady>}),
    WithoutStore({Method::kGet, "/ui", kOpen, MakePageRedirect}),
    WithoutStore({Method::kGet, "/ui/", kOpen, MakePageFile}),
    WithoutStore({Method::kGet, "/ui/{file}", kOpen, MakePageFile}),
    WithoutStore({Method::kGet, "/metrics", Role::kMetrics, MakeQuery<GetMetrics>, kNever}),
    WithoutStore({Method::kPost, "/-/reload", Role::kAdmin, MakeQuery<PostReload>, kNever}),
    {Method::kPost, "/-/settle", Role::kAdmin, MakeQuery<PostSettle>, kNever},
    {Method::kPost, "/-/trust-clock", Role::kAdmin, MakeQuery<PostTrustClock>, kNever},
    {Method::kPost, "/v1/backup", Role::kAdmin, MakeOperation<PostBackup>, kNever},
    WithoutStore({Method::kGet, "/v1/status", Role::kRead, MakeQuery<GetStatus>, kNever}),
    {Method::kGet, "/v1/lint", Role::kRead, MakeQuery<GetLint>, kNever},
    {Method::kGet, "/v1/heatmap", Role::kRead, MakeQuery<GetHeatmap>, kBounded},
    {Method::kGet, "/v1/streams", Role::kRead, MakeQuery<ListStreams>, kBounded},
    {Method::kGet, "/v1/streams/{stream}", Role::kRead, MakeQuery<GetStream>, kBounded},
    {Method::kGet, "/v1/streams/{stream}/fields", Role::kRead, MakeQuery<ListFields>, kBounded},
    {Method::kGet, "/v1/streams/{stream}/values", Role::kRead, MakeQuery<ListValues>, kBounded},
    {Method::kGet, "/v1/streams/{stream}/series", Role::kRead, MakeQuery<ListSeries>, kBounded},
    {Method::kPost, "/v1/streams/{stream}/events", Role::kWrite, MakeIngestEndpoint, kBounded},
    {Method::kGet, "/v1/streams/{stream}/events", Role::kRead, MakeQuery<GetEvents>, kBounded},
    {Method::kDelete, "/v1/streams/{stream}/events", Role::kDelete, MakeQuery<DeleteEvents>,
     kBounded},
    {Method::kGet, "/v1/streams/{stream}/plan", Role::kRead, MakeQuery<GetPlan>, kBounded},
    {Method::kGet, "/v1/streams/{stream}/latest", Role::kRead, MakeQuery<GetLatest>, kBounded},
    {Method::kGet, "/v1/tables", Role::kRead, MakeQuery<ListTables>, kBounded},
    {Method::kGet, "/v1/tables/{table}", Role::kRead, MakeQuery<GetTable>, kBounded},
    {Method::kDelete, "/v1/tables/{table}", Role::kAdmin, MakeQuery<DropTable>, kNever},
    {Method::kPost, "/v1/tables/{table}/daily", Role::kWrite, MakeOperation<PostDaily>, kNever},
    {Method::kGet, "/v1/tables/{table}/rows", Role::kRead, MakeQuery<GetRows>, kBounded},
    {Method::kDelete, "/v1/tables/{table}/rows", Role::kDelete, MakeQuery<DeleteRows>, kBounded},
    {Method::kGet, "/v1/tables/{table}/rows/{key}", Role::kRead, MakeQuery<GetRow>, kBounded},
    {Method::kDelete, "/v1/tables/{table}/rows/{key}", Role::kDelete, MakeQuery<DeleteRow>,
     kBounded},
    {Method::kDelete, "/v1/tables/{table}/rows/{key}/cells/{column}", Role::kDelete,
     MakeQuery<DeleteCells>, kBounded},
    {Method::kPost, "/v1/tables/{table}/rows/{key}/mutations", Role::kWrite,
     MakeKeyedQuery<PostMutations, KeyedMutations>, kBounded},
    {Method::kPost, "/api/put", Role::kWrite, MakeOpenTsdbPut, kBounded},
    {Method::kPost, "/api/v1/put", Role::kWrite, MakeOpenTsdbPut, kBounded},
    {Method::kGet, "/api/version", Role::kRead, MakeOpenTsdbVersion, kBounded},
    {Method::kGet, "/api/v1/version", Role::kRead, MakeOpenTsdbVersion, kBounded},
    {Method::kGet, "/api/query", Role::kRead, MakeQuestion<AnswerOpentsdbQuery>, kBounded},
    {Method::kPost, "/api/query", Role::kRead, MakeQuestion<AnswerOpentsdbQuery>, kBounded},
    {Method::kGet, "/api/query/last", Role::kRead, MakeQuestion<AnswerOpentsdbLast>, kBounded},
    {Method::kPost, "/api/query/last", Role::kRead, MakeQuestion<AnswerOpentsdbLast>, kBounded},
    {Method::kGet, "/api/suggest", Role::kRead, MakeQuestion<AnswerOpentsdbSuggest>, kBounded},
    {Method::kPost, "/api/suggest", Role::kRead, MakeQuestion<AnswerOpentsdbSuggest>, kBounded},
    {Method::kGet, "/api/search/lookup", Role::kRead, MakeQuestion<AnswerOpentsdbLookup>, kBounded},
    {Method::kPost, "/api/search/lookup", Role::kRead, MakeQuestion<AnswerOpentsdbLookup>,
     kBounded},
    {Method::kGet, "/api/aggregators", Role::kRead, MakeQuestion<ListOpentsdbAggregators>,
     kBounded},
    {Method::kGet, "/api/config/filters", Role::kRead, MakeQuestion<ListOpentsdbFilters>, kBounded},
    {Method::kGet, "/api/v1/query", Role::kRead, MakeQuestion<AnswerOpentsdbQuery>, kBounded},
    {Method::kPost, "/api/v1/query", Role::kRead, MakeQuestion<AnswerOpentsdbQuery>, kBounded},
    {Method::kGet, "/api/v1/query/last", Role::kRead, MakeQuestion<AnswerOpentsdbLast>, kBounded},
    {Method::kPost, "/api/v1/query/last", Role::kRead, MakeQuestion<AnswerOpentsdbLast>, kBounded},
    {Method::kGet, "/api/v1/suggest", Role::kRead, MakeQuestion<AnswerOpentsdbSuggest>, kBounded},
    {Method::kPost, "/api/v1/suggest", Role::kRead, MakeQuestion<AnswerOpentsdbSuggest>, kBounded},
    {Method::kGet, "/api/v1/search/lookup", Role::kRead, MakeQuestion<AnswerOpentsdbLookup>,
     kBounded},
    {Method::kPost, "/api/v1/search/lookup", Role::kRead, MakeQuestion<AnswerOpentsdbLookup>,
     kBounded},
    {Method::kGet, "/api/v1/aggregators", Role::kRead, MakeQuestion<ListOpentsdbAggregators>,
     kBounded},
    {Method::kGet, "/api/v1/config/filters", Role::kRead, MakeQuestion<ListOpentsdbFilters>,
     kBounded},
    {Method::kPost, "/write", Role::kWrite, MakeInfluxWriteOf<InfluxDialect::kV1>, kBounded, "p"},
    {Method::kPost, "/api/v2/write", Role::kWrite, MakeInfluxWriteOf<InfluxDialect::kV2>, kBounded},
    {Method::kPost, "/api/v3/write_lp", Role::kWrite, MakeInfluxWriteOf<InfluxDialect::kV3>,
     kBounded},
    WithoutStore({Method::kGet, "/ping", kOpen, MakeInfluxPing}),
    WithoutStore({Method::kGet, "/health", kOpen, MakeInfluxHealth}),
    {Method::kGet, "/query", Role::kRead, MakeInfluxQuery, kBounded, "p", Role::kWrite},
    {Method::kPost, "/query", Role::kWrite, MakeInfluxQuery, kBounded, "p", Role::kRead},
};

std::string_view TakeSegment(std::string_view* path) {
  const size_t slash = path->find('/', 1);
  const std::string_view segment =
      path->substr(1, slash == std::string_view::npos ? slash : slash - 1);
  *path = slash == std::string_view::npos ? std::string_view() : path->substr(slash);
  return segment;
}

// The encoded placeholder segments, or false.
bool MatchPath(std::string_view pattern, std::string_view path,
               std::vector<std::string_view>* arguments) {
  arguments->clear();
  while (!pattern.empty() && !path.empty()) {
    const std::string_view expected = TakeSegment(&pattern);
    const std::string_view segment = TakeSegment(&path);
    if (expected.starts_with('{')) {
      if (segment.empty()) return false;
      arguments->push_back(segment);
    } else if (expected != segment) {
      return false;
    }
  }
  return pattern.empty() && path.empty();
}

// The path as the pattern has it, where one part is not as it should be and another one is.
std::optional<std::string> Mended(std::string_view pattern, std::string_view path) {
  std::string mended;
  size_t wrong = 0;
  size_t right = 0;
  while (!pattern.empty() && !path.empty()) {
    const std::string_view expected = TakeSegment(&pattern);
    const std::string_view segment = TakeSegment(&path);
    const bool is_argument = expected.starts_with('{');
    if (segment.empty()) return std::nullopt;
    if (!is_argument) ++(segment == expected ? right : wrong);
    mended.append("/").append(is_argument ? segment : expected);
  }
  if (wrong != 1 || right == 0 || !pattern.empty() || !path.empty()) return std::nullopt;
  return mended;
}

bool DecodeArguments(const std::vector<std::string_view>& encoded, Match* match) {
  for (const std::string_view argument : encoded) {
    std::optional<std::string> decoded = DecodePercent(argument, PlusIs::kPlus);
    if (!decoded) return false;
    match->arguments.push_back(std::move(*decoded));
  }
  return true;
}

}  // namespace

std::string_view MethodName(Method method) {
  switch (method) {
    case Method::kGet:
      return "GET";
    case Method::kPost:
      return "POST";
    case Method::kDelete:
      return "DELETE";
    case Method::kOptions:
      return "OPTIONS";
    case Method::kOther:
      return "OTHER";
  }
  return "OTHER";
}

std::span<const Route> Routes() { return kRoutes; }

std::vector<std::string> RouteNames() {
  std::vector<std::string> names;
  for (const Route& route : kRoutes) {
    names.push_back(fmt::format("{} {}", MethodName(route.method), route.path));
  }
  names.push_back("unmatched");
  return names;
}

Match FindRoute(std::span<const Route> routes, Method method, std::string_view path) {
  Match match;
  match.route = routes.size();
  if (!path.starts_with('/')) return match;
  std::vector<std::string_view> arguments;
  for (size_t i = 0; i < routes.size(); ++i) {
    if (!MatchPath(routes[i].path, path, &arguments)) continue;
    if (routes[i].method == method) {
      match.malformed = !DecodeArguments(arguments, &match);
      match.route = i;
      match.allow.clear();
      return match;
    }
    if (match.allow.empty()) {
      match.of_path = i;
    } else {
      match.allow += ", ";
    }
    match.allow += MethodName(routes[i].method);
    if (routes[i].method == Method::kGet) match.allow += ", HEAD";
  }
  if (!match.allow.empty()) match.allow += ", OPTIONS";
  return match;
}

std::string FindNearPath(std::span<const Route> routes, std::string_view path) {
  const bool has_parts = path.starts_with('/') && path.find('/', 1) != path.npos;
  if (!has_parts || path.size() > kLikenedBytes) return {};
  std::vector<std::string> mended;
  for (const Route& route : routes) {
    if (auto like = Mended(route.path, path)) mended.push_back(std::move(*like));
  }
  const std::vector<std::string> nearest = NearestNames(path, mended, 1);
  return nearest.empty() ? std::string() : nearest.front();
}

}  // namespace tallyd
