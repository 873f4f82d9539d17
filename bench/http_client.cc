#include "bench/http_client.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <stdexcept>

namespace tallyd::bench {
namespace {

constexpr std::size_t kReceiveBytes = 256 * 1024;

[[noreturn]] void Fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

[[noreturn]] void FailTls(const std::string& what) {
  char reason[256] = "the connection ended";
  if (const unsigned long error = ERR_get_error())
    ERR_error_string_n(error, reason, sizeof(reason));
  throw std::runtime_error(what + ": " + reason);
}

SSL_CTX* TlsContext() {
  static SSL_CTX* const context = [] {
    SSL_CTX* const made = SSL_CTX_new(TLS_client_method());
    if (made == nullptr) FailTls("TLS");
    SSL_CTX_set_mode(made, SSL_MODE_AUTO_RETRY);
    return made;
  }();
  return context;
}

bool StartsWithNoCase(std::string_view text, std::string_view prefix) {
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) ==
           std::tolower(static_cast<unsigned char>(b));
  };
  return text.size() >= prefix.size() &&
         std::equal(prefix.begin(), prefix.end(), text.begin(), same);
}

std::size_t ParseSize(std::string_view text, int base) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  std::size_t size = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), size, base);
  if (parsed.ec != std::errc()) throw std::runtime_error("bad length in answer");
  return size;
}

}  // namespace

Endpoint ParseUrl(std::string_view url) {
  const bool tls = url.starts_with("https://");
  const std::string_view scheme = tls ? "https://" : "http://";
  const std::size_t colon = url.rfind(':');
  if (!url.starts_with(scheme) || colon == std::string_view::npos || colon < scheme.size()) {
    throw std::invalid_argument("expected http://HOST:PORT or https://HOST:PORT, got " +
                                std::string(url));
  }
  while (url.ends_with('/')) url.remove_suffix(1);
  return {std::string(url.substr(scheme.size(), colon - scheme.size())),
          std::string(url.substr(colon + 1)), tls};
}

HttpClient::HttpClient(const Endpoint& endpoint) : endpoint_(endpoint) { Connect(); }

void HttpClient::EndTls::operator()(SSL* tls) const { SSL_free(tls); }

HttpClient::~HttpClient() { Disconnect(); }

void HttpClient::Disconnect() {
  tls_.reset();
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
}

void HttpClient::Connect() {
  ++connections_;
  held_ = 0;
  taken_ = 0;
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(endpoint_.host.c_str(), endpoint_.port.c_str(), &hints, &found) != 0) {
    throw std::runtime_error("cannot resolve " + endpoint_.host);
  }
  for (addrinfo* at = found; at != nullptr && socket_ < 0; at = at->ai_next) {
    const int fd = ::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
    if (fd < 0) continue;
    if (connect(fd, at->ai_addr, at->ai_addrlen) == 0) {
      socket_ = fd;
    } else {
      close(fd);
    }
  }
  freeaddrinfo(found);
  if (socket_ < 0) Fail("cannot connect to " + endpoint_.host + ":" + endpoint_.port);
  const int on = 1;
  const timeval timeout{.tv_sec = kPatienceSeconds, .tv_usec = 0};
  setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
  setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
  if (endpoint_.tls) BeginTls();
}

void HttpClient::BeginTls() {
  tls_.reset(SSL_new(TlsContext()));
  if (!tls_ || SSL_set_fd(tls_.get(), socket_) != 1 || SSL_connect(tls_.get()) != 1) {
    FailTls("TLS handshake");
  }
}

const Response& HttpClient::Get(std::string_view target) {
  std::string head = "GET ";
  head.append(target).append(" HTTP/1.1\r\nHost: ").append(endpoint_.host).append("\r\n\r\n");
  Begin(head, {});
  return Finish();
}

const Response& HttpClient::Post(std::string_view target, std::string_view content_type,
                                 std::string_view body) {
  BeginPost(target, content_type, body);
  return Finish();
}

void HttpClient::BeginPost(std::string_view target, std::string_view content_type,
                           std::string_view body) {
  std::string head = "POST ";
  head.append(target).append(" HTTP/1.1\r\nHost: ").append(endpoint_.host);
  head.append("\r\nContent-Type: ").append(content_type);
  head.append("\r\nContent-Length: ").append(std::to_string(body.size())).append("\r\n\r\n");
  Begin(head, body);
}

