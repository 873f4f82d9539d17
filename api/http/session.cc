#include "api/http/session.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "api/http/blocking_call.h"
#include "api/http/header_guard.h"
#include "api/http/place.h"
#include "api/http/wire.h"
#include "api/mutations/mutations.h"

namespace tallyd {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

namespace {

constexpr size_t kBufferBytes = kMaxHeaderBytes + (128u << 10);
constexpr uint64_t kForgottenBytes = 64u << 10;

// On a thread of a pool, where an exception would end the process.
Result<std::optional<KeyedAnswer>> FindAnswer(KeyClaim* claim) {
  try {
    return claim->Find();
  } catch (const std::exception& e) {
    return Error(ErrorCode::kIo, e.what());
  }
}

}  // namespace

void SessionEnd::operator()(std::exception_ptr error) const {
  if (!error) return;
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    spdlog::error("a connection ended by an exception: {}", e.what());
  }
}

Session::Session(asio::ip::tcp::socket socket, HttpServer& server, IoShard& shard)
    : server_(server),
      context_(server.context()),
      shard_(shard),
      socket_(std::move(socket)),
      buffer_(kBufferBytes),
      peer_(socket_.Peer()) {}

Session::~Session() {
  // A workspace that was not given back was left in the middle of something: nobody uses it again.
  shard_.sessions.erase(this);
  --server_.open_connections();
  context_.metrics.connections.Decrement();
}

asio::awaitable<void> Session::Run() {
  shard_.sessions.insert(this);
  idle_since_ = std::chrono::steady_clock::now();
  bool open = true;
  while (open) open = co_await ServeOne();
}

void Session::CloseIfIdle() {
  if (idle_) socket_.Close();
}

asio::awaitable<bool> Session::ServeOne() {
  keep_alive_ = true;
  head_only_ = http10_ = expects_continue_ = unread_body_ = false;
  response_ = Response();
  request_ = Request();
  match_ = Match();
  match_.route = UnmatchedRoute();
  ingest_.reset();
  body_ = {};

  Step step = co_await ReadHeader();
  if (step == Step::kGoOn) step = co_await Admit();
  if (step == Step::kGoOn) step = co_await ReadBody();
  if (step == Step::kClose) co_return false;
  handling_begin_ = std::chrono::steady_clock::now();
  if (step == Step::kGoOn) co_await Handle();
  claim_.reset();
  LogChange();
  // Whoever has read its answer finds it counted; one in chunks is counted once all is given.
  const bool is_whole = response_.source == nullptr;
  if (is_whole) CountAnswer();
  const bool written = co_await WriteAnswer();
  if (!is_whole) CountAnswer();
  // Whoever is idle holds nothing: what is assigned to would keep the body's buffer.
  std::ignore = std::exchange(response_, Response());
  request_.memory.reset();
  idle_since_ = std::chrono::steady_clock::now();
  if (workspace_) shard_.GiveBack(std::move(workspace_));
  buffer_.consume(std::exchange(buffered_body_, 0));
  if (!written) co_return false;
  if (!keep_alive_) {
    co_await LingerAndClose();
    co_return false;
  }
  co_return true;
}

void Session::EndWith(Response response) {
  response_ = std::move(response);
  keep_alive_ = false;
  unread_body_ = true;
}

void Session::Refuse(Response response) {
  const RejectReason reason =
      response.status == 413 ? RejectReason::kTooLarge : RejectReason::kHttp;
  EndWith(Rejected(reason, std::move(response)));
}

Response Session::Rejected(RejectReason reason, Response response) {
  if (match_.route < Routes().size() && Routes()[match_.route].runs_on == RunsOn::kIngest) {
    context_.rejects.Count(ingest_ ? ingest_->stream : "", reason, response.problem, peer_);
  }
  return response;
}

// What a request is refused for before anybody asks for its body. Empty: go on.
std::optional<Response> Session::RefusalBeforeBody() {
  if (foreign_) return Rejected(RejectReason::kHttp, Problem(403, *foreign_));
  if (match_.route == UnmatchedRoute()) {
    if (match_.allow.empty()) {
      const std::string near = FindNearPath(request_.path);
      return Problem(404, "there is nothing at this path" +
                              (near.empty() ? "" : "; the nearest is " + near) +
                              "; docs/http.md lists the routes");
    }
    Response refusal = Problem(405, "this path answers " + match_.allow);
    refusal.headers.emplace_back("Allow", match_.allow);
    return refusal;
  }
  if (match_.malformed) {
    return Rejected(RejectReason::kMalformed,
                    Problem(400, "a '%' in the path must be followed by two hexadecimal digits"));
  }
  Result<Params> params = Params::Parse(request_.query);
  if (!params) return Rejected(RejectReason::kMalformed, ProblemOf(params.error()));
  request_.params = std::move(*params);
  request_.arguments = std::move(match_.arguments);
  if (request_.idempotency_key && TakesKey(Routes()[match_.route])) {
    const Status good = CheckIdempotencyKey(*request_.idempotency_key);
    if (!good) return Rejected(RejectReason::kMalformed, ProblemOf(good.error()));
  }
  if (Routes()[match_.route].runs_on == RunsOn::kIngest) {
    Result<IngestHead> head = ReadIngestHead(request_, context_);
    if (!head) return ProblemOf(head.error());
    ingest_ = std::move(*head);
  }
  const std::optional<uint64_t> length = DeclaredLength(parser_->get());
  if (length && *length > context_.server.max_body) {
    return Rejected(RejectReason::kTooLarge,
                    Problem(413, fmt::format("the body has {} bytes; server.max_body is {}",
                                             *length, context_.server.max_body)));
  }
  return std::nullopt;
}

