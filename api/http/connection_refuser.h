// What becomes of a connection beyond those that there may be: it is told 503 with Retry-After,
// once its request begins to come, and is closed. Bounded in all: so many at a time, each for
// seconds and kilobytes; whoever comes beyond that is told at once, without waiting for anything.
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

  // `most_at_a_time`: that wait for their requests, each with a descriptor.
  explicit ConnectionRefuser(const Clock& clock, size_t most_at_a_time = kMostAtATime)
      : clock_(clock), most_at_a_time_(most_at_a_time) {}
  ConnectionRefuser(const ConnectionRefuser&) = delete;
  ConnectionRefuser& operator=(const ConnectionRefuser&) = delete;

  // Returns at once; what waits does so on the socket's own executor, which this must outlive.
  // Who speaks TLS is not told why, which would take a handshake, but by an alert, at once.
  void Refuse(boost::asio::ip::tcp::socket socket, bool tls = false);
  // Without waiting for anything; the socket is closed on return.
  void RefuseAtOnce(boost::asio::ip::tcp::socket socket, bool tls = false);

 private:
  const Clock& clock_;
  const size_t most_at_a_time_;
  std::atomic<size_t> being_told_{0};
};

}  // namespace tallyd

#endif  // TALLYD_API_HTTP_CONNECTION_REFUSER_H_
