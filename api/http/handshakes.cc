#include "api/http/handshakes.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <string_view>
#include <tuple>
#include <utility>

namespace tallyd {

namespace asio = boost::asio;

namespace {

constexpr auto kBurst = std::chrono::milliseconds(20);
// How long a handshake waits for its turn at most: so long, too, a flood is felt when it has ended.
constexpr auto kMostQueued = std::chrono::seconds(2);
constexpr unsigned char kHandshakeRecord = 0x16;
constexpr size_t kRecordHeadBytes = 5;
constexpr size_t kMaxRecordBytes = 16u << 10;
constexpr size_t kHelloReadBytes = 2u << 10;

// The first record, head included; 0: that is not known yet. Of what is no hello: nothing.
std::optional<size_t> BytesOfHello(std::string_view begun) {
  if (begun.empty()) return 0;
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(begun[at]); };
  if (byte(0) != kHandshakeRecord || (begun.size() > 1 && byte(1) != 3)) return std::nullopt;
  if (begun.size() < kRecordHeadBytes) return 0;
  const size_t bytes = byte(3) * 256u + byte(4);
  if (bytes == 0 || bytes > kMaxRecordBytes) return std::nullopt;
  return kRecordHeadBytes + bytes;
}

Handshake Failed(TlsFailure failure, std::string why = {}) {
  return {failure, std::move(why), false, {}};
}

// Up to the end of the first record.
asio::awaitable<std::optional<TlsFailure>> ReadHello(TimedSocket& socket, std::string* begun) {
  while (true) {
    const std::optional<size_t> bytes = BytesOfHello(*begun);
    if (!bytes) co_return TlsFailure::kNotTls;
    if (*bytes > 0 && begun->size() >= *bytes) co_return std::nullopt;
    const size_t before = begun->size();
    begun->resize(before + kHelloReadBytes);
    const auto [ec, n] =
        co_await socket.ReadSome(asio::buffer(begun->data() + before, kHelloReadBytes));
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

asio::awaitable<Handshake> Handshakes::Accept(TimedSocket& socket, TlsContextPtr context) {
  std::string begun;
  if (const auto failure = co_await ReadHello(socket, &begun)) co_return Failed(*failure);
  const auto now = HandshakePace::Clock::now();
  const auto turn = pace_.Turn(now, std::min(socket.deadline(), now + kMostQueued));
  if (!turn) co_return Failed(TlsFailure::kCrowded);
  if (*turn > now) {
    asio::steady_timer timer(co_await asio::this_coro::executor, *turn);
    co_await timer.async_wait(TimedSocket::kAwait);
    if (!socket.is_open()) co_return Failed(TlsFailure::kClosed);  // The server stops.
  }
  socket.UseTls(std::make_unique<TlsChannel>(context->get(), TlsSide::kServer,
                                             socket.native_handle(), std::move(begun)));
  const auto begin = HandshakePace::Clock::now();
  const TlsStep first = socket.BeginHandshake();
  pace_.Note(HandshakePace::Clock::now() - begin);
  const Place place(waiting_, &socket);
  boost::system::error_code ec;
  if (first != TlsStep::kDone) std::tie(ec) = co_await socket.EndHandshake(first);
  if (ec) {
    if (place.is_given_up()) co_return Failed(TlsFailure::kCrowded);
    if (socket.expired()) co_return Failed(TlsFailure::kTimedOut);
    if (socket.tls() == nullptr) co_return Failed(TlsFailure::kClosed);
    co_return Failed(socket.tls()->failure(), socket.tls()->error());
  }
  co_return Handshake{std::nullopt, {}, socket.tls()->is_resumed(), socket.tls()->NamesOfPeer()};
}

}  // namespace tallyd
