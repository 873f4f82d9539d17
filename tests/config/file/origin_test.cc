#include "config/file/origin.h"

#include <gtest/gtest.h>

#include <string>

namespace tallyd {
namespace {

TEST(OriginTest, WhatABrowserSendsIsTaken) {
  for (const char* origin :
       {"https://grafana.example.org", "http://localhost:3000", "http://127.0.0.1:8080",
        "https://[2001:db8::7]:8443", "https://xn--bcher-kva.example", "http://a.example:443",
        "chrome-extension://aapbdbdomjkkjkaonfhkkikfgjllcleb"}) {
    EXPECT_EQ(OriginMistake(origin), "") << origin;
  }
}

TEST(OriginTest, WhatIsNearlyOneIsToldAsABrowserSendsIt) {
  for (const auto& [text, mistake] : {
           std::pair{"https://a.example/", "ends in a slash; a browser sends https://a.example"},
           {"https://a.example/grafana", "has a path; a browser sends https://a.example"},
           {"https://a.example?x", "has a path; a browser sends https://a.example"},
           {"https://A.example", "has capital letters; a browser sends https://a.example"},
           {"HTTPS://a.example", "has capital letters; a browser sends https://a.example"},
           {"https://a.example:443",
            "names its scheme's own port; a browser sends https://a.example"},
           {"http://a.example:80", "names its scheme's own port; a browser sends http://a.example"},
           {"http://a.example:08080",
            "has a port with zeros; a browser sends http://a.example:8080"},
           {"http://[2001:db8:0:0::7]",
            "spells its address in another way; a browser sends http://[2001:db8::7]"},
       }) {
    EXPECT_EQ(OriginMistake(text), mistake) << text;
  }
}

TEST(OriginTest, NothingElseIsAnOrigin) {
  EXPECT_EQ(OriginMistake("*"), "would let every page in; name each origin");
  EXPECT_EQ(OriginMistake("null"),
            "is what pages without an origin of their own send, whoever made them");
  for (const char* text :
       {"", "a.example", "https://", "://a.example", "https://*.a.example", "https://a.example:",
        "https://a.example:65536", "https://a.example:http", "https://user@a.example",
        "https://1.2.3", "https://[::1", "https://a b", "9p://a.example", "https:a.example"}) {
    EXPECT_EQ(OriginMistake(text), "is no origin") << text;
  }
}

}  // namespace
}  // namespace tallyd
