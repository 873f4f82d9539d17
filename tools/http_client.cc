#include "tools/http_client.h"

#include <algorithm>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <charconv>
#include <chrono>
#include <limits>
#include <optional>

#include "config/file/exposure.h"
#include "tools/client_stream.h"

namespace tallyd {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

HttpTarget ParseListen(const std::string& listen) {
  const size_t colon = listen.rfind(':');
  HttpTarget parsed{listen.substr(0, colon), listen.substr(colon + 1), {}, nullptr};
  if (parsed.host.starts_with('[')) parsed.host = parsed.host.substr(1, parsed.host.size() - 2);
  if (parsed.host == "0.0.0.0" || parsed.host.empty()) parsed.host = "127.0.0.1";
  if (parsed.host == "::") parsed.host = "::1";
  return parsed;
}

std::string Authority(const HttpTarget& target) {
  const bool is_v6 = target.host.find(':') != std::string::npos;
  return (is_v6 ? "[" + target.host + "]" : target.host) + ":" + target.port;
}

Error NoAnswer(const HttpTarget& target, const beast::error_code& error) {
  return Error(ErrorCode::kUnavailable, Authority(target) + " does not answer: " + error.message());
}

Error NotShaken(const HttpTarget& target, const ClientStream& stream,
                const beast::error_code& error) {
  if (stream.channel() == nullptr || error == asio::error::timed_out) {
    return NoAnswer(target, error);
  }
  return Error(ErrorCode::kUnavailable,
               Authority(target) + ": " + target.tls->WhyNot(*stream.channel()));
}

Error BadUrl(std::string_view url, std::string_view why) {
  return Invalid("\"" + std::string(url) + "\" is no URL of a daemon: " + std::string(why) +
                 "; accepted: http://127.0.0.1:8780, https://tallyd.example.org:8443");
}

http::request<http::string_body> RequestOf(const HttpTarget& target, const HttpQuestion& question) {
  http::request<http::string_body> request;
  request.method(question.method == "POST" ? http::verb::post : http::verb::get);
  request.target(target.prefix + question.path);
  request.version(11);
  request.set(http::field::host, Authority(target));
  for (const auto& [name, value] : question.headers) request.set(name, value);
  request.body() = question.body;
  request.prepare_payload();
  request.keep_alive(false);
  return request;
}

}  // namespace

Result<HttpTarget> ParseUrl(std::string_view url, const std::string& ca_file) {
  const bool is_tls = url.starts_with("https://");
  if (!is_tls && !url.starts_with("http://")) {
    return BadUrl(url, "it begins neither with http:// nor with https://");
  }
  if (!is_tls && !ca_file.empty()) {
    return BadUrl(url, "--ca-file is of use only with one that begins with https://");
  }
  const std::string_view rest = url.substr(url.find("://") + 3);
  const size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view authority = rest.substr(0, slash);
  HttpTarget target{"", is_tls ? "443" : "80", std::string(rest.substr(slash)), nullptr};
  while (target.prefix.ends_with('/')) target.prefix.pop_back();
  if (target.prefix.find_first_of("?#") != std::string::npos) {
    return BadUrl(url, "it has a query or a fragment");
  }
  const size_t bracket = authority.starts_with('[') ? authority.find(']') : 0;
  if (bracket == std::string_view::npos) return BadUrl(url, "[ is never closed");
  if (const size_t colon = authority.find(':', bracket); colon != std::string_view::npos) {
    target.port = authority.substr(colon + 1);
    authority = authority.substr(0, colon);
  }
  target.host = bracket > 0 ? authority.substr(1, bracket - 1) : authority;
  if (target.host.empty()) return BadUrl(url, "it lacks a host");
  uint16_t port = 0;  // Of more the resolver would take the lowest bits: another daemon's port.
  const char* const end = target.port.data() + target.port.size();
  const auto [number_end, wrong] = std::from_chars(target.port.data(), end, port);
  if (wrong != std::errc() || number_end != end || port == 0) {
    return BadUrl(url, "\"" + target.port + "\" is no port, which is a number from 1 to 65535");
  }
  if (is_tls) {
    Result<std::shared_ptr<TlsClient>> client = TlsClient::OfAuthorities(ca_file, target.host);
    if (!client) return client.error();
    target.tls = std::move(*client);
  }
  return target;
}

Result<HttpTarget> TargetOf(const ServerConfig& server) {
  const auto plain = std::ranges::find_if(server.listen, [](const ListenAddress& address) {
    return !address.tls && IsLoopbackAddress(address.at);
  });
  const ListenAddress& address = plain != server.listen.end() ? *plain : server.listen.front();
  HttpTarget target = ParseListen(address.at);
  if (address.tls) {
    Result<std::shared_ptr<TlsClient>> client = TlsClient::OfServer(server.tls);
    if (!client) return client.error();
    target.tls = std::move(*client);
  }
  return target;
}

std::string UrlOf(const HttpTarget& target) {
  return (target.tls ? "https://" : "http://") + Authority(target) + target.prefix;
}

Result<HttpAnswer> Ask(const HttpTarget& target, const HttpQuestion& question) {
  asio::io_context io;
  asio::ip::tcp::resolver resolver(io);
  asio::ip::tcp::socket socket(io);
  beast::error_code error;
  const auto endpoints = resolver.resolve(target.host, target.port, error);
  if (!error) asio::connect(socket, endpoints, error);
  if (error) return NoAnswer(target, error);
  if (question.connected) {
    if (const Status noted = question.connected(); !noted) return noted.error();
  }
  std::optional<ClientStream::Time> deadline;
  if (question.patience_us > 0) {
    deadline = std::chrono::steady_clock::now() + std::chrono::microseconds(question.patience_us);
  }
  auto channel = target.tls ? target.tls->Connect(socket.native_handle()) : nullptr;
  ClientStream stream(std::move(socket), std::move(channel), deadline);
  if (!stream.ShakeHands(error)) return NotShaken(target, stream, error);
  const auto request = RequestOf(target, question);
  // A daemon may answer, as with 413, before it has read all: what it says counts.
  beast::error_code not_sent;
  http::write(stream, request, not_sent);
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(std::numeric_limits<uint32_t>::max());
  http::read(stream, buffer, parser, error);
  // As of TLS 1.3 a server tells only now that it does not take the client's certificate.
  if (error == asio::error::connection_aborted) return NotShaken(target, stream, error);
  if (error) return NoAnswer(target, not_sent ? not_sent : error);
  HttpAnswer answer;
  answer.status = parser.get().result_int();
  answer.link = std::string(parser.get()[http::field::link]);
  answer.retry_after = std::string(parser.get()[http::field::retry_after]);
  answer.content_type = std::string(parser.get()[http::field::content_type]);
  answer.is_framed = parser.chunked() || parser.content_length().has_value();
  answer.body = std::move(parser.get().body());
  return answer;
}

Result<HttpAnswer> AskDaemon(const ServerConfig& server, const DaemonQuestion& question) {
  const Result<HttpTarget> target = TargetOf(server);
  if (!target) return target.error();
  HttpQuestion asked{question.method, question.path, {}, question.body};
  if (!question.body.empty()) asked.headers.emplace_back("Content-Type", "application/json");
  if (!question.token.empty()) {
    asked.headers.emplace_back("Authorization", "Bearer " + question.token);
  }
  return Ask(*target, asked);
}

}  // namespace tallyd
