// WindowWriter: entries of one table, in order -> block files apart by windows of event time.
//
// Each open window costs a file and the buffers of a block, so few are open at once. What lies in
// more windows than that goes to files of wider windows, which a later merge splits again: a stray
// time has a window of its own and widens nobody else's.
#ifndef TALLYD_STORAGE_LEVELDB_SEAL_WINDOW_WRITER_H_
#define TALLYD_STORAGE_LEVELDB_SEAL_WINDOW_WRITER_H_

#include <atomic>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "storage/leveldb/files/block_file.h"
#include "storage/leveldb/read/entry_source.h"

namespace tallyd {

// So many windows of one width are open at once; a window that is wider holds so many of the next.
inline constexpr int64_t kOpenWindows = 16;

class WindowWriter {
 public:
  struct Options {
    BlockFileShelf* shelf = nullptr;
    TablePtr table;
    uint64_t deletes = 0;  // Deletes up to this sequence have been applied to what comes.
    int64_t width = 0;     // Of the narrowest windows, in microseconds.
    std::atomic<uint64_t>* next_file = nullptr;  // Numbers the files.
  };

  explicit WindowWriter(Options options);

  Status Add(const WholeEntry& entry);
  // Entries of another block that follow each other, as BlockBuilder::AddRun. Returns how many had
  // room, at least one: those of the first one's window.
  Result<uint32_t> AddRun(const KeyRun& run, const RunEntries& entries,
                          std::span<const RunColumn> columns);
  // A block of another file as it is. False: its times are not of one window.
  Result<bool> AddBlock(const BlockPlace& place, std::string_view bytes, const BlockFileInfo& from);

  // The files, written but not synced.
  Result<std::vector<std::unique_ptr<BlockFileWriter>>> Complete();

 private:
  struct Window {
    int64_t width = 0;
    TimeUs begin = 0;
    bool Contains(TimeUs time) const { return begin <= time && time - begin < width; }
    friend auto operator<=>(const Window&, const Window&) = default;
  };

  BlockFileWriter& At(TimeUs time);

  const Options options_;
  std::map<Window, std::unique_ptr<BlockFileWriter>> writers_;
  std::map<int64_t, int64_t> open_;  // How many windows of each width.
  Window last_window_;               // Of the last entry; of no width before the first.
  BlockFileWriter* last_ = nullptr;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_SEAL_WINDOW_WRITER_H_
