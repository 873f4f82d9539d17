#include "daemon/transfer/state_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace tallyd {

Result<std::optional<Json>> ReadState(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::optional<Json>();
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  Json state = Json::parse(text, nullptr, false);
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

void RemoveState(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
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
