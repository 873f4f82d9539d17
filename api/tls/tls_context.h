// TlsContext: what all TLS connections of one reading of [server.tls] share: the certificate, its
// key, whose certificates clients must have, and the keys of session tickets, which are its own: a
// ticket of another context is void.
//
//   Result<TlsContextPtr> context = TlsContext::Load(config.server.tls);
//   TlsChannel channel(*context, ...);  // api/tls/tls_channel.h
//
// Versions, suites and all else that OpenSSL's defaults and the system's openssl.cnf would decide
// are set here: TLS 1.2 and 1.3, suites with ECDHE and AEAD, no compression, no renegotiation, no
// early data, ALPN http/1.1. Immutable; any thread.
#ifndef TALLYD_API_TLS_TLS_CONTEXT_H_
#define TALLYD_API_TLS_TLS_CONTEXT_H_

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <vector>

#include "config/file/config.h"
#include "config/values/time.h"

namespace tallyd {

struct SslDeleter {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(X509* certificate) const { X509_free(certificate); }
};
using SslContextPtr = std::unique_ptr<SSL_CTX, SslDeleter>;
using CertificatePtr = std::unique_ptr<X509, SslDeleter>;

class TlsContext;
using TlsContextPtr = std::shared_ptr<const TlsContext>;

class TlsContext {
 public:
  // kInvalid says which file, what is wrong with it and what would be right.
  static Result<TlsContextPtr> Load(const TlsFiles& files);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  SSL_CTX* get() const { return context_.get(); }
  bool asks_for_certificates() const { return asks_for_certificates_; }
  TimeUs valid_from() const { return valid_from_; }
  TimeUs valid_to() const { return valid_to_; }
  // "CN = tallyd.example.org", as openssl prints it.
  const std::string& subject() const { return subject_; }
  // Of all that was read: where it is the same nothing has changed.
  const std::string& digest() const { return digest_; }
  // Why clients will refuse the certificate at that time; empty: they need not.
  std::string DoubtAt(TimeUs now) const;

 private:
  TlsContext() = default;
  Status TakeCertificate(const std::string& path, const std::string& text);
  Status TakeKey(const std::string& path, const std::string& text);
  Status TakeClientCa(const std::string& path, const std::string& text);

  SslContextPtr context_;
  CertificatePtr own_;
  bool asks_for_certificates_ = false;
  TimeUs valid_from_ = 0;
  TimeUs valid_to_ = 0;
  std::string subject_;
  std::string digest_;
};

// All certificates of a text in PEM. kInvalid where there is none, or one is malformed.
Result<std::vector<CertificatePtr>> ParseCertificates(const std::string& path,
                                                      const std::string& text);

// Lets only what TLS of this daemon is: versions, suites, groups. Of servers and clients alike.
void RestrictTls(SSL_CTX* context);

// What OpenSSL complained of on this thread, which is forgotten then; "" where it did not.
std::string TakeSslError();

}  // namespace tallyd

#endif  // TALLYD_API_TLS_TLS_CONTEXT_H_
