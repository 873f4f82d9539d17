#include "api/http/server.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
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

// A look at the disk is short; where a store is shared, each waits for who keeps it.
size_t LookupThreads(const Store& store) {
  return store.capabilities().claiming != nullptr ? 16 : 1;
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

// Without waiting for whoever reads it.
void TellAndClose(std::string_view text, tcp::socket socket) {
  boost::system::error_code ignored;
  socket.non_blocking(true, ignored);
  socket.write_some(asio::buffer(text), ignored);
}

}  // namespace

HttpServer::HttpServer(ApiContext& context, std::span<const Route> routes)
    : context_(context),
      routes_(routes),
      most_connections_(ConnectionsAtATime(context.server, DescriptorsOfProcess())),
      most_refused_(RefusedAtATime(DescriptorsOfProcess())),
      refuser_(context.clock, most_refused_),
      shards_(MakeShards(IoThreads(context.server))),
      query_pool_(QueryThreads(context.server)),
      lookup_pool_(LookupThreads(context.store)),
      decoding_pool_(IoThreads(context.server)) {}

HttpServer::~HttpServer() {
  if (!threads_.empty()) Drain();
  GiveUpSpare();
}

Status HttpServer::Listen(std::span<const int> handed_in) {
  asio::io_context& io = shards_[0]->io;
  const auto add = [this](Result<Listener> listener) -> Status {
    if (!listener) return listener.error();
    if (listener->tls && !tls()) {
      return Invalid("server.listen: " + listener->address().at +
                     " is to speak TLS, and there is no certificate; accepted: with [server.tls]");
    }
    doors_.push_back({std::move(*listener), std::nullopt});
    return {};
  };
  const std::vector<ListenAddress>& configured = context_.server.listen;
  for (const int socket : handed_in) {
    if (Status added = add(TakeListener(io, socket, configured)); !added) return added;
  }
  if (!handed_in.empty()) return {};
  for (const ListenAddress& address : configured) {
    if (Status added = add(Bind(io, address)); !added) return added;
  }
  return {};
}

Status HttpServer::ListenFor(const OtherProtocol& other, const std::string& at,
                             std::span<const int> handed_in) {
  asio::io_context& io = shards_[0]->io;
  std::vector<Result<Listener>> listeners;
  for (const int socket : handed_in) listeners.push_back(TakeListener(io, socket, {}));
  if (handed_in.empty()) listeners.push_back(Bind(io, {at, false}));
  for (Result<Listener>& listener : listeners) {
    if (!listener) return listener.error();
    doors_.push_back({std::move(*listener), other});
  }
  return {};
}

std::vector<ListenAddress> HttpServer::addresses() const { return AddressesOf(false); }

std::vector<ListenAddress> HttpServer::other_addresses() const { return AddressesOf(true); }

std::vector<ListenAddress> HttpServer::AddressesOf(bool other) const {
  std::vector<ListenAddress> addresses;
  for (const Door& door : doors_) {
    if (door.other.has_value() == other) addresses.push_back(door.listener.address());
  }
  return addresses;
}

unsigned short HttpServer::port() const {
  const std::string at = addresses().front().at;
  return static_cast<unsigned short>(std::stoul(at.substr(at.rfind(':') + 1)));
}

void HttpServer::UseTls(TlsContextPtr context) {
  const std::lock_guard lock(tls_mutex_);
  tls_ = std::move(context);
}

TlsContextPtr HttpServer::tls() const {
  const std::lock_guard lock(tls_mutex_);
  return tls_;
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
  asio::steady_timer timer(shards_[0]->io);
  uint64_t given_back = 0;
  while (!draining()) {
    timer.expires_after(kBetweenGivingBack);
    co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
    const auto now = std::chrono::steady_clock::now();
    context_.query_memory.Sample(now);
    context_.bodies.Sample(now);
    for (const auto& shard : shards_) {
      asio::post(shard->io, [connections = &shard->connections, now] {
        for (Connection* one : *connections) one->RestIfIdle(now);
      });
    }
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
  asio::steady_timer timer(shards_[0]->io);
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
      asio::post(shard->io, [connections = &shard->connections, now] {
        for (Connection* one : *connections) one->EndIfRevoked(now);
      });
    }
  }
}

void HttpServer::Start() {
  TakeSpare();
  // A daemon that accepts nobody must not go on as if it were well.
  for (Door& door : doors_) {
    asio::co_spawn(shards_[0]->io, AcceptLoop(door), [](const std::exception_ptr& error) {
      if (error) std::rethrow_exception(error);
    });
  }
  asio::co_spawn(shards_[0]->io, GiveBackLoop(), asio::detached);
  asio::co_spawn(shards_[0]->io, RevokeLoop(), asio::detached);
  for (const auto& shard : shards_) {
    threads_.emplace_back([io = &shard->io] { io->run(); });
  }
}

asio::awaitable<void> HttpServer::AcceptLoop(Door& door) {
  asio::steady_timer back_off(shards_[0]->io);
  bool without_spare = false;
  while (!draining()) {
    IoShard& shard = *shards_[next_shard_++ % shards_.size()];
    auto [ec, socket] =
        co_await door.listener.acceptor.async_accept(shard.io, asio::as_tuple(asio::use_awaitable));
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
      const bool at_once = std::exchange(without_spare, false);
      if (door.other) {
        TellAndClose(door.other->full, std::move(socket));
      } else if (at_once) {
        refuser_.RefuseAtOnce(std::move(socket), door.listener.tls);
      } else {
        refuser_.Refuse(std::move(socket), door.listener.tls);
      }
      if (at_once) TakeSpare();
      continue;
    }
    StartConnection(std::move(socket), door, shard);
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

void HttpServer::StartConnection(tcp::socket socket, const Door& door, IoShard& shard) {
  boost::system::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  ++open_connections_;
  context_.metrics.connections.Increment();
  // Made where it stays: whoever starts a coroutine on another thread may hold a part of it when it
  // has ended there already, and the last to let go of a connection must be its shard.
  asio::post(shard.io, [this, &shard, socket = std::move(socket), other = door.other,
                        tls = door.listener.tls ? this->tls() : nullptr]() mutable {
    std::shared_ptr<Connection> connection;
    try {
      if (other) {
        connection = other->make(std::move(socket), *this, shard);
      } else {
        connection = std::make_shared<Session>(std::move(socket), *this, shard, std::move(tls));
      }
      asio::co_spawn(shard.io, connection->Run(), ConnectionEnd{connection});
    } catch (const std::exception& e) {
      if (const auto more = lines_.Take("not served")) {
        spdlog::error("a connection is not served: {}{}", e.what(), *more);
      }
      if (connection) return;  // It takes itself out.
      --open_connections_;
      context_.metrics.connections.Decrement();
    }
  });
}

void HttpServer::CloseIdleConnections() {
  for (const auto& shard : shards_) {
    asio::post(shard->io, [connections = &shard->connections] {
      for (Connection* one : *connections) one->CloseIfIdle();
    });
  }
}

void HttpServer::Drain() {
  draining_ = true;
  asio::post(shards_[0]->io, [this] {
    boost::system::error_code ignored;
    for (Door& door : doors_) door.listener.acceptor.close(ignored);
  });
  const auto deadline = std::chrono::steady_clock::now() +
                        std::chrono::microseconds(context_.server.drain_timeout_us);
  CloseIdleConnections();
  while (open_connections_ > 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(kDrainPoll);
    CloseIdleConnections();
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
