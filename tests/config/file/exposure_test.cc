// Which addresses need tokens and TLS.
#include "config/file/exposure.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tallyd {
namespace {

std::string Refusal(std::vector<ListenAddress> listen, bool has_tokens, bool plaintext) {
  const Status safe = CheckExposure(listen, has_tokens, plaintext);
  if (safe) return "";
  EXPECT_EQ(safe.error().code(), ErrorCode::kInvalid);
  return safe.error().message();
}

TEST(Exposure, AnAddressIsANumberOrLocalhostAndAPort) {
  for (const char* at : {"127.0.0.1:0", "0.0.0.0:65535", "[::]:1", "[::ffff:10.0.0.7]:80",
                         "LocalHost:8780", "[2001:db8::7]:443"}) {
    EXPECT_TRUE(IsListenAddress(at)) << at;
  }
  for (const char* at : {"", ":", "8780", ":8780", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536",
                         "127.0.0.1:-1", "127.0.0.1:1 ", "::1:80", "[::1:80", "tallyd:80",
                         "127.1:80", "[127.0.0.1]:80"}) {
    EXPECT_FALSE(IsListenAddress(at)) << at;
  }
}

TEST(Exposure, OnLoopbackNothingIsNeeded) {
  EXPECT_EQ(Refusal({{"127.8.9.1:1", false}, {"[::1]:1", true}, {"localhost:1", false}}, false,
                    false),
            "");
}

TEST(Exposure, BeyondLoopbackTokensAreNeededAndTlsUnlessThatIsWaived) {
  for (const char* at : {"0.0.0.0:1", "[::]:1", "10.0.0.7:1", "[2001:db8::7]:1"}) {
    const ListenAddress own{"127.0.0.1:1", false};
    for (const bool tls : {false, true}) {
      const std::string without = Refusal({own, {at, tls}}, false, true);
      EXPECT_NE(without.find(std::string(at) + " is beyond loopback"), without.npos) << without;
      EXPECT_NE(without.find("[[auth.tokens]]"), without.npos) << without;
    }
    EXPECT_NE(Refusal({own, {at, false}}, true, false).find("server.plaintext = true"),
              std::string::npos);
    EXPECT_EQ(Refusal({own, {at, true}}, true, false), "");
    EXPECT_EQ(Refusal({own, {at, false}}, true, true), "");
  }
}

}  // namespace
}  // namespace tallyd
