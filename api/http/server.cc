#include "api/http/server.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <utility>

#include "api/http/session.h"
#include "storage/descriptors.h"
#include "storage/heap.h"

namespace tallyd {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr auto kAcceptBackOff = std::chrono::milliseconds(100);
constexpr auto kDrainPoll = std::chrono::milliseconds(5);
constexpr auto kBetweenRevocations = std::chrono::milliseconds(250);
constexpr auto kBetweenGivingBack = std::chrono::seconds(1);
// So much that reads held and hold no longer goes back to the system once nobody reads.
constexpr uint64_t kWorthGivingBack = 32u << 20;
constexpr auto kLongerThanSoon = std::chrono::milliseconds(3);

size_t IoThreads(const ServerConfig& config) {
  return config.threads > 0 ? config.threads : std::max(1u, std::thread::hardware_concurrency());
}

size_t QueryThreads(const ServerConfig& config) {
  return config.query_threads > 0 ? config.query_threads
                                  : std::max(2u, std::thread::hardware_concurrency());
}

std::vector<std::unique_ptr<IoShard>> MakeShards(size_t count) {
  std::vector<std::unique_ptr<IoShard>> shards;
  for (size_t i = 0; i < count; ++i) shards.push_back(std::make_unique<IoShard>());
  return shards;
}

// Connections that are being told that there is no room, of those for which there are descriptors.
size_t RefusedAtATime(const Descriptors& descriptors) {
  return std::min(ConnectionRefuser::kMostAtATime, descriptors.connections / 4);
}

size_t ConnectionsAtATime(const ServerConfig& config, const Descriptors& descriptors) {
  const size_t room = descriptors.connections - RefusedAtATime(descriptors);
  if (room >= config.max_connections) return config.max_connections;
  spdlog::warn(
      "at most {} connections are taken, and not the {} of server.max_connections: the process may "
      "open {} files, and the store needs up to {} of them; raise the limit (ulimit -n, "
      "LimitNOFILE)",
      room, config.max_connections, descriptors.limit, descriptors.store());
  return room;
}

// "127.0.0.1:8780", "[::1]:8780" or "localhost:8780"; that it is loopback was checked with the
// configuration.
Result<tcp::endpoint> ParseEndpoint(const std::string& listen) {
  const size_t colon = listen.rfind(':');
  if (colon == std::string::npos) return Invalid("server.listen: expected host:port");
  std::string host = listen.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host == "localhost") host = "127.0.0.1";
  boost::system::error_code ec;
  const auto address = asio::ip::make_address(host, ec);
  unsigned short port = 0;
  const auto [end, number_ec] =
      std::from_chars(listen.data() + colon + 1, listen.data() + listen.size(), port);
  if (ec || number_ec != std::errc() || end != listen.data() + listen.size()) {
    return Invalid("server.listen: expected an address and a port, as in 127.0.0.1:8780");
  }
  return tcp::endpoint(address, port);
}

}  // namespace

HttpServer::HttpServer(ApiContext& context, std::span<const Route> routes)
    : context_(context),
      routes_(routes),
      most_connections_(ConnectionsAtATime(context.server, DescriptorsOfProcess())),
      most_refused_(RefusedAtATime(DescriptorsOfProcess())),
      refuser_(context.clock, most_refused_),
      shards_(MakeShards(IoThreads(context.server))),
      acceptor_(shards_[0]->io),
      query_pool_(QueryThreads(context.server)) {}

HttpServer::~HttpServer() {
  if (!threads_.empty()) Drain();
  GiveUpSpare();
}

Status HttpServer::Listen(std::span<const int> handed_in) {
  if (handed_in.size() > 1) return Invalid("this version serves one socket that is handed in");
  Status listens = handed_in.empty() ? Bind() : TakeHandedIn(handed_in.front());
  if (!listens) return listens;
  port_ = acceptor_.local_endpoint().port();
  return {};
}

