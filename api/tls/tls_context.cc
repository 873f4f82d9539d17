#include "api/tls/tls_context.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <array>
#include <string_view>
#include <utility>

#include "api/tls/tls_files.h"

namespace tallyd {
namespace {

constexpr const char* kSuitesOf12 =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
    "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
    "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";
constexpr const char* kSuitesOf13 =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
constexpr const char* kGroups = "X25519:P-256:P-384";
constexpr int kSecurityLevel = 2;  // 112 bits: RSA from 2,048 bits on, no SHA-1.
// How long a client may resume without showing again who it is.
constexpr long kTicketSeconds = 3600;
constexpr std::string_view kAlpn = "http/1.1";
constexpr std::string_view kSessionContext = "tallyd";
constexpr size_t kMaxChain = 100;

struct BioDeleter {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using BioPtr = std::unique_ptr<BIO, BioDeleter>;

struct KeyDeleter {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using KeyPtr = std::unique_ptr<EVP_PKEY, KeyDeleter>;

BioPtr ReaderOf(const std::string& text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// OpenSSL would ask the terminal for the password of an encrypted key.
int NoPassword(char*, int, int, void*) { return -1; }

TimeUs UsOfAsn1(const ASN1_TIME* time) {
  tm utc{};
  if (ASN1_TIME_to_tm(time, &utc) != 1) return 0;
  return static_cast<TimeUs>(timegm(&utc)) * kUsPerSecond;
}

std::string SubjectOf(X509* certificate) {
  const BioPtr out(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(out.get(), X509_get_subject_name(certificate), 0, XN_FLAG_ONELINE);
  char* text = nullptr;
  const long bytes = BIO_get_mem_data(out.get(), &text);
  return bytes > 0 ? std::string(text, static_cast<size_t>(bytes)) : std::string();
}

std::string DigestOfFiles(std::initializer_list<const std::string*> texts) {
  std::string all;
  for (const std::string* text : texts) all += std::to_string(text->size()) + ":" + *text;
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned bytes = 0;
  EVP_Digest(all.data(), all.size(), digest.data(), &bytes, EVP_sha256(), nullptr);
  OPENSSL_cleanse(all.data(), all.size());
  return {reinterpret_cast<const char*>(digest.data()), bytes};
}

// A client that offers other protocols alone is told so by an alert (RFC 7301, section 3.2).
int SelectHttp(SSL*, const unsigned char** out, unsigned char* out_bytes,
               const unsigned char* offered, unsigned offered_bytes, void*) {
  for (unsigned at = 0; at < offered_bytes;) {
    const unsigned bytes = offered[at];
    if (at + 1 + bytes > offered_bytes) break;
    const std::string_view name(reinterpret_cast<const char*>(offered + at + 1), bytes);
    if (name == kAlpn) {
      *out = offered + at + 1;
      *out_bytes = static_cast<unsigned char>(bytes);
      return SSL_TLSEXT_ERR_OK;
    }
    at += 1 + bytes;
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

// Whoever has the server's own certificate and its key is the server's own: a tool that found the
// daemon by its configuration.
int VerifyClient(X509_STORE_CTX* client, void*) {
  const auto* const ssl = static_cast<const SSL*>(
      X509_STORE_CTX_get_ex_data(client, SSL_get_ex_data_X509_STORE_CTX_idx()));
  const X509* const own = SSL_get_certificate(ssl);
  const X509* const leaf = X509_STORE_CTX_get0_cert(client);
  if (leaf != nullptr && own != nullptr && X509_cmp(leaf, own) == 0) {
    X509_STORE_CTX_set_error(client, X509_V_OK);
    return 1;
  }
  return X509_verify_cert(client);
}

}  // namespace

std::string TakeSslError() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  if (code == 0) return {};
  const char* const reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : fmt::format("error {}", code);
}

Result<std::vector<CertificatePtr>> ParseCertificates(const std::string& path,
                                                      const std::string& text) {
  ERR_clear_error();
  const BioPtr reader = ReaderOf(text);
  std::vector<CertificatePtr> certificates;
  while (certificates.size() < kMaxChain) {
    X509* const certificate = PEM_read_bio_X509_AUX(reader.get(), nullptr, NoPassword, nullptr);
    if (certificate == nullptr) break;
    certificates.emplace_back(certificate);
  }
  const bool is_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string error = TakeSslError();
  if (certificates.empty() || !is_end) {
    return Invalid(path + ": holds no certificate that can be read (" + error +
                   "); accepted: certificates in PEM, -----BEGIN CERTIFICATE-----");
  }
  return certificates;
}

void RestrictTls(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_security_level(context, kSecurityLevel);
  SSL_CTX_set_cipher_list(context, kSuitesOf12);
  SSL_CTX_set_ciphersuites(context, kSuitesOf13);
  SSL_CTX_set1_groups_list(context, kGroups);
  SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
}

TlsContext::~TlsContext() = default;

Result<TlsContextPtr> TlsContext::Load(const TlsFiles& files) {
  Result<std::string> cert = ReadPublicFile(files.cert);
  if (!cert) return cert.error().Prefixed("server.tls.cert");
  Result<std::string> key = ReadSecretFile(files.key);
  if (!key) return key.error().Prefixed("server.tls.key");
  Result<std::string> ca = std::string();
  if (!files.client_ca.empty()) ca = ReadPublicFile(files.client_ca);
  if (!ca) return ca.error().Prefixed("server.tls.client_ca");

  std::shared_ptr<TlsContext> made(new TlsContext());
  made->digest_ = DigestOfFiles({&*cert, &*key, &*ca});
  made->context_.reset(SSL_CTX_new(TLS_server_method()));
  if (!made->context_) return Error(ErrorCode::kIo, "TLS: " + TakeSslError());
  SSL_CTX* const context = made->get();
  RestrictTls(context);
  SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  // A write may end within the bytes that it was given, and go on with others of the same content;
  // whoever is idle holds no buffers.
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(context, 1);
  // Sessions are in tickets, which clients keep.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_session_id_context(context,
                                 reinterpret_cast<const unsigned char*>(kSessionContext.data()),
                                 static_cast<unsigned>(kSessionContext.size()));
  SSL_CTX_set_timeout(context, kTicketSeconds);
  SSL_CTX_set_num_tickets(context, 1);
  SSL_CTX_set_alpn_select_cb(context, SelectHttp, nullptr);
  Status taken = made->TakeCertificate(files.cert, *cert);
  if (taken) taken = made->TakeKey(files.key, *key);
  OPENSSL_cleanse(key->data(), key->size());
  if (taken && !ca->empty()) taken = made->TakeClientCa(files.client_ca, *ca);
  if (!taken) return taken.error();
  return TlsContextPtr(std::move(made));
}

Status TlsContext::TakeCertificate(const std::string& path, const std::string& text) {
  Result<std::vector<CertificatePtr>> chain = ParseCertificates(path, text);
  if (!chain) return chain.error().Prefixed("server.tls.cert");
  own_ = std::move(chain->front());
  if (SSL_CTX_use_certificate(get(), own_.get()) != 1) {
    return Invalid("server.tls.cert: " + path + ": is refused: " + TakeSslError() +
                   "; accepted: RSA from 2048 bits on, ECDSA, Ed25519");
  }
  for (size_t i = 1; i < chain->size(); ++i) SSL_CTX_add1_chain_cert(get(), (*chain)[i].get());
  valid_from_ = UsOfAsn1(X509_get0_notBefore(own_.get()));
  valid_to_ = UsOfAsn1(X509_get0_notAfter(own_.get()));
  subject_ = SubjectOf(own_.get());
  return {};
}

Status TlsContext::TakeKey(const std::string& path, const std::string& text) {
  ERR_clear_error();
  const BioPtr reader = ReaderOf(text);
  const KeyPtr key(PEM_read_bio_PrivateKey(reader.get(), nullptr, NoPassword, nullptr));
  if (!key) {
    return Invalid("server.tls.key: " + path + ": holds no key that can be read (" +
                   TakeSslError() + "); accepted: a private key in PEM, without a password");
  }
  if (SSL_CTX_use_PrivateKey(get(), key.get()) != 1 || SSL_CTX_check_private_key(get()) != 1) {
    ERR_clear_error();
    return Invalid("server.tls.key: " + path +
                   ": is not the key of the certificate in server.tls.cert (" + subject_ +
                   "); accepted: the two that were made together");
  }
  return {};
}

Status TlsContext::TakeClientCa(const std::string& path, const std::string& text) {
  const Result<std::vector<CertificatePtr>> authorities = ParseCertificates(path, text);
  if (!authorities) return authorities.error().Prefixed("server.tls.client_ca");
  X509_STORE* const store = SSL_CTX_get_cert_store(get());
  for (const CertificatePtr& authority : *authorities) {
    X509_STORE_add_cert(store, authority.get());
    SSL_CTX_add_client_CA(get(), authority.get());
  }
  ERR_clear_error();
  // An authority in the file is trusted also where another one is above it.
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(get()), X509_V_FLAG_PARTIAL_CHAIN);
  SSL_CTX_set_verify(get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_cert_verify_callback(get(), VerifyClient, nullptr);
  // Whoever comes by a ticket shows no certificate, which may have expired, and gets the next one.
  SSL_CTX_set_options(get(), SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(get(), 0);
  asks_for_certificates_ = true;
  return {};
}

std::string TlsContext::DoubtAt(TimeUs now) const {
  if (now >= valid_to_) {
    return fmt::format("the certificate of {} expired at {}", subject_, FormatRfc3339(valid_to_));
  }
  if (now < valid_from_) {
    return fmt::format("the certificate of {} is valid from {} on only", subject_,
                       FormatRfc3339(valid_from_));
  }
  return {};
}

}  // namespace tallyd
