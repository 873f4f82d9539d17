#include "api/http/wire.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace tallyd
