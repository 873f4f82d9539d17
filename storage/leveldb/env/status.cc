#include "storage/leveldb/env/status.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <string>

namespace tallyd {

Status FromLevelDb(const leveldb::Status& status) {
  if (status.ok()) return {};
  const std::string text = status.ToString();
  if (status.IsCorruption()) return Error(ErrorCode::kCorruption, text);
  if (status.IsNotFound()) return Error(ErrorCode::kNotFound, text);
  // LevelDB keeps no error number: the text is all there is.
  const auto says = [&](std::string_view what) { return text.find(what) != std::string::npos; };
  if (says(std::strerror(ENOSPC)) || says(std::strerror(EDQUOT))) {
    return Error(ErrorCode::kNoSpace, text);
  }
  if (says("IO error: lock ")) return Error(ErrorCode::kConflict, text);
  return Error(ErrorCode::kIo, text);
}

Error UnreadableRecord(std::string_view key, std::string_view why) {
  std::string hex;
  for (const char c : key) fmt::format_to(std::back_inserter(hex), "{:02x}", c & 0xff);
  return Error(ErrorCode::kCorruption,
               fmt::format("the stored record {} cannot be read: {}", hex, why));
}

}  // namespace tallyd
