#include "api/http/timed_socket.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/system/error_code.hpp>
#include <string_view>
#include <utility>

namespace tallyd {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

// A turn in bytes, and what a call counts beside its own.
constexpr size_t kTurnBytes = 256u << 10;
constexpr size_t kCallBytes = 8u << 10;

}  // namespace

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
  state_->ended = false;
  if (!state_->timer_runs || state_->deadline < state_->timer_end) RunTimer(state_);
}

void TimedSocket::RunTimer(const std::shared_ptr<State>& state) {
  state->timer_runs = true;
  state->timer_end = state->deadline;
  state->timer.expires_at(state->deadline);  // Ends the wait before.
  state->timer.async_wait(TimerEnd{state, ++state->timer_run});
}

bool TimedSocket::IsOthersTurn(size_t bytes) {
  state_->turn += bytes + kCallBytes;
  if (state_->turn < kTurnBytes) return false;
  state_->turn = 0;
  return true;
}

size_t TimedSocket::TryRead(const asio::mutable_buffer& buffer) {
  const ssize_t n = ::recv(native_handle(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  return n > 0 ? static_cast<size_t>(n) : 0;
}

asio::awaitable<TimedSocket::Outcome> TimedSocket::AwaitReady(TlsStep step) {
  // The deadline may have passed, or the wait been ended, while there was something to do.
  if (state_->expired || state_->ended) co_return Outcome(asio::error::operation_aborted);
  state_->turn = 0;
  auto [ec] = co_await state_->socket.async_wait(
      step == TlsStep::kWantsWrite ? tcp::socket::wait_write : tcp::socket::wait_read, kAwait);
  if (!ec && state_->ended) ec = asio::error::operation_aborted;
  co_return Outcome(ec);
}

asio::awaitable<TimedSocket::Outcome> TimedSocket::GoOnWithHandshake(TlsStep step) {
  while (true) {
    if (step == TlsStep::kDone) co_return Outcome();
    if (step != TlsStep::kWantsRead && step != TlsStep::kWantsWrite) {
      co_return Outcome(asio::error::connection_aborted);
    }
    const auto [ec] = co_await AwaitReady(step);
    if (ec) co_return Outcome(ec);
    step = state_->tls->Handshake();
  }
}

asio::awaitable<TimedSocket::Transfer> TimedSocket::ReadTls(asio::mutable_buffer buffer) {
  while (true) {
    size_t n = 0;
    const TlsStep step = state_->tls->Read({static_cast<char*>(buffer.data()), buffer.size()}, &n);
    if (step == TlsStep::kDone) {
      // What came in cipher was work, also where little of it was data.
      if (IsOthersTurn(std::max(n, state_->tls->TakeCame()))) {
        co_await asio::post(state_->socket.get_executor(), asio::use_awaitable);
      }
      co_return Transfer(boost::system::error_code(), n);
    }
    if (step == TlsStep::kEnd || step == TlsStep::kCut) co_return Transfer(asio::error::eof, 0);
    if (step == TlsStep::kBroken) co_return Transfer(asio::error::connection_aborted, 0);
    const auto [ec] = co_await AwaitReady(step);
    if (ec) co_return Transfer(ec, 0);
  }
}

asio::awaitable<TimedSocket::Transfer> TimedSocket::WriteTls(Parts buffers) {
  const auto text = [](const asio::const_buffer& buffer) {
    return std::string_view(static_cast<const char*>(buffer.data()), buffer.size());
  };
  std::array<std::string_view, 2> parts = {text(buffers[0]), text(buffers[1])};
  size_t written = 0;
  while (true) {
    size_t n = 0;
    const TlsStep step = state_->tls->Write(parts, &n);
    written += n;
    if (step == TlsStep::kDone) {
      if (IsOthersTurn(n)) co_await asio::post(state_->socket.get_executor(), asio::use_awaitable);
      co_return Transfer(boost::system::error_code(), written);
    }
    if (step != TlsStep::kWantsRead && step != TlsStep::kWantsWrite) {
      co_return Transfer(asio::error::broken_pipe, written);
    }
    const size_t of_first = std::min(n, parts[0].size());
    parts = {parts[0].substr(of_first), parts[1].substr(n - of_first)};
    const auto [ec] = co_await AwaitReady(step);
    if (ec) co_return Transfer(ec, written);
  }
}

void TimedSocket::EndWait() {
  state_->ended = true;
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
  if (state_->tls) state_->tls->EndSending();
  state_->tls.reset();
  boost::system::error_code ignored;
  state_->socket.shutdown(tcp::socket::shutdown_send, ignored);
}

void TimedSocket::Abort() {
  boost::system::error_code ignored;
  state_->socket.set_option(asio::socket_base::linger(true, 0), ignored);
  Close();
}

void TimedSocket::Close() {
  // What runs is not to touch the socket any more, whose number may soon be another's.
  state_->ended = true;
  state_->tls.reset();
  boost::system::error_code ignored;
  state_->socket.close(ignored);
  state_->timer.cancel();
}

}  // namespace tallyd
