#include "api/tls/tls_channel.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace tallyd {
namespace {

constexpr size_t kRecordBytes = 16u << 10;
// What may come with no data in it, of new keys and of hellos that are declined: OpenSSL takes that
// in one call for as long as it comes. More than a record and what is read ahead of it.
constexpr size_t kMostWithoutData = 40u << 10;
// What one call of Read gives at most, however much a fast sender has there.
constexpr size_t kMostAtOnce = 256u << 10;

TlsFailure FailureOf(unsigned long code) {
  const int reason = ERR_GET_REASON(code);
  // Alerts of the peer have their number behind this.
  if (ERR_GET_LIB(code) == ERR_LIB_SSL && reason >= SSL_AD_REASON_OFFSET) return TlsFailure::kAlert;
  switch (reason) {
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_VERSION_TOO_LOW:
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_NO_SHARED_CIPHER:
    case SSL_R_NO_SUITABLE_KEY_SHARE:
    case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
    case SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS:
    case SSL_R_NO_APPLICATION_PROTOCOL:
    case SSL_R_INAPPROPRIATE_FALLBACK:
      return TlsFailure::kUnsupported;
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return TlsFailure::kCertificate;
    default:
      return TlsFailure::kMalformed;
  }
}

// What a record takes of the parts, from a place on: all of it lies in one piece.
std::string_view RecordOf(std::span<const std::string_view> parts, size_t from) {
  thread_local std::array<char, kRecordBytes> gathered;
  size_t bytes = 0;
  for (size_t i = 0; i < parts.size() && bytes < kRecordBytes; ++i) {
    if (from >= parts[i].size()) {
      from -= parts[i].size();
      continue;
    }
    const std::string_view rest = parts[i].substr(std::exchange(from, 0));
    const bool is_last = i + 1 == parts.size();
    if (bytes == 0 && (is_last || rest.size() >= kRecordBytes)) return rest.substr(0, kRecordBytes);
    const std::string_view taken = rest.substr(0, kRecordBytes - bytes);
    std::memcpy(gathered.data() + bytes, taken.data(), taken.size());
    bytes += taken.size();
  }
  return {gathered.data(), bytes};
}

}  // namespace

std::string FatalAlert(char description) {
  constexpr char kAlertRecord = 21;
  constexpr char kFatal = 2;
  return {kAlertRecord, 3, 1, 0, 2, kFatal, description};
}

std::string_view NameOf(TlsFailure failure) {
  switch (failure) {
    case TlsFailure::kTimedOut:
      return "timed_out";
    case TlsFailure::kClosed:
      return "closed";
    case TlsFailure::kNotTls:
      return "not_tls";
    case TlsFailure::kUnsupported:
      return "unsupported";
    case TlsFailure::kCertificate:
      return "certificate";
    case TlsFailure::kAlert:
      return "alert";
    case TlsFailure::kMalformed:
      return "malformed";
    case TlsFailure::kCrowded:
      return "crowded";
  }
  return "";
}

BIO_METHOD* TlsChannel::WireMethod() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket of tallyd");
    BIO_meth_set_read(made, ReadWire);
    BIO_meth_set_write(made, WriteWire);
    BIO_meth_set_ctrl(made, ControlWire);
    return made;
  }();
  return method;
}

int TlsChannel::ReadWire(BIO* bio, char* to, int bytes) {
  auto* const wire = static_cast<Wire*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  if (wire->is_bounded && wire->without_data > kMostWithoutData) return -1;  // It ends here.
  if (wire->begun_read < wire->begun.size()) {
    const size_t n = std::min(static_cast<size_t>(bytes), wire->begun.size() - wire->begun_read);
    std::memcpy(to, wire->begun.data() + wire->begun_read, n);
    wire->begun_read += n;
    if (wire->begun_read == wire->begun.size()) {
      std::string().swap(wire->begun);
      wire->begun_read = 0;
    }
    return static_cast<int>(n);
  }
  ssize_t n = -1;
  do {
    n = ::recv(wire->socket, to, static_cast<size_t>(bytes), MSG_DONTWAIT);
  } while (n < 0 && errno == EINTR);
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) BIO_set_retry_read(bio);
  if (n > 0) {
    wire->without_data += static_cast<size_t>(n);
    wire->came += static_cast<size_t>(n);
  }
  return static_cast<int>(n);
}