asio::awaitable<Session::Step> Session::Admit() {
  std::optional<Response> refusal = RefusalBeforeBody();
  if (!refusal) co_return Step::kGoOn;
  // A small body that comes unasked is read and forgotten, so that the connection can go on.
  const uint64_t length = DeclaredLength(parser_->get()).value_or(kForgottenBytes + 1);
  if (length > kForgottenBytes || (length > 0 && expects_continue_)) {
    EndWith(std::move(*refusal));
    co_return Step::kAnswered;
  }
  const Step read = co_await ReadBody();
  if (read != Step::kGoOn) co_return read;
  response_ = std::move(*refusal);
  co_return Step::kAnswered;
}

asio::awaitable<void> Session::Handle() {
  switch (Routes()[match_.route].runs_on) {
    case RunsOn::kInline:
      response_ = Routes()[match_.route].handler(request_, context_);
      break;
    case RunsOn::kIngest:
      co_await HandleIngest();
      break;
    case RunsOn::kQuery:
      co_await HandleQuery(server_.query_pool());
      break;
    case RunsOn::kKeyedQuery:
      co_await HandleKeyedQuery();
      break;
    case RunsOn::kOperation:
      co_await HandleQuery(server_.operation_pool());
      break;
  }
}

asio::awaitable<bool> Session::ClaimKey(KeyedRequest keyed) {
  claim_ = co_await AwaitClaim(context_.keys, keyed);
  Result<std::optional<KeyedAnswer>> known = std::optional<KeyedAnswer>();
  std::function<void()> job = [this, &known] { known = FindAnswer(claim_.get()); };
  co_await RunBlocking(server_.lookup_pool(), std::move(job));
  if (!known) {
    const bool is_foreign = known.error().code() == ErrorCode::kUnprocessable;
    response_ = Rejected(is_foreign ? RejectReason::kMalformed : RejectReason::kStorage,
                         ProblemOf(known.error()));
  } else if (*known) {
    context_.metrics.idempotent_replays.Increment();
    response_ = Response();
    response_.status = (*known)->status;
    response_.body = std::move((*known)->body);
  }
  co_return known && !*known;
}

asio::awaitable<void> Session::HandleKeyedQuery() {
  if (request_.idempotency_key) {
    request_.body = body_;
    KeyedRequest keyed = KeyedMutations(request_);
    const bool is_new = co_await ClaimKey(std::move(keyed));
    if (!is_new) co_return;
    request_.claim = claim_.get();
  }
  co_await HandleQuery(server_.query_pool());
}

namespace {

constexpr size_t kMaxWaitingQueries = 1024;
constexpr auto kPatienceForRoom = std::chrono::seconds(20);
constexpr auto kBetweenLooksForRoom = std::chrono::milliseconds(20);
// Who has not taken a chunk by then is slow: what was read ahead for it is of more use to others.
constexpr auto kPatienceWithReader = std::chrono::milliseconds(500);

// Runs the handler and the first step of its source: what fails until then is a problem answer, and
// an answer of one chunk is sent whole.
Response RunHandler(Handler handler, const Request& request, ApiContext& context,
                    AcceptedEncoding encoding) {
  try {
    Response response = handler(request, context);
    PullFirstChunk(&response);
    CompressResponse(encoding, &response);
    return response;
  } catch (const std::exception& e) {
    spdlog::error("a handler threw: {}", e.what());  // A mistake of this program: each counts.
    return Problem(500, "internal error");
  }
}

}  // namespace

