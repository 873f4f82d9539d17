// TimedSocket: a connection whose every wait ends by a deadline. Set the deadline, then read or
// write; what did not happen in time ends with an error, and expired() tells that this was the
// reason. Unlike Beast's tcp_stream it leaves the socket open then, so that the peer can be told.
//
//   socket.ExpireAfter(10s);
//   auto [ec, n] = co_await socket.ReadSome(buffer);
//   if (ec && socket.expired()) ...  // 408
//
// All calls come from the connection's I/O thread. One timer serves all waits: a
// deadline that moves to a later time costs nothing. What failed because the peer ended is not to
// be tried again: it would wait for ever (asio asks for a socket's end once).
#ifndef TALLYD_API_HTTP_TIMED_SOCKET_H_
#define TALLYD_API_HTTP_TIMED_SOCKET_H_

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <memory>
#include <string>

namespace tallyd {

class TimedSocket {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr auto kAwait = boost::asio::as_tuple(boost::asio::use_awaitable);

  explicit TimedSocket(boost::asio::ip::tcp::socket socket);

  // Sets the deadline of the next wait, and of those after it until it is set again.
  void ExpireAt(Time deadline) { state_->deadline = deadline; }
  void ExpireAfter(std::chrono::microseconds time) {
    ExpireAt(std::chrono::steady_clock::now() + time);
  }
  Time deadline() const { return state_->deadline; }
  // Whether the deadline passed in the last wait. A read may have succeeded nevertheless.
  bool expired() const { return state_->expired; }

  // An awaitable (error_code, bytes).
  auto ReadSome(const boost::asio::mutable_buffer& buffer) {
    Watch();
    return state_->socket.async_read_some(buffer, kAwait);
  }
  template <class Buffers>
  auto Write(const Buffers& buffers) {
    Watch();
    return boost::asio::async_write(state_->socket, buffers, kAwait);
  }

  // An awaitable (error_code): until the connection is broken. What the peer sends stays unread.
  auto AwaitBreak() {
    Watch();
    return state_->socket.async_wait(boost::asio::ip::tcp::socket::wait_error, kAwait);
  }

  void EndWait();            // The wait that is under way, if any, fails.
  std::string Peer() const;  // "127.0.0.1:40312"; empty when it has left already.
  // The peer reads the end; what it still sends can be read.
  void EndSending();
  void Close();  // Ends what waits, too.

 private:
  // Outlives the socket's owner in a timer's handler, which may be on its way already.
  struct State {
    explicit State(boost::asio::ip::tcp::socket the_socket)
        : socket(std::move(the_socket)), timer(socket.get_executor()) {}
    boost::asio::ip::tcp::socket socket;
    boost::asio::steady_timer timer;
    Time deadline;
    Time timer_end;          // When the wait that runs ends, if one does.
    uint64_t timer_run = 0;  // Tells the running wait from those that were replaced.
    bool timer_runs = false;
    bool expired = false;
  };
  struct TimerEnd;

  void Watch();
  static void RunTimer(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
};

}  // namespace tallyd

#endif  // TALLYD_API_HTTP_TIMED_SOCKET_H_
