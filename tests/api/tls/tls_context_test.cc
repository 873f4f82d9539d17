// What of [server.tls] is taken, and what is refused and why.
#include "api/tls/tls_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/api/tls/pem.h"

namespace tallyd {
namespace {

using testing::HasSubstr;

std::string TlsRefusal(const TlsFiles& files) {
  const Result<TlsContextPtr> loaded = TlsContext::Load(files);
  if (loaded) return "taken";
  EXPECT_EQ(loaded.error().code(), ErrorCode::kInvalid);
  return loaded.error().message();
}

TEST(TlsContext, ACertificateWithItsKeyIsTaken) {
  PemFolder folder;
  const Result<TlsContextPtr> loaded = TlsContext::Load(folder.Make("a"));
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_EQ((*loaded)->subject(), "CN = a");
  EXPECT_FALSE((*loaded)->asks_for_certificates());
  EXPECT_EQ((*loaded)->valid_to() - (*loaded)->valid_from(), kUsPerDay);
}

TEST(TlsContext, WhatClientsWillRefuseIsToldByTheClock) {
  PemFolder folder;
  const Result<TlsContextPtr> loaded = TlsContext::Load(folder.Make("a"));
  ASSERT_TRUE(loaded);
  const TlsContext& context = **loaded;
  EXPECT_EQ(context.DoubtAt(context.valid_from()), "");
  EXPECT_EQ(context.DoubtAt(context.valid_to() - 1), "");
  EXPECT_THAT(context.DoubtAt(context.valid_to()), HasSubstr("CN = a expired at "));
  EXPECT_THAT(context.DoubtAt(context.valid_from() - 1), HasSubstr("is valid from "));
}

TEST(TlsContext, FilesThatSayTheSameHaveOneDigest) {
  PemFolder folder;
  TlsFiles files = folder.Make("a");
  const std::string before = (*TlsContext::Load(files))->digest();
  EXPECT_EQ((*TlsContext::Load(files))->digest(), before);
  files.client_ca = files.cert;
  EXPECT_NE((*TlsContext::Load(files))->digest(), before);
  folder.Make("a");
  files.client_ca.clear();
  EXPECT_NE((*TlsContext::Load(files))->digest(), before);
}

TEST(TlsContext, AKeyThatOthersMayUseIsRefusedAndAGroupsReadIsTaken) {
  PemFolder folder;
  const TlsFiles files = folder.Make("a");
  const std::string key = folder.Read("a.key");
  for (const unsigned mode : {0600u, 0400u, 0640u, 0440u}) {
    folder.Write("a.key", key, mode);
    EXPECT_EQ(TlsRefusal(files), "taken") << mode;
    folder.Write("a.key", key, 0600);
  }
  for (const unsigned mode : {0604u, 0602u, 0601u, 0644u}) {
    folder.Write("a.key", key, mode);
    EXPECT_THAT(TlsRefusal(files), HasSubstr("others than its owner and group")) << mode;
  }
}

TEST(TlsContext, WhatDoesNotBelongTogetherIsRefusedByName) {
  PemFolder folder;
  const TlsFiles a = folder.Make("a");
  const TlsFiles b = folder.Make("b");
  EXPECT_THAT(TlsRefusal({a.cert, b.key, ""}),
              HasSubstr("server.tls.key: " + b.key + ": is not the key of the certificate"));
  EXPECT_THAT(TlsRefusal({a.key, a.key, ""}), HasSubstr("no certificate that can be read"));
  EXPECT_THAT(TlsRefusal({a.cert, folder.PathOf("none"), ""}), HasSubstr("cannot be read"));
  EXPECT_THAT(TlsRefusal({a.cert, folder.PathOf(""), ""}), HasSubstr("no regular file"));
  folder.Write("empty.pem", "");
  EXPECT_THAT(TlsRefusal({a.cert, a.key, folder.PathOf("empty.pem")}),
              HasSubstr("server.tls.client_ca: "));
  folder.Write("cut.pem", folder.Read("a.pem") + folder.Read("b.pem").substr(0, 200));
  EXPECT_THAT(TlsRefusal({folder.PathOf("cut.pem"), a.key, ""}),
              HasSubstr("no certificate that can be read"));
}

}  // namespace
}  // namespace tallyd
