#include "api/routes/dispatch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/access/caller.h"
#include "tests/api/api_world.h"

namespace tallyd {
namespace {

constexpr char kDispatchTables[] = R"(
[protocols.influx]
stream = "influx"
[tables.ROWS]
stream = "s"
pattern = "single-timestamp"
row_key = "{k}#{ts:ms}"
families.F = {}

[protocols.opentsdb]
stream = "s"
tables = false
)";

// What each route may be reached with, by what it does: the list may not say less.
std::optional<Role> RoleThatIsDue(const Route& route) {
  const std::string_view path = route.path;
  if (path == "/healthz" || path == "/readyz") return std::nullopt;
  if (path.starts_with("/ui")) return std::nullopt;  // The page's files, which tell of no data.
  if (path == "/ping" || path == "/health") return std::nullopt;  // InfluxDB's.
  if (path == "/metrics") return Role::kMetrics;
  if (route.method == Method::kGet) return Role::kRead;
  if (path.starts_with("/-/") || path == "/v1/backup") return Role::kAdmin;
  // OpenTSDB's questions may come by a body.
  const bool is_question = path.ends_with("/query/last") || path.ends_with("/suggest") ||
                           path.ends_with("/search/lookup") ||
                           (path.starts_with("/api/") && path.ends_with("/query"));
  if (is_question) return Role::kRead;
  if (route.method == Method::kPost) return Role::kWrite;
  return path == "/v1/tables/{table}" ? Role::kAdmin : Role::kDelete;
}

// Others are a protocol's, in whose form their errors are.
bool IsOwn(const Route& route) {
  const std::string_view path = route.path;
  return path.starts_with("/v1/") || path.starts_with("/-/") || path == "/metrics";
}

// What a protocol asks for beside the path.
std::string QueryFor(const Route& route) {
  return route.path.find("/write") == route.path.npos ? "" : "db=d&bucket=b";
}

std::string PathTo(const Route& route) {
  std::string path(route.path);
  for (const auto& [placeholder, value] :
       {std::pair("{stream}", "s"), std::pair("{table}", "ROWS"), std::pair("{key}", "a"),
        std::pair("{column}", "F:x"), std::pair("{file}", "main.mjs")}) {
    const size_t at = path.find(placeholder);
    if (at != std::string::npos) path.replace(at, std::string(placeholder).size(), value);
  }
  return path;
}

class DispatchTest : public ::testing::Test {
 protected:
  // The refusal by the head alone; nothing: the body is wanted.
  std::optional<Response> Ask(const Route& route, PrincipalPtr principal,
                              bool has_credentials = false) {
    request_ = Request();
    request_.peer = peer_;
    request_.has_credentials = has_credentials;
    request_.method = route.method;
    request_.path = PathTo(route);
    request_.query = QueryFor(route);
    request_.principal = std::move(principal);
    dispatched_ = Dispatched();
    return Dispatch(Routes(), std::nullopt, exchange_, &dispatched_);
  }

