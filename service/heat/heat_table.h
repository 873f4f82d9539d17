// HeatTable: the counts of one table and metric that are not closed yet: up to about an hour of
// minutes, the running one included.
//
// 1. Every stem has a range of its own from its first row on, up to kMaxHeatRanges of them.
// 2. With one more, the stems become the starts of ranges that follow each other without a gap, and
//    a row counts in the range that its stem falls into.
// 3. Roll begins another chunk: its ranges are then cut by the load that a sample of the last
//    chunk's stems tells, so that each takes about as much; a stem that takes more has its own.
//
// Thread-safe.
#ifndef TALLYD_SERVICE_HEAT_HEAT_TABLE_H_
#define TALLYD_SERVICE_HEAT_HEAT_TABLE_H_

#include <bit>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/map/row_stems.h"
#include "service/heat/heat_chunk.h"

namespace tallyd {

class HeatTable {
 public:
  HeatTable() = default;
  HeatTable(const HeatTable&) = delete;
  HeatTable& operator=(const HeatTable&) = delete;

  void Add(const RowStems::OfTable& touched, int64_t minute);
  // What was counted since the last Roll; ranges in key order.
  HeatChunk Chunk() const;
  // Whether anything was counted since the last call of it, or somebody called MarkChanged.
  bool TakeChanged();
  void MarkChanged();
  // The chunk, after which another one begins.
  HeatChunk Roll();

 private:
  struct Slot {
    std::string stem;
    bool is_whole = false;
    TimeUs newest = 0;
    // Of the running minute.
    uint32_t rows = 0;
    uint32_t at_end = 0;

    void Count(const RowStems::Rows& more) {
      rows += more.count;
      if (more.time < newest) return;
      newest = more.time;
      at_end += more.count;
    }
  };
  // Of numbers that are hashes already.
  struct SameHash {
    using is_avalanching = void;
    size_t operator()(uint64_t hash) const { return hash; }
  };

  // The slot of a stem that was looked for: its number from 1 on in the lowest bits, and the others
  // of the stem's hash; 0: of none. Small, for the caches.
  using Found = uint64_t;
  static constexpr uint64_t kFoundSlots = 1u << 14;
  static_assert(std::has_single_bit(kFoundSlots) && kMaxHeatRanges < kFoundSlots);
  // The two that were looked for last, the later first, of those with the same last bits.
  struct FoundPair {
    Found first = 0;
    Found second = 0;
  };
  struct Sought {
    std::string_view stem;
    uint64_t hash = 0;
    uint32_t number = 0;  // Of its slot.
  };

  // Null, and there is a partition: there are too many.
  Slot* Find(std::string_view stem, bool is_whole);
  void AddToPartition(const RowStems::OfTable& touched, std::span<const RowStems::Entry> some);
  uint64_t HeadOf(std::string_view stem) const;
  // By its hash alone: of two stems that have the same, both may count in the range of one.
  // False: it was not looked for lately.
  bool FindKnown(Sought* sought);
  void Search(std::span<Sought* const> some);
  void Sample(const RowStems::OfTable& touched, std::span<const RowStems::Entry> some);
  void MakePartition();
  void CutByLoad();
  void CloseMinute();
  HeatChunk ChunkLocked() const;

  mutable std::mutex mutex_;
  std::vector<Slot> slots_;
  boost::unordered_flat_map<uint64_t, uint32_t, SameHash> numbers_;  // Until there is a partition.
  std::vector<HeatMinute> minutes_;                                  // Closed ones.
  int64_t minute_ = 0;                                               // The running one.
  bool changed_ = false;

  // Once there were more stems than ranges: the slots in the order of their stems, and of each stem
  // the eight bytes behind what all have in common, as a number that sorts like them.
  bool is_partition_ = false;
  std::vector<uint32_t> order_;
  std::vector<uint64_t> heads_;
  std::string common_;
  // By the bits of their hashes where a Found has its number: kFoundSlots. Where more than two
  // stems have the same bits and take turns, they are looked for anew each time.
  std::vector<FoundPair> found_;
  std::vector<std::string> samples_;
  uint64_t sampled_of_ = 0;
  uint64_t until_sample_ = 1;
  uint64_t random_ = 0x9E3779B97F4A7C15;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_HEAT_HEAT_TABLE_H_
