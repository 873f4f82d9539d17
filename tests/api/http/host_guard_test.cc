#include "api/http/host_guard.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

namespace http = boost::beast::http;

const std::vector<std::string> kHosts = {"tallyd.example.org", "[2001:db8::7]"};
const CorsOrigins kCors({"https://grafana.example.org", "http://panel.example.org:3000"});
const CorsOrigins kNoCors({});

RequestHeader HeaderOf(http::verb method, const std::string& host, const std::string& origin) {
  RequestHeader header;
  header.method(method);
  header.version(11);
  if (!host.empty()) header.set(http::field::host, host);
  if (!origin.empty()) header.insert(http::field::origin, origin);
  return header;
}

bool Refuses(http::verb method, const std::string& host, const std::string& origin = "",
             std::string_view target = "/v1/streams") {
  return ForeignSite(HeaderOf(method, host, origin), *ParseTarget(target, method),
                     {kHosts, kNoCors})
      .has_value();
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
  EXPECT_TRUE(ForeignSite(header, *ParseTarget("/", http::verb::post), {kHosts, kNoCors}));
}

// Rows: what a browser may name as Host. Columns: whose page asks. What is refused of a request
// that changes something: 'H' for its host, whatever the method, 'O' for its origin; '.': nothing.
struct SiteRow {
  const char* host;
  const char* outcomes;
};
constexpr const char* kPages[] = {"",
                                  "http://localhost:8780",
                                  "https://tallyd.example.org",
                                  "https://grafana.example.org",
                                  "http://panel.example.org:3000",
                                  "http://grafana.example.org",
                                  "https://grafana.example.org.evil.example",
                                  "null"};
constexpr SiteRow kSites[] = {{"127.0.0.1:8780", ".....OOO"},
                              {"[::1]:8780", ".....OOO"},
                              {"tallyd.example.org:8443", ".....OOO"},
                              {"grafana.example.org", "HHHHHHHH"},
                              {"tallyd.example.org.evil.example", "HHHHHHHH"}};

TEST(HostGuardTest, HostAndOriginAreJudgedInFortyCases) {
  size_t cases = 0;
  for (const SiteRow& site : kSites) {
    for (size_t page = 0; page < std::size(kPages); ++page, ++cases) {
      const char outcome = site.outcomes[page];
      const auto refusal = [&](http::verb method, bool with_tokens, bool authorization) {
        RequestHeader header = HeaderOf(method, site.host, kPages[page]);
        if (authorization) header.set(http::field::authorization, "Bearer x");
        return ForeignSite(header, *ParseTarget("/v1/streams", method),
                           {kHosts, kCors, with_tokens})
            .has_value();
      };
      SCOPED_TRACE(std::string(site.host) + " asked by a page of " + kPages[page]);
      for (const bool with_tokens : {false, true}) {
        EXPECT_EQ(refusal(http::verb::post, with_tokens, false), outcome != '.');
        EXPECT_EQ(refusal(http::verb::delete_, with_tokens, false), outcome != '.');
        EXPECT_EQ(refusal(http::verb::get, with_tokens, false), outcome == 'H');
        EXPECT_EQ(refusal(http::verb::options, with_tokens, false), outcome == 'H');
      }
      EXPECT_EQ(refusal(http::verb::post, false, true), outcome != '.');
      EXPECT_FALSE(refusal(http::verb::post, true, true));
      const RequestHeader header = HeaderOf(http::verb::get, site.host, kPages[page]);
      EXPECT_EQ(CorsOriginOf(header, kCors), page == 3 || page == 4 ? kPages[page] : "");
    }
  }
  EXPECT_EQ(cases, 40u);
}

TEST(HostGuardTest, AskingBeforehandWhetherATokenMayComeIsAsGoodAsTheToken) {
  RequestHeader header = HeaderOf(http::verb::options, "10.0.0.7", "https://grafana.example.org");
  header.set("Access-Control-Request-Headers", "content-type,authorization");
  const RequestTarget target = *ParseTarget("/v1/streams", http::verb::options);
  EXPECT_FALSE(ForeignSite(header, target, {kHosts, kCors, true}));
  EXPECT_TRUE(ForeignSite(header, target, {kHosts, kCors, false}));
  header.method(http::verb::post);
  EXPECT_TRUE(ForeignSite(header, target, {kHosts, kCors, true})) << "it is not there";
}

TEST(HostGuardTest, OfTwoOriginsNoneIsTold) {
  RequestHeader header = HeaderOf(http::verb::get, "localhost", "https://grafana.example.org");
  header.insert(http::field::origin, "http://panel.example.org:3000");
  EXPECT_EQ(CorsOriginOf(header, kCors), "");
}

}  // namespace
}  // namespace tallyd
