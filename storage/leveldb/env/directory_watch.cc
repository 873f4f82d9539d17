#include "storage/leveldb/env/directory_watch.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace tallyd {
namespace {

constexpr auto kBetweenLooks = std::chrono::milliseconds(100);

Error Gone(const std::string& name, const std::string& why) {
  return Error(ErrorCode::kUnavailable,
               fmt::format("{} {}: nothing is written until it is back", name, why));
}

}  // namespace

DirectoryWatch::DirectoryWatch(std::string directory, std::string witness)
    : directory_(std::move(directory)), witness_(directory_ + "/" + std::move(witness)) {}

void DirectoryWatch::Begin() {
  struct stat found {};
  if (::stat(directory_.c_str(), &found) != 0) return;
  device_ = found.st_dev;
  inode_ = found.st_ino;
}

Status DirectoryWatch::Check() {
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (now < next_look_) return last_;
  next_look_ = now + kBetweenLooks;
  const bool was_there = last_.has_value();
  last_ = Look();
  if (was_there && !last_) spdlog::error("store: {}", last_.error().message());
  if (!was_there && last_) spdlog::info("store: {} is back", directory_);
  return last_;
}

Status DirectoryWatch::Look() const {
  if (inode_ == 0) return {};
  struct stat found {};
  if (::stat(directory_.c_str(), &found) != 0) {
    return Gone(directory_, fmt::format("cannot be found ({})", std::strerror(errno)));
  }
  if (found.st_dev != device_ || found.st_ino != inode_) {
    return Gone(directory_, "is another directory than the one that was opened");
  }
  if (::stat(witness_.c_str(), &found) != 0) {
    return Gone(witness_, fmt::format("cannot be found ({})", std::strerror(errno)));
  }
  return {};
}

}  // namespace tallyd
