#include "api/http/timed_socket.h"

#include <gtest/gtest.h>

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>

namespace tallyd {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace std::chrono_literals;

// Two ends of a connection over loopback, on one thread.
class TimedSocketTest : public ::testing::Test {
 protected:
  TimedSocketTest() {
    tcp::acceptor acceptor(io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    peer_.connect(acceptor.local_endpoint());
    socket_ = std::make_unique<TimedSocket>(acceptor.accept());
  }

  struct Outcome {
    bool failed = false;
    bool expired = false;
    size_t bytes = 0;
  };
  Outcome Read() {
    Outcome outcome;
    asio::co_spawn(io_, ReadInto(socket_.get(), &outcome), asio::detached);
    io_.restart();
    while (!done_) io_.run_one();
    done_ = false;
    return outcome;
  }
  asio::awaitable<void> ReadInto(TimedSocket* socket, Outcome* outcome) {
    std::array<char, 16> buffer;
    auto [ec, n] = co_await socket->ReadSome(asio::buffer(buffer));
    *outcome = {static_cast<bool>(ec), socket->expired(), n};
    done_ = true;
  }
  void Send(std::string_view text) { asio::write(peer_, asio::buffer(text)); }

  asio::io_context io_;
  tcp::socket peer_{io_};
  std::unique_ptr<TimedSocket> socket_;
  bool done_ = false;
};

TEST_F(TimedSocketTest, AReadEndsByItsDeadlineAndTheSocketStaysOpen) {
  socket_->ExpireAfter(1ms);
  const Outcome late = Read();
  EXPECT_TRUE(late.failed);
  EXPECT_TRUE(late.expired);
  Send("abc");
  socket_->ExpireAfter(1h);
  const Outcome next = Read();
  EXPECT_FALSE(next.failed || next.expired);
  EXPECT_EQ(next.bytes, 3u);
}

TEST_F(TimedSocketTest, AnEarlierDeadlineReplacesALaterOne) {
  socket_->ExpireAfter(1h);
  Send("a");
  EXPECT_EQ(Read().bytes, 1u);
  socket_->ExpireAfter(1ms);
  EXPECT_TRUE(Read().expired);
}

TEST_F(TimedSocketTest, ALaterDeadlineReplacesAnEarlierOne) {
  const auto start = std::chrono::steady_clock::now();
  socket_->ExpireAfter(1ms);
  Send("a");
  EXPECT_EQ(Read().bytes, 1u);
  socket_->ExpireAt(start + 50ms);
  EXPECT_TRUE(Read().expired);
  EXPECT_GE(std::chrono::steady_clock::now(), start + 50ms);
}

TEST_F(TimedSocketTest, AFailureThatIsNoDeadlineIsNotTakenForOne) {
  socket_->ExpireAfter(1h);
  peer_.close();
  const Outcome outcome = Read();
  EXPECT_TRUE(outcome.failed);
  EXPECT_FALSE(outcome.expired);
}

TEST_F(TimedSocketTest, AnOwnerMayGoWhileItsTimerRuns) {
  socket_->ExpireAfter(1ms);
  Send("a");
  EXPECT_EQ(Read().bytes, 1u);
  socket_.reset();
  io_.restart();
  io_.run();
}

}  // namespace
}  // namespace tallyd
