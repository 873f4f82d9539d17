// ClientStream: a connected socket to a daemon, plain or TLS, as Beast reads and writes streams.
// Blocks, for as long as it takes or up to a deadline. One thread.
#ifndef TALLYD_TOOLS_CLIENT_STREAM_H_
#define TALLYD_TOOLS_CLIENT_STREAM_H_

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <memory>
#include <optional>

#include "api/tls/tls_channel.h"

namespace tallyd {

class ClientStream {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Null: plain; otherwise its handshake is done by ShakeHands. `deadline` empty: none.
  ClientStream(boost::asio::ip::tcp::socket socket, std::unique_ptr<TlsChannel> channel,
               std::optional<Time> deadline);
  ~ClientStream();  // Tells a peer of TLS that nothing more comes.
  ClientStream(const ClientStream&) = delete;
  ClientStream& operator=(const ClientStream&) = delete;

  // False: channel() and the error say why not.
  bool ShakeHands(boost::system::error_code& ec);
  const TlsChannel* channel() const { return channel_.get(); }

  template <class Buffers>
  size_t read_some(const Buffers& buffers, boost::system::error_code& ec) {
    return Read(FirstOf<boost::asio::mutable_buffer>(buffers), ec);
  }
  template <class Buffers>
  size_t write_some(const Buffers& buffers, boost::system::error_code& ec) {
    return Write(FirstOf<boost::asio::const_buffer>(buffers), ec);
  }
  template <class Buffers>
  size_t read_some(const Buffers& buffers) {
    boost::system::error_code ec;
    const size_t n = read_some(buffers, ec);
    if (ec) throw boost::system::system_error(ec);
    return n;
  }
  template <class Buffers>
  size_t write_some(const Buffers& buffers) {
    boost::system::error_code ec;
    const size_t n = write_some(buffers, ec);
    if (ec) throw boost::system::system_error(ec);
    return n;
  }

 private:
  template <class Buffer, class Buffers>
  static Buffer FirstOf(const Buffers& buffers) {
    for (auto at = boost::asio::buffer_sequence_begin(buffers);
         at != boost::asio::buffer_sequence_end(buffers); ++at) {
      if (Buffer(*at).size() > 0) return *at;
    }
    return {};
  }

  size_t Read(boost::asio::mutable_buffer buffer, boost::system::error_code& ec);
  size_t Write(boost::asio::const_buffer buffer, boost::system::error_code& ec);
  // Until the socket is ready for what the step wants; false: it is not, or the step is an end.
  bool Await(TlsStep step, boost::system::error_code& ec);
  bool AwaitSocket(short events, boost::system::error_code& ec);

  boost::asio::ip::tcp::socket socket_;
  std::unique_ptr<TlsChannel> channel_;
  const std::optional<Time> deadline_;
};

}  // namespace tallyd

#endif  // TALLYD_TOOLS_CLIENT_STREAM_H_
