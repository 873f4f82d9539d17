// DamagedFiles: the block files of which something could not be read. Whoever meets the damage
// reports it; it is logged once, shown in the status, and work in the background leaves the file
// alone from then on, while what needs it fails and names it. Thread-safe.
#ifndef TALLYD_STORAGE_LEVELDB_FILES_DAMAGED_FILES_H_
#define TALLYD_STORAGE_LEVELDB_FILES_DAMAGED_FILES_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace tallyd {

struct DamagedFile {
  uint64_t number = 0;
  std::string path;
  std::string reason;  // The first that was met.
};

class DamagedFiles {
 public:
  void Report(DamagedFile file);
  // The file is gone, or whole again.
  void Forget(uint64_t number);
  bool Contains(uint64_t number) const;
  std::vector<DamagedFile> All() const;  // By number.

 private:
  mutable std::mutex mutex_;
  std::map<uint64_t, DamagedFile> files_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_FILES_DAMAGED_FILES_H_
