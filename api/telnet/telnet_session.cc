#include "api/telnet/telnet_session.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <functional>
#include <utility>

#include "api/endpoint/waits.h"
#include "api/opentsdb/version_endpoint.h"

namespace tallyd {

namespace asio = boost::asio;

namespace {

// Senders of lines rarely read what they are answered: whoever does not take it by then is answered
// nothing more, and its lines are stored all the same.
constexpr auto kPatienceWithSender = std::chrono::seconds(2);
constexpr auto kBetweenTries = std::chrono::milliseconds(200);
// Of what a sender goes on to send while the server drains.
constexpr size_t kMaxDrainReads = 64;
constexpr size_t kSmallBuffer = BodyCharge::kUncounted;

// Whether what failed so may be stored later as it is.
bool MayBeTriedAgain(ErrorCode code) {
  switch (code) {
    case ErrorCode::kOverloaded:
    case ErrorCode::kThrottled:
    case ErrorCode::kUnavailable:
    case ErrorCode::kNoSpace:
    case ErrorCode::kIo:
    case ErrorCode::kCancelled:
      return true;
    case ErrorCode::kInvalid:
    case ErrorCode::kUnprocessable:
    case ErrorCode::kForbidden:
    case ErrorCode::kNotFound:
    case ErrorCode::kConflict:
    case ErrorCode::kTooLarge:
    case ErrorCode::kUnsupported:
    case ErrorCode::kInDoubt:
    case ErrorCode::kCorruption:
      return false;
  }
  return false;
}

}  // namespace

TelnetSession::TelnetSession(asio::ip::tcp::socket socket, HttpServer& server, IoShard& shard)
    : server_(server),
      context_(server.context()),
      shard_(shard),
      socket_(std::move(socket)),
      peer_(socket_.Peer()),
      version_(fmt::format("tallyd {}, lines of OpenTSDB {}", context_.version, kSpokenOpenTsdb)),
      charge_(&context_.bodies) {}

TelnetSession::~TelnetSession() {
  shard_.connections.erase(this);
  --server_.open_connections();
  context_.metrics.connections.Decrement();
}

asio::awaitable<void> TelnetSession::Run() {
  shard_.connections.insert(this);
  idle_since_ = std::chrono::steady_clock::now();
  while (!ended_) {
    co_await Read();
    co_await TakeLines();
  }
  TellOfRest();
  socket_.EndSending();
  socket_.Close();
}

void TelnetSession::CloseIfIdle() {
  if (is_reading_) socket_.EndWait();
}

void TelnetSession::EndIfRevoked(TimeUs /*now*/) {
  const std::optional<OpenTsdbConfig> protocol = Protocol();
  if (protocol && Who(*protocol) != nullptr) return;
  revoked_ = true;
  if (is_reading_) socket_.EndWait();
}

std::optional<OpenTsdbConfig> TelnetSession::Protocol() const {
  return context_.snapshot()->schema->protocols.opentsdb;
}

PrincipalPtr TelnetSession::Who(const OpenTsdbConfig& protocol) const {
  if (context_.tokens.is_open()) return Anybody();
  PrincipalPtr who = context_.tokens.Named(protocol.telnet_token, context_.clock.Now());
  return who != nullptr && who->roles.Have(Role::kWrite) ? who : nullptr;
}

// More at once for whoever sends much, as far as there is room for what bodies hold.
void TelnetSession::MakeRoom() {
  if (lines_.was_full() && lines_.capacity() < LineBuffer::kMostBytes) {
    const size_t larger = std::min(2 * lines_.capacity(), LineBuffer::kMostBytes);
    if (charge_.Covers(larger)) lines_.Resize(larger);
  } else if (!lines_.was_full() && lines_.capacity() > LineBuffer::kLeastBytes) {
    if (!lines_.has_rest()) {
      lines_.Resize(LineBuffer::kLeastBytes);
    } else if (lines_.capacity() > kSmallBuffer) {
      lines_.Resize(kSmallBuffer);
    }
    if (lines_.capacity() <= kSmallBuffer) charge_.Clear();
  }
}

asio::awaitable<void> TelnetSession::Read() {
  MakeRoom();
  if (server_.draining()) {
    ReadWhatIsThere();
    co_return;
  }
  const std::span<char> room = lines_.Room();
  socket_.ExpireAt(idle_since_ + std::chrono::microseconds(context_.server.idle_timeout_us));
  is_reading_ = true;
  auto [ec, bytes] = co_await socket_.ReadSome(asio::buffer(room.data(), room.size()));
  is_reading_ = false;
  lines_.Took(bytes);
  context_.metrics.received_bytes.Increment(static_cast<double>(bytes));
  if (!ec) co_return;
  if (server_.draining()) {
    ReadWhatIsThere();
  } else {
    ended_ = true;
    has_all_ = ec == asio::error::eof;
  }
}

void TelnetSession::ReadWhatIsThere() {
  const std::span<char> room = lines_.Room();
  const ssize_t bytes = ::recv(socket_.native_handle(), room.data(), room.size(), MSG_DONTWAIT);
  has_all_ = bytes == 0;
  if (bytes <= 0 || ++drained_ > kMaxDrainReads) ended_ = true;
  if (bytes <= 0) return;
  lines_.Took(static_cast<size_t>(bytes));
  context_.metrics.received_bytes.Increment(static_cast<double>(bytes));
}

std::optional<LineBuffer::Line> TelnetSession::NextLine() {
  const std::optional<LineBuffer::Line> line = lines_.TakeLine();
  return line || !has_all_ ? line : lines_.TakeRest();
}

asio::awaitable<void> TelnetSession::TakeLines() {
  std::optional<LineBuffer::Line> line = NextLine();
  if (!line && !revoked_) co_return;
  const std::optional<OpenTsdbConfig> protocol = Protocol();
  const PrincipalPtr who = protocol ? Who(*protocol) : nullptr;
  if (who == nullptr) {
    ended_ = true;
    co_await Answer("put: illegal argument: what is sent here is nobody's any more\n");
    co_return;
  }
  revoked_ = false;
  idle_since_ = std::chrono::steady_clock::now();
  charge_.BeginFor(who);
  charge_.Covers(lines_.capacity());
  std::unique_ptr<Workspace> workspace = shard_.workspaces.Take();
  DataPoints& points = workspace->ingest.points;
  const Result<PointEventForm> form = FormOfStream(protocol->stream, context_);
  points.Begin(form ? *form : PointEventForm(), lines_.waiting());
  batch_.Begin(&points, version_);
  for (; line; line = NextLine()) {
    batch_.Take(*line);
    if (batch_.ends()) break;
  }
  if (batch_.ends()) ended_ = true;
  std::string answers = co_await Store(*protocol, workspace.get());
  shard_.workspaces.GiveBack(std::move(workspace));
  co_await Answer(std::move(answers));
}

asio::awaitable<std::string> TelnetSession::Store(const OpenTsdbConfig& protocol,
                                                  Workspace* workspace) {
  asio::steady_timer timer(shard_.io);
  if (!batch_.has_points()) co_return batch_.Answers({});
  while (true) {
    const PrincipalPtr who = Who(protocol);
    const bool is_last_try = server_.draining();
    std::optional<Error> failed =
        Error(ErrorCode::kForbidden, "what is sent here is nobody's any more");
    PointWrite put;
    if (who != nullptr) failed = co_await TryToStore(who, protocol, workspace, &put);
    if (!failed) co_return batch_.Answers(put.errors);
    if (is_last_try || !MayBeTriedAgain(failed->code())) {
      const size_t lost = workspace->ingest.points.seen() - workspace->ingest.points.refused();
      if (const auto others = server_.lines().Take("telnet lost")) {
        spdlog::error("{} data points that {} sent by telnet are not stored: {}{}", lost, peer_,
                      failed->message(), *others);
      }
      co_return batch_.Answers(workspace->ingest.points.errors()) +
          fmt::format("put: {} data points were not stored: {}\n", lost, failed->message());
    }
    timer.expires_after(kBetweenTries);
    co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
  }
}

asio::awaitable<std::optional<Error>> TelnetSession::TryToStore(const PrincipalPtr& who,
                                                                const OpenTsdbConfig& protocol,
                                                                Workspace* workspace,
                                                                PointWrite* put) {
  if (context_.starting) co_return Error(ErrorCode::kUnavailable, "the store is away");
  *put = PreparePoints(who, protocol.stream, peer_, &workspace->ingest.points,
                       &workspace->ingest.events, context_);
  if (put->error) co_return put->error;
  const bool is_ready =
      put->write.state == EventWrite::State::kReady && put->write.batch != nullptr;
  if (!is_ready) co_return std::nullopt;
  std::function<void(CommitDone)> submit = [this, put](CommitDone done) {
    context_.writer.Submit(&put->write, std::move(done));
  };
  const Status committed = co_await AwaitCommit(std::move(submit));
  if (!committed) {
    context_.rejects.Count(protocol.stream, ReasonOf(committed.error().code()),
                           committed.error().message(), peer_);
    co_return committed.error();
  }
  context_.writer.NoteCommitted(&put->write);
  co_return std::nullopt;
}

asio::awaitable<void> TelnetSession::Answer(std::string answers) {
  if (answers.empty() || !listens_) co_return;
  socket_.ExpireAfter(kPatienceWithSender);
  auto [ec, bytes] = co_await socket_.Write(asio::buffer(std::as_const(answers)));
  context_.metrics.sent_bytes.Increment(static_cast<double>(bytes));
  if (ec) listens_ = false;
}

void TelnetSession::TellOfRest() {
  if (!lines_.has_rest() || batch_.ends()) return;
  const std::optional<OpenTsdbConfig> protocol = Protocol();
  context_.rejects.Count(protocol ? protocol->stream : "", RejectReason::kMalformed,
                         "the last line of a telnet connection that broke had no end, and was "
                         "not taken",
                         peer_);
}

std::shared_ptr<Connection> MakeTelnetSession(asio::ip::tcp::socket socket, HttpServer& server,
                                              IoShard& shard) {
  return std::make_shared<TelnetSession>(std::move(socket), server, shard);
}

}  // namespace tallyd
