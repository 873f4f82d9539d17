// Session: one connection, from its first byte to its last. A coroutine of small steps on the
// connection's own I/O thread: header, guard, what its endpoint says before the body, body, answer;
// then the next request, which may have arrived already (pipelining is served in order, one at a
// time, so nothing queues up). It knows bytes, bounds and deadlines; what a request is about, its
// endpoint does. What waits elsewhere, for a commit or a query, comes back to this thread: nobody
// else touches the connection.
//
// Every wait for the client has a deadline: idle between requests, header from its first byte, body
// by a minimum rate, answer per chunk. A deadline that ends a request that had begun is answered
// with 408. A source that waits for what it will give has none; it ends with its client.
#ifndef TALLYD_API_HTTP_SESSION_H_
#define TALLYD_API_HTTP_SESSION_H_

#include <boost/asio/awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/access/caller.h"
#include "api/endpoint/endpoint.h"
#include "api/http/connection.h"
#include "api/http/header_guard.h"
#include "api/http/server.h"
#include "api/http/timed_socket.h"
#include "api/http/wire.h"
#include "api/request.h"
#include "api/routes/dispatch.h"

namespace tallyd {

class Session final : public Connection, public std::enable_shared_from_this<Session> {
 public:
  // `tls`: what TLS is spoken with; null: none is.
  Session(boost::asio::ip::tcp::socket socket, HttpServer& server, IoShard& shard,
          TlsContextPtr tls);
  ~Session() override;

  boost::asio::awaitable<void> Run() override;
  void RestIfIdle(std::chrono::steady_clock::time_point now) override;
  void CloseIfIdle() override;  // Also where an answer only waits: there is no telling how long.
  // Where the principal of the request under way is nobody by now: a body that comes is refused, a
  // read's answer ends with the connection.
  void EndIfRevoked(TimeUs now) override;

 private:
  static constexpr size_t kReadBytes = 64u << 10;
  static constexpr size_t kFirstReadBytes = 8u << 10;
  using Parser = boost::beast::http::request_parser<boost::beast::http::buffer_body>;
  enum class Step { kGoOn, kAnswered, kClose };

  // session_tls.cc. False: there is no telling what the client means.
  boost::asio::awaitable<bool> ShakeHands();
  void CountHandshake(const Handshake& done);
  // Whoever takes this for a port that speaks TLS is told, at once.
  boost::asio::awaitable<void> TellThatItIsPlain();

  boost::asio::awaitable<bool> ServeOne();  // False: the connection ends.
  boost::asio::awaitable<Step> ReadHeader();
  // What comes of a header goes behind what is in the buffer. False: the read failed.
  boost::asio::awaitable<bool> ReadMoreHeader();
  Step ParseHeader(size_t header_bytes);
  void FillRequest(const RequestTarget& target);
  void Identify();
  PrincipalPtr OwnerOfCertificate() const;
  bool IsRevoked();  // Whether the principal has become nobody since the head came.
  boost::asio::awaitable<Step> Admit();
  std::optional<Response> RefusalBeforeBody();
  boost::asio::awaitable<Step> ReadBody();
  boost::asio::awaitable<Step> DiscardBody(uint64_t length);  // It is held nowhere.
  void BeginBodyTime();
  Step TakeBuffered(size_t length);  // REQUIRES: so much is in the buffer.
  boost::asio::awaitable<Step> ReadSizedBody(uint64_t length);
  boost::asio::awaitable<Step> ReadChunkedBody();
  Step PutChunked(std::string* body);
  bool HasGoodTrailers(std::string_view taken);  // If not the request is refused.
  // Whether the request may hold so many bytes; if not it is refused.
  bool HasRoomFor(uint64_t bytes);
  void LetGoOfRequest();
  boost::asio::awaitable<void> SendContinue();
  HeadOptions MakeHeadOptions();  // While the server drains the connection is not kept.
  boost::asio::awaitable<bool> WriteAnswer();
  boost::asio::awaitable<bool> WriteChunks(std::string head);
  // What comes next of the answer goes to the body; false: nothing will.
  boost::asio::awaitable<bool> PullChunk(Pulled* pulled);
  // Until the source wakes this connection. False: its client has left, or the server stops.
  boost::asio::awaitable<bool> AwaitSource();
  Wake MakeWake();
  // The same as Write; where the reader takes its time, the source lets go of what it can.
  boost::asio::awaitable<bool> WriteChunk(std::string_view head, std::string_view body);
  boost::asio::awaitable<bool> Write(boost::asio::const_buffer head, std::string_view body);
  boost::asio::awaitable<void> LingerAndClose();
  void GrantBodyTime(uint64_t received);
  // After a read of a request's bytes that failed.
  Step AfterFailedRead(std::string_view what);
  // Answers a request whose framing can no longer be trusted, then closes.
  void Refuse(Response response);
  // Answers, then closes: the body is left where it is.
  void EndWith(Response response);
  // In the form of its path's errors, if it has come to an endpoint.
  Response InForm(RejectReason reason, Response response);
  // Tells who changed what, or was refused and why, for whoever looks for it afterwards.
  void LogChange();
  void CountAnswer();

  HttpServer& server_;
  ApiContext& context_;
  IoShard& shard_;
  TimedSocket socket_;
  boost::beast::flat_buffer buffer_;  // What was read and is not consumed.
  const std::string peer_;
  Caller caller_;
  uint64_t identified_under_ = 0;  // The generation of the tokens.
  TlsContextPtr tls_;              // Until hands are shaken; null: this is plain.
  bool speaks_tls_ = false;
  std::vector<std::string> names_;  // Of the client's certificate.
  std::optional<Parser> parser_;
  Request request_;
  // In the buffer if it came whole with the header, else in its workspace.
  RequestBody body_;
  size_t buffered_body_ = 0;  // Its bytes in the buffer, which are consumed once it is answered.
  std::optional<std::string> foreign_;  // Why the request is 403.
  Exchange exchange_;
  Dispatched dispatched_;  // The endpoint is there until its answer is, not until that is sent.
  Response response_;
  std::chrono::steady_clock::time_point body_deadline_;
  std::chrono::steady_clock::time_point handling_begin_;
  std::chrono::steady_clock::time_point idle_since_;  // The last answer.
  bool idle_ = true;
  bool waits_idle_ = false;  // For the next request; it reads nothing yet.
  bool reads_idle_ = false;  // It waits for it with a buffer in hand.
  bool rests_ = false;       // It is to wait for it without one.
  bool waits_ = false;       // For a source.
  bool woken_ = false;       // By it, since it was pulled.
  bool reads_body_ = false;
  bool tells_data_ = false;  // A read's answer is being sent.
  bool revoked_ = false;
  bool keep_alive_ = true;
  bool head_only_ = false;
  bool http10_ = false;
  bool expects_continue_ = false;
  bool expects_other_ = false;  // What nobody here can do.
  bool unread_body_ = false;
};

}  // namespace tallyd

#endif  // TALLYD_API_HTTP_SESSION_H_
