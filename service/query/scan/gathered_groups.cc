#include "service/query/scan/gathered_groups.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "service/query/ask/ranges_within.h"

namespace tallyd {
namespace {

constexpr uint64_t kUsualPartBytes = 512;
constexpr size_t kPartsBetweenLooks = 64;
constexpr uint64_t kLeastEntries = 4096;

}  // namespace

GatheredGroups::GatheredGroups(const ScanInput& input, const GroupOptions& options,
                               size_t max_groups)
    : input_(input),
      options_(options),
      max_groups_(max_groups),
      slice_bytes_(BytesOfSlice(input.memory.get())),
      charge_(input.memory),
      scan_(input),
      slices_(input, options.time, options.descending),
      held_(options.descending),
      part_bytes_(kUsualPartBytes) {}

Result<bool> GatheredGroups::Next() {
  while (next_ == held_.size()) {
    if (done_) return false;
    if (Status status = Pass(); !status) return status.error();
  }
  const HeldParts::Part& first = held_.At(next_);
  group_.key = first.key;
  group_.time = first.time;
  group_.events.clear();
  group_.field_times.clear();
  merger_.Clear();
  const GroupLess less{options_.descending};
  const bool merges = input_.whole_rows() || input_.spreads_events();
  for (; next_ < held_.size() && !less(first.key, held_.At(next_).key); ++next_) {
    const HeldParts::Part& part = held_.At(next_);
    group_.time = std::max(group_.time, part.time);
    if (input_.whole_rows()) {
      merger_.AddFirstWins(part.fields, part.time);
    } else if (merges) {
      merger_.Add(part.fields);
    } else {
      group_.events.emplace_back(part.fields);
    }
  }
  if (merges) merger_.AppendTo(&group_.events);
  if (input_.whole_rows()) merger_.AppendTimesTo(&group_.field_times);
  return true;
}

// Of latest tables the order is that of keys: time tells nothing.
Result<TimeRange> GatheredGroups::NextSlice() {
  if (input_.whole_rows()) return options_.time;
  if (slices_.done()) return TimeRange{0, 0};
  uint64_t most = std::max<uint64_t>(slice_bytes_ / part_bytes_, 1);
  // A slice costs a scan: where filters leave little, a page is not to take thousands of them.
  most = std::min<uint64_t>(most, std::max<uint64_t>(kLeastEntries, max_groups_));
  return slices_.Next(most);
}

Status GatheredGroups::Pass() {
  held_.Clear();
  charge_.Clear();
  next_ = 0;
  const Result<TimeRange> slice = NextSlice();
  if (!slice) return slice.error();
  if (slice->is_empty()) {
    done_ = true;
    return {};
  }
  Result<std::vector<KeyRange>> ranges = RangesWithin(*input_.plan, input_.unit, *slice);
  if (!ranges) return ranges.error();
  scan_.Open(std::move(*ranges), *slice, {});
  uint64_t seen = 0;
  while (true) {
    const Result<bool> more = scan_.Next();
    if (!more) return more.error();
    if (!*more) break;
    ++seen;
    if (Status status = Keep(scan_); !status) return status;
  }
  scan_.Close();
  held_.Sort();
  EndPass(seen);
  return {};
}

void GatheredGroups::EndPass(uint64_t seen) {
  if (held_.size() > 0) part_bytes_ = std::max<uint64_t>(held_.bytes() / held_.size(), 1);
  slices_.Took(seen);
  options_.start = std::exchange(bound_, std::nullopt);
  if (input_.whole_rows()) {
    done_ = !options_.start;
  } else if (options_.start) {
    slices_.GoBackTo(options_.start->time);
  }
}

Status GatheredGroups::Keep(const PartScan& scan) {
  const GroupKeyView key = KeyOfPart(input_, scan);
  const GroupLess less{options_.descending};
  if (options_.start && less(key, options_.start->view())) return {};
  if (bound_ && !less(key, bound_->view())) return {};
  for (const EventFragment* fragment : scan.fragments()) {
    held_.Add(key, fragment->time, fragment->fields);
  }
  const bool is_time = held_.size() % kPartsBetweenLooks == 0;
  const bool is_large = scan.fragments().size() > 1 || scan.fragments()[0]->fields.size() > 256;
  return is_time || is_large || held_.bytes() > slice_bytes_ ? MakeRoom() : Status();
}

// What comes last in the order goes first; at least one group stays, so that every pass gets
// further.
Status GatheredGroups::MakeRoom() {
  const bool has_enough =
      max_groups_ < std::numeric_limits<size_t>::max() / 4 && held_.size() > 2 * max_groups_ + 64;
  if (held_.bytes() > slice_bytes_ || has_enough) {
    if (std::optional<GroupKey> bound = held_.Shrink()) bound_ = std::move(bound);
  }
  if (!charge_.Covers(held_.bytes())) return charge_.refusal();
  return {};
}

}  // namespace tallyd
