// How long is waited, what a refusal says, and what is a URL.
#include "tools/transfer/patient_client.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

TEST(PatientClientTest, PausesDoubleUpToTenSeconds) {
  EXPECT_DOUBLE_EQ(PauseBefore(0, ""), 0.1);
  EXPECT_DOUBLE_EQ(PauseBefore(1, ""), 0.2);
  EXPECT_DOUBLE_EQ(PauseBefore(1000, ""), 10);
}

TEST(PatientClientTest, RetryAfterIsWaitedForWithinReason) {
  EXPECT_DOUBLE_EQ(PauseBefore(0, "3"), 3);
  EXPECT_DOUBLE_EQ(PauseBefore(0, "86400"), 60);
  EXPECT_DOUBLE_EQ(PauseBefore(0, "tomorrow"), 0.1);
}

TEST(PatientClientTest, ARefusalSaysWhy) {
  EXPECT_EQ(DetailOf({404, R"({"detail":"there is no stream x"})", "", ""}),
            "404: there is no stream x");
  EXPECT_EQ(DetailOf({502, "<html>", "", ""}), "502: <html>");
}

TEST(PatientClientTest, AnAnswerAccountsForAllThatWasSent) {
  const auto answer = [](const char* body) { return HttpAnswer{200, body, "", ""}; };
  EXPECT_TRUE(CheckCounts(answer(R"({"events":3,"rows":3,"cells":3,"expired":2})"), 3));
  EXPECT_TRUE(CheckCounts(answer(R"({"events":1,"error_count":2})"), 3));
  for (const char* body : {"", "{}", "[]", "<html>", R"({"events":2})", R"({"events":"3"})",
                           R"({"events":3,"error_count":1})"}) {
    EXPECT_FALSE(CheckCounts(answer(body), 3)) << body;
  }
}

TEST(PatientClientTest, APageIsOfItsTypeAndWhole) {
  HttpAnswer page{200, "{\"ts\":1}\n", "", ""};
  page.content_type = "application/x-ndjson";
  EXPECT_TRUE(CheckPage(page, "ndjson"));
  EXPECT_FALSE(CheckPage(page, "csv"));
  page.body = "{\"ts\":1";
  EXPECT_FALSE(CheckPage(page, "ndjson"));
  page.body.clear();
  EXPECT_TRUE(CheckPage(page, "ndjson"));
  page.is_framed = false;
  EXPECT_FALSE(CheckPage(page, "ndjson"));
  page = {200, "ts,a\r\n1,\"x\ny\"\r\n", "", ""};
  EXPECT_FALSE(CheckPage(page, "csv"));
  page.content_type = "text/csv; charset=utf-8; header=present";
  EXPECT_TRUE(CheckPage(page, "csv"));
  page.body = "ts,a\r\n1,\"x\n";
  EXPECT_FALSE(CheckPage(page, "csv"));
}

TEST(HttpClientTest, AUrlHasHostPortAndPath) {
  const HttpTarget plain = ParseUrl("http://127.0.0.1:8780").value();
  EXPECT_EQ(plain.host + " " + plain.port + " " + plain.prefix, "127.0.0.1 8780 ");
  const HttpTarget v6 = ParseUrl("http://[::1]:8780/tallyd/").value();
  EXPECT_EQ(v6.host + " " + v6.port + " " + v6.prefix, "::1 8780 /tallyd");
  const HttpTarget bare = ParseUrl("http://example.net").value();
  EXPECT_EQ(bare.host + " " + bare.port, "example.net 80");
}

TEST(HttpClientTest, WhatIsNoUrlIsRefused) {
  for (const char* url : {"", "127.0.0.1:8780", "ftp://a:1", "http://", "http://:80", "http://a:",
                          "http://a:b", "http://a:1/?x=1", "http://[::1", "http://a:65536",
                          "http://a:0", "http://a:74316", "http://a:-1", "http://a:+1"}) {
    EXPECT_FALSE(ParseUrl(url)) << url;
  }
}

TEST(PatientClientTest, AWrongCommandLineIsRefused) {
  TransferLine line;
  line.url = "http://127.0.0.1:1";
  line.retry_for = "soon";
  EXPECT_FALSE(PatientClient::Make(line));
  line.retry_for = "0";
  EXPECT_TRUE(PatientClient::Make(line));
  line.token_file = "/nonexistent/token";
  EXPECT_FALSE(PatientClient::Make(line));
}

}  // namespace
}  // namespace tallyd
