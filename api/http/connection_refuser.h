// What becomes of a connection beyond server.max_connections: it is told 503 with Retry-After, once
// its request begins to come, and is closed. Bounded in all: so many at a time, each for seconds
// and kilobytes; whoever comes beyond that is told at once, without waiting for anything.
#ifndef TALLYD_API_HTTP_CONNECTION_REFUSER_H_
#define TALLYD_API_HTTP_CONNECTION_REFUSER_H_

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <cstddef>

#include "config/values/time.h"

namespace tallyd {

class ConnectionRefuser {
 public:
  static constexpr size_t kMostAtATime = 128;

  explicit ConnectionRefuser(const Clock& clock) : clock_(clock) {}
  ConnectionRefuser(const ConnectionRefuser&) = delete;
  ConnectionRefuser& operator=(const ConnectionRefuser&) = delete;

  // Returns at once; what waits does so on the socket's own executor, which this must outlive.
  void Refuse(boost::asio::ip::tcp::socket socket);

 private:
  const Clock& clock_;
  std::atomic<size_t> being_told_{0};
};

}  // namespace tallyd

#endif  // TALLYD_API_HTTP_CONNECTION_REFUSER_H_