  ApiWorld world_{kDispatchTables};
  boost::asio::thread_pool pool_{1};
  std::atomic<size_t> waiting_{0};
  std::atomic<bool> draining_{false};
  const EndpointThreads threads_{pool_, pool_, pool_, pool_, waiting_, draining_};
  WorkspacePool workspaces_;
  RequestBody body_{workspaces_};
  Request request_;
  std::string peer_ = "10.0.0.1:1";
  Exchange exchange_{request_, body_, world_.context(), threads_};
  Dispatched dispatched_;
};

TEST_F(DispatchTest, EveryRouteAsksForTheRoleOfWhatItDoes) {
  for (const Route& route : Routes()) EXPECT_EQ(route.role, RoleThatIsDue(route)) << route.path;
}

TEST_F(DispatchTest, WhoLacksTheRoleReachesNothing) {
  const auto nobody = std::make_shared<const Principal>(Principal{"acme-reader", {}, {}});
  for (const Route& route : Routes()) {
    const std::optional<Response> refusal = Ask(route, nobody);
    EXPECT_EQ(refusal.has_value(), route.role.has_value()) << route.path;
    if (!refusal) continue;
    EXPECT_EQ(refusal->status, 403u) << route.path;
    if (!IsOwn(route)) continue;
    EXPECT_EQ(refusal->content_type, "application/problem+json");
    const std::string detail = "this needs the role " + std::string(RoleName(*route.role)) +
                               ", which acme-reader does not have";
    const nlohmann::json expected = {{"title", "Forbidden"}, {"status", 403}, {"detail", detail}};
    EXPECT_EQ(nlohmann::json::parse(refusal->body), expected) << route.path;
  }
}

TEST_F(DispatchTest, ARoleOpensItsOwnRoutesAndAdminAll) {
  for (const Role role : kRoles) {
    const auto principal = std::make_shared<const Principal>(Principal{"one", {role}, {}});
    for (const Route& route : Routes()) {
      const bool may =
          !route.role || *route.role == role || route.or_role == role || role == Role::kAdmin;
      const std::optional<Response> refusal = Ask(route, principal);
      EXPECT_EQ(!refusal, may) << RoleName(role) << " " << route.path;
    }
  }
}

TEST_F(DispatchTest, ARequestThatNobodyMadeReachesNothing) {
  for (const Route& route : Routes()) {
    const std::optional<Response> refusal = Ask(route, nullptr);
    EXPECT_EQ(!refusal, !route.role) << route.path;
    EXPECT_EQ(refusal ? refusal->status : 401u, 401u) << route.path;
    EXPECT_EQ(!Ask(route, Anybody()), true) << route.path;
  }
}

TEST_F(DispatchTest, AWriteThatItsRoleRefusesIsCountedAsRefused) {
  const auto rejected = [this] {
    double count = 0;
    for (const prometheus::MetricFamily& family : world_.context().registry.Collect()) {
      if (family.name != "tallyd_rejects_total") continue;
      for (const prometheus::ClientMetric& metric : family.metric) count += metric.counter.value;
    }
    return count;
  };
  const Match match = FindRoute(Routes(), Method::kPost, "/v1/streams/s/events");
  const auto reader = std::make_shared<const Principal>(Principal{"one", {Role::kRead}, {}});
  const std::optional<Response> refusal = Ask(Routes()[match.route], reader);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->status, 403u);
  EXPECT_EQ(rejected(), 1);
}

TEST_F(DispatchTest, AScopeClosesWhatTellsOfTheWholeDaemonWhateverTheRole) {
  const auto scoped =
      std::make_shared<const Principal>(Principal{"acme", {Role::kAdmin}, {{"tenant", "acme"}}});
  for (const Route& route : Routes()) {
    const std::optional<Response> refusal = Ask(route, scoped);
    const bool may = !route.role || route.for_scoped == ForScoped::kBounded;
    EXPECT_EQ(!refusal, may) << route.path;
    EXPECT_EQ(refusal ? refusal->status : 403u, 403u) << route.path;
  }
  for (const char* whole : {"/metrics", "/-/reload", "/-/settle", "/-/trust-clock", "/v1/backup",
                            "/v1/status", "/v1/lint"}) {
    for (const Route& route : Routes()) {
      if (route.path != whole) continue;
      EXPECT_EQ(route.for_scoped, ForScoped::kNever) << whole;
    }
  }
}

// Every route, whoever comes: the status is that of what it brings, and of nobody the answer tells
// what was wrong, or whether there is something at the path.
class CredentialsMatrix : public DispatchTest {
 protected:
  CredentialsMatrix() {
    std::vector<TokenConfig> tokens;
    for (const Role role : kRoles) tokens.push_back(TokenOf(std::string(RoleName(role)), {role}));
    tokens.push_back(TokenOf("none", {}));
    tokens.push_back(TokenOf("expired", {Role::kAdmin}));
    tokens.back().expires = world_.context().clock.Now();
    tokens.push_back(TokenOf("scoped", {Role::kAdmin}));
    tokens.back().scope = {{"k", "a"}};
    world_.context().tokens.Set(tokens);
  }

  static TokenConfig TokenOf(const std::string& name, Roles roles) {
    TokenConfig token;
    token.name = name;
    token.sha256 = HexOf(*DigestOf("secret of " + name));
    token.roles = roles;
    return token;
  }

