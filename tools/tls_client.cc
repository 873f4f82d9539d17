#include "tools/tls_client.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <utility>
#include <vector>

#include "api/tls/tls_files.h"

namespace tallyd {
namespace {

bool IsNumeric(const std::string& host) {
  in6_addr address;
  return inet_pton(AF_INET, host.c_str(), &address) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

SslContextPtr MakeContext() {
  SslContextPtr context(SSL_CTX_new(TLS_client_method()));
  if (!context) return nullptr;
  RestrictTls(context.get());
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_session_cache_mode(context.get(),
                                 SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  static constexpr unsigned char kHttp[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  SSL_CTX_set_alpn_protos(context.get(), kHttp, sizeof kHttp);
  return context;
}

Error NoContext() { return Error(ErrorCode::kIo, "TLS: " + TakeSslError()); }

}  // namespace

TlsClient::~TlsClient() { SSL_SESSION_free(session_); }

// Called by OpenSSL, which gives the session away where this says 1.
int TlsClient::KeepSession(SSL* ssl, SSL_SESSION* session) {
  auto* const client = static_cast<TlsClient*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
  const std::lock_guard lock(client->mutex_);
  SSL_SESSION_free(std::exchange(client->session_, session));
  return 1;
}

int TlsClient::CompareWithOwn(X509_STORE_CTX* server, void* client) {
  const X509* const shown = X509_STORE_CTX_get0_cert(server);
  const X509* const exact = static_cast<TlsClient*>(client)->exact_.get();
  const bool is_it = shown != nullptr && X509_cmp(shown, exact) == 0;
  X509_STORE_CTX_set_error(server, is_it ? X509_V_OK : X509_V_ERR_CERT_UNTRUSTED);
  return is_it ? 1 : 0;
}

Result<std::shared_ptr<TlsClient>> TlsClient::OfAuthorities(const std::string& ca_file,
                                                            const std::string& host) {
  std::shared_ptr<TlsClient> client(new TlsClient());
  client->context_ = MakeContext();
  if (!client->context_) return NoContext();
  client->host_ = host;
  client->file_ = ca_file;
  SSL_CTX* const context = client->context_.get();
  SSL_CTX_set_app_data(context, client.get());
  SSL_CTX_sess_set_new_cb(context, KeepSession);
  if (ca_file.empty()) {
    SSL_CTX_set_default_verify_paths(context);
    return client;
  }
  const Result<std::string> text = ReadPublicFile(ca_file);
  if (!text) return text.error();
  const Result<std::vector<CertificatePtr>> authorities = ParseCertificates(ca_file, *text);
  if (!authorities) return authorities.error();
  for (const CertificatePtr& one : *authorities) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), one.get());
  }
  ERR_clear_error();
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), X509_V_FLAG_PARTIAL_CHAIN);
  return client;
}

Result<std::shared_ptr<TlsClient>> TlsClient::OfServer(const TlsFiles& files) {
  std::shared_ptr<TlsClient> client(new TlsClient());
  client->context_ = MakeContext();
  if (!client->context_) return NoContext();
  const Result<std::string> text = ReadPublicFile(files.cert);
  if (!text) return text.error();
  Result<std::vector<CertificatePtr>> chain = ParseCertificates(files.cert, *text);
  if (!chain) return chain.error();
  client->exact_ = std::move(chain->front());
  client->file_ = files.cert;
  SSL_CTX* const context = client->context_.get();
  SSL_CTX_set_app_data(context, client.get());
  SSL_CTX_sess_set_new_cb(context, KeepSession);
  SSL_CTX_set_cert_verify_callback(context, CompareWithOwn, client.get());
  if (!files.client_ca.empty()) {
    // Without its key, which this user may not read, the daemon says that it wants a certificate.
    SSL_CTX_use_certificate(context, client->exact_.get());
    SSL_CTX_use_PrivateKey_file(context, files.key.c_str(), SSL_FILETYPE_PEM);
    ERR_clear_error();
  }
  return client;
}

std::unique_ptr<TlsChannel> TlsClient::Connect(int socket) {
  auto channel = std::make_unique<TlsChannel>(context_.get(), TlsSide::kClient, socket);
  SSL* const ssl = channel->get();
  if (!host_.empty()) {
    if (IsNumeric(host_)) {
      X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host_.c_str());
    } else {
      SSL_set1_host(ssl, host_.c_str());
      SSL_set_tlsext_host_name(ssl, host_.c_str());
    }
  }
  const std::lock_guard lock(mutex_);
  if (session_ != nullptr) SSL_set_session(ssl, session_);
  return channel;
}

std::string TlsClient::WhyNot(const TlsChannel& channel) const {
  const long verified = SSL_get_verify_result(channel.get());
  if (verified == X509_V_OK) return "no TLS with it: " + channel.error();
  if (exact_) {
    return "it shows another certificate than " + file_ +
           ", which the configuration names: it was renewed and not reloaded, or this is another "
           "server";
  }
  return std::string("its certificate is not trusted: ") + X509_verify_cert_error_string(verified) +
         "; --ca-file names a file of authorities that are" +
         (file_.empty() ? "" : ", and " + file_ + " has none that stands for it");
}

}  // namespace tallyd
