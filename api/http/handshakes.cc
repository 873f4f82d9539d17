#include "api/http/handshakes.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <tuple>
#include <utility>

#include "api/http/hello_scan.h"

namespace tallyd {

namespace asio = boost::asio;

namespace {

constexpr auto kBurst = std::chrono::milliseconds(20);
// How long a handshake waits for its turn at most: so long, too, a flood is felt when it has ended.
constexpr auto kMostQueued = std::chrono::seconds(2);
constexpr size_t kHelloReadBytes = 2u << 10;

Handshake Failed(TlsFailure failure, std::string why = {}) {
  return {failure, std::move(why), false, {}};
}

std::optional<TlsFailure> FailureOf(HelloState state) {
  if (state == HelloState::kNotTls) return TlsFailure::kNotTls;
  if (state == HelloState::kMalformed) return TlsFailure::kMalformed;
  return std::nullopt;
}

// Up to the end of the hello, of which something may be there.
asio::awaitable<std::optional<TlsFailure>> ReadHello(TimedSocket& socket, HelloPlace place,
                                                     std::string* begun) {
  HelloScan scan(place);
  while (true) {
    const HelloState state = scan.Of(*begun);
    if (state != HelloState::kIncomplete) co_return FailureOf(state);
    const size_t before = begun->size();
    begun->resize(before + kHelloReadBytes);
    const auto [ec, n] =
        co_await socket.ReadWire(asio::buffer(begun->data() + before, kHelloReadBytes));
    begun->resize(before + n);
    if (ec) co_return socket.expired() ? TlsFailure::kTimedOut : TlsFailure::kClosed;
  }
}

}  // namespace

std::optional<HandshakePace::Clock::time_point> HandshakePace::Turn(Clock::time_point now,
                                                                    Clock::time_point latest) {
  const Clock::time_point turn = std::max(now, free_at_);
  if (turn >= latest) return std::nullopt;
  free_at_ = turn + 2 * usual_;
  return turn - now < kBurst ? now : turn;
}

void HandshakePace::Note(Clock::duration took) { usual_ = (7 * usual_ + took) / 8; }

// Among those that wait for their clients, for as long as it lives.
class Handshakes::Place {
 public:
  Place(std::list<Waiting>& waiting, TimedSocket* socket) : waiting_(waiting) {
    if (waiting_.size() >= kMostWaiting) {
      const auto oldest = std::ranges::find(waiting_, false, &Waiting::is_given_up);
      if (oldest != waiting_.end()) {
        oldest->is_given_up = true;
        oldest->socket->EndWait();
      }
    }
    own_ = waiting_.insert(waiting_.end(), {socket});
  }
  ~Place() { waiting_.erase(own_); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  bool is_given_up() const { return own_->is_given_up; }

 private:
  std::list<Waiting>& waiting_;
  std::list<Waiting>::iterator own_;
};

asio::awaitable<std::optional<TlsFailure>> Handshakes::AwaitTurn(TimedSocket& socket) {
  const auto now = HandshakePace::Clock::now();
  const auto turn = pace_.Turn(now, std::min(socket.deadline(), now + kMostQueued));
  if (!turn) co_return TlsFailure::kCrowded;
  if (*turn > now) {
    asio::steady_timer timer(co_await asio::this_coro::executor, *turn);
    co_await timer.async_wait(TimedSocket::kAwait);
    if (!socket.is_open()) co_return TlsFailure::kClosed;  // The server stops.
  }
  co_return std::nullopt;
}

TlsStep Handshakes::Compute(TimedSocket& socket) {
  const auto begin = HandshakePace::Clock::now();
  const TlsStep step = socket.BeginHandshake();
  pace_.Note(HandshakePace::Clock::now() - begin);
  return step;
}

asio::awaitable<Handshake> Handshakes::Accept(TimedSocket& socket, TlsContextPtr context) {
  std::string begun;
  std::optional<TlsFailure> failure = co_await ReadHello(socket, HelloPlace::kFirst, &begun);
  if (!failure) failure = co_await AwaitTurn(socket);
  if (failure) co_return Failed(*failure);
  socket.UseTls(std::make_unique<TlsChannel>(context->get(), TlsSide::kServer,
                                             socket.native_handle(), std::move(begun)));
  TlsStep step = Compute(socket);
  const Place place(waiting_, &socket);
  if (step == TlsStep::kWantsRead && socket.tls()->AwaitsSecondHello()) {
    begun = socket.tls()->TakeBegun();
    failure = co_await ReadHello(socket, HelloPlace::kAfterRetry, &begun);
    if (!failure) failure = co_await AwaitTurn(socket);
    if (place.is_given_up()) co_return Failed(TlsFailure::kCrowded);
    if (failure) co_return Failed(*failure);
    socket.tls()->GiveBegun(std::move(begun));
    step = Compute(socket);
  }
  boost::system::error_code ec;
  if (step != TlsStep::kDone) std::tie(ec) = co_await socket.EndHandshake(step);
  if (ec) {
    if (place.is_given_up()) co_return Failed(TlsFailure::kCrowded);
    if (socket.expired()) co_return Failed(TlsFailure::kTimedOut);
    if (socket.tls() == nullptr) co_return Failed(TlsFailure::kClosed);
    co_return Failed(socket.tls()->failure(), socket.tls()->error());
  }
  co_return Handshake{std::nullopt, {}, socket.tls()->is_resumed(), socket.tls()->NamesOfPeer()};
}

}  // namespace tallyd
