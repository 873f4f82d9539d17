// The reading half of a session: header and body off the wire, every byte bounded in number and
// time.
#include <fmt/format.h>

#include <boost/beast/http/rfc7230.hpp>
#include <iterator>

#include "api/access/refusals.h"
#include "api/http/header_guard.h"
#include "api/http/host_guard.h"
#include "api/http/session.h"

namespace tallyd {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

namespace {

constexpr size_t kFramingBytes =
    64u << 10;  // What chunk sizes, extensions and trailers may take in all.
constexpr size_t kMaxChunkExtension = 256;
constexpr size_t kMaxTrailers = 16;
// So much of a body that is refused unread is taken off the wire, because a sender may look for an
// answer only when it has sent everything.
constexpr uint64_t kLingerBytes = 1u << 30;
constexpr auto kLingerTime = std::chrono::seconds(10);

constexpr char kTlsHello = 0x16;  // The first byte of a handshake; of a request: none is.

std::string Text(beast::string_view view) { return {view.data(), view.size()}; }

std::string_view BufferedText(const beast::flat_buffer& buffer) {
  return {static_cast<const char*>(buffer.data().data()), buffer.size()};
}

Method MethodOf(http::verb verb) {
  switch (verb) {
    case http::verb::get:
    case http::verb::head:
      return Method::kGet;
    case http::verb::post:
      return Method::kPost;
    case http::verb::delete_:
      return Method::kDelete;
    case http::verb::options:
      return Method::kOptions;
    default:
      return Method::kOther;
  }
}

}  // namespace

asio::awaitable<Session::Step> Session::ReadHeader() {
  idle_ = true;
  socket_.ExpireAt(idle_since_ + std::chrono::microseconds(context_.server.idle_timeout_us));
  size_t searched = 0;
  while (true) {
    while (BufferedText(buffer_).starts_with("\r\n")) buffer_.consume(2);
    const std::string_view text = BufferedText(buffer_);
    if (idle_ && !text.empty()) {
      idle_ = false;
      socket_.ExpireAfter(std::chrono::microseconds(context_.server.header_timeout_us));
      if (text.front() == kTlsHello) {
        co_await TellThatItIsPlain();
        co_return Step::kClose;
      }
    }
    const size_t end = text.find("\r\n\r\n", searched < 3 ? 0 : searched - 3);
    const bool whole = end != std::string_view::npos;
    // However it came, in one burst or byte by byte: what counts is how long it is.
    if ((whole ? end + 4 : text.size()) > kMaxHeaderBytes) {
      Refuse(Problem(431, "the header is larger than 64 KiB"));
      co_return Step::kAnswered;
    }
    if (whole) co_return ParseHeader(end + 4);
    if (!HasRoomFor(text.size())) co_return Step::kAnswered;
    searched = text.size();
    if (idle_ && server_.draining()) co_return Step::kClose;
    if (!co_await ReadMoreHeader()) co_return idle_ ? Step::kClose : AfterFailedRead("header");
  }
}

// Ten thousand connections that wait for their next request are no reason to hold as many buffers.
// A plain one waits without a read, so that RestIfIdle may take its buffer. One of TLS may have
// something left to decrypt: its read is ended by RestIfIdle, and it goes on waiting without one.
asio::awaitable<bool> Session::ReadMoreHeader() {
  const bool idle = idle_ && buffer_.size() == 0;
  if (idle && socket_.tls() == nullptr) {
    if (buffer_.capacity() > 0) {
      const size_t came = socket_.TryRead(buffer_.prepare(buffer_.capacity()));
      buffer_.commit(came);
      if (came > 0) co_return true;
    }
    waits_idle_ = true;
    const auto [failed] = co_await socket_.AwaitData();
    waits_idle_ = false;
    if (failed) co_return false;
  }
  // The first request of a connection may be its last one for long.
  const size_t most = buffer_.capacity() == 0 ? kFirstReadBytes : kReadBytes;
  reads_idle_ = idle && socket_.tls() != nullptr;
  auto [ec, n] = co_await socket_.ReadSome(buffer_.prepare(most));
  reads_idle_ = false;
  if (std::exchange(rests_, false) && ec == asio::error::operation_aborted && socket_.is_open() &&
      !socket_.expired()) {
    buffer_.shrink_to_fit();
    const auto [failed] = co_await socket_.AwaitData();
    if (failed) co_return false;
    std::tie(ec, n) = co_await socket_.ReadSome(buffer_.prepare(kFirstReadBytes));
  }
  if (ec) co_return false;
  buffer_.commit(n);
  co_return true;
}

Session::Step Session::AfterFailedRead(std::string_view what) {
  if (revoked_) {
    EndWith(InForm(RejectReason::kHttp, Unauthorized()));
    return Step::kAnswered;
  }
  if (!socket_.expired()) return Step::kClose;
  Refuse(Problem(408, fmt::format("the {} did not come in time", what)));
  return Step::kAnswered;
}

Session::Step Session::ParseHeader(size_t header_bytes) {
  const std::string_view raw = BufferedText(buffer_).substr(0, header_bytes);
  if (Status ok = CheckRawHeader(raw); !ok) {
    const bool too_large = ok.error().code() == ErrorCode::kTooLarge;
    Refuse(too_large ? Problem(431, ok.error().message()) : ProblemOf(ok.error()));
    return Step::kAnswered;
  }
  parser_.emplace();
  parser_->header_limit(kMaxHeaderBytes + 1);
  parser_->body_limit(boost::none);  // A declared length is judged with all else, by Admit.
  beast::error_code ec;
  parser_->put(asio::buffer(raw.data(), raw.size()), ec);
  if ((ec && ec != http::error::need_more && ec != http::error::need_buffer) ||
      !parser_->is_header_done()) {
    Refuse(Problem(400, "the header is not HTTP/1.1: " + ec.message()));
    return Step::kAnswered;
  }
  buffer_.consume(header_bytes);
  http10_ = parser_->get().version() == 10;
  keep_alive_ = parser_->get().keep_alive();
  if (Status ok = CheckHeader(parser_->get()); !ok) {
    Refuse(ProblemOf(ok.error()));
    return Step::kAnswered;
  }
  const beast::string_view target = parser_->get().target();
  if (target.size() > kMaxTargetBytes) {
    Refuse(Problem(414, "the request target is longer than 16 KiB"));
    return Step::kAnswered;
  }
  const Result<RequestTarget> parts =
      ParseTarget({target.data(), target.size()}, parser_->get().method());
  if (!parts) {
    Refuse(ProblemOf(parts.error()));
    return Step::kAnswered;
  }
  FillRequest(*parts);
  foreign_ = ForeignSite(parser_->get(), *parts,
                         {context_.server.hosts, context_.cors, !context_.tokens.is_open()});
  request_.cors_origin = CorsOriginOf(parser_->get(), context_.cors);
  return Step::kGoOn;
}

void Session::FillRequest(const RequestTarget& target) {
  const auto& header = parser_->get();
  request_.method = MethodOf(header.method());
  Identify();
  request_.peer = peer_;
  request_.path = target.path;
  request_.query = target.query;
  request_.accept = Text(header[http::field::accept]);
  request_.accept_encoding = Text(header[http::field::accept_encoding]);
  request_.content_type = Text(header[http::field::content_type]);
  request_.content_encoding = Text(header[http::field::content_encoding]);
  const auto [key, keys_end] = header.equal_range("Idempotency-Key");
  if (key != keys_end) request_.idempotency_key = Text(key->value());
  request_.has_two_idempotency_keys = key != keys_end && std::next(key) != keys_end;
  head_only_ = header.method() == http::verb::head;
  const beast::string_view expected = http10_ ? beast::string_view() : header[http::field::expect];
  expects_continue_ = beast::iequals(expected, "100-continue");
  expects_other_ = !expected.empty() && !expects_continue_;
}

// Null: it has no certificate, or one that is no token's.
PrincipalPtr Session::OwnerOfCertificate() const {
  for (const std::string& name : names_) {
    if (PrincipalPtr owner = context_.tokens.Named(name, context_.clock.Now())) return owner;
  }
  return nullptr;
}

// Several headers say nothing that can be trusted, as one that says two things.
void Session::Identify() {
  identified_under_ = context_.tokens.generation();
  request_.principal = Anybody();
  if (context_.tokens.is_open()) return;
  const auto [field, end] = parser_->get().equal_range(http::field::authorization);
  request_.has_credentials = field != end;
  if (!request_.has_credentials) {
    request_.principal = OwnerOfCertificate();
    return;
  }
  const bool is_one = field != end && std::next(field) == end;
  const beast::string_view text = is_one ? field->value() : beast::string_view();
  request_.principal =
      caller_.Identify(context_.tokens, {text.data(), text.size()}, context_.clock.Now());
}

bool Session::IsRevoked() {
  if (revoked_) return true;
  // An expiry is noticed by the server, which looks for them (EndIfRevoked).
  const Principal* const principal = request_.principal.get();
  if (principal == nullptr || context_.tokens.generation() == identified_under_) return false;
  revoked_ = !context_.tokens.IsCurrent(*principal, context_.clock.Now());
  return revoked_;
}

// What has come buys time, but never more than body_timeout from now: who was fast once may not be
// silent for long.
void Session::GrantBodyTime(uint64_t received) {
  const std::chrono::microseconds longest(context_.server.body_timeout_us);
  const uint64_t bought_us = received * static_cast<uint64_t>(kUsPerSecond) /
                             std::max<uint64_t>(1, context_.server.body_min_rate);
  body_deadline_ = std::min(body_deadline_ + std::chrono::microseconds(bought_us),
                            std::chrono::steady_clock::now() + longest);
  socket_.ExpireAt(body_deadline_);
}

void Session::BeginBodyTime() {
  socket_.ExpireAfter(std::chrono::microseconds(context_.server.body_timeout_us));
  body_deadline_ = socket_.deadline();
}

asio::awaitable<Session::Step> Session::DiscardBody(uint64_t length) {
  const size_t buffered = static_cast<size_t>(std::min<uint64_t>(length, buffer_.size()));
  buffer_.consume(buffered);
  uint64_t left = length - buffered;
  BeginBodyTime();
  while (left > 0) {
    const auto most = static_cast<size_t>(std::min<uint64_t>(left, shard_.discarded.size()));
    auto [ec, n] = co_await socket_.ReadSome(asio::buffer(shard_.discarded, most));
    if (ec) co_return AfterFailedRead("body");
    left -= n;
    GrantBodyTime(n);
  }
  context_.metrics.received_bytes.Increment(static_cast<double>(length));
  co_return Step::kGoOn;
}

asio::awaitable<Session::Step> Session::ReadBody() {
  const std::optional<uint64_t> length = DeclaredLength(parser_->get());
  Step step = Step::kGoOn;
  if (length && *length <= buffer_.size()) {
    step = TakeBuffered(static_cast<size_t>(*length));
  } else {
    if (expects_continue_ && buffer_.size() == 0) co_await SendContinue();
    BeginBodyTime();
    reads_body_ = true;
    step = length ? co_await ReadSizedBody(*length) : co_await ReadChunkedBody();
    reads_body_ = false;
  }
  if (step == Step::kGoOn) {
    context_.metrics.received_bytes.Increment(static_cast<double>(body_.bytes.size()));
  }
  co_return step;
}

Session::Step Session::TakeBuffered(size_t length) {
  if (!HasRoomFor(buffer_.size())) return Step::kAnswered;
  body_.Begin();
  buffer_.prepare(kBodyPadding);  // Before the body is looked at: it may move.
  buffered_body_ = length;
  body_.bytes = BufferedText(buffer_).substr(0, length);
  return Step::kGoOn;
}

asio::awaitable<void> Session::SendContinue() {
  static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  socket_.ExpireAfter(std::chrono::microseconds(context_.server.write_timeout_us));
  co_await socket_.Write(asio::buffer(kContinue));
}

asio::awaitable<Session::Step> Session::ReadSizedBody(uint64_t length) {
  // Into the buffer at first: who sends nothing gets no workspace.
  while (buffer_.size() < std::min<uint64_t>(length, kReadBytes)) {
    if (!HasRoomFor(buffer_.size())) co_return Step::kAnswered;
    auto [ec, n] = co_await socket_.ReadSome(buffer_.prepare(kReadBytes));
    if (ec || revoked_) co_return AfterFailedRead("body");
    buffer_.commit(n);
    GrantBodyTime(n);
  }
  if (length <= buffer_.size()) co_return TakeBuffered(static_cast<size_t>(length));
  body_.Begin();
  std::string& body = body_.workspace->body;
  // What is there of another body is overwritten, not cleared.
  if (body.size() > length) body.resize(length);
  size_t received = buffer_.size();
  if (!HasRoomFor(std::max(body.size(), received))) co_return Step::kAnswered;
  body.replace(0, received, BufferedText(buffer_));
  buffer_.consume(received);
  while (received < length) {
    // The body grows with what has arrived, never with what was promised.
    if (received == body.size()) {
      const size_t kept = std::max(body.capacity(), kBodyPadding) - kBodyPadding;
      const size_t room = std::min<size_t>(length, std::max(2 * received, kept));
      if (!HasRoomFor(room)) co_return Step::kAnswered;
      body.resize(room);
    }
    auto [ec, n] =
        co_await socket_.ReadSome(asio::buffer(body.data() + received, body.size() - received));
    if (ec || revoked_) co_return AfterFailedRead("body");
    received += n;
    GrantBodyTime(n);
  }
  body.resize(length);
  body.reserve(length + kBodyPadding);
  body_.bytes = body;
  co_return Step::kGoOn;
}

asio::awaitable<Session::Step> Session::ReadChunkedBody() {
  std::string body;
  uint64_t wire = buffer_.size();
  size_t extension_bytes = 0;
  auto on_header = [&extension_bytes](uint64_t, beast::string_view extensions,
                                      beast::error_code& ec) {
    extension_bytes = std::max(extension_bytes, extensions.size());
    // A proxy may take such a byte for the end of the line.
    const bool has_control = std::any_of(extensions.begin(), extensions.end(), [](char c) {
      const auto byte = static_cast<unsigned char>(c);
      return (byte < 0x20 && c != '\t') || byte == 0x7f;
    });
    if (has_control || extension_bytes > kMaxChunkExtension) ec = http::error::bad_chunk_extension;
  };
  parser_->on_chunk_header(on_header);
  parser_->body_limit(context_.server.max_body);
  const auto fields =
      static_cast<size_t>(std::distance(parser_->get().begin(), parser_->get().end()));
  while (true) {
    if (const Step step = PutChunked(&body); step != Step::kGoOn) co_return step;
    if (parser_->is_done()) break;
    if (wire > context_.server.max_body + kFramingBytes || buffer_.size() > kFramingBytes) {
      Refuse(Problem(413, "the chunked body takes more bytes than server.max_body allows"));
      co_return Step::kAnswered;
    }
    auto [ec, n] = co_await socket_.ReadSome(buffer_.prepare(kReadBytes));
    if (ec || revoked_) co_return AfterFailedRead("body");
    buffer_.commit(n);
    wire += n;
    GrantBodyTime(n);
  }
  const auto trailers =
      static_cast<size_t>(std::distance(parser_->get().begin(), parser_->get().end())) - fields;
  if (trailers > kMaxTrailers) {
    Refuse(Problem(400, "more than 16 trailers"));
    co_return Step::kAnswered;
  }
  body.reserve(body.size() + kBodyPadding);
  body_.Begin();
  body_.workspace->body.swap(body);
  body_.bytes = body_.workspace->body;
  co_return Step::kGoOn;
}

// Beast takes trailers in forms that it would be wrong to take a header in. `taken` is what the
// parser took of the last chunk, in one piece; the line that ends the chunk before comes with it.
bool Session::HasGoodTrailers(std::string_view taken) {
  if (taken.starts_with("\r\n")) taken.remove_prefix(2);
  const Status ok = CheckRawHeader(taken);
  if (!ok) Refuse(Problem(400, "the trailers: " + ok.error().message()));
  return static_cast<bool>(ok);
}

// Feeds what is buffered to the parser, whose data goes behind the body.
Session::Step Session::PutChunked(std::string* body) {
  while (!parser_->is_done() && buffer_.size() > 0) {
    const size_t before = body->size();
    // What comes may be all data; the body itself may have room for twice as much.
    if (!HasRoomFor(std::max(body->capacity(), before + buffer_.size()))) return Step::kAnswered;
    body->resize(before + buffer_.size());
    parser_->get().body().data = body->data() + before;
    parser_->get().body().size = body->size() - before;
    parser_->get().body().more = true;
    beast::error_code ec;
    const size_t used = parser_->put(buffer_.data(), ec);
    body->resize(body->size() - parser_->get().body().size);
    const std::string_view taken = BufferedText(buffer_).substr(0, used);
    if (!ec && parser_->is_done() && !HasGoodTrailers(taken)) return Step::kAnswered;
    buffer_.consume(used);
    if (ec == http::error::need_more) break;
    if (ec == http::error::body_limit) {
      Refuse(Problem(413, fmt::format("the body is larger than server.max_body, {} bytes",
                                      context_.server.max_body)));
      return Step::kAnswered;
    }
    if (ec && ec != http::error::need_buffer) {
      Refuse(Problem(400, "the chunked body is malformed: " + ec.message()));
      return Step::kAnswered;
    }
    if (used == 0) break;
  }
  return Step::kGoOn;
}

// A close with unread bytes resets the connection, and the client might never see the answer: stop
// sending, then read what still comes, for a while.
asio::awaitable<void> Session::LingerAndClose() {
  idle_ = true;  // A stop need not wait for this.
  socket_.EndSending();
  if (unread_body_) {
    socket_.ExpireAfter(kLingerTime);
    buffer_.clear();
    buffer_.shrink_to_fit();
    body_.charge.Clear();
    uint64_t discarded = 0;
    while (discarded < kLingerBytes && !socket_.expired()) {
      auto [ec, n] = co_await socket_.ReadSome(asio::buffer(shard_.discarded));
      if (ec) break;
      discarded += n;
    }
  }
  socket_.Close();
}

}  // namespace tallyd
