// Certificates for tests, made here: files of one folder in PEM, each of an elliptic curve.
#ifndef TALLYD_TESTS_API_TLS_PEM_H_
#define TALLYD_TESTS_API_TLS_PEM_H_

#include <string>

#include "config/file/config.h"

namespace tallyd {

// A fresh folder, with NAME.pem and NAME.key for each Make.
class PemFolder {
 public:
  PemFolder();
  ~PemFolder();
  PemFolder(const PemFolder&) = delete;
  PemFolder& operator=(const PemFolder&) = delete;

  // Signed by itself, for the DNS names of "DNS:a,DNS:b", from an hour ago for a day.
  TlsFiles Make(const std::string& name, const std::string& names = "DNS:localhost");
  std::string PathOf(const std::string& file) const { return folder_ + "/" + file; }
  void Write(const std::string& file, const std::string& text, unsigned mode = 0600);
  std::string Read(const std::string& file) const;

 private:
  std::string folder_;
};

}  // namespace tallyd

#endif  // TALLYD_TESTS_API_TLS_PEM_H_
