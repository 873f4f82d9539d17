#include "api/http/listener.h"

#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "config/file/exposure.h"

namespace tallyd {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

Result<tcp::endpoint> ParseEndpoint(const std::string& at) {
  if (!IsListenAddress(at)) return Invalid("server.listen: \"" + at + "\" is no address");
  const size_t colon = at.rfind(':');
  std::string host = at.substr(0, colon);
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  boost::system::error_code ec;
  auto address = asio::ip::make_address(host, ec);
  if (ec) address = asio::ip::address_v4::loopback();  // The one name there is: localhost.
  unsigned short port = 0;
  std::from_chars(at.data() + colon + 1, at.data() + at.size(), port);
  return tcp::endpoint(address, port);
}

std::string EndpointText(const tcp::endpoint& endpoint) {
  const std::string host = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? "[" + host + "]" : host) + ":" +
         std::to_string(endpoint.port());
}

}  // namespace

ListenAddress Listener::address() const {
  boost::system::error_code ec;
  const tcp::endpoint endpoint = acceptor.local_endpoint(ec);
  return {EndpointText(endpoint), tls};
}

Result<Listener> Bind(asio::io_context& io, const ListenAddress& address) {
  const Result<tcp::endpoint> endpoint = ParseEndpoint(address.at);
  if (!endpoint) return endpoint.error();
  Listener listener{tcp::acceptor(io), address.tls};
  tcp::acceptor& acceptor = listener.acceptor;
  boost::system::error_code ec;
  acceptor.open(endpoint->protocol(), ec);
  if (!ec) acceptor.set_option(tcp::acceptor::reuse_address(true), ec);
  if (!ec) acceptor.bind(*endpoint, ec);
  if (!ec) acceptor.listen(asio::socket_base::max_listen_connections, ec);
  if (ec) return Error(ErrorCode::kIo, "listening on " + address.at + ": " + ec.message());
  return listener;
}

Result<Listener> TakeListener(asio::io_context& io, int socket,
                              std::span<const ListenAddress> configured) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&name), &size) != 0) {
    return Error(ErrorCode::kIo, "a socket that is handed in tells no address");
  }
  Listener listener{tcp::acceptor(io), false};
  boost::system::error_code ec;
  listener.acceptor.assign(name.ss_family == AF_INET6 ? tcp::v6() : tcp::v4(), socket, ec);
  const tcp::endpoint endpoint = ec ? tcp::endpoint() : listener.acceptor.local_endpoint(ec);
  if (ec) return Error(ErrorCode::kIo, "a socket that is handed in: " + ec.message());
  const std::string port = ":" + std::to_string(endpoint.port());
  listener.tls = std::ranges::any_of(configured, [&](const ListenAddress& one) {
    return one.tls && one.at.ends_with(port);
  });
  return listener;
}

}  // namespace tallyd
