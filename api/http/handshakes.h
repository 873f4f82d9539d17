// Handshakes: the TLS handshakes of one I/O thread, so that however many come, those who have had
// theirs go on. A handshake costs a signature, more than most requests: together they take at most
// half of the thread's time once they come faster than that. One that has computed and waits for
// its client holds memory: of more than kMostWaiting the oldest is given up. Who has sent no whole
// hello yet, in however many records, costs what it has sent. The same goes for a second hello,
// which a client sends whose first had no key that the server likes.
//
//   const Handshake done = co_await handshakes.Accept(socket, context);
//   if (!done.failure) ...  // The socket speaks TLS.
//
// The socket's deadline is that of the whole handshake. On the I/O thread only.
#ifndef TALLYD_API_HTTP_HANDSHAKES_H_
#define TALLYD_API_HTTP_HANDSHAKES_H_

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "api/http/timed_socket.h"
#include "api/tls/tls_channel.h"
#include "api/tls/tls_context.h"

namespace tallyd {

struct Handshake {
  std::optional<TlsFailure> failure;
  std::string why;  // Of a failure that has more to say than its kind.
  bool is_resumed = false;
  std::vector<std::string> names;  // Of the client's certificate.
};

// When the next one may compute: half of the time is for others.
class HandshakePace {
 public:
  using Clock = std::chrono::steady_clock;

  // Of a handshake that is ready at `now`: when it is its turn. Some at once need not wait. None:
  // that would not be before `latest`; whoever is turned away takes no time from others.
  std::optional<Clock::time_point> Turn(Clock::time_point now,
                                        Clock::time_point latest = Clock::time_point::max());
  void Note(Clock::duration took);  // By one.

 private:
  Clock::time_point free_at_;
  Clock::duration usual_ = std::chrono::microseconds(500);
};

class Handshakes {
 public:
  static constexpr size_t kMostWaiting = 256;

  boost::asio::awaitable<Handshake> Accept(TimedSocket& socket, TlsContextPtr context);

 private:
  struct Waiting {
    TimedSocket* socket;
    bool is_given_up = false;
  };
  class Place;

  // Empty: it may compute.
  boost::asio::awaitable<std::optional<TlsFailure>> AwaitTurn(TimedSocket& socket);
  TlsStep Compute(TimedSocket& socket);

  HandshakePace pace_;
  std::list<Waiting> waiting_;  // The oldest first.
};

}  // namespace tallyd

#endif  // TALLYD_API_HTTP_HANDSHAKES_H_
