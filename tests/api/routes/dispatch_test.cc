#include "api/routes/dispatch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "tests/api/api_world.h"

namespace tallyd {
namespace {

constexpr char kTables[] = R"(
[tables.ROWS]
stream = "s"
pattern = "single-timestamp"
row_key = "{k}#{ts:ms}"
families.F = {}
)";

// What each route may be reached with, by what it does: the list may not say less.
std::optional<Role> RoleThatIsDue(const Route& route) {
  const std::string_view path = route.path;
  if (path == "/healthz" || path == "/readyz") return std::nullopt;
  if (path == "/metrics") return Role::kMetrics;
  if (route.method == Method::kGet) return Role::kRead;
  if (path.starts_with("/-/") || path == "/v1/backup") return Role::kAdmin;
  if (route.method == Method::kPost) return Role::kWrite;
  return path == "/v1/tables/{table}" ? Role::kAdmin : Role::kDelete;
}

std::string PathTo(const Route& route) {
  std::string path(route.path);
  for (const auto& [placeholder, value] : {std::pair("{stream}", "s"), std::pair("{table}", "ROWS"),
                                           std::pair("{key}", "a"), std::pair("{column}", "F:x")}) {
    const size_t at = path.find(placeholder);
    if (at != std::string::npos) path.replace(at, std::string(placeholder).size(), value);
  }
  return path;
}

class DispatchTest : public ::testing::Test {
 protected:
  // The refusal by the head alone; nothing: the body is wanted.
  std::optional<Response> Ask(const Route& route, PrincipalPtr principal) {
    request_ = Request();
    request_.method = route.method;
    request_.path = PathTo(route);
    request_.principal = std::move(principal);
    dispatched_ = Dispatched();
    return Dispatch(Routes(), std::nullopt, exchange_, &dispatched_);
  }

  ApiWorld world_{kTables};
  boost::asio::thread_pool pool_{1};
  std::atomic<size_t> waiting_{0};
  std::atomic<bool> draining_{false};
  const EndpointThreads threads_{pool_, pool_, pool_, waiting_, draining_};
  WorkspacePool workspaces_;
  RequestBody body_{workspaces_};
  Request request_;
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
      const bool may = !route.role || *route.role == role || role == Role::kAdmin;
      const std::optional<Response> refusal = Ask(route, principal);
      EXPECT_EQ(!refusal, may) << RoleName(role) << " " << route.path;
    }
  }
}

TEST_F(DispatchTest, ARequestThatNobodyMadeReachesNothing) {
  for (const Route& route : Routes()) {
    EXPECT_EQ(!Ask(route, nullptr), !route.role) << route.path;
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

}  // namespace
}  // namespace tallyd
