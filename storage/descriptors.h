// How the descriptors that the process may open are divided: what the store needs is taken out
// first, then what else is open all the time, and connections have the rest. So no number of
// clients keeps the store from opening a file.
#ifndef TALLYD_STORAGE_DESCRIPTORS_H_
#define TALLYD_STORAGE_DESCRIPTORS_H_

#include <cstddef>
#include <cstdint>

namespace tallyd {

struct Descriptors {
  uint64_t limit = 0;      // RLIMIT_NOFILE
  size_t tables = 0;       // That base's LevelDB keeps open.
  size_t block_files = 0;  // That are kept open.
  size_t other_files = 0;  // Of the store: logs, manifests, locks, what is being written.
  size_t other = 0;        // Standard streams, listeners, event loops, a spare one.
  size_t connections = 0;  // Those that are being refused included.

  size_t store() const { return tables + block_files + other_files; }
};

Descriptors DivideDescriptors(uint64_t limit);
// By the limit of this process as it is now: soft limits are raised at the start.
Descriptors DescriptorsOfProcess();

}  // namespace tallyd

#endif  // TALLYD_STORAGE_DESCRIPTORS_H_
