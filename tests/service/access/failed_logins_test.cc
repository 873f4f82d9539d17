#include "service/access/failed_logins.h"

#include <gtest/gtest.h>

#include <string>

namespace tallyd {
namespace {

using std::chrono::milliseconds;

constexpr FailedLogins::Time kBegin{};

TEST(FailedLogins, TheEleventhWithinASecondIsOneTooMany) {
  FailedLogins failed;
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(failed.Exceeds("10.0.0.1:1", true, kBegin)) << i;
  EXPECT_TRUE(failed.Exceeds("10.0.0.1:2", true, kBegin + milliseconds(999)));
  EXPECT_FALSE(failed.Exceeds("10.0.0.1:3", true, kBegin + milliseconds(1000)));
}

TEST(FailedLogins, WhoBringsNothingHasNotTriedButWaitsWithItsAddress) {
  FailedLogins failed;
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(failed.Exceeds("10.0.0.1:1", false, kBegin));
  for (int i = 0; i < 11; ++i) failed.Exceeds("10.0.0.1:1", true, kBegin);
  EXPECT_TRUE(failed.Exceeds("10.0.0.1:1", false, kBegin));
}

TEST(FailedLogins, OtherAddressesAreTakenByThemselves) {
  FailedLogins failed;
  for (int i = 0; i < 11; ++i) failed.Exceeds("10.0.0.1:1", true, kBegin);
  EXPECT_FALSE(failed.Exceeds("10.0.0.2:1", true, kBegin));
  EXPECT_FALSE(failed.Exceeds("[::1]:1", true, kBegin));
}

TEST(FailedLogins, AnAddressOfANetworkOfIpV6IsItsNetwork) {
  FailedLogins failed;
  for (int i = 0; i < 11; ++i) {
    failed.Exceeds("[2001:db8::" + std::to_string(i) + "]:1", true, kBegin);
  }
  EXPECT_TRUE(failed.Exceeds("[2001:db8::ffff]:1", true, kBegin));
  EXPECT_FALSE(failed.Exceeds("[2001:db8:0:1::1]:1", true, kBegin));
}

TEST(FailedLogins, AnAddressOfIpV4InIpV6IsThatOfIpV4) {
  FailedLogins failed;
  for (int i = 0; i < 11; ++i) failed.Exceeds("[::ffff:10.0.0.1]:1", true, kBegin);
  EXPECT_TRUE(failed.Exceeds("10.0.0.1:1", true, kBegin));
  EXPECT_FALSE(failed.Exceeds("[::ffff:10.0.0.2]:1", true, kBegin));
}

TEST(FailedLogins, ManyAddressesForgetTheOldestAndNeverGrow) {
  FailedLogins failed;
  for (int i = 0; i < 100'000; ++i) {
    const std::string peer =
        "10." + std::to_string(i >> 16) + "." + std::to_string(i >> 8 & 255) + "." +
        std::to_string(i & 255) + ":1";
    EXPECT_FALSE(failed.Exceeds(peer, true, kBegin + milliseconds(i / 1000)));
  }
}

}  // namespace
}  // namespace tallyd
