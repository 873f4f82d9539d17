#include "config/file/host.h"

#include <gtest/gtest.h>

#include <string>

namespace tallyd {
namespace {

TEST(HostTest, LoopbackIsLocalhostAndItsAddresses) {
  for (const char* host :
       {"localhost", "LocalHost", "127.0.0.1", "127.255.0.3", "[::1]", "[0:0:0:0:0:0:0:1]"}) {
    EXPECT_TRUE(IsLoopbackHost(host)) << host;
  }
}

TEST(HostTest, NothingElseIsLoopback) {
  for (const char* host :
       {"", "localhost.example.org", "127.0.0.1.example.org", "127.1", "0.0.0.0", "128.0.0.1",
        "::1", "[::2]", "[127.0.0.1]", "localhost:80", "[::1", "[::1]]", "evil-localhost"}) {
    EXPECT_FALSE(IsLoopbackHost(host)) << host;
  }
  EXPECT_FALSE(IsLoopbackHost(std::string_view("127.0.0.1\0.example", 18)));
  EXPECT_FALSE(IsLoopbackHost(std::string_view("[::1\0.example]", 14)));
}

TEST(HostTest, AHostIsANameOrAnAddressWithoutAPort) {
  for (const char* host :
       {"tallyd", "tallyd.example.org", "my_host-1", "10.0.0.7", "[2001:db8::7]"}) {
    EXPECT_TRUE(IsHost(host)) << host;
  }
  EXPECT_FALSE(IsHost(std::string(254, 'a')));
  for (const char* text : {"", "*", "*.example.org", "host:80", "http://host", "a b", "host/",
                           "user@h", "2001:db8::7", "[]", "[x]", "[::1]:80"}) {
    EXPECT_FALSE(IsHost(text)) << text;
  }
}

TEST(HostTest, CaseDoesNotDistinguishHosts) {
  EXPECT_TRUE(IsSameHost("Tallyd.Example.ORG", "tallyd.example.org"));
  EXPECT_FALSE(IsSameHost("tallyd", "tallyd.example.org"));
}

}  // namespace
}  // namespace tallyd
