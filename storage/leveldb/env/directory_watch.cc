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

DirectoryWatch::DirectoryWatch(std::string directory, std::string witness, std::string lock)
    : directory_(std::move(directory)),
      witness_(directory_ + "/" + std::move(witness)),
      lock_(directory_ + "/" + std::move(lock)) {}

DirectoryWatch::FileId DirectoryWatch::IdOf(const std::string& name) {
  struct stat found {};
  if (::stat(name.c_str(), &found) != 0) return {};
  return {found.st_dev, found.st_ino};
}

void DirectoryWatch::Begin() {
  const std::lock_guard lock(mutex_);
  opened_directory_ = IdOf(directory_);
  opened_lock_ = IdOf(lock_);
}

void DirectoryWatch::BeginContent() {
  const std::lock_guard lock(mutex_);
  opened_lock_ = IdOf(lock_);
  last_of_content_ = {};
}

Status DirectoryWatch::Check() {
  const std::lock_guard lock(mutex_);
  LookAgain();
  return last_;
}

Status DirectoryWatch::CheckContent() {
  const std::lock_guard lock(mutex_);
  LookAgain();
  return last_ ? last_of_content_ : last_;
}

// REQUIRES: mutex_.
void DirectoryWatch::LookAgain() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_look_) return;
  next_look_ = now + kBetweenLooks;
  const bool was_there = last_.has_value();
  last_ = Look();
  if (was_there && !last_) spdlog::error("store: {}", last_.error().message());
  if (!was_there && last_) spdlog::info("store: {} is back", directory_);
  const bool was_the_same = last_of_content_.has_value();
  last_of_content_ = last_ ? LookAtContent() : Status();
  if (was_the_same && !last_of_content_) {
    spdlog::error("store: {}", last_of_content_.error().message());
  }
}

Status DirectoryWatch::Look() const {
  if (opened_directory_.inode == 0) return {};
  struct stat found {};
  if (::stat(directory_.c_str(), &found) != 0) {
    return Gone(directory_, fmt::format("cannot be found ({})", std::strerror(errno)));
  }
  if (FileId{found.st_dev, found.st_ino} != opened_directory_) {
    return Gone(directory_, "is another directory than the one that was opened");
  }
  if (::stat(witness_.c_str(), &found) != 0) {
    return Gone(witness_, fmt::format("cannot be found ({})", std::strerror(errno)));
  }
  return {};
}

Status DirectoryWatch::LookAtContent() const {
  if (opened_lock_.inode == 0 || IdOf(lock_) == opened_lock_) return {};
  return Gone(directory_, "holds other files than those that were opened");
}

}  // namespace tallyd