int TlsChannel::WriteWire(BIO* bio, const char* from, int bytes) {
  auto* const wire = static_cast<Wire*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  ssize_t n = -1;
  do {
    n = ::send(wire->socket, from, static_cast<size_t>(bytes), MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) BIO_set_retry_write(bio);
  return static_cast<int>(n);
}

long TlsChannel::ControlWire(BIO*, int command, long, void*) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

TlsChannel::TlsChannel(SSL_CTX* context, TlsSide side, int socket, std::string begun)
    : wire_{socket, std::move(begun)}, ssl_(SSL_new(context)) {
  BIO* const bio = ssl_ ? BIO_new(WireMethod()) : nullptr;
  if (bio == nullptr) throw std::bad_alloc();
  BIO_set_data(bio, &wire_);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);
  if (side == TlsSide::kServer) {
    SSL_set_accept_state(ssl_.get());
  } else {
    SSL_set_connect_state(ssl_.get());
  }
}

TlsChannel::~TlsChannel() = default;

TlsStep TlsChannel::StepOf(int result) {
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_NONE:
      return TlsStep::kDone;
    case SSL_ERROR_WANT_READ:
      return TlsStep::kWantsRead;
    case SSL_ERROR_WANT_WRITE:
      return TlsStep::kWantsWrite;
    case SSL_ERROR_ZERO_RETURN:
      return TlsStep::kEnd;
    case SSL_ERROR_SYSCALL:
      // What cannot be written any more may leave an answer to be read.
      ERR_clear_error();
      error_ = "the connection ended";
      return TlsStep::kCut;
    default:
      failed_ = true;
      failure_ = FailureOf(ERR_peek_last_error());
      error_ = TakeSslError();
      return TlsStep::kBroken;
  }
}

TlsStep TlsChannel::Handshake() {
  ERR_clear_error();
  const TlsStep step = StepOf(SSL_do_handshake(ssl_.get()));
  if (step == TlsStep::kDone) {
    wire_.is_bounded = true;
    wire_.without_data = 0;
  }
  return step;
}

bool TlsChannel::AwaitsSecondHello() const {
  if (SSL_version(ssl_.get()) != TLS1_3_VERSION || SSL_is_init_finished(ssl_.get()) == 1) {
    return false;
  }
  // The key of a hello that is answered is kept.
  EVP_PKEY* key = nullptr;
  if (SSL_get_peer_tmp_key(ssl_.get(), &key) != 1) return true;
  EVP_PKEY_free(key);
  return false;
}

std::string TlsChannel::TakeBegun() {
  std::string left = wire_.begun.substr(wire_.begun_read);
  GiveBegun({});
  return left;
}

void TlsChannel::GiveBegun(std::string begun) {
  wire_.begun = std::move(begun);
  wire_.begun_read = 0;
}

TlsStep TlsChannel::Read(std::span<char> buffer, size_t* read) {
  *read = 0;
  const size_t most = std::min(buffer.size(), kMostAtOnce);
  if (failed_) return TlsStep::kBroken;
  TlsStep step = TlsStep::kDone;
  ERR_clear_error();
  do {
    size_t n = 0;
    step = StepOf(SSL_read_ex(ssl_.get(), buffer.data() + *read, most - *read, &n));
    if (step == TlsStep::kDone) {
      *read += n;
      wire_.without_data = 0;
    }
    // The socket is not asked again for what most likely is not there yet.
  } while (*read < most && step == TlsStep::kDone && SSL_has_pending(ssl_.get()) == 1);
  // What ended the reading is met again by the next call.
  return *read > 0 ? TlsStep::kDone : step;
}

TlsStep TlsChannel::Write(std::span<const std::string_view> parts, size_t* written) {
  *written = 0;
  if (failed_) return TlsStep::kBroken;
  ERR_clear_error();
  while (true) {
    const std::string_view record = RecordOf(parts, *written);
    if (record.empty()) return TlsStep::kDone;
    size_t n = 0;
    const TlsStep step = StepOf(SSL_write_ex(ssl_.get(), record.data(), record.size(), &n));
    if (step != TlsStep::kDone) return step;
    *written += n;
  }
}

void TlsChannel::EndSending() {
  // After an error OpenSSL wants to hear nothing more.
  if (!failed_ && SSL_is_init_finished(ssl_.get()) == 1) SSL_shutdown(ssl_.get());
  ERR_clear_error();
}

std::vector<std::string> TlsChannel::NamesOfPeer() const {
  std::vector<std::string> names;
  const CertificatePtr peer(SSL_get1_peer_certificate(ssl_.get()));
  const X509* const own = SSL_get_certificate(ssl_.get());
  if (!peer || (own != nullptr && X509_cmp(peer.get(), own) == 0)) return names;
  auto* const all = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(peer.get(), NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(all); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(all, i);
    if (name->type != GEN_DNS) continue;
    names.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName)),
                       static_cast<size_t>(ASN1_STRING_length(name->d.dNSName)));
  }
  GENERAL_NAMES_free(all);
  return names;
}

}  // namespace tallyd
