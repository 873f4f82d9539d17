#include "api/http/session.h"

#include <gtest/gtest.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "api/endpoint/query_endpoint.h"
#include "api/http/server.h"
#include "tests/api/api_world.h"

namespace tallyd {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace std::chrono_literals;

constexpr auto kLong = 10s;

// What is said, to whoever follows it: an answer gives all from its beginning, then waits for more.
class Feed {
 public:
  void Say(std::string_view text) {
    const std::lock_guard lock(mutex_);
    said_.append(text);
    WakeAll();
  }
  void End() {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    WakeAll();
  }
  size_t followers() {
    const std::lock_guard lock(mutex_);
    return followers_;
  }
  size_t waiting() {
    const std::lock_guard lock(mutex_);
    return wakes_.size();
  }
  std::vector<Wake> wakes() {
    const std::lock_guard lock(mutex_);
    std::vector<Wake> wakes;
    for (const auto& [source, wake] : wakes_) wakes.push_back(wake);
    return wakes;
  }
  std::unique_ptr<AnswerSource> Follow() { return std::make_unique<Source>(this); }

 private:
  class Source final : public AnswerSource {
   public:
    explicit Source(Feed* feed) : feed_(*feed) {
      const std::lock_guard lock(feed_.mutex_);
      ++feed_.followers_;
    }
    ~Source() override {
      const std::lock_guard lock(feed_.mutex_);
      --feed_.followers_;
      feed_.wakes_.erase(this);
    }
    Result<Pulled> Pull(std::string* chunk, const Wake& wake) override {
      const std::lock_guard lock(feed_.mutex_);
      chunk->append(feed_.said_, at_);
      at_ = feed_.said_.size();
      if (feed_.has_ended_) return Pulled::kEnd;
      if (wake) feed_.wakes_[this] = wake;
      return Pulled::kWaits;
    }

   private:
    Feed& feed_;
    size_t at_ = 0;
  };

  // REQUIRES: mutex_.
  void WakeAll() {
    for (const auto& [source, wake] : std::exchange(wakes_, {})) wake();
  }

  std::mutex mutex_;
  std::string said_;
  bool has_ended_ = false;
  size_t followers_ = 0;
  std::map<const Source*, Wake> wakes_;
};

Feed* feed_of_handlers = nullptr;  // A handler is a plain function.

Response FollowFeed(const Request& /*request*/, ApiContext& /*context*/) {
  Response response;
  response.content_type = "text/plain";
  response.source = feed_of_handlers->Follow();
  return response;
}

Response TellNow(const Request& /*request*/, ApiContext& /*context*/) {
  return Response::Json(200, "{\"now\":1}");
}

template <Handler handler>
std::unique_ptr<Endpoint> MakeOnQueryThread(Exchange& exchange) {
  return std::make_unique<QueryEndpoint>(exchange, handler, exchange.threads.queries);
}

constexpr Route kFeedRoutes[] = {
    {Method::kGet, "/follow", Role::kRead, MakeOnQueryThread<FollowFeed>},
    {Method::kGet, "/now", Role::kRead, MakeOnQueryThread<TellNow>},
};

class Client {
 public:
  explicit Client(unsigned short port) {
    socket_.connect(tcp::endpoint(asio::ip::address_v4::loopback(), port));
  }
  void Ask(std::string_view path, std::string_view headers = "") {
    const std::string request = "GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n" +
                                std::string(headers) + "\r\n";
    asio::write(socket_, asio::buffer(request));
  }
  // What came behind what was read before, up to the end of `text`; all that comes, where the
  // connection ends before.
  std::string ReadTo(std::string_view text) {
    size_t end = std::string::npos;
    while ((end = unread_.find(text)) == std::string::npos) {
      boost::system::error_code ec;
      char bytes[4096];
      const size_t n = socket_.read_some(asio::buffer(bytes), ec);
      if (ec) return std::exchange(unread_, "") + "(the end)";
      unread_.append(bytes, n);
    }
    const std::string read = unread_.substr(0, end + text.size());
    unread_.erase(0, end + text.size());
    return read;
  }
  void Leave() { socket_.close(); }

 private:
  asio::io_context io_;
  tcp::socket socket_{io_};
  std::string unread_;
};

// A server with one query thread, and with a route whose answers wait.
class FollowTest : public ::testing::Test {
 protected:
  FollowTest() {
    feed_of_handlers = &feed_;
    world_.server().listen = {{"127.0.0.1:0", false}};
    world_.server().threads = 2;
    world_.server().query_threads = 1;
    world_.context().metrics.AddRoutes({"GET /follow", "GET /now", "unmatched"});
    server_ = std::make_unique<HttpServer>(world_.context(), kFeedRoutes);
    EXPECT_TRUE(server_->Listen());
    server_->Start();
  }
  ~FollowTest() override { server_.reset(); }

