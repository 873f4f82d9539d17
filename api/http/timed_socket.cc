#include "api/http/timed_socket.h"

#include <boost/system/error_code.hpp>
#include <utility>

namespace tallyd {

namespace asio = boost::asio;
using asio::ip::tcp;

struct TimedSocket::TimerEnd {
  std::weak_ptr<State> of;
  uint64_t run;

  void operator()(const boost::system::error_code& cancelled) const {
    const std::shared_ptr<State> state = of.lock();
    if (cancelled || !state || state->timer_run != run) return;
    state->timer_runs = false;
    if (std::chrono::steady_clock::now() < state->deadline) {
      RunTimer(state);  // The deadline has moved meanwhile.
      return;
    }
    state->expired = true;
    boost::system::error_code ignored;
    state->socket.cancel(ignored);
  }
};

TimedSocket::TimedSocket(tcp::socket socket) : state_(std::make_shared<State>(std::move(socket))) {}

void TimedSocket::Watch() {
  state_->expired = false;
  if (!state_->timer_runs || state_->deadline < state_->timer_end) RunTimer(state_);
}

void TimedSocket::RunTimer(const std::shared_ptr<State>& state) {
  state->timer_runs = true;
  state->timer_end = state->deadline;
  state->timer.expires_at(state->deadline);  // Ends the wait before.
  state->timer.async_wait(TimerEnd{state, ++state->timer_run});
}

void TimedSocket::EndWait() {
  boost::system::error_code ignored;
  state_->socket.cancel(ignored);
}

std::string TimedSocket::Peer() const {
  boost::system::error_code left;
  const tcp::endpoint peer = state_->socket.remote_endpoint(left);
  if (left) return {};
  const std::string address = peer.address().to_string();
  return (peer.address().is_v6() ? "[" + address + "]" : address) + ":" +
         std::to_string(peer.port());
}

void TimedSocket::EndSending() {
  boost::system::error_code ignored;
  state_->socket.shutdown(tcp::socket::shutdown_send, ignored);
}

void TimedSocket::Close() {
  boost::system::error_code ignored;
  state_->socket.close(ignored);
  state_->timer.cancel();
}

}  // namespace tallyd
