#include "service/query/scan/event_groups.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tallyd {

GroupKeyView KeyOfPart(const ScanInput& input, const PartScan& scan) {
  const std::string_view tie = input.spreads_events() ? scan.entity() : scan.row_key();
  return {input.whole_rows() ? 0 : scan.time(), tie};
}

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
  for (const size_t scan : current_) {
    for (const EventFragment* fragment : scans_[scan]->fragments()) merger_.Add(fragment->fields);
  }
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
  group_.columns.clear();
  for (const EventFragment* fragment : scan_.fragments()) {
    if (fragment->column) {
      of_columns_.push_back(fragment);
    } else {
      merger_.AddFirstWins(fragment->fields, fragment->time);
    }
  }
  std::ranges::sort(of_columns_, [](const EventFragment* a, const EventFragment* b) {
    return std::tie(a->column->qualifier, a->column->family) <
           std::tie(b->column->qualifier, b->column->family);
  });
  for (const EventFragment* fragment : of_columns_) {
    merger_.AddBesideFirst(fragment->fields, fragment->time);
    group_.times.push_back(fragment->time);
    group_.columns.push_back(*fragment->column);
  }
  group_.events.clear();
  group_.field_times.clear();
  merger_.AppendTo(&group_.events);
  merger_.AppendTimesTo(&group_.field_times);
  group_.key = {0, scan_.row_key()};
  group_.time = scan_.time();
  return true;
}

KeyGroups::KeyGroups(const ScanInput& input, std::vector<KeyRange> ranges, const TimeRange& time,
                     std::optional<GroupKey> start)
    : start_(std::move(start)), scan_(input) {
  if (start_) {
    std::erase_if(ranges, [&](const KeyRange& range) {
      return !range.end.empty() && range.end <= start_->tie;
    });
    if (!ranges.empty()) ranges.front().start = std::max(ranges.front().start, start_->tie);
  }
  scan_.Open(std::move(ranges), time, {});
}

Result<bool> KeyGroups::Next() {
  while (true) {
    const Result<bool> more = scan_.Next();
    if (!more || !*more) return more;
    if (!start_) break;
    if (scan_.row_key() == start_->tie && scan_.time() < start_->time) continue;
    start_.reset();
    break;
  }
  group_.events.clear();
  for (const EventFragment* fragment : scan_.fragments()) {
    group_.events.emplace_back(fragment->fields);
  }
  group_.key = {scan_.time(), scan_.row_key()};
  group_.time = scan_.time();
  return true;
}

}  // namespace tallyd
