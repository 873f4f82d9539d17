#include "tools/client_stream.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <boost/asio/error.hpp>
#include <cerrno>
#include <string_view>
#include <utility>

namespace tallyd {

namespace asio = boost::asio;
using boost::system::error_code;

ClientStream::ClientStream(asio::ip::tcp::socket socket, std::unique_ptr<TlsChannel> channel,
                           std::optional<Time> deadline)
    : socket_(std::move(socket)), channel_(std::move(channel)), deadline_(deadline) {}

ClientStream::~ClientStream() {
  if (channel_) channel_->EndSending();
}

bool ClientStream::AwaitSocket(short events, error_code& ec) {
  while (true) {
    int left_ms = -1;
    if (deadline_) {
      const auto left = *deadline_ - std::chrono::steady_clock::now();
      const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
      left_ms = static_cast<int>(std::clamp<int64_t>(ms, 0, 3'600'000));
    }
    pollfd waited{socket_.native_handle(), events, 0};
    const int ready = ::poll(&waited, 1, left_ms);
    if (ready > 0) return true;
    if (ready == 0) ec = asio::error::timed_out;
    if (ready < 0 && errno != EINTR) ec = error_code(errno, boost::system::system_category());
    if (ec) return false;
  }
}

bool ClientStream::Await(TlsStep step, error_code& ec) {
  switch (step) {
    case TlsStep::kWantsRead:
      return AwaitSocket(POLLIN, ec);
    case TlsStep::kWantsWrite:
      return AwaitSocket(POLLOUT, ec);
    case TlsStep::kEnd:
      ec = asio::error::eof;
      return false;
    case TlsStep::kCut:
      ec = asio::error::connection_reset;  // It may lack what would have followed.
      return false;
    case TlsStep::kDone:
    case TlsStep::kBroken:
      ec = asio::error::connection_aborted;
      return false;
  }
  return false;
}

bool ClientStream::ShakeHands(error_code& ec) {
  if (!channel_) return true;
  TlsStep step = channel_->Handshake();
  while (step != TlsStep::kDone) {
    if (!Await(step, ec)) return false;
    step = channel_->Handshake();
  }
  return true;
}

size_t ClientStream::Read(asio::mutable_buffer buffer, error_code& ec) {
  ec = {};
  if (!channel_) return AwaitSocket(POLLIN, ec) ? socket_.read_some(buffer, ec) : 0;
  while (true) {
    size_t n = 0;
    const TlsStep step = channel_->Read({static_cast<char*>(buffer.data()), buffer.size()}, &n);
    if (step == TlsStep::kDone) return n;
    if (!Await(step, ec)) return 0;
  }
}

size_t ClientStream::Write(asio::const_buffer buffer, error_code& ec) {
  ec = {};
  if (!channel_) return AwaitSocket(POLLOUT, ec) ? socket_.write_some(buffer, ec) : 0;
  const std::array<std::string_view, 1> parts = {
      std::string_view(static_cast<const char*>(buffer.data()), buffer.size())};
  while (true) {
    size_t n = 0;
    const TlsStep step = channel_->Write(parts, &n);
    if (step == TlsStep::kDone || n > 0) return n;
    if (!Await(step, ec)) return 0;
  }
}

}  // namespace tallyd
