#include "storage/leveldb/files/damaged_files.h"

#include <spdlog/spdlog.h>

namespace tallyd {

void DamagedFiles::Report(DamagedFile file) {
  const std::lock_guard lock(mutex_);
  const auto [place, added] = files_.try_emplace(file.number, std::move(file));
  if (!added) return;
  spdlog::error(
      "store: {} is damaged and left as it is: {}. Queries that need what is lost in it fail, "
      "everything else goes on",
      place->second.path, place->second.reason);
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
  for (const auto& [number, file] : files_) all.push_back(file);
  return all;
}

}  // namespace tallyd
