#include "service/query/run/top_events.h"

#include <algorithm>
#include <utility>

#include "service/query/steps/exact.h"

namespace tallyd {

bool TopEvents::Precedes(const EventPosition& a, const EventPosition& b) const {
  const GroupLess less{spec_.descending};
  const GroupKeyView first{a.time, a.tie};
  const GroupKeyView second{b.time, b.tie};
  if (less(first, second)) return true;
  return !less(second, first) && a.emitted < b.emitted;
}

bool TopEvents::Outranks(const Kept& a, const Kept& b) const {
  const long double first = Exactly(a.number);
  const long double second = Exactly(b.number);
  if (first != second) return first > second;
  return spec_.descending ? Precedes(b.position, a.position) : Precedes(a.position, b.position);
}

void TopEvents::Take(const Value& number, const EventStream& events) {
  const bool full = kept_.size() == spec_.count;
  if (full && Exactly(number) < Exactly(kept_.front().number)) return;
  Kept kept{number, events.event().time, events.Position(), HeldEvent()};
  if (full && !Outranks(kept, kept_.front())) return;
  const auto outranks = [this](const Kept& a, const Kept& b) { return Outranks(a, b); };
  kept.event = HeldEvent(events.event().fields);
  held_bytes_ += kept.event.bytes();
  if (full) {
    std::ranges::pop_heap(kept_, outranks);
    held_bytes_ -= kept_.back().event.bytes();
    kept_.pop_back();
  }
  kept_.push_back(std::move(kept));
  std::ranges::push_heap(kept_, outranks);
}

Status TopEvents::TakeAll(EventStream* events) {
  while (true) {
    const Result<bool> more = events->Next();
    if (!more) return more.error();
    if (!*more) break;
    const auto fields = events->event().fields;
    const auto found = std::ranges::find(fields, spec_.field, &EventField::field);
    if (found != fields.end() && found->value.is_number()) Take(found->value, *events);
    if (!charge_.Covers(2 * held_bytes_)) return charge_.refusal();
    if (held_bytes_ > kPageBytes) {
      return Error(
          ErrorCode::kUnprocessable,
          "top: the events with the greatest numbers are too large to hold; ask for fewer, "
          "or for fewer fields");
    }
  }
  if (spec_.start) {
    std::erase_if(kept_, [&](const Kept& kept) { return !Precedes(*spec_.start, kept.position); });
  }
  std::ranges::sort(
      kept_, [this](const Kept& a, const Kept& b) { return Precedes(a.position, b.position); });
  return {};
}

Result<bool> TopEvents::Next() {
  if (next_ == kept_.size()) return false;
  const Kept& kept = kept_[next_++];
  event_ = {kept.time, kept.event.fields()};
  return true;
}

}  // namespace tallyd
