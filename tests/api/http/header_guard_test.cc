#include "api/http/header_guard.h"

#include <gtest/gtest.h>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <string>

namespace tallyd {
namespace {

namespace http = boost::beast::http;

// The guard's verdict on a header, as the session asks for it; what Beast itself refuses counts as
// refused.
bool Passes(const std::string& raw) {
  if (!CheckRawHeader(raw)) return false;
  http::request_parser<http::buffer_body> parser;
  boost::beast::error_code ec;
  parser.put(boost::asio::buffer(raw), ec);
  if (!parser.is_header_done()) return false;
  return CheckHeader(parser.get()).has_value();
}

std::string Post(const std::string& lines, const std::string& version = "1.1") {
  return "POST /v1/streams/s/events HTTP/" + version + "\r\n" + lines + "\r\n";
}

TEST(HeaderGuardTest, OptionsMayBeAboutTheDaemonAsAWhole) {
  EXPECT_EQ(ParseTarget("*", http::verb::options)->path, "*");
  EXPECT_FALSE(ParseTarget("*", http::verb::get));
  EXPECT_FALSE(ParseTarget("*x", http::verb::options));
}

TEST(HeaderGuardTest, LinesAreCounted) {
  const auto of = [](size_t lines) {
    std::string raw = "GET / HTTP/1.1\r\n";
    for (size_t i = 0; i < lines; ++i) raw += "a: b\r\n";
    return CheckRawHeader(raw + "\r\n");
  };
  EXPECT_TRUE(of(kMaxHeaderLines));
  const Status more = of(kMaxHeaderLines + 1);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code(), ErrorCode::kTooLarge);
}

TEST(HeaderGuardTest, ALengthIsOneNumber) {
  EXPECT_TRUE(Passes(Post("Host: localhost\r\nContent-Length: 5\r\n")));
  EXPECT_FALSE(Passes(Post("Host: localhost\r\nContent-Length: 5, 5\r\n")));
}

TEST(HeaderGuardTest, AnOrdinaryRequestPasses) {
  EXPECT_TRUE(Passes(Post("Host: localhost:8780\r\nContent-Length: 2\r\n")));
  EXPECT_TRUE(Passes(Post("Host: [::1]:8780\r\nTransfer-Encoding: chunked\r\n")));
  EXPECT_TRUE(Passes(Post("Host: a\r\nTransfer-Encoding: Chunked\r\n")));
  EXPECT_TRUE(Passes(Post("Content-Length: 2\r\n", "1.0")));
}

TEST(TargetTest, IsAPathAndAQuery) {
  const Result<RequestTarget> target =
      ParseTarget("/v1/streams/s/events?k=a?b&x=http://y", http::verb::get);
  ASSERT_TRUE(target);
  EXPECT_EQ(target->authority, "");
  EXPECT_EQ(target->path, "/v1/streams/s/events");
  EXPECT_EQ(target->query, "k=a?b&x=http://y");
}

TEST(TargetTest, MayBeAbsolute) {
  const Result<RequestTarget> target =
      ParseTarget("HTTP://localhost:8780/healthz?x", http::verb::get);
  ASSERT_TRUE(target);
  EXPECT_EQ(target->authority, "localhost:8780");
  EXPECT_EQ(target->path, "/healthz");
  EXPECT_EQ(target->query, "x");
  EXPECT_EQ(ParseTarget("https://[::1]", http::verb::get)->path, "/");
  EXPECT_EQ(ParseTarget("https://[::1]?a=b", http::verb::get)->query, "a=b");
}

TEST(TargetTest, OtherFormsAreRefused) {
  for (const char* target : {"", "*", "healthz", "ftp://localhost/", "http:/localhost", "http://",
                             "http:///healthz", "http://me@localhost/", "localhost:8780"}) {
    EXPECT_FALSE(ParseTarget(target, http::verb::get)) << target;
  }
}

TEST(HeaderGuardTest, TrailersAreHeldToTheSameAsAHeader) {
  EXPECT_TRUE(CheckRawHeader("0\r\n\r\n"));
  EXPECT_TRUE(CheckRawHeader("0;a=b\r\nX: y\r\n\r\n"));
  EXPECT_FALSE(CheckRawHeader("0\r\n X: y\r\n\r\n"));
  EXPECT_FALSE(CheckRawHeader("0\r\nX: y\r\n z\r\n\r\n"));
  EXPECT_FALSE(CheckRawHeader("0\r\nX : y\r\n\r\n"));
}

struct RefusedCase {
  const char* name;
  const char* lines;
  const char* version = "1.1";
};

class RefusedHeaderTest : public testing::TestWithParam<RefusedCase> {};

TEST_P(RefusedHeaderTest, IsRefused) {
  EXPECT_FALSE(Passes(Post(GetParam().lines, GetParam().version)));
}

INSTANTIATE_TEST_SUITE_P(
    HeaderGuardTest, RefusedHeaderTest,
    testing::Values(
        RefusedCase{"NotEndingInChunked", "Host: a\r\nTransfer-Encoding: chunked, gzip\r\n"},
        RefusedCase{"UnknownEncoding", "Host: a\r\nTransfer-Encoding: gzip\r\n"},
        RefusedCase{"ChunkedTwice", "Host: a\r\nTransfer-Encoding: chunked, chunked\r\n"},
        RefusedCase{"TwoEncodings",
                    "Host: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"},
        RefusedCase{"LengthThenEncoding",
                    "Host: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n"},
        RefusedCase{"EncodingThenLength",
                    "Host: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n"},
        RefusedCase{"OtherEncodingThenLength",
                    "Host: a\r\nTransfer-Encoding: gzip\r\nContent-Length: 3\r\n"},
        RefusedCase{"ChunkedOnHttp10", "Transfer-Encoding: chunked\r\n", "1.0"},
        RefusedCase{"TwoLengths", "Host: a\r\nContent-Length: 3\r\nContent-Length: 3\r\n"},
        RefusedCase{"NoHost", "Content-Length: 3\r\n"},
        RefusedCase{"TwoHosts", "Host: a\r\nHost: a\r\n"}, RefusedCase{"EmptyHost", "Host: \r\n"},
        RefusedCase{"HostWithPath", "Host: a/b\r\n"},
        RefusedCase{"FoldedLine", "Host: a\r\nX-A: b\r\n c\r\n"},
        RefusedCase{"SpaceBeforeColon", "Host: a\r\nContent-Length : 3\r\n"},
        RefusedCase{"LineWithoutColon", "Host: a\r\nnonsense\r\n"},
        RefusedCase{"BareLineFeed", "Host: a\nX: b\r\n"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace tallyd
