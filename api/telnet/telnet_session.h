// TelnetSession: a connection of the listener for OpenTSDB's lines (protocols.opentsdb.telnet), a
// coroutine on its shard's thread: what has come, its lines as one batch, one commit, the answers;
// then what has come meanwhile. While a batch is on its way nothing is read, so a sender that is
// too fast waits in its own socket.
//
// A sender of lines gets no answer by which it would send them again. So where the store cannot
// take them now they are tried again until it can, and only a stop of the daemon ends that. What
// was read when the connection closes, or the server drains, is stored first. A last line needs no
// end where its sender ended its side in order; of a connection that broke it is none.
#ifndef TALLYD_API_TELNET_TELNET_SESSION_H_
#define TALLYD_API_TELNET_TELNET_SESSION_H_

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/http/connection.h"
#include "api/http/server.h"
#include "api/http/timed_socket.h"
#include "api/opentsdb/put_points.h"
#include "api/telnet/line_buffer.h"
#include "api/telnet/telnet_batch.h"
#include "service/limits/body_budget.h"
#include "service/principal.h"

namespace tallyd {

class TelnetSession final : public Connection {
 public:
  TelnetSession(boost::asio::ip::tcp::socket socket, HttpServer& server, IoShard& shard);
  ~TelnetSession() override;

  boost::asio::awaitable<void> Run() override;
  void CloseIfIdle() override;
  void EndIfRevoked(TimeUs now) override;

 private:
  // Some bytes, or the end of them (ended_).
  boost::asio::awaitable<void> Read();
  // What has come by now, without waiting.
  void ReadWhatIsThere();
  void MakeRoom();
  std::optional<LineBuffer::Line> NextLine();
  // The lines that wait, stored and answered.
  boost::asio::awaitable<void> TakeLines();
  boost::asio::awaitable<std::string> Store(const OpenTsdbConfig& protocol, Workspace* workspace);
  // Nothing: the lines are nobody's.
  PrincipalPtr Who(const OpenTsdbConfig& protocol) const;
  // The section in force; nothing: it went by a reload.
  std::optional<OpenTsdbConfig> Protocol() const;
  boost::asio::awaitable<std::optional<Error>> TryToStore(const PrincipalPtr& who,
                                                          const OpenTsdbConfig& protocol,
                                                          Workspace* workspace, PointWrite* put);
  boost::asio::awaitable<void> Answer(std::string answers);
  void TellOfRest();

  HttpServer& server_;
  ApiContext& context_;
  IoShard& shard_;
  TimedSocket socket_;
  const std::string peer_;
  const std::string version_;
  LineBuffer lines_;
  BodyCharge charge_;
  TelnetBatch batch_;
  TimedSocket::Time idle_since_;  // The last whole line.
  bool is_reading_ = false;
  bool ended_ = false;     // Nothing more is read.
  bool has_all_ = false;   // The sender ended its side, in order.
  bool revoked_ = false;
  bool listens_ = true;   // The sender takes its answers.
  size_t drained_ = 0;    // Reads since the server drains.
};

// OtherProtocol::make.
std::shared_ptr<Connection> MakeTelnetSession(boost::asio::ip::tcp::socket socket,
                                              HttpServer& server, IoShard& shard);

}  // namespace tallyd

#endif  // TALLYD_API_TELNET_TELNET_SESSION_H_
