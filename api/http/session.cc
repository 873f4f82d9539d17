#include "api/http/session.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "api/access/credentials.h"
#include "api/access/refusals.h"
#include "api/endpoint/waits.h"
#include "api/http/header_guard.h"
#include "api/http/wire.h"
#include "api/routes/router.h"

namespace tallyd {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

namespace {

constexpr size_t kBufferBytes = kMaxHeaderBytes + (128u << 10);
constexpr auto kRestAfter = std::chrono::seconds(1);
constexpr uint64_t kForgottenBytes = 64u << 10;

// Who has not taken a chunk by then is slow: what was read ahead for it is of more use to others.
constexpr auto kPatienceWithReader = std::chrono::milliseconds(500);

}  // namespace

Session::Session(asio::ip::tcp::socket socket, HttpServer& server, IoShard& shard,
                 TlsContextPtr tls)
    : server_(server),
      context_(server.context()),
      shard_(shard),
      socket_(std::move(socket)),
      buffer_(kBufferBytes),
      peer_(socket_.Peer()),
      tls_(std::move(tls)),
      body_(shard.workspaces, &context_.bodies),
      exchange_{request_, body_, context_, server.endpoint_threads()} {}

Session::~Session() {
  // A workspace that was not given back was left in the middle of something: nobody uses it again.
  shard_.connections.erase(this);
  --server_.open_connections();
  context_.metrics.connections.Decrement();
  if (speaks_tls_) context_.metrics.tls.connections.Decrement();
}

asio::awaitable<void> Session::Run() {
  shard_.connections.insert(this);
  idle_since_ = std::chrono::steady_clock::now();
  bool open = tls_ == nullptr || co_await ShakeHands();
  while (open) open = co_await ServeOne();
}

void Session::RestIfIdle(std::chrono::steady_clock::time_point now) {
  if (now < idle_since_ + kRestAfter) return;
  if (waits_idle_) buffer_.shrink_to_fit();
  if (!reads_idle_ || rests_) return;
  rests_ = true;
  socket_.EndWait();
}

void Session::CloseIfIdle() {
  if (idle_) socket_.EndSending();
  if (idle_ || waits_) socket_.Close();
}

void Session::EndIfRevoked(TimeUs now) {
  const Principal* const principal = request_.principal.get();
  if (idle_ || revoked_ || principal == nullptr) return;
  if (context_.tokens.IsCurrent(*principal, now)) return;
  revoked_ = true;
  if (reads_body_) socket_.EndWait();
  if (tells_data_) socket_.Abort();
  if (const auto others = server_.lines().Take("revoked")) {
    spdlog::info("what {} asks for at {} ends: its token is good no longer{}",
                 principal->name.empty() ? "somebody without a token" : principal->name, peer_,
                 *others);
  }
}

asio::awaitable<bool> Session::ServeOne() {
  keep_alive_ = true;
  head_only_ = http10_ = expects_continue_ = expects_other_ = false;
  unread_body_ = revoked_ = false;
  dispatched_ = Dispatched{server_.routes().size(), nullptr};
  response_ = Response();
  request_ = Request();
  body_.charge.BeginFor(nullptr);

  Step step = co_await ReadHeader();
  if (step == Step::kGoOn) step = co_await Admit();
  if (step == Step::kGoOn) step = co_await ReadBody();
  if (step == Step::kClose) {
    // Who reads on is to know that nothing was cut.
    if (idle_) socket_.EndSending();
    co_return false;
  }
  handling_begin_ = std::chrono::steady_clock::now();
  if (step == Step::kGoOn && IsRevoked()) {
    response_ = InForm(RejectReason::kHttp, Unauthorized());
  } else if (step == Step::kGoOn) {
    response_ = co_await dispatched_.endpoint->Answer();
    // What was stored meanwhile is told; what was read is not.
    const bool is_read = request_.method == Method::kGet;
    if (is_read && IsRevoked()) response_ = InForm(RejectReason::kHttp, Unauthorized());
  }
  LogChange();
  dispatched_.endpoint.reset();
  LetGoOfRequest();
  // Whoever has read its answer finds it counted; one in chunks is counted once all is given.
  const bool is_whole = response_.source == nullptr;
  if (is_whole) CountAnswer();
  tells_data_ = request_.method == Method::kGet;
  const bool written = co_await WriteAnswer();
  tells_data_ = false;
  if (!is_whole) CountAnswer();
  // Whoever is idle holds nothing: what is assigned to would keep the body's buffer.
  std::ignore = std::exchange(response_, Response());
  request_.memory.reset();
  idle_since_ = std::chrono::steady_clock::now();
  if (!written) co_return false;
  if (!keep_alive_) {
    co_await LingerAndClose();
    co_return false;
  }
  parser_.reset();
  if (buffer_.size() == 0 && buffer_.capacity() > kReadBytes) buffer_.shrink_to_fit();
  co_return true;
}

// Whoever takes its time with the answer keeps no buffers from others. What has come behind the
// request counts meanwhile; where there is no room for it the connection ends with the answer.
void Session::LetGoOfRequest() {
  request_.body = {};
  body_.LetGo();
  buffer_.consume(std::exchange(buffered_body_, 0));
  if (body_.charge.Covers(buffer_.size())) return;
  keep_alive_ = false;
  unread_body_ = true;
  buffer_.clear();
  buffer_.shrink_to_fit();
}

void Session::EndWith(Response response) {
  response_ = std::move(response);
  keep_alive_ = false;
  unread_body_ = true;
}

namespace {

RejectReason ReasonOfStatus(unsigned status) {
  if (status == 413) return RejectReason::kTooLarge;
  return status == 429 || status == 503 ? RejectReason::kOverloaded : RejectReason::kHttp;
}

}  // namespace

void Session::Refuse(Response response) {
  const RejectReason reason = ReasonOfStatus(response.status);
  EndWith(InForm(reason, std::move(response)));
}

bool Session::HasRoomFor(uint64_t bytes) {
  if (body_.charge.Covers(bytes)) return true;
  Refuse(ProblemOf(body_.charge.Refusal(bytes)));
  return false;
}

Response Session::InForm(RejectReason reason, Response response) {
  if (!dispatched_.endpoint) return response;
  return dispatched_.endpoint->Refused(reason, std::move(response));
}

// What a request is refused for before anybody asks for its body. Empty: go on.
std::optional<Response> Session::RefusalBeforeBody() {
  std::optional<Response> refusal = Dispatch(server_.routes(), foreign_, exchange_, &dispatched_);
  // Whose it is, is known by now: some routes look for the token in the target.
  body_.charge.BeginFor(request_.principal);
  if (refusal) return refusal;
  if (!body_.charge.Covers(buffer_.size())) {
    return InForm(RejectReason::kOverloaded, ProblemOf(body_.charge.Refusal(buffer_.size())));
  }
  if (expects_other_) {
    return InForm(RejectReason::kHttp, Problem(417, "of expectations 100-continue alone is met"));
  }
  const std::optional<uint64_t> length = DeclaredLength(parser_->get());
  if (length && *length > context_.server.max_body) {
    return InForm(RejectReason::kTooLarge,
                  Problem(413, fmt::format("the body has {} bytes; server.max_body is {}", *length,
                                           context_.server.max_body)));
  }
  if (length.value_or(BodyCharge::kUncounted + 1) <= BodyCharge::kUncounted) return std::nullopt;
  if (length && !body_.charge.Admits(*length)) {
    return InForm(RejectReason::kOverloaded, ProblemOf(body_.charge.Refusal(*length)));
  }
  return std::nullopt;
}

asio::awaitable<Session::Step> Session::Admit() {
  std::optional<Response> refusal = RefusalBeforeBody();
  if (!refusal) co_return Step::kGoOn;
  // A small body that comes unasked is taken off the wire, so that the connection can go on.
  const uint64_t length = DeclaredLength(parser_->get()).value_or(kForgottenBytes + 1);
  if (length > kForgottenBytes || (length > 0 && expects_continue_)) {
    EndWith(std::move(*refusal));
    co_return Step::kAnswered;
  }
  const Step discarded = co_await DiscardBody(length);
  if (discarded != Step::kGoOn) co_return discarded;
  response_ = std::move(*refusal);
  co_return Step::kAnswered;
}

// Of refusals, which cost nothing to provoke, one a second is told.
void Session::LogChange() {
  if (request_.method == Method::kGet || !dispatched_.endpoint) return;
  const LoggedChanges logged = dispatched_.endpoint->logged_changes();
  const bool done = response_.status < 300;
  if (logged == LoggedChanges::kNone || (done && logged == LoggedChanges::kRefused)) return;
  std::string outcome = "done";
  if (!done) {
    const std::string kind = fmt::format("{} {}", dispatched_.route, response_.status);
    const auto more = server_.lines().Take(kind);
    if (!more) return;
    outcome = fmt::format("{}: {}{}", response_.status, WithoutTokens(response_.problem), *more);
  }
  constexpr size_t kShownBytes = 1000;
  std::string what = request_.path;
  if (!request_.query.empty()) what.append("?").append(request_.query);
  what = WithoutTokens(what);
  if (what.size() > kShownBytes) what = what.substr(0, kShownBytes) + "...";
  std::string who = peer_;
  if (request_.principal != nullptr && !request_.principal->name.empty()) {
    who = fmt::format("{} at {}", request_.principal->name, peer_);
  }
  spdlog::info("{} {} by {}: {}", MethodName(request_.method), what, who, outcome);
}

void Session::CountAnswer() {
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - handling_begin_;
  context_.metrics.CountRequest(dispatched_.route, response_.status, seconds.count());
}

asio::awaitable<bool> Session::Write(asio::const_buffer head, std::string_view body) {
  socket_.ExpireAfter(std::chrono::microseconds(context_.server.write_timeout_us));
  const std::array<asio::const_buffer, 2> buffers = {head, asio::buffer(body)};
  auto [ec, n] = co_await socket_.Write(buffers);
  context_.metrics.sent_bytes.Increment(static_cast<double>(n));
  co_return !ec;
}

HeadOptions Session::MakeHeadOptions() {
  if (server_.draining()) keep_alive_ = false;
  HeadOptions options;
  options.keep_alive = keep_alive_;
  options.http10 = http10_;
  options.now = context_.clock.Now();
  if (context_.cors.any()) options.cors = request_.cors_origin;
  return options;
}

asio::awaitable<bool> Session::WriteAnswer() {
  HeadOptions options = MakeHeadOptions();
  std::string head;
  if (response_.source) {
    options.chunked = !http10_;
    options.has_length = false;
    if (http10_) options.keep_alive = keep_alive_ = false;
    AppendHead(response_, options, &head);
    if (head_only_) co_return co_await Write(asio::buffer(head), {});
    co_return co_await WriteChunks(std::move(head));
  }
  AppendHead(response_, options, &head);
  co_return co_await Write(asio::buffer(head), head_only_ ? std::string_view() : response_.body);
}

namespace {

Result<Pulled> PullNext(AnswerSource* source, std::string* chunk, const Wake& wake) {
  try {
    return source->Pull(chunk, wake);
  } catch (const std::exception& e) {
    return Error(ErrorCode::kIo, e.what());
  }
}

}  // namespace

asio::awaitable<bool> Session::WriteChunks(std::string head) {
  std::string& chunk = response_.body;
  Pulled pulled = Pulled::kMore;
  while (true) {
    if (!chunk.empty() && !http10_) {
      fmt::format_to(std::back_inserter(head), "{:x}\r\n", chunk.size());
      chunk += "\r\n";
    }
    // Of an answer that waits before it has anything the head alone is sent.
    if (!chunk.empty() || (pulled == Pulled::kWaits && !head.empty())) {
      if (!co_await WriteChunk(head, chunk)) co_return false;
      head.clear();
      chunk.clear();
    }
    if (pulled == Pulled::kEnd) break;
    if (pulled == Pulled::kWaits && !co_await AwaitSource()) co_return false;
    if (!co_await PullChunk(&pulled)) co_return false;
  }
  if (!http10_) head += "0\r\n\r\n";
  co_return co_await Write(asio::buffer(head), {});
}

asio::awaitable<bool> Session::PullChunk(Pulled* pulled) {
  ReadMemory* const memory = request_.memory.get();
  std::chrono::steady_clock::duration patience = kPatienceForRoom;
  const Wake wake = MakeWake();
  Result<Pulled> next = Pulled::kMore;
  while (true) {
    woken_ = false;
    std::function<void()> job = [this, memory, &wake, &next] {
      next = PullNext(response_.source.get(), &response_.body, wake);
      if (!next && memory != nullptr && memory->lacks_room()) response_.source->Release();
    };
    co_await RunBlocking(server_.endpoint_threads().queries, std::move(job));
    const bool lacks_room = memory != nullptr && memory->lacks_room();
    if (next || !lacks_room) break;
    const bool has_room =
        co_await AwaitRoom(*memory, server_.endpoint_threads().draining, &patience);
    if (!has_room) break;
  }
  if (memory != nullptr) memory->Trim();
  if (next) {
    *pulled = *next;
    co_return true;
  }
  if (const auto others = server_.lines().Take("cut")) {
    spdlog::warn("an answer to {} was cut: {}{}", peer_, next.error().message(), *others);
  }
  co_return false;
}

// May be called by whoever has it when the request, the session or the server has gone.
Wake Session::MakeWake() {
  return [gate = shard_.gate, weak = weak_from_this()] {
    gate->Post([weak] {
      const std::shared_ptr<Session> session = weak.lock();
      if (!session) return;
      session->woken_ = true;
      if (session->waits_) session->socket_.EndWait();
    });
  };
}

// That the client has left is known by a read; what it reads, if anything, is the next request,
// and from then on only a connection that breaks tells.
asio::awaitable<bool> Session::AwaitSource() {
  const auto was_ended = [this](const beast::error_code& ec) {
    return woken_ && ec == asio::error::operation_aborted;
  };
  bool is_there = true;
  waits_ = true;
  while (!woken_ && is_there) {
    socket_.ExpireAt(TimedSocket::Time::max());
    if (buffer_.size() == 0) {
      auto [ec, n] = co_await socket_.ReadSome(buffer_.prepare(kReadBytes));
      buffer_.commit(n);
      is_there = !ec || was_ended(ec);
    } else {
      auto [ec] = co_await socket_.AwaitBreak();
      is_there = was_ended(ec);
    }
  }
  waits_ = false;
  co_return is_there;
}

asio::awaitable<bool> Session::WriteChunk(std::string_view head, std::string_view body) {
  const std::chrono::microseconds patience(context_.server.write_timeout_us);
  const auto first = std::min<std::chrono::microseconds>(patience, kPatienceWithReader);
  socket_.ExpireAfter(first);
  std::array<asio::const_buffer, 2> buffers = {asio::buffer(head), asio::buffer(body)};
  auto [ec, n] = co_await socket_.Write(buffers);
  context_.metrics.sent_bytes.Increment(static_cast<double>(n));
  if (!ec) co_return true;
  if (!socket_.expired() || first == patience) co_return false;
  std::function<void()> job = [source = response_.source.get()] { source->Release(); };
  co_await RunBlocking(server_.endpoint_threads().queries, std::move(job));
  const size_t of_head = std::min(n, head.size());
  buffers = {asio::buffer(head.substr(of_head)), asio::buffer(body.substr(n - of_head))};
  socket_.ExpireAfter(patience - first);  // The time that the release took is not the reader's.
  auto [failed, rest] = co_await socket_.Write(buffers);
  context_.metrics.sent_bytes.Increment(static_cast<double>(rest));
  co_return !failed;
}

}  // namespace tallyd
