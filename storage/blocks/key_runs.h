// The row keys of a block (storage/FORMAT.md, Key runs): neighbours that differ by nothing but the
// time in them share a stem, so that a key costs nothing beside the time, which is stored anyway.
#ifndef TALLYD_STORAGE_BLOCKS_KEY_RUNS_H_
#define TALLYD_STORAGE_BLOCKS_KEY_RUNS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/time.h"
#include "storage/bytes/coding.h"
#include "storage/scan.h"

namespace tallyd {

// Entries whose keys differ by nothing but their time (KeyTime).
struct KeyRun {
  uint32_t begin = 0;  // Entries.
  uint32_t end = 0;
  std::string_view stem;
  KeyTime time = KeyTime::kNone;
  uint32_t place = 0;  // Of the time in the key, in bytes.
};

// Writes the time as keys of this kind hold it; returns how many digits that are. REQUIRES: 19
// bytes of room; kind is not kNone.
size_t RenderKeyTime(KeyTime kind, TimeUs time, char* to);
// The key of an entry of the run; *key is replaced.
void RenderKey(const KeyRun& run, TimeUs time, std::string* key);
// Whether two entries of one run, of these times, have the same key.
bool SameKeyTime(KeyTime kind, TimeUs a, TimeUs b);

// Finds the runs of keys that come one after the other.
class KeyRunBuilder {
 public:
  void Clear();
  // `common`: so many of its first bytes, at least, are those of the key that was added last, be it
  // by AddRun; 0 where nobody knows.
  void Add(std::string_view key, TimeUs time, size_t common);
  // The same of the key that was added last.
  void AddAgain(std::string_view key, TimeUs time) {
    if (runs_.back().time != KeyTime::kNone) return Add(key, time, key.size());
    ++runs_.back().count;
  }
  // `count` entries whose keys another block's run has.
  void AddRun(const KeyRun& run, uint32_t count);
  size_t bytes() const { return stem_bytes_; }
  size_t runs() const { return runs_.size(); }
  void Encode(std::string* out) const;

 private:
  struct Run {
    std::string stem;
    KeyTime time = KeyTime::kNone;
    uint32_t place = 0;
    uint32_t count = 0;
  };

  bool Continues(std::string_view key, TimeUs time, size_t common);
  static Run Begin(std::string_view key, TimeUs time);

  std::vector<Run> runs_;
  std::optional<uint64_t> last_number_;  // Of the last run's kind of time, where Add found it.
  size_t stem_bytes_ = 0;
};

// Reads the runs of `entries` entries. Their stems are views of *stems. False if malformed.
bool ReadKeyRuns(ByteReader* in, uint32_t entries, std::vector<KeyRun>* runs, std::string* stems);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BLOCKS_KEY_RUNS_H_