void HttpClient::Begin(std::string_view head, std::string_view body) {
  if (socket_ < 0) Connect();
  Send(head, body);
}

const Response& HttpClient::Finish() {
  if (!ReadResponse()) Disconnect();
  return response_;
}

void HttpClient::SendSealed(std::string_view bytes) {
  while (!bytes.empty()) {
    std::size_t sent = 0;
    if (SSL_write_ex(tls_.get(), bytes.data(), bytes.size(), &sent) != 1) FailTls("send");
    bytes.remove_prefix(sent);
  }
}

void HttpClient::Send(std::string_view head, std::string_view body) {
  if (tls_) {
    SendSealed(head);
    SendSealed(body);
    return;
  }
  while (!head.empty() || !body.empty()) {
    iovec parts[2] = {{const_cast<char*>(head.data()), head.size()},
                      {const_cast<char*>(body.data()), body.size()}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    const ssize_t sent = sendmsg(socket_, &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) Fail("send");
    const std::size_t of_head = std::min(head.size(), static_cast<std::size_t>(sent));
    head.remove_prefix(of_head);
    body.remove_prefix(static_cast<std::size_t>(sent) - of_head);
  }
}

bool HttpClient::ReadResponse() {
  response_.body.clear();
  const std::string_view status_line = TakeLine();
  if (!status_line.starts_with("HTTP/1.") || status_line.size() < 12) {
    throw std::runtime_error("not an HTTP answer: " + std::string(status_line));
  }
  response_.status = static_cast<int>(ParseSize(status_line.substr(9, 3), 10));
  std::size_t length = 0;
  bool chunked = false, closes = false;
  for (std::string_view line = TakeLine(); !line.empty(); line = TakeLine()) {
    if (StartsWithNoCase(line, "content-length:")) length = ParseSize(line.substr(15), 10);
    if (StartsWithNoCase(line, "transfer-encoding: chunked")) chunked = true;
    if (StartsWithNoCase(line, "connection: close")) closes = true;
  }
  if (chunked) {
    ReadChunks();
  } else {
    TakeBody(length);
  }
  return !closes;
}

void HttpClient::ReadChunks() {
  for (;;) {
    const std::size_t size = ParseSize(TakeLine(), 16);
    if (size == 0) break;
    TakeBody(size);
    TakeLine();
  }
  while (!TakeLine().empty()) {
  }
}

void HttpClient::TakeBody(std::size_t bytes) {
  while (bytes > 0) {
    if (taken_ == held_) Receive();
    const std::size_t part = std::min(bytes, held_ - taken_);
    response_.body.append(received_, taken_, part);
    taken_ += part;
    bytes -= part;
  }
}

std::string_view HttpClient::TakeLine() {
  const auto unread = [this] { return std::string_view(received_).substr(taken_, held_ - taken_); };
  std::size_t end = unread().find("\r\n");
  while (end == std::string_view::npos) {
    Receive();
    end = unread().find("\r\n");
  }
  const std::string_view line = unread().substr(0, end);
  taken_ += end + 2;
  return line;
}

void HttpClient::Receive() {
  std::copy(received_.begin() + static_cast<std::ptrdiff_t>(taken_),
            received_.begin() + static_cast<std::ptrdiff_t>(held_), received_.begin());
  held_ -= taken_;
  taken_ = 0;
  // Grown once, and not cleared for each answer: that would cost more than most answers do.
  received_.resize(std::max(received_.size(), held_ + kReceiveBytes));
  if (tls_) {
    std::size_t count = 0;
    if (SSL_read_ex(tls_.get(), received_.data() + held_, received_.size() - held_, &count) != 1) {
      FailTls("receive");
    }
    held_ += count;
    return;
  }
  ssize_t count = 0;
  do {
    count = recv(socket_, received_.data() + held_, received_.size() - held_, 0);
  } while (count < 0 && errno == EINTR);
  if (count < 0) Fail("receive");
  if (count == 0) throw std::runtime_error("the server closed the connection before its answer");
  held_ += static_cast<std::size_t>(count);
}

}  // namespace tallyd::bench
