#include "api/query/scan/event_groups.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "api/answer.h"
#include "api/query/ask/ranges_within.h"

namespace tallyd {
namespace {

// What a group costs beside its fields: a map's node, its key, the vectors.
constexpr size_t kGroupOverhead = 200;

GroupKeyView KeyOfPart(const ScanInput& input, const PartScan& scan) {
  const std::string_view tie = input.spreads_events() ? scan.entity() : scan.row_key();
  return {input.whole_rows() ? 0 : scan.time(), tie};
}

void AddPart(const ScanInput& input, const PartScan& scan, FragmentMerger* merger) {
  for (const EventFragment* fragment : scan.fragments()) {
    if (input.whole_rows()) {
      merger->AddFirstWins(fragment->fields);
    } else {
      merger->Add(fragment->fields);
    }
  }
}

}  // namespace

MergedGroups::MergedGroups(const ScanInput& input, const std::vector<KeyRange>& ranges,
                           bool time_descends, const GroupOptions& options)
    : input_(input), options_(options), less_{options.descending} {
  const ScanDirection direction = {.reverse_rows = options.descending != time_descends,
                                   .oldest_first = !options.descending};
  for (const KeyRange& range : ranges) {
    scans_.push_back(std::make_unique<PartScan>(input));
    scans_.back()->Open({range}, options.time, direction);
  }
}

GroupKeyView MergedGroups::KeyOf(const PartScan& scan) const { return KeyOfPart(input_, scan); }

bool MergedGroups::After(size_t a, size_t b) const {
  return less_(KeyOf(*scans_[b]), KeyOf(*scans_[a]));
}

Status MergedGroups::Advance(size_t scan) {
  while (true) {
    const Result<bool> more = scans_[scan]->Next();
    if (!more) return more.error();
    if (!*more) {
      scans_[scan]->Close();
      return {};
    }
    if (options_.start && less_(KeyOf(*scans_[scan]), options_.start->view())) continue;
    heap_.push_back(scan);
    std::push_heap(heap_.begin(), heap_.end(), [this](size_t a, size_t b) { return After(a, b); });
    return {};
  }
}

// The scans of the last group move only now: its events were views of their rows.
Result<bool> MergedGroups::Next() {
  if (!primed_) {
    for (size_t i = 0; i < scans_.size(); ++i) current_.push_back(i);
    primed_ = true;
  }
  for (const size_t scan : current_) {
    if (Status status = Advance(scan); !status) return status.error();
  }
  current_.clear();
  if (heap_.empty()) return false;
  group_.events.clear();
  merger_.Clear();
  group_.key = KeyOf(*scans_[heap_.front()]);
  group_.time = scans_[heap_.front()]->time();
  while (!heap_.empty() && !less_(group_.key, KeyOf(*scans_[heap_.front()]))) {
    std::pop_heap(heap_.begin(), heap_.end(), [this](size_t a, size_t b) { return After(a, b); });
    current_.push_back(heap_.back());
    heap_.pop_back();
  }
  if (current_.size() == 1) {
    for (const EventFragment* fragment : scans_[current_[0]]->fragments()) {
      group_.events.emplace_back(fragment->fields);
    }
    return true;
  }
  std::sort(current_.begin(), current_.end());
  for (const size_t scan : current_) AddPart(input_, *scans_[scan], &merger_);
  merger_.AppendTo(&group_.events);
  return true;
}

SequentialGroups::SequentialGroups(const ScanInput& input, std::vector<KeyRange> ranges,
                                   const GroupOptions& options)
    : scan_(input) {
  if (options.start) {
    std::erase_if(ranges, [&](const KeyRange& range) {
      return !range.end.empty() && range.end <= options.start->tie;
    });
    if (!ranges.empty()) ranges.front().start = std::max(ranges.front().start, options.start->tie);
  }
  scan_.Open(std::move(ranges), options.time, {});
}

Result<bool> SequentialGroups::Next() {
  const Result<bool> more = scan_.Next();
  if (!more || !*more) return more;
  merger_.Clear();
  of_columns_.clear();
  group_.times.clear();
  for (const EventFragment* fragment : scan_.fragments()) {
    if (fragment->column) {
      of_columns_.push_back(fragment);
    } else {
      merger_.AddFirstWins(fragment->fields);
    }
  }
  std::ranges::sort(of_columns_, [](const EventFragment* a, const EventFragment* b) {
    return std::tie(a->column->qualifier, a->column->family) <
           std::tie(b->column->qualifier, b->column->family);
  });
  for (const EventFragment* fragment : of_columns_) {
    merger_.AddBesideFirst(fragment->fields);
    group_.times.push_back(fragment->time);
  }
  group_.events.clear();
  merger_.AppendTo(&group_.events);
  group_.key = {0, scan_.row_key()};
  group_.time = scan_.time();
  return true;
}

PartGroups::PartGroups(const ScanInput& input, std::vector<KeyRange> ranges, const TimeRange& time)
    : scan_(input) {
  scan_.Open(std::move(ranges), time, {});
}

Result<bool> PartGroups::Next() {
  const Result<bool> more = scan_.Next();
  if (!more || !*more) return more;
  group_.events.clear();
  for (const EventFragment* fragment : scan_.fragments()) {
    group_.events.emplace_back(fragment->fields);
  }
  group_.key = {scan_.time(), scan_.row_key()};
  group_.time = scan_.time();
  return true;
}

GatheredGroups::GatheredGroups(const ScanInput& input, const GroupOptions& options,
                               size_t max_groups)
    : input_(input),
      options_(options),
      max_groups_(max_groups),
      scan_(input),
      held_(GroupLess{options.descending}) {}

Result<bool> GatheredGroups::Next() {
  if (!passed_ || (next_ == held_.end() && bound_)) {
    if (Status status = Pass(); !status) return status.error();
  }
  if (next_ == held_.end()) return false;
  group_.key = next_->first.view();
  group_.time = next_->second.time;
  group_.events.clear();
  next_->second.events.AppendTo(&group_.events);
  ++next_;
  return true;
}

Status GatheredGroups::Pass() {
  if (passed_) options_.start = std::exchange(bound_, std::nullopt);
  passed_ = true;
  held_.clear();
  held_bytes_ = 0;
  TimeRange time = options_.time;
  if (options_.start && !input_.whole_rows()) {
    if (options_.descending) {
      time.to = std::min(time.to, options_.start->time + 1);
    } else {
      time.from = std::max(time.from, options_.start->time);
    }
  }
  Result<std::vector<KeyRange>> ranges = RangesWithin(*input_.plan, input_.unit, time);
  if (!ranges) return ranges.error();
  scan_.Open(std::move(*ranges), time, {});
  while (true) {
    const Result<bool> more = scan_.Next();
    if (!more) return more.error();
    if (!*more) break;
    Keep(scan_);
  }
  scan_.Close();
  next_ = held_.begin();
  return {};
}

void GatheredGroups::Keep(const PartScan& scan) {
  const GroupKeyView key = KeyOfPart(input_, scan);
  const GroupLess& less = held_.key_comp();
  if (options_.start && less(key, options_.start->view())) return;
  if (bound_ && !less(key, bound_->view())) return;
  auto it = held_.find(key);
  if (it == held_.end()) {
    it = held_.emplace(GroupKey{key.time, std::string(key.tie)}, Held{}).first;
    held_bytes_ += kGroupOverhead + key.tie.size();
  }
  Held& held = it->second;
  held.time = std::max(held.time, scan.time());
  for (const EventFragment* fragment : scan.fragments()) {
    held_bytes_ += input_.whole_rows()       ? held.events.AddFirstWins(fragment->fields)
                   : input_.spreads_events() ? held.events.Add(fragment->fields)
                                             : held.events.AddEvent(fragment->fields);
  }
  Evict();
}

// The last groups go first. What is beyond the bound is read again by the next pass; at least one
// group stays, so that every pass gets further.
void GatheredGroups::Evict() {
  while (held_.size() > 1 && (held_.size() > max_groups_ || held_bytes_ > kPageBytes)) {
    const auto last = std::prev(held_.end());
    held_bytes_ -= kGroupOverhead + last->first.tie.size() + last->second.events.bytes();
    bound_ = last->first;
    held_.erase(last);
  }
}

}  // namespace tallyd
