#include "service/query/scan/event_stream.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tallyd {

EventScan::EventScan(std::unique_ptr<GroupSource> groups, EventFilter* filter, bool descending,
                     const std::optional<EventPosition>& start)
    : groups_(std::move(groups)), filter_(filter), descending_(descending), start_(start) {}

Result<bool> EventScan::NextGroup() {
  if (std::exchange(had_group_, true)) last_ = PositionInGroup();
  const Result<bool> more = groups_->Next();
  if (!more || !*more) return more;
  in_group_ = true;
  taken_ = 0;
  if (start_) {
    const GroupKeyView& key = groups_->group().key;
    const bool same = key.time == start_->time && key.tie == start_->tie;
    taken_ = same ? TakenBefore(*start_) : 0;
    start_.reset();
  }
  return true;
}

// How many of the group's events an answer had that ended there.
size_t EventScan::TakenBefore(const EventPosition& start) const {
  const EventGroup& group = groups_->group();
  if (!start.column || group.columns.empty()) {
    return std::min(static_cast<size_t>(start.emitted), group.events.size());
  }
  const auto place = [](const ColumnRef& column) {
    return std::tie(column.qualifier, column.family);
  };
  const ColumnRef last = start.column->ref();
  return static_cast<size_t>(std::ranges::count_if(group.columns, [&](const ColumnRef& column) {
    return descending_ ? place(column) >= place(last) : place(column) <= place(last);
  }));
}

EventPosition EventScan::PositionInGroup() const {
  const EventGroup& group = groups_->group();
  EventPosition position{group.key.time, std::string(group.key.tie), static_cast<int64_t>(taken_)};
  if (taken_ > 0 && !group.columns.empty()) {
    const ColumnRef& last = group.columns[descending_ ? group.columns.size() - taken_ : taken_ - 1];
    position.column = Column{last.family, std::string(last.qualifier)};
  }
  return position;
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
    event_ = {group.TimeOf(index), group.events[index], group.FieldTimesOf(index)};
    return true;
  }
}

EventPosition EventScan::Position() const {
  return in_group_ ? PositionInGroup() : last_;
}

}  // namespace tallyd
