// A socket that speaks TLS keeps the promises of one that does not; and what a handshake comes to.
#include "api/http/handshakes.h"

#include <gtest/gtest.h>

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <string>

#include "tests/api/tls/pem.h"

namespace tallyd {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace std::chrono_literals;

// Both ends over loopback, on one thread: the server's by coroutines, the client's by steps.
class HandshakesTest : public ::testing::Test {
 protected:
  HandshakesTest() : context_(TlsContext::Load(folder_.Make("a")).value()) {
    tcp::acceptor acceptor(io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    peer_.connect(acceptor.local_endpoint());
    socket_ = std::make_unique<TimedSocket>(acceptor.accept());
    socket_->ExpireAfter(1h);
    client_context_.reset(SSL_CTX_new(TLS_client_method()));
    client_.emplace(client_context_.get(), TlsSide::kClient, peer_.native_handle());
  }

  asio::awaitable<void> AcceptInto(std::optional<Handshake>* done) {
    *done = co_await handshakes_.Accept(*socket_, context_);
  }
  void Accept() { asio::co_spawn(io_, AcceptInto(&accepted_), asio::detached); }
  void ShakeHands() {
    Accept();
    while (!accepted_) {
      client_->Handshake();
      io_.poll();
    }
    EXPECT_FALSE(accepted_->failure) << accepted_->why;
  }

  struct Read {
    bool is_done = false;
    bool failed = false;
    std::string text;
  };
  asio::awaitable<void> ReadInto(Read* read) {
    std::array<char, 64> buffer;
    auto [ec, n] = co_await socket_->ReadSome(asio::buffer(buffer));
    *read = {true, static_cast<bool>(ec), std::string(buffer.data(), n)};
  }
  Read ReadOnce() {
    Read read;
    asio::co_spawn(io_, ReadInto(&read), asio::detached);
    while (!read.is_done) io_.run_one();
    return read;
  }
  void Send(std::string_view text) {
    size_t n = 0;
    const std::array<std::string_view, 1> parts = {text};
    EXPECT_EQ(client_->Write(parts, &n), TlsStep::kDone);
  }
  asio::awaitable<void> WriteAll(const std::string* text, bool* is_done) {
    auto [ec, n] = co_await socket_->Write(asio::buffer(*text));
    EXPECT_FALSE(ec);
    EXPECT_EQ(n, text->size());
    *is_done = true;
  }

  PemFolder folder_;
  TlsContextPtr context_;
  SslContextPtr client_context_;
  Handshakes handshakes_;
  std::optional<Handshake> accepted_;
  asio::io_context io_;
  // It is asked again and again, also after it had nothing to do.
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  tcp::socket peer_{io_};
  std::unique_ptr<TimedSocket> socket_;
  std::optional<TlsChannel> client_;
};

TEST_F(HandshakesTest, AClientWhoseKeyIsNotLikedIsAskedForAnother) {
  ASSERT_EQ(SSL_set1_groups_list(client_->get(), "P-521:P-256"), 1);
  ShakeHands();
  Send("abc");
  EXPECT_EQ(ReadOnce().text, "abc");
}

TEST_F(HandshakesTest, ASecondHelloComputesOnceItIsWhole) {
  ASSERT_EQ(SSL_set1_groups_list(client_->get(), "P-521:P-256"), 1);
  Accept();
  client_->Handshake();
  while (socket_->tls() == nullptr) io_.poll();
  ASSERT_TRUE(socket_->tls()->AwaitsSecondHello());
  const std::string begun("\x16\x03\x03\0\4\1\0\0\x10", 9);
  asio::write(peer_, asio::buffer(begun));
  for (int i = 0; i < 20; ++i) io_.poll();
  EXPECT_FALSE(accepted_) << "it waits for the rest";
  asio::write(peer_, asio::buffer("GET"));
  while (!accepted_) io_.run_one();
  EXPECT_EQ(accepted_->failure, TlsFailure::kMalformed) << "OpenSSL has not seen any of it";
}

TEST_F(HandshakesTest, WhatFollowsAHandshakePassesByTls) {
  ShakeHands();
  Send("abc");
  EXPECT_EQ(ReadOnce().text, "abc");
  const std::string large(8u << 20, 'x');  // More than the sockets hold.
  bool is_done = false;
  asio::co_spawn(io_, WriteAll(&large, &is_done), asio::detached);
  std::string received;
  std::string piece(64u << 10, '\0');
  while (!is_done || received.size() < large.size()) {
    io_.poll();
    size_t n = 0;
    client_->Read(piece, &n);
    received.append(piece, 0, n);
  }
  EXPECT_EQ(received, large);
}

TEST_F(HandshakesTest, AReadByTlsEndsByItsDeadlineAndGoesOnLater) {
  ShakeHands();
  socket_->ExpireAfter(1ms);
  EXPECT_TRUE(ReadOnce().failed);
  EXPECT_TRUE(socket_->expired());
  Send("later");
  socket_->ExpireAfter(1h);
  EXPECT_EQ(ReadOnce().text, "later");
}

TEST_F(HandshakesTest, AWaitThatIsEndedOrClosedIsOver) {
  ShakeHands();
  for (const bool closes : {false, true}) {
    Read read;
    asio::co_spawn(io_, ReadInto(&read), asio::detached);
    io_.poll();
    EXPECT_FALSE(read.is_done);
    closes ? socket_->Close() : socket_->EndWait();
    while (!read.is_done) io_.run_one();
    EXPECT_TRUE(read.failed);
    EXPECT_FALSE(socket_->expired());
  }
}

TEST_F(HandshakesTest, WhoEndsIsReadAsTheEnd) {
  ShakeHands();
  client_->EndSending();
  EXPECT_TRUE(ReadOnce().failed);
}

TEST_F(HandshakesTest, ASlowHelloIsCutByTheDeadlineOfTheWhole) {
  socket_->ExpireAfter(20ms);
  Accept();
  constexpr std::string_view kBegun = "\x16\x03\x01";
  for (const char byte : kBegun) {
    asio::write(peer_, asio::buffer(&byte, 1));
    io_.poll();
  }
  while (!accepted_) io_.run_one();
  EXPECT_EQ(accepted_->failure, TlsFailure::kTimedOut);
}

TEST_F(HandshakesTest, WhatIsNoHelloIsKnownByItsFirstByte) {
  Accept();
  asio::write(peer_, asio::buffer("G", 1));
  while (!accepted_) io_.run_one();
  EXPECT_EQ(accepted_->failure, TlsFailure::kNotTls);
}

TEST_F(HandshakesTest, WhoLeavesInBetweenIsToldFromWhoIsWrong) {
  Accept();
  client_->Handshake();
  io_.poll();
  peer_.close();
  while (!accepted_) io_.run_one();
  EXPECT_EQ(accepted_->failure, TlsFailure::kClosed);
}

TEST(HandshakePace, AFewAtOnceNeedNotWait) {
  HandshakePace pace;
  const HandshakePace::Clock::time_point now{1h};
  for (int i = 0; i < 10; ++i) EXPECT_EQ(pace.Turn(now), now);
  EXPECT_EQ(pace.Turn(now + 1h), now + 1h) << "what was long ago counts no more";
}

TEST(HandshakePace, AFloodTakesHalfOfTheTime) {
  HandshakePace pace;
  for (int i = 0; i < 100; ++i) pace.Note(1ms);
  const HandshakePace::Clock::time_point now{1h};
  HandshakePace::Clock::time_point last = now;
  for (int i = 0; i < 1000; ++i) last = *pace.Turn(now);
  EXPECT_GT(last - now, 1900ms) << "a thousand of a millisecond each";
  EXPECT_LT(last - now, 2100ms);
}

TEST(HandshakePace, WhoIsTurnedAwayTakesNoTimeFromOthers) {
  HandshakePace pace;
  for (int i = 0; i < 100; ++i) pace.Note(1ms);
  const HandshakePace::Clock::time_point now{1h};
  for (int i = 0; i < 10'000; ++i) pace.Turn(now, now + 1s);
  EXPECT_EQ(pace.Turn(now, now + 1s), std::nullopt);
  EXPECT_TRUE(pace.Turn(now + 500ms, now + 1500ms)) << "a second of it is all that waits";
}

}  // namespace
}  // namespace tallyd
