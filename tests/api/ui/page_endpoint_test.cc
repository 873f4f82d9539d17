#include "api/ui/page_endpoint.h"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "api/routes/dispatch.h"
#include "api/ui/page_files.h"
#include "tests/api/api_world.h"
#include "tests/api/response_header.h"

namespace tallyd {
namespace {

constexpr char kPageTables[] = R"(
[tables.ROWS]
stream = "s"
pattern = "single-timestamp"
row_key = "{k}#{ts:ms}"
families.F = {}
)";

class PageEndpointTest : public ::testing::Test {
 protected:
  // As nobody, without a token, from the head of the request to its answer.
  Response Ask(Method method, const std::string& path, PrincipalPtr principal = nullptr,
               const std::optional<std::string>& foreign = std::nullopt) {
    Request request;
    request.method = method;
    request.path = path.substr(0, path.find('?'));
    request.query = path.find('?') == path.npos ? "" : path.substr(path.find('?') + 1);
    request.accept_encoding = accept_encoding_;
    request.peer = "10.0.0.1:1";
    request.principal = std::move(principal);
    RequestBody body(workspaces_);
    Exchange exchange{request, body, world_.context(), threads_};
    Dispatched dispatched;
    auto refusal = Dispatch(Routes(), foreign, exchange, &dispatched);
    if (refusal) return std::move(*refusal);
    Response answer;
    boost::asio::io_context io;
    boost::asio::co_spawn(io, dispatched.endpoint->Answer(),
                          [&answer](std::exception_ptr failed, Response given) {
                            ASSERT_EQ(failed, nullptr);
                            answer = std::move(given);
                          });
    io.run();
    return answer;
  }

  std::string accept_encoding_;
  ApiWorld world_{kPageTables};
  boost::asio::thread_pool pool_{1};
  std::atomic<size_t> waiting_{0};
  std::atomic<bool> draining_{false};
  const EndpointThreads threads_{pool_, pool_, pool_, pool_, waiting_, draining_};
  WorkspacePool workspaces_;
};

void ExpectGuarded(const Response& answer) {
  EXPECT_EQ(HeaderOf(answer, "Content-Security-Policy"),
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
            "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
            "require-trusted-types-for 'script'; trusted-types 'none'");
  EXPECT_EQ(HeaderOf(answer, "Referrer-Policy"), "no-referrer");
}

TEST_F(PageEndpointTest, EveryFileIsGivenToAnybodyUnderTheSamePolicy) {
  for (const PageFile& file : PageFiles()) {
    const Response answer = Ask(Method::kGet, "/ui/" + std::string(file.name));
    EXPECT_EQ(answer.status, 200u) << file.name;
    EXPECT_EQ(answer.content_type, file.content_type);
    EXPECT_EQ(answer.body, file.content);
    EXPECT_FALSE(file.content.empty());
    ExpectGuarded(answer);
  }
  EXPECT_EQ(Ask(Method::kGet, "/v1/streams").status, 401u);
}

TEST_F(PageEndpointTest, TheFilesAreTextInAKnownCharset) {
  std::set<std::string_view> types;
  for (const PageFile& file : PageFiles()) types.insert(file.content_type);
  EXPECT_EQ(types,
            (std::set<std::string_view>{"text/css; charset=utf-8", "text/html; charset=utf-8",
                                        "text/javascript; charset=utf-8"}));
}

TEST_F(PageEndpointTest, TheFolderItselfIsTheStartFile) {
  const Response answer = Ask(Method::kGet, "/ui/");
  EXPECT_EQ(answer.status, 200u);
  EXPECT_EQ(answer.body, Ask(Method::kGet, "/ui/index.html").body);
  ExpectGuarded(answer);
}

TEST_F(PageEndpointTest, WithoutTheSlashItLeadsToThePageBelowWhateverPathAProxyHas) {
  const Response answer = Ask(Method::kGet, "/ui");
  EXPECT_EQ(answer.status, 308u);
  EXPECT_EQ(HeaderOf(answer, "Location"), "ui/");
  ExpectGuarded(answer);
}

TEST_F(PageEndpointTest, AnUnknownFileIsRefusedByNameWithThoseThatThereAre) {
  for (const char* path : {"/ui/none.js", "/ui/..%2Fmain.mjs", "/ui/main.mjs%00"}) {
    const Response answer = Ask(Method::kGet, path);
    EXPECT_EQ(answer.status, 404u) << path;
    EXPECT_EQ(answer.content_type, "application/problem+json");
    const std::string detail = nlohmann::json::parse(answer.body)["detail"];
    EXPECT_NE(detail.find("index.html"), detail.npos) << detail;
    ExpectGuarded(answer);
  }
}

TEST_F(PageEndpointTest, ARefusalHasThePolicy) {
  const Response other_method = Ask(Method::kPost, "/ui/", Anybody());
  EXPECT_EQ(other_method.status, 405u);
  EXPECT_EQ(HeaderOf(other_method, "Allow"), "GET, HEAD, OPTIONS");
  ExpectGuarded(other_method);
  const Response malformed = Ask(Method::kGet, "/ui/?%zz");
  EXPECT_EQ(malformed.status, 400u);
  ExpectGuarded(malformed);
  const Response foreign = Ask(Method::kGet, "/ui/", nullptr, "another host is meant");
  EXPECT_EQ(foreign.status, 403u);
  ExpectGuarded(foreign);
}

TEST_F(PageEndpointTest, WhoAsksForItGetsItCompressed) {
  accept_encoding_ = "gzip";
  const Response answer = Ask(Method::kGet, "/ui/main.mjs");
  EXPECT_EQ(HeaderOf(answer, "Content-Encoding"), "gzip");
  const std::string compressed = answer.body;
  accept_encoding_ = "";
  EXPECT_LT(compressed.size(), Ask(Method::kGet, "/ui/main.mjs").body.size());
  ExpectGuarded(answer);
}

TEST_F(PageEndpointTest, ItIsGivenWhileTheStoreIsAway) {
  world_.context().starting = true;
  EXPECT_EQ(Ask(Method::kGet, "/ui/").status, 200u);
}

}  // namespace
}  // namespace tallyd
