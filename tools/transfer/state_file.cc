#include "tools/transfer/state_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace tallyd {

Result<std::optional<std::string>> ReadStateText(const std::string& path) {
  const auto unreadable = [&](int failed) {
    return Error(ErrorCode::kIo, path + " cannot be read: " + std::strerror(failed));
  };
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) return std::optional<std::string>();
  if (file < 0) return unreadable(errno);
  std::string text;
  std::array<char, 64u << 10> piece;
  while (true) {
    const ssize_t got = ::read(file, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      const int failed = errno;
      ::close(file);
      return unreadable(failed);
    }
    if (got == 0) break;
    text.append(piece.data(), static_cast<size_t>(got));
  }
  ::close(file);
  return std::optional<std::string>(std::move(text));
}

Result<std::optional<Json>> ReadState(const std::string& path) {
  const Result<std::optional<std::string>> text = ReadStateText(path);
  if (!text) return text.error();
  if (!*text) return std::optional<Json>();
  Json state = Json::parse(**text, nullptr, false);
  if (!state.is_object()) {
    return Error(ErrorCode::kCorruption,
                 path + " does not tell how far it was: remove it to start anew");
  }
  return std::optional<Json>(std::move(state));
}

Status WriteState(const std::string& path, const Json& state) {
  const std::string fresh = path + ".new";
  std::ofstream out(fresh, std::ios::binary | std::ios::trunc);
  out << Dump(state) << '\n';
  out.close();
  std::error_code failed;
  if (out) std::filesystem::rename(fresh, path, failed);
  if (!out || failed) {
    const std::string why = failed ? failed.message() : std::strerror(errno);
    return Error(ErrorCode::kIo, path + " cannot be written: " + why);
  }
  return {};
}

Status RemoveState(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return Error(ErrorCode::kIo, path + " cannot be removed: " + std::strerror(errno));
}

std::string StateText(const Json& state, const char* name) {
  const auto found = state.find(name);
  return found != state.end() && found->is_string() ? found->get<std::string>() : std::string();
}

uint64_t StateNumber(const Json& state, const char* name) {
  const auto found = state.find(name);
  return found != state.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}

}  // namespace tallyd
