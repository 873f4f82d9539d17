// How a connection begins that is to speak TLS, and what becomes of those who take a port for the
// other kind.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "api/http/session.h"

namespace tallyd {

namespace asio = boost::asio;

// The whole handshake is bounded by header_timeout; until it is done the connection counts as idle,
// so that a stop need not wait for it.
asio::awaitable<bool> Session::ShakeHands() {
  socket_.ExpireAfter(std::chrono::microseconds(context_.server.header_timeout_us));
  const Handshake done = co_await shard_.handshakes.Accept(socket_, std::exchange(tls_, nullptr));
  CountHandshake(done);
  if (!done.failure) {
    speaks_tls_ = true;
    names_ = done.names;
    idle_since_ = std::chrono::steady_clock::now();
    co_return true;
  }
  if (*done.failure == TlsFailure::kNotTls) {
    EndWith(Problem(400, "this port speaks TLS: ask it by https://"));
    if (co_await WriteAnswer()) co_await LingerAndClose();
  }
  socket_.Close();
  co_return false;
}

void Session::CountHandshake(const Handshake& done) {
  TlsMetrics& metrics = context_.metrics.tls;
  if (!done.failure) {
    (done.is_resumed ? metrics.resumed : metrics.full).Increment();
    metrics.connections.Increment();
    return;
  }
  metrics.Failed(*done.failure).Increment();
  const std::string_view kind = NameOf(*done.failure);
  if (const auto more = server_.lines().Take(fmt::format("tls {}", kind))) {
    spdlog::info("no TLS with {}: {}{}{}{}", peer_, kind, done.why.empty() ? "" : ": ", done.why,
                 *more);
  }
}

// The alert is for who speaks TLS, the text for who looks at what came.
asio::awaitable<void> Session::TellThatItIsPlain() {
  EndWith(Problem(400, "this port speaks plain HTTP, not TLS: ask it by http://"));
  if (const auto more = server_.lines().Take("tls on a plain port")) {
    spdlog::info("{} speaks TLS on a port that is plain: it is to use http://, or another port{}",
                 peer_, *more);
  }
  const std::string alert = FatalAlert(kAlertProtocolVersion);
  if (co_await Write(asio::buffer(alert), {}) && co_await WriteAnswer()) co_await LingerAndClose();
}

}  // namespace tallyd
