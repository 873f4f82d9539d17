#include "service/query/scan/event_stream.h"

#include <algorithm>
#include <utility>

namespace tallyd {

EventScan::EventScan(std::unique_ptr<GroupSource> groups, EventFilter* filter, bool descending,
                     const std::optional<EventPosition>& start)
    : groups_(std::move(groups)), filter_(filter), descending_(descending), start_(start) {}

Result<bool> EventScan::NextGroup() {
  if (std::exchange(had_group_, true)) {
    const GroupKeyView& key = groups_->group().key;
    last_.time = key.time;
    last_.tie.assign(key.tie);
    last_.emitted = static_cast<int64_t>(taken_);
  }
  const Result<bool> more = groups_->Next();
  if (!more || !*more) return more;
  in_group_ = true;
  taken_ = 0;
  if (start_) {
    const GroupKeyView& key = groups_->group().key;
    const bool same = key.time == start_->time && key.tie == start_->tie;
    const size_t emitted = same ? static_cast<size_t>(start_->emitted) : 0;
    taken_ = std::min(emitted, groups_->group().events.size());
    start_.reset();
  }
  return true;
}

Result<bool> EventScan::Next() {
  while (true) {
    if (!in_group_) {
      const Result<bool> more = NextGroup();
      if (!more || !*more) return more;
    }
    const EventGroup& group = groups_->group();
    if (taken_ == group.events.size()) {
      in_group_ = false;
      continue;
    }
    const size_t index = descending_ ? group.events.size() - 1 - taken_ : taken_;
    ++taken_;
    if (filter_ != nullptr && !filter_->AcceptsRest(group.events[index])) continue;
    event_ = {group.TimeOf(index), group.events[index]};
    return true;
  }
}

EventPosition EventScan::Position() const {
  if (!in_group_) return last_;
  const GroupKeyView& key = groups_->group().key;
  return {key.time, std::string(key.tie), static_cast<int64_t>(taken_)};
}

}  // namespace tallyd