asio::awaitable<void> Session::HandleQuery(asio::thread_pool& pool) {
  if (server_.waiting_queries() >= kMaxWaitingQueries) {
    response_ = Problem(503, "too many queries wait already");
    co_return;
  }
  const Place place(server_.waiting_queries());
  request_.body = body_;
  request_.memory = std::make_shared<ReadMemory>(context_.query_memory);
  std::chrono::steady_clock::duration patience = kPatienceForRoom;
  while (true) {
    std::function<void()> job = [this] {
      response_ = RunHandler(Routes()[match_.route].handler, request_, context_, encoding_);
    };
    co_await RunBlocking(pool, std::move(job));
    // What an answer that has begun lacks comes later; and another mistake is nothing to wait for.
    if (response_.status != 503 || !request_.memory->lacks_room()) break;
    // It waits with nothing in its hands: what it lacks may be what others like it hold.
    Response refusal = std::exchange(response_, Response());
    const bool has_room = co_await AwaitRoom(&patience);
    if (!has_room) {
      response_ = std::move(refusal);
      break;
    }
  }
  request_.memory->Trim();
}

asio::awaitable<bool> Session::AwaitRoom(std::chrono::steady_clock::duration* patience) {
  asio::steady_timer timer(shard_.io);
  const auto begin = std::chrono::steady_clock::now();
  bool has_room = request_.memory->Admit();
  while (!has_room && std::chrono::steady_clock::now() - begin < *patience && !server_.draining()) {
    timer.expires_after(kBetweenLooksForRoom);
    co_await timer.async_wait(TimedSocket::kAwait);
    has_room = request_.memory->Admit();
  }
  *patience -= std::min(*patience, std::chrono::steady_clock::now() - begin);
  co_return has_room;
}

// Batches are too many for a line each: their refusals are sampled. So are mutations: of these the
// refused ones have a line. Of refusals, which cost nothing to provoke, one a second is told.
void Session::LogChange() {
  if (request_.method == Method::kGet || match_.route == UnmatchedRoute()) return;
  const RunsOn runs_on = Routes()[match_.route].runs_on;
  if (runs_on == RunsOn::kIngest) return;
  const bool done = response_.status < 300;
  if (runs_on == RunsOn::kKeyedQuery && done) return;
  std::string outcome = "done";
  if (!done) {
    const auto more = server_.lines().Take(fmt::format("{} {}", match_.route, response_.status));
    if (!more) return;
    outcome = fmt::format("{}: {}{}", response_.status, response_.problem, *more);
  }
  constexpr size_t kShownBytes = 1000;
  std::string what = request_.path;
  if (!request_.query.empty()) what.append("?").append(request_.query);
  if (what.size() > kShownBytes) what = what.substr(0, kShownBytes) + "...";
  spdlog::info("{} {} by {}: {}", MethodName(request_.method), what, peer_, outcome);
}

void Session::CountAnswer() {
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - handling_begin_;
  context_.metrics.CountRequest(match_.route, response_.status, seconds.count());
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

void PullNext(BodySource* source, std::string* chunk, Result<bool>* more) {
  try {
    *more = source->Next(chunk);
  } catch (const std::exception& e) {
    *more = Error(ErrorCode::kIo, e.what());
  }
}

}  // namespace

asio::awaitable<bool> Session::WriteChunks(std::string head) {
  std::string& chunk = response_.body;
  Result<bool> more = true;
  while (true) {
    if (!chunk.empty()) {
      if (!http10_) {
        fmt::format_to(std::back_inserter(head), "{:x}\r\n", chunk.size());
        chunk += "\r\n";
      }
      if (!co_await WriteChunk(head, chunk)) co_return false;
      head.clear();
      chunk.clear();
    }
    if (!*more) break;
    if (!co_await PullChunk(&more)) co_return false;
  }
  if (!http10_) head += "0\r\n\r\n";
  co_return co_await Write(asio::buffer(head), {});
}

asio::awaitable<bool> Session::PullChunk(Result<bool>* more) {
  ReadMemory* const memory = request_.memory.get();
  std::chrono::steady_clock::duration patience = kPatienceForRoom;
  while (true) {
    std::function<void()> job = [this, memory, more] {
      PullNext(response_.source.get(), &response_.body, more);
      if (!*more && memory != nullptr && memory->lacks_room()) response_.source->Release();
    };
    co_await RunBlocking(server_.query_pool(), std::move(job));
    const bool lacks_room = memory != nullptr && memory->lacks_room();
    if (*more || !lacks_room) break;
    const bool has_room = co_await AwaitRoom(&patience);
    if (!has_room) break;
  }
  if (memory != nullptr) memory->Trim();
  if (*more) co_return true;
  if (const auto others = server_.lines().Take("cut")) {
    spdlog::warn("an answer to {} was cut: {}{}", peer_, more->error().message(), *others);
  }
  co_return false;
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
  co_await RunBlocking(server_.query_pool(), std::move(job));
  const size_t of_head = std::min(n, head.size());
  buffers = {asio::buffer(head.substr(of_head)), asio::buffer(body.substr(n - of_head))};
  socket_.ExpireAfter(patience - first);  // The time that the release took is not the reader's.
  auto [failed, rest] = co_await socket_.Write(buffers);
  context_.metrics.sent_bytes.Increment(static_cast<double>(rest));
  co_return !failed;
}

}  // namespace tallyd