// What it is bound to was decided elsewhere, so what the configuration is not asked for is checked
// by what the system says.
Status HttpServer::TakeHandedIn(int socket) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  boost::system::error_code ec;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&name), &size) != 0) {
    return Error(ErrorCode::kIo, "a socket that is handed in tells no address");
  }
  acceptor_.assign(name.ss_family == AF_INET6 ? tcp::v6() : tcp::v4(), socket, ec);
  const tcp::endpoint endpoint = ec ? tcp::endpoint() : acceptor_.local_endpoint(ec);
  if (ec) return Error(ErrorCode::kIo, "a socket that is handed in: " + ec.message());
  if (!endpoint.address().is_loopback()) {
    return Invalid("the socket that is handed in listens on " + endpoint.address().to_string() +
                   ", beyond loopback, where it needs tokens and TLS");
  }
  return {};
}

Status HttpServer::Bind() {
  Result<tcp::endpoint> endpoint = ParseEndpoint(context_.server.listen);
  if (!endpoint) return endpoint.error();
  boost::system::error_code ec;
  acceptor_.open(endpoint->protocol(), ec);
  if (!ec) acceptor_.set_option(tcp::acceptor::reuse_address(true), ec);
  if (!ec) acceptor_.bind(*endpoint, ec);
  if (!ec) acceptor_.listen(asio::socket_base::max_listen_connections, ec);
  if (ec) {
    return Error(ErrorCode::kIo, "listening on " + context_.server.listen + ": " + ec.message());
  }
  return {};
}

namespace {

// What a thread freed is given back by that thread: each of a pool is to take one of these. They
// wait for each other, for a while, so that none takes two.
class GiveBackOnEach {
 public:
  explicit GiveBackOnEach(size_t threads) : missing_(threads) {}

