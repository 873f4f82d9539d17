#include "api/http/connection_refuser.h"

#include <array>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "api/endpoint/place.h"
#include "api/http/timed_socket.h"
#include "api/http/wire.h"
#include "api/response.h"
#include "api/tls/tls_channel.h"

namespace tallyd {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

constexpr auto kPatience = std::chrono::seconds(1);
constexpr size_t kMostBytes = 256u << 10;
constexpr size_t kReadBytes = 4u << 10;

std::string RefusalAt(TimeUs now) {
  const Response refusal = Problem(503,
                                   "as many connections are open as server.max_connections and "
                                   "the limit of open files allow");
  HeadOptions options;
  options.keep_alive = false;
  options.now = now;
  std::string bytes;
  AppendHead(refusal, options, &bytes);
  return bytes + refusal.body;
}

// The answer follows the first bytes of the request, as an HTTP client expects; then what else
// comes is read for a while, because a close with unread bytes might take the answer back.
asio::awaitable<void> Tell(std::shared_ptr<TimedSocket> socket, std::string refusal,
                           std::unique_ptr<Place>) {
  std::array<char, kReadBytes> ignored;
  socket->ExpireAfter(kPatience);
  auto [ec, n] = co_await socket->ReadSome(asio::buffer(ignored));
  if (ec && !socket->expired()) co_return;
  socket->ExpireAfter(kPatience);
  co_await socket->Write(asio::buffer(refusal));
  socket->EndSending();
  for (size_t read = 0; read < kMostBytes && !socket->expired();) {
    auto [failed, more] = co_await socket->ReadSome(asio::buffer(ignored));
    if (failed) break;
    read += more;
  }
  socket->Close();
}

void TellAtOnce(tcp::socket socket, const std::string& refusal) {
  boost::system::error_code ignored;
  socket.non_blocking(true, ignored);
  socket.write_some(asio::buffer(refusal), ignored);
  socket.shutdown(tcp::socket::shutdown_send, ignored);
  socket.close(ignored);
}

}  // namespace

void ConnectionRefuser::RefuseAtOnce(tcp::socket socket, bool tls) {
  TellAtOnce(std::move(socket), tls ? FatalAlert(kAlertInternalError) : RefusalAt(clock_.Now()));
}

void ConnectionRefuser::Refuse(tcp::socket socket, bool tls) {
  if (tls || being_told_ >= most_at_a_time_) return RefuseAtOnce(std::move(socket), tls);
  std::string refusal = RefusalAt(clock_.Now());
  const auto executor = socket.get_executor();
  // Begun on the connection's own thread, as a session is.
  asio::post(executor, [executor, socket = std::make_shared<TimedSocket>(std::move(socket)),
                        refusal = std::move(refusal),
                        place = std::make_unique<Place>(being_told_)]() mutable {
    asio::co_spawn(executor, Tell(std::move(socket), std::move(refusal), std::move(place)),
                   asio::detached);
  });
}

}  // namespace tallyd
