// Connection: what the server has of a connection, whatever is spoken on it (HTTP: session.h).
// Made, run, called and destroyed on the thread of its shard.
#ifndef TALLYD_API_HTTP_CONNECTION_H_
#define TALLYD_API_HTTP_CONNECTION_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <exception>
#include <memory>
#include <string_view>

#include "config/values/time.h"

namespace tallyd {

class HttpServer;
struct IoShard;

class Connection {
 public:
  virtual ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // To its end. It stands among the shard's connections meanwhile, and is one of
  // HttpServer::open_connections from before its constructor until its destructor ends.
  virtual boost::asio::awaitable<void> Run() = 0;
  // The server drains: whoever has nothing under way ends. Called again and again.
  virtual void CloseIfIdle() = 0;
  // Called about once a second: whoever has been idle for long lets go of its memory.
  virtual void RestIfIdle(std::chrono::steady_clock::time_point /*now*/) {}
  // Tokens changed, or one of them has expired.
  virtual void EndIfRevoked(TimeUs now) = 0;

 protected:
  Connection() = default;
};

// The end of a connection's coroutine: what it threw, if anything, is logged and ends that
// connection only. It holds the connection until then.
struct ConnectionEnd {
  std::shared_ptr<Connection> connection;
  void operator()(std::exception_ptr error) const;
};

// What is spoken on a listener that is not for HTTP. Its connections share with those of HTTP the
// threads, the bound on their number, and the drain.
struct OtherProtocol {
  std::shared_ptr<Connection> (*make)(boost::asio::ip::tcp::socket socket, HttpServer& server,
                                      IoShard& shard) = nullptr;
  // What whoever comes beyond that number is told before it is cut.
  std::string_view full;
};

}  // namespace tallyd

#endif  // TALLYD_API_HTTP_CONNECTION_H_