  void operator()() {
    GiveBackHeap();
    std::this_thread::sleep_for(kLongerThanSoon);
    GiveBackHeap();
    std::unique_lock lock(mutex_);
    if (--missing_ == 0) {
      ReleaseSoon(false);
      all_.notify_all();
    }
    all_.wait_for(lock, 10 * kLongerThanSoon, [this] { return missing_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_;
  size_t missing_;
};

}  // namespace

// The heap keeps what is freed for whoever needs it next, which after large reads may be nobody.
asio::awaitable<void> HttpServer::GiveBackLoop() {
  asio::steady_timer timer(acceptor_.get_executor());
  uint64_t given_back = 0;
  while (!draining()) {
    timer.expires_after(kBetweenGivingBack);
    co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
    const auto now = std::chrono::steady_clock::now();
    context_.query_memory.Sample(now);
    context_.bodies.Sample(now);
    const uint64_t by_now = context_.query_memory.given_back();
    if (by_now - given_back < kWorthGivingBack || waiting_queries_ > 0) continue;
    given_back = by_now;
    ReleaseSoon(true);
    const size_t threads = QueryThreads(context_.server);
    const auto job = std::make_shared<GiveBackOnEach>(threads);
    for (size_t i = 0; i < threads; ++i) asio::post(query_pool_, [job] { (*job)(); });
  }
}

// Requests that are under way when tokens change or expire end within a second of it.
asio::awaitable<void> HttpServer::RevokeLoop() {
  asio::steady_timer timer(acceptor_.get_executor());
  uint64_t seen = context_.tokens.generation();
  TimeUs next_expiry = context_.tokens.NextExpiry(context_.clock.Now());
  while (!draining()) {
    timer.expires_after(kBetweenRevocations);
    co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
    const uint64_t generation = context_.tokens.generation();
    const TimeUs now = context_.clock.Now();
    if (generation == seen && now < next_expiry) continue;
    seen = generation;
    next_expiry = context_.tokens.NextExpiry(now);
    for (const auto& shard : shards_) {
      asio::post(shard->io, [sessions = &shard->sessions, now] {
        for (Session* session : *sessions) session->EndIfRevoked(now);
      });
    }
  }
}

void HttpServer::Start() {
  TakeSpare();
  // A daemon that accepts nobody must not go on as if it were well.
  asio::co_spawn(shards_[0]->io, AcceptLoop(), [](const std::exception_ptr& error) {
    if (error) std::rethrow_exception(error);
  });
  asio::co_spawn(shards_[0]->io, GiveBackLoop(), asio::detached);
  asio::co_spawn(shards_[0]->io, RevokeLoop(), asio::detached);
  for (const auto& shard : shards_) {
    threads_.emplace_back([io = &shard->io] { io->run(); });
  }
}

asio::awaitable<void> HttpServer::AcceptLoop() {
  asio::steady_timer back_off(acceptor_.get_executor());
  size_t next = 0;
  bool without_spare = false;
  while (!draining()) {
    IoShard& shard = *shards_[next++ % shards_.size()];
    auto [ec, socket] =
        co_await acceptor_.async_accept(shard.io, asio::as_tuple(asio::use_awaitable));
    if (ec == asio::error::operation_aborted || draining()) co_return;
    if (ec) {
      if (const auto more = lines_.Take("accept")) {
        spdlog::warn("accepting a connection: {}{}", ec.message(), *more);
      }
      const bool lacks_descriptor = ec == asio::error::no_descriptors ||
                                    ec == boost::system::errc::too_many_files_open_in_system;
      if (lacks_descriptor && !without_spare && GiveUpSpare()) {
        without_spare = true;
        continue;
      }
      // Without a pause, "too many open files" would spin: the connection stays in the backlog.
      back_off.expires_after(kAcceptBackOff);
      co_await back_off.async_wait(asio::as_tuple(asio::use_awaitable));
      continue;
    }
    if (without_spare || open_connections_ >= most_connections_) {
      context_.metrics.refused_connections.Increment();
      if (std::exchange(without_spare, false)) {
        refuser_.RefuseAtOnce(std::move(socket));
        TakeSpare();
      } else {
        refuser_.Refuse(std::move(socket));
      }
      continue;
    }
    StartSession(std::move(socket), shard);
  }
}

bool HttpServer::GiveUpSpare() {
  if (spare_ < 0) return false;
  ::close(std::exchange(spare_, -1));
  return true;
}

void HttpServer::TakeSpare() {
  if (spare_ < 0) spare_ = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

void HttpServer::StartSession(tcp::socket socket, IoShard& shard) {
  boost::system::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  ++open_connections_;
  context_.metrics.connections.Increment();
  // Made where it stays: whoever starts a coroutine on another thread may hold a part of it when it
  // has ended there already, and the last to let go of a session must be its shard.
  asio::post(shard.io, [this, &shard, socket = std::move(socket)]() mutable {
    std::shared_ptr<Session> session;
    try {
      session = std::make_shared<Session>(std::move(socket), *this, shard);
      asio::co_spawn(shard.io, session->Run(), SessionEnd{session});
    } catch (const std::exception& e) {
      if (const auto more = lines_.Take("not served")) {
        spdlog::error("a connection is not served: {}{}", e.what(), *more);
      }
      if (session) return;  // It takes itself out.
      --open_connections_;
      context_.metrics.connections.Decrement();
    }
  });
}

void HttpServer::CloseIdleSessions() {
  for (const auto& shard : shards_) {
    asio::post(shard->io, [sessions = &shard->sessions] {
      for (Session* session : *sessions) session->CloseIfIdle();
    });
  }
}

void HttpServer::Drain() {
  draining_ = true;
  asio::post(acceptor_.get_executor(), [this] {
    boost::system::error_code ignored;
    acceptor_.close(ignored);
  });
  const auto deadline = std::chrono::steady_clock::now() +
                        std::chrono::microseconds(context_.server.drain_timeout_us);
  CloseIdleSessions();
  while (open_connections_ > 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(kDrainPoll);
    CloseIdleSessions();
  }
  if (open_connections_ > 0) {
    spdlog::warn("{} connections did not finish in time and are cut", open_connections_.load());
  }
  context_.stopping = true;
  for (const auto& shard : shards_) {
    shard->work.reset();
    shard->io.stop();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace tallyd
