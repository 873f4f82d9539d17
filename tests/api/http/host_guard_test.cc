#include "api/http/host_guard.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

namespace http = boost::beast::http;

const std::vector<std::string> kHosts = {"tallyd.example.org", "[2001:db8::7]"};

bool Refuses(http::verb method, const std::string& host, const std::string& origin = "",
             std::string_view target = "/v1/streams") {
  RequestHeader header;
  header.method(method);
  header.version(11);
  if (!host.empty()) header.set(http::field::host, host);
  if (!origin.empty()) header.insert(http::field::origin, origin);
  return ForeignSite(header, *ParseTarget(target), kHosts).has_value();
}

TEST(HostGuardTest, AnAuthorityIsAHostAndPerhapsAPort) {
  EXPECT_EQ(HostOf("localhost"), "localhost");
  EXPECT_EQ(HostOf("localhost:8780"), "localhost");
  EXPECT_EQ(HostOf("localhost:"), "localhost");
  EXPECT_EQ(HostOf("[::1]"), "[::1]");
  EXPECT_EQ(HostOf("[::1]:80"), "[::1]");
  for (const char* none : {"", ":80", "localhost:http", "localhost:80:80", "[::1", "[::1]x", "::1",
                           "evil@localhost", "localhost:80@evil"}) {
    EXPECT_EQ(HostOf(none), "") << none;
  }
}

TEST(HostGuardTest, LoopbackAndConfiguredNamesAreOwn) {
  for (const char* host : {"localhost:8780", "127.0.0.1", "127.1.2.3:1", "[::1]:8780",
                           "TALLYD.example.org:443", "[2001:db8::7]:80", ""}) {
    EXPECT_FALSE(Refuses(http::verb::get, host)) << host;
    EXPECT_FALSE(Refuses(http::verb::delete_, host)) << host;
  }
}

TEST(HostGuardTest, AnyOtherHostIsForeignWhateverTheMethod) {
  for (const char* host : {"evil.example", "localhost.evil.example", "10.0.0.7:8780",
                           "127.0.0.1.evil.example", "example.org", "[2001:db8::8]"}) {
    EXPECT_TRUE(Refuses(http::verb::get, host)) << host;
    EXPECT_TRUE(Refuses(http::verb::post, host)) << host;
  }
}

TEST(HostGuardTest, AForeignOriginMayReadAndChangesNothing) {
  for (const char* origin : {"http://evil.example", "null", "https://localhost.evil.example:8780",
                             "file://", "localhost", "http://localhost@evil.example"}) {
    EXPECT_FALSE(Refuses(http::verb::get, "localhost", origin)) << origin;
    for (const http::verb method :
         {http::verb::post, http::verb::put, http::verb::delete_, http::verb::patch}) {
      EXPECT_TRUE(Refuses(method, "localhost", origin)) << origin;
    }
  }
}

TEST(HostGuardTest, APageOfAnOwnHostMayChangeThings) {
  for (const char* origin : {"http://localhost:8780", "http://127.0.0.1:3000", "https://[::1]",
                             "https://tallyd.example.org:8443"}) {
    EXPECT_FALSE(Refuses(http::verb::post, "127.0.0.1:8780", origin)) << origin;
  }
}

TEST(HostGuardTest, TheTargetsAuthorityCountsBeforeTheHost) {
  EXPECT_TRUE(Refuses(http::verb::get, "localhost", "", "http://evil.example/v1/streams"));
  EXPECT_FALSE(Refuses(http::verb::get, "evil.example", "", "http://localhost/v1/streams"));
}

TEST(HostGuardTest, EveryOriginThatIsSentCounts) {
  RequestHeader header;
  header.method(http::verb::post);
  header.set(http::field::host, "localhost");
  header.insert(http::field::origin, "http://localhost");
  header.insert(http::field::origin, "http://evil.example");
  EXPECT_TRUE(ForeignSite(header, *ParseTarget("/"), {}));
}

}  // namespace
}  // namespace tallyd
