// TimedSocket: a connection, plain or TLS, whose every wait ends by a deadline. Set the deadline,
// then read or write; what did not happen in time ends with an error, and expired() tells that this
// was the reason. Unlike Beast's tcp_stream it leaves the socket open then, so that the peer can be
// told.
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

#include <array>
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
#include <tuple>

#include "api/tls/tls_channel.h"

namespace tallyd {

class TimedSocket {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Transfer = std::tuple<boost::system::error_code, size_t>;  // An error, and bytes.
  using Outcome = std::tuple<boost::system::error_code>;
  static constexpr auto kAwait = boost::asio::as_tuple(boost::asio::use_awaitable);

  explicit TimedSocket(boost::asio::ip::tcp::socket socket);

  // Sets the deadline of the next wait, and of those after it until it is set again.
  void ExpireAt(Time deadline) { state_->deadline = deadline; }
  void ExpireAfter(std::chrono::microseconds time) {
    ExpireAt(std::chrono::steady_clock::now() + time);
  }
  Time deadline() const { return state_->deadline; }
  bool is_open() const { return state_->socket.is_open(); }
  // Whether the deadline passed in the last wait. A read may have succeeded nevertheless.
  bool expired() const { return state_->expired; }

  // From now on TLS is spoken: what is read and written passes through the channel, whose handshake
  // comes first. It is gone once EndSending or Close was called.
  void UseTls(std::unique_ptr<TlsChannel> channel) { state_->tls = std::move(channel); }
  TlsChannel* tls() const { return state_->tls.get(); }  // Null: there is none.
  int native_handle() { return state_->socket.native_handle(); }
  // The handshake, of which the first step computes and does not wait. REQUIRES: tls().
  TlsStep BeginHandshake() { return state_->tls->Handshake(); }
  // What follows of it. No error: it is done.
  boost::asio::awaitable<Outcome> EndHandshake(TlsStep begun) {
    Watch();
    return GoOnWithHandshake(begun);
  }

  boost::asio::awaitable<Transfer> ReadSome(const boost::asio::mutable_buffer& buffer) {
    Watch();
    if (state_->tls) [[unlikely]]
      return ReadTls(buffer);
    return state_->socket.async_read_some(buffer, kAwait);
  }
  // As it comes off the wire, also where TLS is spoken.
  boost::asio::awaitable<Transfer> ReadWire(const boost::asio::mutable_buffer& buffer) {
    Watch();
    return state_->socket.async_read_some(buffer, kAwait);
  }
  // Of one buffer, or an array of two. Where it fails, the bytes are those that went out whole: who
  // tries again begins behind them.
  template <class Buffers>
  boost::asio::awaitable<Transfer> Write(const Buffers& buffers) {
    Watch();
    if (state_->tls) [[unlikely]]
      return WriteTls(TwoOf(buffers));
    return boost::asio::async_write(state_->socket, buffers, kAwait);
  }

  // What has come by now, without a wait; 0: nothing, or the peer's end. REQUIRES: no TLS.
  size_t TryRead(const boost::asio::mutable_buffer& buffer);
  // Until something has come, or the peer has ended. REQUIRES: the last read waited.
  boost::asio::awaitable<Outcome> AwaitData() {
    Watch();
    return state_->socket.async_wait(boost::asio::ip::tcp::socket::wait_read, kAwait);
  }
  // Until the connection is broken. What the peer sends stays unread.
  boost::asio::awaitable<Outcome> AwaitBreak() {
    Watch();
    return state_->socket.async_wait(boost::asio::ip::tcp::socket::wait_error, kAwait);
  }

  void EndWait();            // The wait that is under way, if any, fails.
  std::string Peer() const;  // "127.0.0.1:40312"; empty when it has left already.
  // The peer reads the end; what it still sends can be read, in cipher where it speaks TLS.
  void EndSending();
  void Close();  // Ends what waits, too.
  void Abort();  // The same; what was written and did not go out yet does not.

 private:
  // Outlives the socket's owner in a timer's handler, which may be on its way already.
  struct State {
    explicit State(boost::asio::ip::tcp::socket the_socket)
        : socket(std::move(the_socket)), timer(socket.get_executor()) {}
    boost::asio::ip::tcp::socket socket;
    boost::asio::steady_timer timer;
    std::unique_ptr<TlsChannel> tls;
    size_t turn = 0;     // What was done since others had theirs.
    bool ended = false;  // The operation that runs is to end at its next wait.
    Time deadline;
    Time timer_end;          // When the wait that runs ends, if one does.
    uint64_t timer_run = 0;  // Tells the running wait from those that were replaced.
    bool timer_runs = false;
    bool expired = false;
  };
  struct TimerEnd;

  using Parts = std::array<boost::asio::const_buffer, 2>;
  static Parts TwoOf(const Parts& buffers) { return buffers; }
  static Parts TwoOf(const boost::asio::const_buffer& buffer) { return {buffer, {}}; }

  boost::asio::awaitable<Outcome> GoOnWithHandshake(TlsStep step);
  boost::asio::awaitable<Transfer> ReadTls(boost::asio::mutable_buffer buffer);
  boost::asio::awaitable<Transfer> WriteTls(Parts buffers);
  // Until the socket is ready for what the step wants.
  boost::asio::awaitable<Outcome> AwaitReady(TlsStep step);
  // Whether others are to have their turn: a socket that is always ready never waits.
  bool IsOthersTurn(size_t bytes);

  void Watch();
  static void RunTimer(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
};

}  // namespace tallyd

#endif  // TALLYD_API_HTTP_TIMED_SOCKET_H_
