#include "daemon/http_client.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <limits>

namespace tallyd {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

struct HostAndPort {
  std::string host;
  std::string port;
};

HostAndPort ParseListen(const std::string& listen) {
  const size_t colon = listen.rfind(':');
  HostAndPort parsed{listen.substr(0, colon), listen.substr(colon + 1)};
  if (parsed.host.starts_with('[')) parsed.host = parsed.host.substr(1, parsed.host.size() - 2);
  if (parsed.host == "0.0.0.0" || parsed.host.empty()) parsed.host = "127.0.0.1";
  if (parsed.host == "::") parsed.host = "::1";
  return parsed;
}

Error NoAnswer(const std::string& listen, const beast::error_code& error) {
  return Error(ErrorCode::kUnavailable, listen + " does not answer: " + error.message());
}

}  // namespace

Result<HttpAnswer> AskDaemon(const std::string& listen, std::string_view method,
                             const std::string& path, const std::string& body) {
  const HostAndPort to = ParseListen(listen);
  asio::io_context io;
  asio::ip::tcp::resolver resolver(io);
  asio::ip::tcp::socket socket(io);
  beast::error_code error;
  const auto endpoints = resolver.resolve(to.host, to.port, error);
  if (!error) asio::connect(socket, endpoints, error);
  if (error) return NoAnswer(listen, error);
  http::request<http::string_body> request;
  request.method(method == "POST" ? http::verb::post : http::verb::get);
  request.target(path);
  request.version(11);
  const bool is_v6 = to.host.find(':') != std::string::npos;
  request.set(http::field::host, (is_v6 ? "[" + to.host + "]" : to.host) + ":" + to.port);
  if (!body.empty()) request.set(http::field::content_type, "application/json");
  request.body() = body;
  request.prepare_payload();
  request.keep_alive(false);
  http::write(socket, request, error);
  if (error) return NoAnswer(listen, error);
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(std::numeric_limits<uint32_t>::max());
  http::read(socket, buffer, parser, error);
  if (error) return NoAnswer(listen, error);
  return HttpAnswer{parser.get().result_int(), std::move(parser.get().body())};
}

}  // namespace tallyd
