// TlsChannel: one TLS connection over a socket that somebody else owns and waits for. Nothing here
// blocks: a step that cannot go on says what the socket must be ready for, and is tried again then.
//
//   TlsChannel channel(context->get(), TlsSide::kServer, socket.native_handle(), begun);
//   while ((step = channel.Handshake()) == TlsStep::kWantsRead || ...) wait for the socket;
//   step = channel.Read(buffer, &n);
//
// It reads and writes the socket itself, without buffers in between: one that is idle holds
// kilobytes. The socket is to be open as long as this is used; the SSL_CTX is kept. One thread at a
// time.
#ifndef TALLYD_API_TLS_TLS_CHANNEL_H_
#define TALLYD_API_TLS_TLS_CHANNEL_H_

#include <openssl/ssl.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/tls/tls_context.h"

namespace tallyd {

enum class TlsStep : uint8_t {
  kDone,
  kWantsRead,   // To be tried again once the socket can be read.
  kWantsWrite,  // Likewise.
  kEnd,         // The peer said that it sends no more.
  kCut,         // The connection ended, and the peer did not say so.
  kBroken,      // error() says why; nothing more comes of it.
};

// A record that tells a peer who speaks TLS, in clear, that nothing comes of it.
inline constexpr char kAlertInternalError = 80;
inline constexpr char kAlertProtocolVersion = 70;
std::string FatalAlert(char description);

enum class TlsSide : uint8_t { kServer, kClient };

// Why a handshake came to nothing.
enum class TlsFailure : uint8_t {
  kTimedOut,     // It took longer than it may.
  kClosed,       // The client left in between.
  kNotTls,       // What came was no hello.
  kUnsupported,  // No version, suite or protocol in common.
  kCertificate,  // The client's is missing, or not one that is taken.
  kAlert,        // The client did not want to go on.
  kMalformed,
  kCrowded,  // Others came meanwhile, more than may wait.
};
inline constexpr size_t kTlsFailures = 8;

// As the label of a metric.
std::string_view NameOf(TlsFailure failure);

class TlsChannel {
 public:
  // `begun`: what was read from the socket already.
  TlsChannel(SSL_CTX* context, TlsSide side, int socket, std::string begun = {});
  ~TlsChannel();
  TlsChannel(const TlsChannel&) = delete;
  TlsChannel& operator=(const TlsChannel&) = delete;

  TlsStep Handshake();
  // Whether the server has asked for another hello, with a key of its liking, which is the one that
  // it computes for. REQUIRES: the step before was kWantsRead.
  bool AwaitsSecondHello() const;
  // What was read from the socket and not looked at; it is to be given back, with what came behind
  // it meanwhile.
  std::string TakeBegun();
  void GiveBegun(std::string begun);
  // As much as is there and fits; kDone where that is anything. Whoever goes on sending what has
  // no data in it (new keys, hellos again) is told nothing more: kBroken.
  TlsStep Read(std::span<char> buffer, size_t* read);
  // How many bytes came by the socket since this was asked last, data or not.
  size_t TakeCame() { return std::exchange(wire_.came, 0); }
  // From the beginning of the parts on. kDone where all of them went out; otherwise *written says
  // how much did, and the next call is to begin with what did not. Small parts share a record.
  TlsStep Write(std::span<const std::string_view> parts, size_t* written);
  // Tells the peer that nothing more comes, as far as that is possible at once.
  void EndSending();

  SSL* get() const { return ssl_.get(); }
  const std::string& error() const { return error_; }
  TlsFailure failure() const { return failure_; }  // After kBroken, kCut, kEnd of a handshake.
  bool is_resumed() const { return SSL_session_reused(ssl_.get()) == 1; }
  // The DNS names of the client's certificate; none where it has none, or shows the server's own.
  std::vector<std::string> NamesOfPeer() const;

 private:
  struct Wire {
    int socket;
    std::string begun;
    size_t begun_read = 0;
    size_t without_data = 0;  // What came since there was data last.
    size_t came = 0;          // Since TakeCame.
    bool is_bounded = false;  // Hands are shaken.
  };
  static BIO_METHOD* WireMethod();
  static int ReadWire(BIO* bio, char* to, int bytes);
  static int WriteWire(BIO* bio, const char* from, int bytes);
  static long ControlWire(BIO* bio, int command, long number, void* pointer);

  TlsStep StepOf(int result);

  Wire wire_;
  std::unique_ptr<SSL, SslDeleter> ssl_;
  std::string error_;
  TlsFailure failure_ = TlsFailure::kClosed;
  bool failed_ = false;
};

}  // namespace tallyd

#endif  // TALLYD_API_TLS_TLS_CHANNEL_H_
