// HeldParts: fragments of events that outlive the rows they came from, each with its place in an
// order: they are added in any order and then sorted. Everything is copied into chunks of memory,
// so that what is held is known to the chunk.
//
//   held.Add({time, tie}, time, fields) ...;  held.Shrink();  ...  held.Sort();  held.At(i)
//
// Not thread-safe.
#ifndef TALLYD_SERVICE_QUERY_SCAN_HELD_PARTS_H_
#define TALLYD_SERVICE_QUERY_SCAN_HELD_PARTS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ingest/unmap/row_reader.h"
#include "service/query/scan/event_groups.h"

namespace tallyd {

class HeldParts {
 public:
  struct Part {
    GroupKeyView key;
    TimeUs time = 0;
    std::span<const EventField> fields;
    uint32_t number = 0;  // In which order they were added.
  };

  explicit HeldParts(bool descending) : less_{descending} {}

  // What there is of it, and until it is sorted or shrunk, is at the same place.
  void Add(const GroupKeyView& key, TimeUs time, std::span<const EventField> fields);
  // Keeps about the first half of the order, whole groups of equal keys, at least one: the key of
  // the first that was left out, or nothing where all are of one group.
  std::optional<GroupKey> Shrink();
  void Sort();  // By key; of equal ones what was added first comes first.
  void Clear();

  size_t size() const { return parts_.size(); }
  const Part& At(size_t index) const { return parts_[index]; }
  // With what a Shrink takes for a while.
  uint64_t bytes() const { return 3 * (arena_.bytes + parts_.capacity() * sizeof(Part)) / 2; }

 private:
  struct Arena {
    std::vector<std::unique_ptr<char[]>> chunks;
    char* free = nullptr;
    size_t left = 0;
    uint64_t bytes = 0;

    char* Allocate(size_t size);
    std::string_view Copy(std::string_view text);
  };

  static Part CopyOf(const Part& part, Arena* arena);
  bool IsBefore(const Part& a, const Part& b) const;

  const GroupLess less_;
  std::vector<Part> parts_;
  Arena arena_;
  uint32_t added_ = 0;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_SCAN_HELD_PARTS_H_
