// HttpServer: listens, accepts, and runs connections: one io_context and one thread per I/O core, a
// connection stays on its own; a pool of query threads for whatever may block.
//
//   HttpServer server(context);  server.Listen();  server.Start();  ...  server.Drain();  // then
//   the store is closed
//
// Start returns at once. Drain stops accepting, closes idle connections, lets requests in flight
// finish for at most drain_timeout, then ends the I/O threads. What a query thread is at by then
// goes on; reading files fails once the store is closed. The destructor waits for it. Not
// thread-safe: used by the daemon's main thread.
#ifndef TALLYD_API_HTTP_SERVER_H_
#define TALLYD_API_HTTP_SERVER_H_

#include <array>
#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <thread>
#include <vector>

#include "api/context.h"
#include "api/endpoint/endpoint.h"
#include "api/endpoint/workspace.h"
#include "api/http/connection.h"
#include "api/http/connection_refuser.h"
#include "api/http/handshakes.h"
#include "api/http/io_gate.h"
#include "api/http/line_limit.h"
#include "api/http/listener.h"
#include "api/routes/router.h"
#include "api/tls/tls_context.h"

namespace tallyd {

// What the connections of one I/O thread share. Touched on that thread only.
struct IoShard {
  IoShard() : io(1), work(io.get_executor()), gate(std::make_shared<IoGate>(io)) {}
  ~IoShard() { gate->Close(); }
  IoShard(const IoShard&) = delete;
  IoShard& operator=(const IoShard&) = delete;

  std::set<Connection*> connections;
  WorkspacePool workspaces;
  std::array<char, 64u << 10> discarded;  // What is read and not looked at, of all of them.
  Handshakes handshakes;
  // Last, so that they go first: the end of an io_context destroys the connections that are still
  // suspended on it, and these use what stands above.
  boost::asio::io_context io;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work;
  const std::shared_ptr<IoGate> gate;  // For those that may outlive the server.
};

class HttpServer {
 public:
  // `routes` outlive the server; each is counted under its place in the list.
  explicit HttpServer(ApiContext& context, std::span<const Route> routes = Routes());
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // What connections that begin from now on speak TLS with; those that there are go on with theirs.
  // Before Listen where one listens for TLS, and then from any thread.
  void UseTls(TlsContextPtr context);
  TlsContextPtr tls() const;  // Null: there is none. Any thread.
  // Binds, or takes sockets that listen already, in place of what is configured.
  Status Listen(std::span<const int> handed_in = {});
  // The same for another protocol. Before Start; none of addresses() is of it.
  Status ListenFor(const OtherProtocol& other, const std::string& at,
                   std::span<const int> handed_in);
  // From then on: where it really listens, in the order of the configuration, or of what was handed
  // in; and the port of the first.
  std::vector<ListenAddress> addresses() const;
  unsigned short port() const;
  std::vector<ListenAddress> other_addresses() const;  // Of the other protocols.
  void Start();
  void Drain();

  // For connections.
  ApiContext& context() { return context_; }
  std::span<const Route> routes() const { return routes_; }
  const EndpointThreads& endpoint_threads() const { return endpoint_threads_; }
  bool draining() const { return draining_.load(std::memory_order_relaxed); }
  std::atomic<size_t>& open_connections() { return open_connections_; }
  LineLimit& lines() { return lines_; }

 private:
  struct Door {
    Listener listener;
    std::optional<OtherProtocol> other;  // Nothing: HTTP.
  };

  std::vector<ListenAddress> AddressesOf(bool other) const;
  boost::asio::awaitable<void> AcceptLoop(Door& door);
  // A descriptor is free now for a connection that could not be accepted, which is to be told so.
  bool GiveUpSpare();
  void TakeSpare();
  boost::asio::awaitable<void> GiveBackLoop();
  boost::asio::awaitable<void> RevokeLoop();
  void StartConnection(boost::asio::ip::tcp::socket socket, const Door& door, IoShard& shard);
  void CloseIdleConnections();

  ApiContext& context_;
  const std::span<const Route> routes_;
  // Before the shards, whose end ends the connections that use these.
  std::atomic<size_t> open_connections_{0};
  std::atomic<size_t> waiting_queries_{0};
  std::atomic<bool> draining_{false};
  const size_t most_connections_;
  const size_t most_refused_;  // At a time, of those that wait to be told.
  LineLimit lines_;
  ConnectionRefuser refuser_;
  int spare_ = -1;  // Open for nothing, so that one more connection can be accepted.
  std::vector<std::unique_ptr<IoShard>> shards_;
  std::vector<Door> doors_;  // On the first shard, as all that accepts.
  size_t next_shard_ = 0;
  mutable std::mutex tls_mutex_;
  TlsContextPtr tls_;  // Guarded by tls_mutex_.
  boost::asio::thread_pool query_pool_;
  boost::asio::thread_pool operation_pool_{2};  // One works, one says that it does.
  boost::asio::thread_pool lookup_pool_;
  boost::asio::thread_pool decoding_pool_;
  std::vector<std::thread> threads_;
  const EndpointThreads endpoint_threads_{query_pool_,    operation_pool_,  lookup_pool_,
                                          decoding_pool_, waiting_queries_, draining_};
};

}  // namespace tallyd

#endif  // TALLYD_API_HTTP_SERVER_H_