  // A client whose answer has begun and waits.
  std::unique_ptr<Client> Follow(std::string_view headers = "") {
    const size_t waiting = feed_.waiting();
    auto client = std::make_unique<Client>(server_->port());
    client->Ask("/follow", headers);
    EXPECT_NE(client->ReadTo("\r\n\r\n").find("200 OK"), std::string::npos);
    Await([&] { return feed_.waiting() == waiting + 1; });
    return client;
  }
  template <class Condition>
  void Await(Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + kLong;
    while (!condition() && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(1ms);
    }
    EXPECT_TRUE(condition());
  }
  void ExpectQueriesGoOn() {
    Client other(server_->port());
    for (int i = 0; i < 5; ++i) {
      other.Ask("/now");
      EXPECT_NE(other.ReadTo("{\"now\":1}\n").find("200 OK"), std::string::npos);
    }
  }

  ApiWorld world_{R"(
[tables.ROWS]
stream = "s"
pattern = "single-timestamp"
row_key = "{k}#{ts:ms}"
families.F = {}
)"};
  Feed feed_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(FollowTest, WhoWaitsForMoreHoldsUpNoQueries) {
  const auto first = Follow();
  const auto second = Follow();
  ExpectQueriesGoOn();
  feed_.Say("a\n");
  for (const auto& client : {first.get(), second.get()}) {
    EXPECT_EQ(client->ReadTo("a\n\r\n"), "2\r\na\n\r\n");
  }
  Await([&] { return feed_.waiting() == 2; });
  ExpectQueriesGoOn();
  feed_.Say("bc\n");
  feed_.End();
  for (const auto& client : {first.get(), second.get()}) {
    EXPECT_EQ(client->ReadTo("0\r\n\r\n"), "3\r\nbc\n\r\n0\r\n\r\n");
  }
  Await([&] { return feed_.followers() == 0; });
}

TEST_F(FollowTest, WhatWasSaidBeforeComesAtOnce) {
  feed_.Say("old\n");
  const auto client = Follow();
  EXPECT_EQ(client->ReadTo("old\n\r\n"), "4\r\nold\n\r\n");
}

TEST_F(FollowTest, AnAnswerEndsWithItsClient) {
  const auto stays = Follow();
  const auto leaves = Follow();
  leaves->Leave();
  Await([&] { return feed_.followers() == 1; });
  feed_.Say("a\n");
  EXPECT_EQ(stays->ReadTo("a\n\r\n"), "2\r\na\n\r\n");
}

TEST_F(FollowTest, TheNextRequestWaitsForTheEndOfTheAnswer) {
  const auto client = Follow();
  client->Ask("/now");
  ExpectQueriesGoOn();
  feed_.Say("a\n");
  EXPECT_EQ(client->ReadTo("a\n\r\n"), "2\r\na\n\r\n");
  feed_.End();
  EXPECT_EQ(client->ReadTo("0\r\n\r\n"), "0\r\n\r\n");
  EXPECT_NE(client->ReadTo("{\"now\":1}\n").find("200 OK"), std::string::npos);
}

TEST_F(FollowTest, ACompressedAnswerHoldsNothingBack) {
  const auto client = Follow("Accept-Encoding: gzip\r\n");
  feed_.Say("a\n");
  EXPECT_NE(client->ReadTo("\r\n"), "0\r\n") << "the size of a chunk";
  feed_.End();
  const std::string rest = client->ReadTo("0\r\n\r\n");
  EXPECT_EQ(rest.find("(the end)"), std::string::npos);
}

TEST_F(FollowTest, AStopWaitsForNobodyWhoWaits) {
  const auto client = Follow();
  const auto begin = std::chrono::steady_clock::now();
  server_->Drain();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kLong / 2);
  EXPECT_EQ(client->ReadTo("0\r\n\r\n"), "(the end)") << "cut, and not taken for whole";
  EXPECT_EQ(feed_.followers(), 0u);
}

TEST_F(FollowTest, AWakeThatComesTooLateIsNobodys) {
  const auto client = Follow();
  const std::vector<Wake> wakes = feed_.wakes();
  ASSERT_EQ(wakes.size(), 1u);
  feed_.End();
  EXPECT_EQ(client->ReadTo("0\r\n\r\n"), "0\r\n\r\n");
  wakes.front()();
  ExpectQueriesGoOn();
  server_.reset();
  wakes.front()();
}

}  // namespace
}  // namespace tallyd
