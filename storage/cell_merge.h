// CellMerge: which of the cells that were written to one row count. The one place that says which
// of two writes to a cell wins, that those of an aggregate family are folded instead, and which
// cells a family's rules give up; readers, sealing and previews all ask it. (What layers of a
// latest row cover of each other, LayerFold knows: they have no versions and nothing to fold.)
//
//   CellMerge merge(CellMerge::Versions::kAll);
//   merge.BeginRow();
//   for each cell, of each column the newest first:
//     switch (merge.Take(column, time, rule)) {
//       case CellMerge::Fate::kLive: Use(cell);
//       case CellMerge::Fate::kFolds: fold it into the one that was taken before, if that is used;
//
// What is folded, AggregateFold (config/values/aggregate.h) knows; CellFolds keeps it for several
// cells at once.
//
// "Newest first" is as WriteMoment has it: so of two writes to one cell the one that wins comes
// first. Columns may be mixed. A column is a small number that the caller gives; cells that deletes
// hide must not be shown to it at all. Not thread-safe.
#ifndef TALLYD_STORAGE_CELL_MERGE_H_
#define TALLYD_STORAGE_CELL_MERGE_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "config/values/aggregate.h"
#include "config/values/time.h"
#include "config/values/value.h"
#include "storage/table_info.h"

namespace tallyd {

// When something was written. Of two writes to one cell, or to the one event that a row keeps, the
// newer counts.
struct WriteMoment {
  TimeUs time = 0;
  uint64_t sequence = 0;  // Of commits.

  bool IsNewerThan(const WriteMoment& other) const {
    return time != other.time ? time > other.time : sequence > other.sequence;
  }
};

// What a family keeps, ready to be asked. `version` counts the newer cells of the column.
struct GcRule {
  bool visible = false;
  bool both = false;                                   // Expired by age and by versions.
  TimeUs oldest = std::numeric_limits<TimeUs>::min();  // Older cells are past their age.
  uint32_t max_versions = std::numeric_limits<uint32_t>::max();
  std::optional<Aggregate> aggregate;  // What is written to one cell is folded.

  static GcRule Of(const StoredFamily& family, TimeUs now) {
    GcRule rule;
    rule.visible = family.configured;
    rule.aggregate = family.rules.aggregate;
    if (!family.configured) return rule;
    const Family& keep = family.rules;
    // No cell is older than the epoch; the clock may say so, and the age may be any.
    if (keep.max_age_us) rule.oldest = std::max<TimeUs>(now, 0) - *keep.max_age_us;
    if (keep.max_versions) rule.max_versions = *keep.max_versions;
    rule.both = keep.max_age_us && !AgeAlone(keep);
    return rule;
  }

  bool Expires(TimeUs time, uint32_t version) const {
    const bool aged = time < oldest;
    const bool outdated = version >= max_versions;
    return both ? aged && outdated : aged || outdated;
  }
  bool counts_versions() const { return max_versions != std::numeric_limits<uint32_t>::max(); }
  // Before it a cell has expired whatever its version.
  TimeUs oldest_of_all() const { return both ? std::numeric_limits<TimeUs>::min() : oldest; }
};

class CellMerge {
 public:
  // Only the newest cell of each column counts, as in latest tables.
  enum class Versions : bool { kAll, kNewest };
  enum class Fate : uint8_t {
    kLive,
    kCovered,  // A later write to the same cell came before.
    kFolds,    // The same of an aggregate family: they count together, if that one does.
    kExpired,
  };

  explicit CellMerge(Versions versions) : newest_only_(versions == Versions::kNewest) {}

  void BeginRow() { ++row_; }

  Fate Take(uint32_t column, TimeUs time, const GcRule& rule) {
    OfColumn& state = StateOf(column);
    if (state.last == time) return rule.aggregate ? Fate::kFolds : Fate::kCovered;
    state.last = time;
    const uint32_t version = state.live++;
    if (newest_only_ && version > 0) return Fate::kCovered;
    return rule.Expires(time, version) ? Fate::kExpired : Fate::kLive;
  }

  // For those who took a cell without asking, because no other of its time was in sight.
  void MarkTaken(uint32_t column, TimeUs time) { StateOf(column).last = time; }

 private:
  struct OfColumn {
    uint64_t row = 0;  // Which row this is about.
    TimeUs last = -1;  // The time of its last cell that counts.
    uint32_t live = 0;
  };

  OfColumn& StateOf(uint32_t column) {
    if (column >= columns_.size()) columns_.resize(size_t{column} + 1);
    OfColumn& state = columns_[column];
    if (state.row != row_) state = {row_, -1, 0};
    return state;
  }

  const bool newest_only_;
  uint64_t row_ = 0;
  std::vector<OfColumn> columns_;
};

// CellFolds: the cells of one row and time to which aggregate families' inputs were written more
// than once. A cell is known by the caller's number of its place. Not thread-safe.
class CellFolds {
 public:
  bool empty() const { return folds_.empty(); }
  void Clear() { folds_.clear(); }

  // Folds `value` into the cell at `place`, which holds `first`. False: one of them is no state.
  bool Add(Aggregate kind, size_t place, const Value& first, const Value& value) {
    const auto [fold, added] = folds_.try_emplace(place, kind);
    return (!added || fold->second.Add(first)) && fold->second.Add(value);
  }

  // Calls `use(place, state)` for each; the state's bytes are there during the call.
  template <class Use>
  void ForEach(const Use& use) const {
    std::string bytes;
    for (const auto& [place, fold] : folds_) use(place, fold.Get(&bytes));
  }

 private:
  std::unordered_map<size_t, AggregateFold> folds_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_CELL_MERGE_H_