  // As the session does it, from another address each time.
  std::optional<Response> AskWith(const Route& route, const std::string& authorization) {
    Caller caller;
    ApiContext& context = world_.context();
    PrincipalPtr who = caller.Identify(context.tokens, authorization, context.clock.Now());
    ++asked_;
    peer_ = "10." + std::to_string(asked_ >> 8) + ".0." + std::to_string(asked_ & 255) + ":1";
    return Ask(route, std::move(who));
  }

  int asked_ = 0;
};

TEST_F(CredentialsMatrix, OfNobodyEveryRouteAsksForATokenInTheSameWords) {
  std::set<std::string> bodies;
  const std::string nobodies[] = {
      "",        "Bearer",         "secret of admin",         "Digest secret of admin",
      "Basic !", "Bearer unknown", "Bearer secret of expired"};
  for (const Route& route : Routes()) {
    for (const std::string& nobody : nobodies) {
      const std::optional<Response> refusal = AskWith(route, nobody);
      EXPECT_EQ(refusal.has_value(), route.role.has_value()) << route.path << " " << nobody;
      if (!refusal) continue;
      EXPECT_EQ(refusal->status, 401u) << route.path << " " << nobody;
      if (!IsOwn(route)) continue;
      EXPECT_EQ(refusal->headers.size(), 1u);
      EXPECT_EQ(refusal->headers[0],
                (std::pair<std::string, std::string>("WWW-Authenticate", "Bearer")));
      bodies.insert(refusal->body);
    }
  }
  const Route unknown = {Method::kPost, "/v1/nothing", Role::kRead, nullptr};
  bodies.insert(AskWith(unknown, "Bearer unknown")->body);
  EXPECT_EQ(bodies.size(), 1u);
}

TEST_F(CredentialsMatrix, OfATokenItsRoleAndItsScopeCount) {
  for (const Route& route : Routes()) {
    if (!route.role) continue;
    const std::string right(RoleName(*route.role));
    EXPECT_EQ(AskWith(route, "Bearer secret of none")->status, 403u) << route.path;
    EXPECT_EQ(!AskWith(route, "Bearer secret of " + right), true) << route.path;
    EXPECT_EQ(!AskWith(route, "Token secret of admin"), true) << route.path;
    const bool takes_scope = route.for_scoped == ForScoped::kBounded;
    EXPECT_EQ(!AskWith(route, "Bearer secret of scoped"), takes_scope) << route.path;
  }
}

TEST_F(CredentialsMatrix, ATokenInTheQueryCountsWhereARouteSaysItsParameterAndNowhereElse) {
  Route route = Routes()[FindRoute(Routes(), Method::kGet, "/v1/streams").route];
  const auto ask = [&] {
    request_ = Request();
    request_.peer = peer_;
    request_.path = "/v1/streams";
    request_.query = "p=secret%20of%20read";
    const std::vector<Route> routes = {route};
    return Dispatch(routes, std::nullopt, exchange_, &dispatched_);
  };
  EXPECT_EQ(ask()->status, 401u);
  route.token_parameter = "p";
  EXPECT_FALSE(ask());
  EXPECT_EQ(request_.principal->name, "read");
}

TEST_F(CredentialsMatrix, WhoTriesManyIsToldToWaitAndWhoHasAGoodOneIsNot) {
  const Route& route = Routes()[FindRoute(Routes(), Method::kGet, "/v1/streams").route];
  unsigned last = 0;
  for (int i = 0; i < 11; ++i) {
    peer_ = "10.0.0.1:1";
    last = Ask(route, nullptr, /*has_credentials=*/true)->status;
  }
  EXPECT_EQ(last, 429u);
  const std::optional<Response> refusal = Ask(route, nullptr);
  EXPECT_EQ(refusal->status, 429u) << "without any it waits, too";
  EXPECT_EQ(refusal->headers[0], (std::pair<std::string, std::string>("Retry-After", "1")));
  Caller caller;
  ApiContext& context = world_.context();
  EXPECT_FALSE(Ask(route, caller.Identify(context.tokens, "Bearer secret of read", 0)));
}

}  // namespace
}  // namespace tallyd
