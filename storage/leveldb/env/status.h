// Between LevelDB's types and ours: leveldb::Status becomes Error here and nowhere else, error
// numbers become leveldb::Status, slices are views and back. Of any thread. A view lives as long as
// what the slice is of.
#ifndef TALLYD_STORAGE_LEVELDB_ENV_STATUS_H_
#define TALLYD_STORAGE_LEVELDB_ENV_STATUS_H_

#include <fmt/format.h>
#include <leveldb/slice.h>
#include <leveldb/status.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>

#include "config/values/result.h"

namespace tallyd {

// A full disk (or quota) is kNoSpace, a file that this or another process has locked kConflict; a
// lock that could not be asked for is kIo, as any other failure is.
inline Status FromLevelDb(const leveldb::Status& status) {
  if (status.ok()) return {};
  const std::string text = status.ToString();
  if (status.IsCorruption()) return Error(ErrorCode::kCorruption, text);
  if (status.IsNotFound()) return Error(ErrorCode::kNotFound, text);
  // LevelDB keeps no error number: the text is all there is.
  const auto says = [&](std::string_view what) { return text.find(what) != std::string::npos; };
  if (says(std::strerror(ENOSPC)) || says(std::strerror(EDQUOT))) {
    return Error(ErrorCode::kNoSpace, text);
  }
  const bool is_held = says("already held by process") || says(std::strerror(EAGAIN)) ||
                       says(std::strerror(EACCES));
  if (says("IO error: lock ") && is_held) return Error(ErrorCode::kConflict, text);
  return Error(ErrorCode::kIo, text);
}

// Of the error number of a call that concerned the file of that name.
inline leveldb::Status FromErrno(const std::string& name, int error) {
  if (error == ENOENT) return leveldb::Status::NotFound(name, std::strerror(error));
  return leveldb::Status::IOError(name, std::strerror(error));
}

// kCorruption, naming the record by its key in hexadecimal digits.
inline Error UnreadableRecord(std::string_view key, std::string_view why) {
  std::string hex;
  for (const char c : key) fmt::format_to(std::back_inserter(hex), "{:02x}", c & 0xff);
  return Error(ErrorCode::kCorruption,
               fmt::format("the stored record {} cannot be read: {}", hex, why));
}

inline leveldb::Slice ToSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
inline std::string_view ToView(const leveldb::Slice& slice) { return {slice.data(), slice.size()}; }

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_ENV_STATUS_H_
