#include "api/router.h"

#include <fmt/format.h>

#include "config/values/glob.h"
#include "ingest/text/percent.h"

namespace tallyd {

namespace {

// Of a path, to look for another one that is like it.
constexpr size_t kLikenedBytes = 200;

constexpr Route kRoutes[] = {
    {Method::kGet, "/healthz", RunsOn::kInline, GetHealth},
    {Method::kGet, "/readyz", RunsOn::kInline, GetReady},
    {Method::kGet, "/metrics", RunsOn::kQuery, GetMetrics},
    {Method::kPost, "/-/reload", RunsOn::kQuery, PostReload},
    {Method::kPost, "/-/settle", RunsOn::kQuery, PostSettle},
    {Method::kPost, "/-/trust-clock", RunsOn::kQuery, PostTrustClock},
    {Method::kPost, "/v1/backup", RunsOn::kOperation, PostBackup},
    {Method::kGet, "/v1/status", RunsOn::kQuery, GetStatus},
    {Method::kGet, "/v1/lint", RunsOn::kQuery, GetLint},
    {Method::kGet, "/v1/heatmap", RunsOn::kQuery, GetHeatmap},
    {Method::kGet, "/v1/streams", RunsOn::kQuery, ListStreams},
    {Method::kGet, "/v1/streams/{stream}", RunsOn::kQuery, GetStream},
    {Method::kGet, "/v1/streams/{stream}/fields", RunsOn::kQuery, ListFields},
    {Method::kGet, "/v1/streams/{stream}/values", RunsOn::kQuery, ListValues},
    {Method::kPost, "/v1/streams/{stream}/events", RunsOn::kIngest, nullptr},
    {Method::kGet, "/v1/streams/{stream}/events", RunsOn::kQuery, GetEvents},
    {Method::kDelete, "/v1/streams/{stream}/events", RunsOn::kQuery, DeleteEvents},
    {Method::kGet, "/v1/streams/{stream}/plan", RunsOn::kQuery, GetPlan},
    {Method::kGet, "/v1/streams/{stream}/latest", RunsOn::kQuery, GetLatest},
    {Method::kGet, "/v1/tables", RunsOn::kQuery, ListTables},
    {Method::kGet, "/v1/tables/{table}", RunsOn::kQuery, GetTable},
    {Method::kDelete, "/v1/tables/{table}", RunsOn::kQuery, DropTable},
    {Method::kPost, "/v1/tables/{table}/daily", RunsOn::kOperation, PostDaily},
    {Method::kGet, "/v1/tables/{table}/rows", RunsOn::kQuery, GetRows},
    {Method::kDelete, "/v1/tables/{table}/rows", RunsOn::kQuery, DeleteRows},
    {Method::kGet, "/v1/tables/{table}/rows/{key}", RunsOn::kQuery, GetRow},
    {Method::kDelete, "/v1/tables/{table}/rows/{key}", RunsOn::kQuery, DeleteRow},
    {Method::kDelete, "/v1/tables/{table}/rows/{key}/cells/{column}", RunsOn::kQuery, DeleteCells},
    {Method::kPost, "/v1/tables/{table}/rows/{key}/mutations", RunsOn::kKeyedQuery, PostMutations},
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

// The path as the pattern has it, where one part is not as it should be.
std::optional<std::string> Mended(std::string_view pattern, std::string_view path) {
  std::string mended;
  size_t wrong = 0;
  while (!pattern.empty() && !path.empty()) {
    const std::string_view expected = TakeSegment(&pattern);
    const std::string_view segment = TakeSegment(&path);
    const bool is_argument = expected.starts_with('{');
    if (segment.empty()) return std::nullopt;
    if (!is_argument && segment != expected) ++wrong;
    mended.append("/").append(is_argument ? segment : expected);
  }
  if (wrong != 1 || !pattern.empty() || !path.empty()) return std::nullopt;
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
    case Method::kOther:
      return "OTHER";
  }
  return "OTHER";
}

std::span<const Route> Routes() { return kRoutes; }

size_t UnmatchedRoute() { return std::size(kRoutes); }

std::vector<std::string> RouteNames() {
  std::vector<std::string> names;
  for (const Route& route : kRoutes) {
    names.push_back(fmt::format("{} {}", MethodName(route.method), route.path));
  }
  names.push_back("unmatched");
  return names;
}

Match FindRoute(Method method, std::string_view path) {
  Match match;
  match.route = UnmatchedRoute();
  if (!path.starts_with('/')) return match;
  std::vector<std::string_view> arguments;
  for (size_t i = 0; i < std::size(kRoutes); ++i) {
    if (!MatchPath(kRoutes[i].path, path, &arguments)) continue;
    if (kRoutes[i].method == method) {
      match.malformed = !DecodeArguments(arguments, &match);
      match.route = i;
      match.allow.clear();
      return match;
    }
    if (!match.allow.empty()) match.allow += ", ";
    match.allow += MethodName(kRoutes[i].method);
    if (kRoutes[i].method == Method::kGet) match.allow += ", HEAD";
  }
  return match;
}

std::string FindNearPath(std::string_view path) {
  const bool has_parts = path.starts_with('/') && path.find('/', 1) != path.npos;
  if (!has_parts || path.size() > kLikenedBytes) return {};
  std::vector<std::string> mended;
  for (const Route& route : kRoutes) {
    if (auto like = Mended(route.path, path)) mended.push_back(std::move(*like));
  }
  const std::vector<std::string> nearest = NearestNames(path, mended, 1);
  return nearest.empty() ? std::string() : nearest.front();
}

}  // namespace tallyd
