#include "tests/api/tls/pem.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace tallyd {
namespace {

constexpr long kHourSeconds = 3600;

void AddExtension(X509* certificate, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

}  // namespace

PemFolder::PemFolder() {
  std::string pattern = std::filesystem::temp_directory_path() / "tallyd-pem-XXXXXX";
  folder_ = ::mkdtemp(pattern.data());
}

PemFolder::~PemFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void PemFolder::Write(const std::string& file, const std::string& text, unsigned mode) {
  std::ofstream(PathOf(file)) << text;
  ::chmod(PathOf(file).c_str(), mode);
}

std::string PemFolder::Read(const std::string& file) const {
  std::ostringstream text;
  text << std::ifstream(PathOf(file)).rdbuf();
  return text.str();
}

TlsFiles PemFolder::Make(const std::string& name, const std::string& names) {
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  X509* const certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -kHourSeconds);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 23 * kHourSeconds);
  X509_set_pubkey(certificate, key);
  X509_NAME* const subject = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(certificate, subject);
  AddExtension(certificate, NID_subject_alt_name, names);
  X509_sign(certificate, key, EVP_sha256());
  const TlsFiles files{PathOf(name + ".pem"), PathOf(name + ".key"), ""};
  std::FILE* out = std::fopen(files.cert.c_str(), "w");
  PEM_write_X509(out, certificate);
  std::fclose(out);
  out = std::fopen(files.key.c_str(), "w");
  ::chmod(files.key.c_str(), 0600);
  PEM_write_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(out);
  X509_free(certificate);
  EVP_PKEY_free(key);
  return files;
}

}  // namespace tallyd
