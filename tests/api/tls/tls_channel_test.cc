// Both ends of a TLS connection, over a pair of sockets and on one thread.
#include "api/tls/tls_channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "tests/api/tls/pem.h"

namespace tallyd {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class TlsChannelTest : public ::testing::Test {
 protected:
  TlsChannelTest() : client_context_(SSL_CTX_new(TLS_client_method())) {
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets_.data()), 0);
    RestrictTls(client_context_.get());
  }
  ~TlsChannelTest() override {
    for (const int socket : sockets_) ::close(socket);
  }

  void Open(const TlsFiles& files) {
    const Result<TlsContextPtr> loaded = TlsContext::Load(files);
    ASSERT_TRUE(loaded) << loaded.error().message();
    context_ = *loaded;
    server_.emplace(context_->get(), TlsSide::kServer, sockets_[0]);
    client_.emplace(client_context_.get(), TlsSide::kClient, sockets_[1]);
  }
  // The server's last step.
  TlsStep ShakeHands() {
    TlsStep step = TlsStep::kWantsRead;
    for (int turn = 0; turn < 10 && step == TlsStep::kWantsRead; ++turn) {
      client_->Handshake();
      step = server_->Handshake();
    }
    return step;
  }
  static std::string ReadAll(TlsChannel& channel, TlsStep* last) {
    std::string all;
    std::array<char, 5000> buffer;
    size_t n = 0;
    while ((*last = channel.Read(buffer, &n)) == TlsStep::kDone) all.append(buffer.data(), n);
    return all;
  }

  PemFolder folder_;
  std::array<int, 2> sockets_ = {-1, -1};
  SslContextPtr client_context_;
  TlsContextPtr context_;
  std::optional<TlsChannel> server_;
  std::optional<TlsChannel> client_;
};

TEST_F(TlsChannelTest, WhatIsWrittenInPartsIsReadWhole) {
  Open(folder_.Make("a"));
  ASSERT_EQ(ShakeHands(), TlsStep::kDone) << server_->error();
  const std::string large(40'000, 'x');
  size_t written = 0;
  const std::array<std::string_view, 3> parts = {"head", large, "tail"};
  ASSERT_EQ(client_->Write(parts, &written), TlsStep::kDone);
  EXPECT_EQ(written, large.size() + 8);
  TlsStep last = TlsStep::kDone;
  EXPECT_EQ(ReadAll(*server_, &last), "head" + large + "tail");
  EXPECT_EQ(last, TlsStep::kWantsRead);
}

TEST_F(TlsChannelTest, AWriteGoesOnWhereItCouldNot) {
  Open(folder_.Make("a"));
  ASSERT_EQ(ShakeHands(), TlsStep::kDone) << server_->error();
  std::string all;
  for (int i = 0; i < 300'000; ++i) all += std::to_string(i);
  const std::string_view sent = all;
  std::string received;
  size_t done = 0;
  while (done < sent.size()) {
    size_t n = 0;
    // Another place of the same bytes, and other parts of them.
    const std::string copy(sent.substr(done));
    const std::array<std::string_view, 2> parts = {std::string_view(copy).substr(0, 7),
                                                   std::string_view(copy).substr(7)};
    const TlsStep step = server_->Write(parts, &n);
    done += n;
    ASSERT_TRUE(step == TlsStep::kDone || step == TlsStep::kWantsWrite) << server_->error();
    TlsStep last = TlsStep::kDone;
    received += ReadAll(*client_, &last);
    ASSERT_EQ(last, TlsStep::kWantsRead) << client_->error();
  }
  EXPECT_EQ(received, all);
}

TEST_F(TlsChannelTest, AnEndIsToldFromACut) {
  Open(folder_.Make("a"));
  ASSERT_EQ(ShakeHands(), TlsStep::kDone);
  server_->EndSending();
  TlsStep last = TlsStep::kDone;
  EXPECT_EQ(ReadAll(*client_, &last), "");
  EXPECT_EQ(last, TlsStep::kEnd);
  ::shutdown(sockets_[1], SHUT_WR);
  EXPECT_EQ(ReadAll(*server_, &last), "");
  EXPECT_EQ(last, TlsStep::kCut);
}

TEST_F(TlsChannelTest, WhatWasReadAlreadyIsTheBeginning) {
  Open(folder_.Make("a"));
  client_->Handshake();
  std::string begun(4096, '\0');
  begun.resize(static_cast<size_t>(::recv(sockets_[0], begun.data(), begun.size(), 0)));
  server_.emplace(context_->get(), TlsSide::kServer, sockets_[0], begun);
  ASSERT_EQ(server_->Handshake(), TlsStep::kWantsRead);
  EXPECT_EQ(ShakeHands(), TlsStep::kDone) << server_->error();
}

TEST_F(TlsChannelTest, WhyAHandshakeFailsIsOneOfAFew) {
  Open(folder_.Make("a"));
  SSL_CTX_set_min_proto_version(client_context_.get(), TLS1_2_VERSION);
  SSL_CTX_set_max_proto_version(client_context_.get(), TLS1_2_VERSION);
  SSL_CTX_set_cipher_list(client_context_.get(), "ECDHE-ECDSA-AES128-SHA256");
  client_.emplace(client_context_.get(), TlsSide::kClient, sockets_[1]);
  EXPECT_EQ(ShakeHands(), TlsStep::kBroken);
  EXPECT_EQ(server_->failure(), TlsFailure::kUnsupported) << server_->error();
  EXPECT_NE(server_->error(), "");
}

TEST_F(TlsChannelTest, AClientShowsACertificateOfAnAuthorityOrTheServersOwn) {
  const TlsFiles client = folder_.Make("client", "DNS:acme-reader,DNS:other");
  const TlsFiles own = folder_.Make("server", "DNS:localhost");
  const TlsFiles stranger = folder_.Make("stranger", "DNS:acme-reader");
  TlsFiles server = own;
  server.client_ca = client.cert;
  for (const TlsFiles& shown : {client, own, stranger, TlsFiles()}) {
    client_context_.reset(SSL_CTX_new(TLS_client_method()));
    if (!shown.empty()) {
      SSL_CTX_use_certificate_file(client_context_.get(), shown.cert.c_str(), SSL_FILETYPE_PEM);
      SSL_CTX_use_PrivateKey_file(client_context_.get(), shown.key.c_str(), SSL_FILETYPE_PEM);
    }
    for (int& socket : sockets_) ::close(socket);
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets_.data()), 0);
    Open(server);
    const TlsStep step = ShakeHands();
    if (shown == client) {
      EXPECT_EQ(step, TlsStep::kDone) << server_->error();
      EXPECT_THAT(server_->NamesOfPeer(), ElementsAre("acme-reader", "other"));
    } else if (shown == own) {
      EXPECT_EQ(step, TlsStep::kDone) << server_->error();
      EXPECT_THAT(server_->NamesOfPeer(), IsEmpty());
    } else {
      EXPECT_EQ(step, TlsStep::kBroken);
      EXPECT_EQ(server_->failure(), TlsFailure::kCertificate) << server_->error();
    }
  }
}

}  // namespace
}  // namespace tallyd
