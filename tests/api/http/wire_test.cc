#include "api/http/wire.h"

#include <gtest/gtest.h>

#include "api/cors.h"

namespace tallyd {
namespace {

std::string Head(const Response& response, const HeadOptions& options) {
  std::string head;
  AppendHead(response, options, &head);
  return head;
}

TEST(WireTest, AHeadTellsTheDateAsHttpWritesIt) {
  for (const auto& [now, date] :
       {std::pair<TimeUs, const char*>{784'111'777'999'999, "Sun, 06 Nov 1994 08:49:37 GMT"},
        {0, "Thu, 01 Jan 1970 00:00:00 GMT"},
        {951'782'400'000'000, "Tue, 29 Feb 2000 00:00:00 GMT"}}) {
    HeadOptions options;
    options.now = now;
    EXPECT_NE(Head(Response(), options).find(std::string("\r\nDate: ") + date + "\r\n"),
              std::string::npos)
        << date;
  }
}

TEST(WireTest, ABodyIsFramedByLengthByChunksOrByTheEnd) {
  const Response response = Response::Json(200, "{}");
  HeadOptions options;
  EXPECT_NE(Head(response, options).find("\r\nContent-Length: 3\r\n"), std::string::npos);
  options.has_length = false;
  EXPECT_EQ(Head(response, options).find("Content-Length"), std::string::npos);
  options.chunked = true;
  EXPECT_NE(Head(response, options).find("\r\nTransfer-Encoding: chunked\r\n"), std::string::npos);
}

TEST(WireTest, TheEndOfAConnectionIsAnnounced) {
  HeadOptions options;
  EXPECT_EQ(Head(Response(), options).find("Connection:"), std::string::npos);
  options.http10 = true;
  EXPECT_NE(Head(Response(), options).find("\r\nConnection: keep-alive\r\n"), std::string::npos);
  options.keep_alive = false;
  EXPECT_NE(Head(Response(), options).find("\r\nConnection: close\r\n"), std::string::npos);
}

TEST(WireTest, EveryAnswerIsNeitherGuessedAtNorKept) {
  const std::string head = Head(Problem(400, "x"), HeadOptions());
  EXPECT_NE(head.find("\r\nX-Content-Type-Options: nosniff\r\n"), std::string::npos);
  EXPECT_NE(head.find("\r\nCache-Control: no-store\r\n"), std::string::npos);
  EXPECT_EQ(head.find("Access-Control"), std::string::npos);
  EXPECT_EQ(head.find("Vary"), std::string::npos);
}

TEST(WireTest, ANoContentHasNeitherTypeNorLength) {
  const std::string head = Head(AnswerOptions("GET, OPTIONS", ""), HeadOptions());
  EXPECT_TRUE(head.starts_with("HTTP/1.1 204 No Content\r\n"));
  EXPECT_EQ(head.find("Content-Type:"), std::string::npos);
  EXPECT_EQ(head.find("Content-Length"), std::string::npos);
  EXPECT_NE(head.find("\r\nAllow: GET, OPTIONS\r\n"), std::string::npos);
}

TEST(WireTest, ThePageThatMayReadIsNamedAndNoOther) {
  HeadOptions options;
  options.cors = "https://a.example";
  const std::string head = Head(Response(), options);
  EXPECT_NE(head.find("\r\nAccess-Control-Allow-Origin: https://a.example\r\n"),
            std::string::npos);
  EXPECT_NE(head.find("\r\nVary: Origin\r\n"), std::string::npos);
  EXPECT_EQ(head.find("Access-Control-Allow-Credentials"), std::string::npos);
  options.cors = "";
  EXPECT_EQ(Head(Response(), options).find("Access-Control"), std::string::npos);
}

}  // namespace
}  // namespace tallyd
