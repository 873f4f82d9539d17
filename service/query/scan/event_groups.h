// From parts to events in order. A group is what has one place in the order of an answer: the
// events of one time and one tie (the row key; the entity where an event is spread over rows).
//
// - MergedGroups: every range comes in order of time, so a merge of them streams.
// - SequentialGroups: the rows of latest tables, in key order, range after range.
// - KeyGroups: ranges as they are read, in key order, for those who need no other, where no event
//   is in two parts.
// - GatheredGroups (gathered_groups.h): ranges in no useful order, in slices of time.
#ifndef TALLYD_SERVICE_QUERY_SCAN_EVENT_GROUPS_H_
#define TALLYD_SERVICE_QUERY_SCAN_EVENT_GROUPS_H_

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "service/query/scan/fragment_merger.h"
#include "service/query/scan/part_scan.h"

namespace tallyd {

// A place in the order. Of latest tables the time is 0 for all.
struct GroupKeyView {
  TimeUs time = 0;
  std::string_view tie;
};
struct GroupKey {
  TimeUs time = 0;
  std::string tie;
  GroupKeyView view() const { return {time, tie}; }
};

// Orders both ways; descending is the exact mirror.
struct GroupLess {
  using is_transparent = void;
  bool descending = false;

  bool operator()(const GroupKeyView& a, const GroupKeyView& b) const {
    const GroupKeyView& low = descending ? b : a;
    const GroupKeyView& high = descending ? a : b;
    return low.time != high.time ? low.time < high.time : low.tie < high.tie;
  }
  bool operator()(const GroupKey& a, const GroupKey& b) const {
    return (*this)(a.view(), b.view());
  }
  bool operator()(const GroupKey& a, const GroupKeyView& b) const { return (*this)(a.view(), b); }
  bool operator()(const GroupKeyView& a, const GroupKey& b) const { return (*this)(a, b.view()); }
};

struct EventGroup {
  GroupKeyView key;
  TimeUs time = 0;
  std::vector<std::span<const EventField>> events;
  std::vector<TimeUs> times;  // Of each of them; empty: `time` is.
  // Of each of them, of each of its fields: a row of a latest table has cells of many times. Empty:
  // each field has the time of its event.
  std::vector<std::span<const TimeUs>> field_times;
  // Of each of them the column that tells it, ascending by qualifier; empty: no column tells one.
  std::vector<ColumnRef> columns;

  TimeUs TimeOf(size_t event) const { return times.empty() ? time : times[event]; }
  std::span<const TimeUs> FieldTimesOf(size_t event) const {
    return field_times.empty() ? std::span<const TimeUs>() : field_times[event];
  }
};

class GroupSource {
 public:
  virtual ~GroupSource() = default;
  // To the next group in order; false at the end.
  virtual Result<bool> Next() = 0;
  // Valid until Next.
  const EventGroup& group() const { return group_; }

 protected:
  EventGroup group_;
};

struct GroupOptions {
  TimeRange time;
  bool descending = false;
  std::optional<GroupKey> start;  // Groups before it are left out.
};

// The place of the part at hand.
GroupKeyView KeyOfPart(const ScanInput& input, const PartScan& scan);

class MergedGroups final : public GroupSource {
 public:
  // `time_descends`: the ranges' rows come newest first. REQUIRES: no part is a whole row.
  MergedGroups(const ScanInput& input, const std::vector<KeyRange>& ranges, bool time_descends,
               const GroupOptions& options);
  Result<bool> Next() override;

 private:
  Status Advance(size_t scan);
  bool After(size_t a, size_t b) const;
  GroupKeyView KeyOf(const PartScan& scan) const;

  const ScanInput& input_;
  GroupOptions options_;
  GroupLess less_;
  std::vector<std::unique_ptr<PartScan>> scans_;
  std::vector<size_t> heap_;     // Scans by their part's key, the first on top.
  std::vector<size_t> current_;  // Scans that the group's events came from.
  bool primed_ = false;
  FragmentMerger merger_;
};

class SequentialGroups final : public GroupSource {
 public:
  SequentialGroups(const ScanInput& input, std::vector<KeyRange> ranges,
                   const GroupOptions& options);
  Result<bool> Next() override;

 private:
  PartScan scan_;
  FragmentMerger merger_;
  std::vector<const EventFragment*> of_columns_;  // Of the row: events that columns tell.
};

class KeyGroups final : public GroupSource {
 public:
  // `start`: parts before it in the order of keys, of one row the oldest first, are left out.
  // REQUIRES: no event is spread over rows, and none is a whole row.
  KeyGroups(const ScanInput& input, std::vector<KeyRange> ranges, const TimeRange& time,
            std::optional<GroupKey> start = std::nullopt);
  Result<bool> Next() override;

 private:
  std::optional<GroupKey> start_;
  PartScan scan_;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_SCAN_EVENT_GROUPS_H_
