// TlsClient: whom a tool believes to be the daemon it means, and the connections to it. By a URL:
// whose certificate leads to an authority that is trusted, and has the URL's host. By the daemon's
// own configuration: who has exactly the certificate that it names, whatever its name and age; to
// such a one that certificate is also shown, where it asks for one and its key can be read.
//
// A session is resumed by the next connection. Thread-safe.
#ifndef TALLYD_TOOLS_TLS_CLIENT_H_
#define TALLYD_TOOLS_TLS_CLIENT_H_

#include <memory>
#include <mutex>
#include <string>

#include "api/tls/tls_channel.h"
#include "api/tls/tls_context.h"
#include "config/values/result.h"

namespace tallyd {

class TlsClient {
 public:
  // `ca_file`: authorities in PEM; empty: the system's.
  static Result<std::shared_ptr<TlsClient>> OfAuthorities(const std::string& ca_file,
                                                          const std::string& host);
  static Result<std::shared_ptr<TlsClient>> OfServer(const TlsFiles& files);
  ~TlsClient();
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  // Of a connected socket; its handshake comes next.
  std::unique_ptr<TlsChannel> Connect(int socket);
  // What the handshake failed of, with what would help.
  std::string WhyNot(const TlsChannel& channel) const;

 private:
  TlsClient() = default;
  static int KeepSession(SSL* ssl, SSL_SESSION* session);
  static int CompareWithOwn(X509_STORE_CTX* server, void* client);

  SslContextPtr context_;
  std::string host_;      // Empty: any.
  CertificatePtr exact_;  // Null: authorities are asked.
  std::string file_;      // Of what is trusted; empty: the system's.
  std::mutex mutex_;
  SSL_SESSION* session_ = nullptr;  // Guarded by mutex_. Of the last connection.
};

}  // namespace tallyd

#endif  // TALLYD_TOOLS_TLS_CLIENT_H_
