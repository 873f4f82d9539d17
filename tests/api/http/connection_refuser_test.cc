#include "api/http/connection_refuser.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace tallyd {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

class FixedTime final : public Clock {
 public:
  TimeUs Now() const override { return 784'111'777'000'000; }
};

// A server that refuses everybody, on its own thread.
class ConnectionRefuserTest : public ::testing::Test {
 protected:
  ConnectionRefuserTest() : acceptor_(io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {}
  ~ConnectionRefuserTest() override {
    work_.reset();
    io_.stop();
    thread_.join();
  }

  // A client whose connection was accepted and refused.
  std::unique_ptr<tcp::socket> Connect() {
    auto client = std::make_unique<tcp::socket>(client_io_);
    client->connect(acceptor_.local_endpoint());
    refuser_.Refuse(acceptor_.accept());
    return client;
  }
  static std::string ReadAll(tcp::socket& client) {
    std::string all;
    boost::system::error_code end;
    asio::read(client, asio::dynamic_buffer(all), end);
    return all;
  }

  FixedTime clock_;
  ConnectionRefuser refuser_{clock_};
  asio::io_context io_;
  asio::io_context client_io_;
  tcp::acceptor acceptor_;
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  std::thread thread_{[this] { io_.run(); }};
};

TEST_F(ConnectionRefuserTest, ARequestIsAnsweredWith503AndWhenToTryAgain) {
  const auto client = Connect();
  asio::write(*client, asio::buffer(std::string("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")));
  const std::string answer = ReadAll(*client);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 Service Unavailable\r\n")) << answer;
  for (const char* line : {"\r\nRetry-After: 1\r\n", "\r\nConnection: close\r\n",
                           "\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n", "max_connections"}) {
    EXPECT_NE(answer.find(line), answer.npos) << answer;
  }
}

TEST_F(ConnectionRefuserTest, ALargeRequestDoesNotTakeTheAnswerBack) {
  const auto client = Connect();
  asio::write(*client, asio::buffer(std::string(100'000, 'x')));
  EXPECT_TRUE(ReadAll(*client).starts_with("HTTP/1.1 503 "));
}

TEST_F(ConnectionRefuserTest, BeyondTheBoundEverybodyIsToldAtOnce) {
  std::vector<std::unique_ptr<tcp::socket>> clients;
  for (size_t i = 0; i <= ConnectionRefuser::kMostAtATime; ++i) clients.push_back(Connect());
  EXPECT_TRUE(ReadAll(*clients.back()).starts_with("HTTP/1.1 503 "));
}

TEST_F(ConnectionRefuserTest, ASilentConnectionIsToldInTheEnd) {
  EXPECT_TRUE(ReadAll(*Connect()).starts_with("HTTP/1.1 503 "));
}

}  // namespace
}  // namespace tallyd
