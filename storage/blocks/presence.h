// Presence: which entries of a block have a column: a bit for each entry, and of those that have it
// the place of their value among the column's (storage/FORMAT.md, Blocks). Of one thread.
//
//   presence.Reset(entries);  presence.Set(entry) for each that has it;  presence.Count();
//   if (presence.Has(entry)) Use(data.At(presence.PlaceOf(entry)));
#ifndef TALLYD_STORAGE_BLOCKS_PRESENCE_H_
#define TALLYD_STORAGE_BLOCKS_PRESENCE_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "config/values/time.h"
#include "storage/bytes/coding.h"

namespace tallyd {

class Presence {
 public:
  // Of so many entries none has the column. Buffers are used again.
  void Reset(uint32_t entries);
  void Set(uint32_t entry) { words_[entry / 64] |= uint64_t{1} << entry % 64; }
  // After the last Set, before what follows.
  void Count();

  uint32_t entries() const { return entries_; }
  uint32_t count() const { return before_.back(); }
  bool is_whole() const { return count() == entries_; }
  bool Has(uint32_t entry) const { return (words_[entry / 64] >> entry % 64 & 1) != 0; }
  // How many of the entries before this one have it: the place of the entry's value, if it has one.
  // `entry` may be the end.
  uint32_t PlaceOf(uint32_t entry) const {
    const uint64_t below = words_[entry / 64] & ((uint64_t{1} << entry % 64) - 1);
    return before_[entry / 64] + static_cast<uint32_t>(std::popcount(below));
  }
  // How often it changes from one entry to the next whether they have it. Behind the last none has.
  uint32_t Changes() const;
  // `times` are those of the entries from `first` on: writes the times of the entries that have it.
  // REQUIRES: room for them.
  void Pick(std::span<const TimeUs> times, uint32_t first, TimeUs* to) const;
  // Also marks the entries that another column of as many entries has. Count comes after it.
  void Join(const Presence& other);

 private:
  friend void AppendPresence(const Presence& presence, std::string* out);
  friend bool ReadPresence(ByteReader* in, uint32_t entries, Presence* presence);

  uint32_t entries_ = 0;
  std::vector<uint64_t> words_;   // The lowest bit first; one more than the entries need.
  std::vector<uint32_t> before_;  // By word: how many entries of the words before it.
};

// What storage/FORMAT.md calls presence: nothing where every entry has the column, else a bitmap.
void AppendPresence(const Presence& presence, std::string* out);
// About how many bytes AppendPresence writes, of so many entries of which `count` have the column.
size_t PresenceBytes(uint32_t entries, uint32_t count, uint32_t changes);
// False if the bytes are malformed, or say of no entry that it has the column.
bool ReadPresence(ByteReader* in, uint32_t entries, Presence* presence);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BLOCKS_PRESENCE_H_
