// Listener: a TCP socket that listens, and whether TLS is spoken on it. Bound to a configured
// address, or handed in by whoever opened it (systemd).
#ifndef TALLYD_API_HTTP_LISTENER_H_
#define TALLYD_API_HTTP_LISTENER_H_

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <span>

#include "config/file/config.h"
#include "config/values/result.h"

namespace tallyd {

struct Listener {
  boost::asio::ip::tcp::acceptor acceptor;
  bool tls = false;

  // Where it really listens, with the port that it got.
  ListenAddress address() const;
};

// kIo: the system does not let it. kInvalid: that is no address.
Result<Listener> Bind(boost::asio::io_context& io, const ListenAddress& address);

// `socket` is owned by what is returned. It speaks TLS where the `configured` address of its port
// does: a socket does not say.
Result<Listener> TakeListener(boost::asio::io_context& io, int socket,
                              std::span<const ListenAddress> configured);

}  // namespace tallyd

#endif  // TALLYD_API_HTTP_LISTENER_H_
