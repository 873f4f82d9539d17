#include "storage/leveldb/files/block_shelf.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

namespace tallyd {
namespace {

constexpr size_t kOpenFiles = 96;

}  // namespace

void DamagedFiles::Report(DamagedFile file) {
  const std::lock_guard lock(mutex_);
  const auto [place, added] = files_.try_emplace(file.number);
  if (!added) return;
  DamagedFile& damaged = place->second.file;
  damaged = std::move(file);
  spdlog::error(
      "store: {} is damaged and left as it is: {}. Queries that need what is lost in it fail, "
      "everything else goes on",
      damaged.path, damaged.reason);
}

void DamagedFiles::Forget(uint64_t number) {
  const std::lock_guard lock(mutex_);
  files_.erase(number);
}

bool DamagedFiles::Contains(uint64_t number) const {
  const std::lock_guard lock(mutex_);
  return files_.contains(number);
}

std::vector<DamagedFile> DamagedFiles::All() const {
  const std::lock_guard lock(mutex_);
  std::vector<DamagedFile> all;
  for (const auto& [number, damage] : files_) all.push_back(damage.file);
  return all;
}

void DamagedFiles::SetNoted(uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(number);
  if (found != files_.end()) found->second.noted = true;
}

std::vector<DamagedFile> DamagedFiles::Noted(bool noted) const {
  const std::lock_guard lock(mutex_);
  std::vector<DamagedFile> such;
  for (const auto& [number, damage] : files_) {
    if (damage.noted == noted) such.push_back(damage.file);
  }
  return such;
}

BlockFileShelf::BlockFileShelf(StoreEnv* env, std::string directory, size_t index_bytes)
    : env_(env), directory_(std::move(directory)), indexes_(index_bytes), handles_(kOpenFiles) {}

std::string BlockFileShelf::PathOf(uint64_t number) const {
  return fmt::format("{}/{:06}.blocks", directory_, number);
}

void BlockFileShelf::Remove(uint64_t number) {
  indexes_.Erase(number);
  handles_.Erase(number);
  damaged_.Forget(number);
  if (!env_->RemoveFile(PathOf(number)).ok()) {
    spdlog::warn("store: {} cannot be removed yet", PathOf(number));
    return;
  }
  const std::lock_guard lock(removed_mutex_);
  removed_.push_back(number);
}

void BlockFileShelf::SyncRemovals() {
  std::vector<uint64_t> removed;
  {
    const std::lock_guard lock(removed_mutex_);
    removed.swap(removed_);
  }
  if (removed.empty() || !SyncDirectory()) return;
  const std::lock_guard lock(removed_mutex_);
  gone_.insert(gone_.end(), removed.begin(), removed.end());
}

std::vector<uint64_t> BlockFileShelf::TakeGone() {
  const std::lock_guard lock(removed_mutex_);
  return std::exchange(gone_, {});
}

std::string BlockFilesDirectory(const std::string& path) { return path + "/blocks"; }

}  // namespace tallyd
