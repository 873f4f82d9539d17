#include "tools/token_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "service/access/token_digest.h"

namespace tallyd {

namespace {

constexpr mode_t kOthers = 07;

// The file is judged as it was opened: its name may be another one's meanwhile.
class OpenedFile {
 public:
  explicit OpenedFile(const std::string& file) : fd_(::open(file.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~OpenedFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  OpenedFile(const OpenedFile&) = delete;
  OpenedFile& operator=(const OpenedFile&) = delete;

  bool is_open() const { return fd_ >= 0; }
  bool OthersMay() const {
    struct stat status {};
    return ::fstat(fd_, &status) != 0 || (status.st_mode & kOthers) != 0;
  }
  // The first line, or so much of it as is more than any token has.
  std::string FirstLine() const {
    std::string text;
    std::array<char, 512> piece;
    while (text.find('\n') == text.npos && text.size() <= kMaxTokenBytes) {
      const ssize_t read = ::read(fd_, piece.data(), piece.size());
      if (read < 0 && errno == EINTR) continue;
      if (read <= 0) break;
      text.append(piece.data(), static_cast<size_t>(read));
    }
    text.resize(std::min(text.find('\n'), text.size()));
    return text;
  }

 private:
  const int fd_;
};

// Of what a header can carry, without the spaces around it.
bool IsToken(std::string_view text) {
  return !text.empty() && text.size() <= kMaxTokenBytes &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace

Result<std::string> ReadTokenFile(const std::string& file) {
  if (file.empty()) return std::string();
  const OpenedFile opened(file);
  if (!opened.is_open()) return Invalid(fmt::format("{}: {}", file, std::strerror(errno)));
  if (opened.OthersMay()) {
    return Invalid(fmt::format(
        "{}: others may read or change it; a file with a token is its owner's: chmod 600 {}", file,
        file));
  }
  std::string line = opened.FirstLine();
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
  if (!IsToken(line)) {
    return Invalid(fmt::format("{} holds no token; its first line is to be one, and nothing else",
                               file));
  }
  return line;
}

}  // namespace tallyd
