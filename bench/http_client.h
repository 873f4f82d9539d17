#ifndef TALLYD_BENCH_HTTP_CLIENT_H_
#define TALLYD_BENCH_HTTP_CLIENT_H_

// HttpClient: one keep-alive connection over a blocking socket, made to cost little beside the
// server it measures. Bodies are sent from where they lie, answers are read into a buffer that is
// kept.
//
// One thread per client. Failures of the connection throw std::runtime_error: a benchmark that lost
// requests has no result. It understands just what its servers send: HTTP/1.1 with Content-Length
// or chunked. Over TLS it takes any certificate: it measures, and sends nothing that is secret.

#include <memory>
#include <string>
#include <string_view>

using SSL = struct ssl_st;  // OpenSSL's own names.

namespace tallyd::bench {

// How long a client waits for the server before that counts as a failure.
inline constexpr int kPatienceSeconds = 120;

struct Endpoint {
  std::string host;
  std::string port;
  bool tls = false;
};

// Parses "http://127.0.0.1:8780", or with https. Throws std::invalid_argument.
Endpoint ParseUrl(std::string_view url);

struct Response {
  int status = 0;
  std::string body;
};

class HttpClient {
 public:
  explicit HttpClient(const Endpoint& endpoint);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // The answer is valid until the next call.
  const Response& Get(std::string_view target);
  const Response& Post(std::string_view target, std::string_view content_type,
                       std::string_view body);
  // The two halves of Post: until the answer comes the thread may serve other clients.
  void BeginPost(std::string_view target, std::string_view content_type, std::string_view body);
  const Response& Finish();

  // What becomes readable when the answer comes, and how often it connected: where the server ended
  // a connection, another one is made for the next request.
  int socket() const { return socket_; }
  int connections() const { return connections_; }

 private:
  void Connect();
  void BeginTls();
  void Disconnect();
  void Begin(std::string_view head, std::string_view body);
  void Send(std::string_view head, std::string_view body);
  void SendSealed(std::string_view bytes);
  // False if it was the last one of the connection.
  bool ReadResponse();
  void ReadChunks();
  // Moves `bytes` of what was received into the body, reading on as needed.
  void TakeBody(std::size_t bytes);
  // Returns the next line without its CRLF; valid until more is received.
  std::string_view TakeLine();
  void Receive();

  const Endpoint endpoint_;
  int socket_ = -1;  // None behind an answer that ended the connection.
  struct EndTls {
    void operator()(SSL* tls) const;
  };
  std::unique_ptr<SSL, EndTls> tls_;
  int connections_ = 0;
  std::string received_;  // Its first `held_` bytes are of the server, of these `taken_` are read.
  std::size_t held_ = 0;
  std::size_t taken_ = 0;
  Response response_;
};

}  // namespace tallyd::bench

#endif  // TALLYD_BENCH_HTTP_CLIENT_H_
