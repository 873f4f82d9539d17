// SeriesSet: the series of one table, as byte strings, and which of them have a *term*: a hash of a
// field and the text of its value (TermOf). A set of a million series of 60 bytes with five terms
// each takes some 130 MB (docs/operations.md).
//
//   const uint32_t id = set.Add(series, terms);   // Or set.Find(series).
//   for (uint32_t id : set.With(TermOf("host", "a"))) Use(set.text(id));
//
// What With returns may hold series that do not have the term: two terms may have one hash. It
// lacks none. A series that was removed leaves its number to itself; its bytes go when half of all
// are gone (Compact, which numbers all anew). Not thread-safe.
#ifndef TALLYD_SERVICE_SERIES_SERIES_SET_H_
#define TALLYD_SERVICE_SERIES_SERIES_SET_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tallyd {

uint64_t TermOf(std::string_view field, std::string_view value);

class SeriesSet {
 public:
  using Id = uint32_t;

  SeriesSet() = default;
  SeriesSet(SeriesSet&&) = default;
  SeriesSet& operator=(SeriesSet&&) = default;

  // Of series that are there.
  std::optional<Id> Find(std::string_view series) const;
  // REQUIRES: it is not there; at most 65,535 bytes; each term once.
  Id Add(std::string_view series, std::span<const uint64_t> terms);
  // Terms stay those with which it was added first.
  void Remove(Id id);

  size_t size() const { return live_; }
  size_t bytes() const;  // In memory, about.
  // Valid until the next call of Add or Compact.
  std::string_view text(Id id) const {
    const Entry& entry = entries_[id];
    return {chunks_[entry.chunk].get() + entry.offset, entry.size};
  }
  bool is_live(Id id) const { return entries_[id].live; }
  // Beyond every number that was given.
  Id end() const { return static_cast<Id>(entries_.size()); }

  // Ascending; removed ones are among them.
  std::span<const Id> With(uint64_t term) const;

  // Whether so much is gone that it pays to number all anew.
  bool wants_compaction() const { return entries_.size() - live_ > kFewGone + live_; }
  // `terms_of`: appends the terms of a series.
  template <class TermsOf>
  void Compact(const TermsOf& terms_of) {
    SeriesSet fresh;
    std::vector<uint64_t> terms;
    for (Id id = 0; id < end(); ++id) {
      if (!is_live(id)) continue;
      terms.clear();
      terms_of(text(id), &terms);
      fresh.Add(text(id), terms);
    }
    *this = std::move(fresh);
  }

 private:
  static constexpr size_t kChunkBytes = 256u << 10;
  static constexpr size_t kFewGone = 4096;
  static constexpr Id kNone = UINT32_MAX;

  struct Entry {
    uint32_t chunk = 0;
    uint32_t offset = 0;
    uint16_t size = 0;
    bool live = false;
  };
  struct Slot {
    uint32_t tag = 0;
    Id id = kNone;
  };
  // Of one series its number, of more their place in lists_.
  struct TermSlot {
    uint64_t term = 0;
    Id at = kNone;
    bool is_list = false;
  };

  Slot* SlotOf(std::string_view series, uint64_t hash);
  void GrowSlots();
  void AddTerm(uint64_t term, Id id);
  void GrowTerms();

  std::vector<std::unique_ptr<char[]>> chunks_;
  size_t used_ = kChunkBytes;  // Of the last chunk.
  std::vector<Entry> entries_;
  size_t live_ = 0;
  std::vector<Slot> slots_;  // A power of two, at most three in four taken.
  std::vector<TermSlot> terms_;
  size_t terms_taken_ = 0;
  std::vector<std::vector<Id>> lists_;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_SERIES_SERIES_SET_H_
