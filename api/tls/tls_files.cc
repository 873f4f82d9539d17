#include "api/tls/tls_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace tallyd {
namespace {

constexpr size_t kMaxTlsFileBytes = 1u << 20;

class OpenFile {
 public:
  explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  int get() const { return descriptor_; }

 private:
  const int descriptor_;
};

Error Unusable(const std::string& path, const std::string& why) {
  return Invalid(path + ": " + why);
}

// What is judged is what is read, whatever the path names a moment later.
Result<std::string> ReadOpened(const std::string& path, bool is_secret) {
  // Not to wait for whoever writes into a pipe.
  const OpenFile file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return Unusable(path, std::string("cannot be read: ") + std::strerror(errno));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return Unusable(path, std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return Unusable(path, "is no regular file");
  if (is_secret && (status.st_mode & S_IRWXO) != 0) {
    return Unusable(path,
                    fmt::format("others than its owner and group may use it (mode {:04o}), so it "
                                "is a secret no more; accepted: mode 0600, 0640 or less",
                                static_cast<unsigned>(status.st_mode & 07777)));
  }
  std::string text;
  std::array<char, 16u << 10> piece;
  while (text.size() <= kMaxTlsFileBytes) {
    const ssize_t n = ::read(file.get(), piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Unusable(path, std::string("cannot be read: ") + std::strerror(errno));
    if (n == 0) break;
    text.append(piece.data(), static_cast<size_t>(n));
  }
  if (text.size() > kMaxTlsFileBytes) return Unusable(path, "is larger than 1MiB");
  if (text.empty()) return Unusable(path, "is empty");
  return text;
}

}  // namespace

Result<std::string> ReadPublicFile(const std::string& path) { return ReadOpened(path, false); }

Result<std::string> ReadSecretFile(const std::string& path) { return ReadOpened(path, true); }

}  // namespace tallyd
