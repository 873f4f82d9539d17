#include "config/schema/key_walk.h"

#include <algorithm>

#include "config/values/digits.h"

namespace tallyd {
namespace {

constexpr std::string_view kFieldsParameter = "fields";

bool Descends(const Segment& segment) { return segment.spec.info().descends; }

bool IsSortedTime(const Segment& segment) { return segment.is_time && segment.spec.sorts_by_time; }

// How far a message counts.
constexpr size_t kCountedPeriods = 1'000'000;

bool IsOpenBefore(const TimeRange& window) { return window.from <= 0; }
bool IsOpenAfter(const TimeRange& window) { return window.to > kMaxTimeUs; }

}  // namespace

KeyWalk::KeyWalk(const RowKeyTemplate& row_key, const KnownFields& known, TimeUnit unit)
    : row_key_(row_key), segments_(row_key.segments()), known_(known), unit_(unit) {
  TimeRange window;
  window.from = std::max(window.from, known.time.from);
  window.to = std::min(window.to, known.time.to);
  branches_.push_back({"", window, {}});
}

Result<KeyRanges> KeyWalk::Run() {
  if (known_.series != nullptr) BeginWithSeries();
  for (; at_ < segments_.size() && !branches_.empty(); ++at_) {
    const Result<Next> next = Step(segments_[at_]);
    if (!next) return next.error();
    if (*next == Next::kEnd) break;
  }
  return Finish();
}

// A branch for each series, which stands for all that comes before the time.
void KeyWalk::BeginWithSeries() {
  const TimeRange window = branches_.front().window;
  branches_.clear();
  branches_.reserve(known_.series->size());
  for (const std::string& series : *known_.series) branches_.push_back({series, window, {}});
  for (; at_ < segments_.size() && !segments_[at_].ends_stem(); ++at_) {
    if (!segments_[at_].is_literal() && !segments_[at_].is_salt()) Bound();
  }
  found_.bounded = true;
}

Result<KeyWalk::Next> KeyWalk::Step(const Segment& segment) {
  if (segment.is_literal()) {
    for (Branch& branch : branches_) branch.prefix += segment.literal;
    return Next::kGoOn;
  }
  if (IsOpenSalt(segment)) return StepSalt(segment);
  if (segment.is_time) return StepTime(segment);
  const Values* values = FindValues(segment);
  return values == nullptr ? Next::kEnd : StepField(segment, *values);
}

// Also of salts, which are computed from the values.
Result<KeyWalk::Next> KeyWalk::StepField(const Segment& segment, const Values& values) {
  if (!segment.is_salt()) Bound();
  const bool named_again =
      std::any_of(segments_.begin() + static_cast<std::ptrdiff_t>(at_) + 1, segments_.end(),
                  [&segment](const Segment& later) {
                    return !later.is_labels && later.field == segment.field;
                  });
  std::vector<Branch> longer;
  for (const Branch& branch : branches_) {
    const auto taken = std::ranges::find(branch.taken, std::string_view(segment.field),
                                         &decltype(branch.taken)::value_type::first);
    for (const std::string& text : values) {
      if (taken != branch.taken.end() && taken->second != text) continue;
      Branch next = branch;
      const Value value = segment.spec.is_time() ? ValueFromText(text) : Value::String(text);
      // No event has a value that the segment refuses.
      if (!row_key_.AppendSegment(segment, value, 0, unit_, &next.prefix)) continue;
      if (named_again && taken == branch.taken.end()) next.taken.emplace_back(segment.field, text);
      longer.push_back(std::move(next));
    }
    if (longer.size() > kMaxRanges) return TooMany(branches_.size() * values.size());
  }
  branches_ = std::move(longer);
  return Next::kGoOn;
}

Result<KeyWalk::Next> KeyWalk::StepSalt(const Segment& segment) {
  if (!SaltPays()) return Next::kEnd;
  const size_t count = branches_.size() * segment.spec.n;
  if (count > kMaxRanges) return TooMany(count);
  std::vector<Branch> longer;
  longer.reserve(count);
  for (const Branch& branch : branches_) {
    for (uint32_t salt = 1; salt <= segment.spec.n; ++salt) {
      longer.push_back(branch);
      AppendNumber(salt, &longer.back().prefix);
    }
  }
  branches_ = std::move(longer);
  return Next::kGoOn;
}

Result<KeyWalk::Next> KeyWalk::StepTime(const Segment& segment) {
  const TimeRange& window = branches_.front().window;
  if (!segment.spec.bounds_time || window.is_open()) return Next::kEnd;
  if (segment.spec.sorts_by_time) {
    if (KnownFollows() &&
        CountPeriods(segment.spec, kMaxRanges + 1) * FanOutAfter() <= kMaxRanges) {
      return ListPeriods(segment);
    }
    Bound();
    EndInTimeRanges();
    return Next::kEnd;
  }
  const size_t periods = CountPeriods(segment.spec, kCountedPeriods);
  if (periods <= kMaxRanges) return ListPeriods(segment);
  // Too many to list, but the entity bounds the query, or the missing side of the time would.
  if (found_.bounded || IsOpenBefore(window) || IsOpenAfter(window)) return Next::kEnd;
  return TooMany(periods);
}

Result<KeyWalk::Next> KeyWalk::ListPeriods(const Segment& segment) {
  Bound();
  std::vector<Branch> longer;
  for (const Branch& branch : branches_) {
    for (TimeUs t = branch.window.from; t < branch.window.to;) {
      const TimeRange period = PeriodOf(segment.spec, t);
      Branch next = branch;
      AppendTimeSpec(segment.spec, t, &next.prefix);
      next.window.from = t;
      next.window.to = std::min(branch.window.to, period.to);
      longer.push_back(std::move(next));
      t = period.to;
    }
  }
  branches_ = std::move(longer);
  return Next::kGoOn;
}

void KeyWalk::Bound() {
  found_.bounded = true;
  ++found_.bounds;
}

void KeyWalk::EndInTimeRanges() {
  for (const Branch& branch : branches_) found_.ranges.push_back(TimeRangeOf(branch));
}

// Later segments that sort the same way narrow it further: {ts:day}#{ts:ms} compares as a pair.
KeyRange KeyWalk::TimeRangeOf(const Branch& branch) const {
  const bool descends = Descends(segments_[at_]);
  const TimeRange& window = branch.window;
  std::string first = branch.prefix;
  std::string last = branch.prefix;
  for (size_t i = at_; i < segments_.size(); ++i) {
    const Segment& segment = segments_[i];
    if (segment.is_literal()) {
      first += segment.literal;
      last += segment.literal;
      continue;
    }
    if (!IsSortedTime(segment) || Descends(segment) != descends) break;
    AppendTimeSpec(segment.spec, descends ? window.to - 1 : window.from, &first);
    AppendTimeSpec(segment.spec, descends ? window.from : window.to - 1, &last);
  }
  const bool open_below = descends ? IsOpenAfter(window) : IsOpenBefore(window);
  const bool open_above = descends ? IsOpenBefore(window) : IsOpenAfter(window);
  return {open_below ? branch.prefix : first, PrefixEnd(open_above ? branch.prefix : last)};
}

// ---- What is known ----

const KeyWalk::Values* KeyWalk::FindValues(const Segment& segment) const {
  if (segment.is_labels) return nullptr;
  const auto found = known_.values.find(segment.field);
  return found == known_.values.end() ? nullptr : &found->second;
}

// A salt of the time cannot be computed from a range of it.
bool KeyWalk::IsOpenSalt(const Segment& segment) const {
  return segment.is_salt() && (segment.of_time_field || FindValues(segment) == nullptr);
}

size_t KeyWalk::NextPlaceholder(size_t from) const {
  while (from < segments_.size() && (segments_[from].is_literal() || IsOpenSalt(segments_[from]))) {
    ++from;
  }
  return from;
}

// Whether the rows of one branch that ends at `segment` come in order of time.
bool KeyWalk::TimeVariesFrom(size_t segment) const {
  const bool descends = segment < segments_.size() && Descends(segments_[segment]);
  return std::all_of(segments_.begin() + static_cast<std::ptrdiff_t>(segment), segments_.end(),
                     [descends](const Segment& later) {
                       return later.is_literal() ||
                              (IsSortedTime(later) && Descends(later) == descends);
                     });
}

// Whether a segment after this time segment narrows each of its periods.
bool KeyWalk::KnownFollows() const {
  const size_t next = NextPlaceholder(at_ + 1);
  return next < segments_.size() && !segments_[next].is_time &&
         FindValues(segments_[next]) != nullptr;
}

// Whether one range for each of n salts is better than one over all of them.
bool KeyWalk::SaltPays() const {
  const size_t next = NextPlaceholder(at_ + 1);
  if (next == segments_.size()) return false;
  const Segment& segment = segments_[next];
  if (!segment.is_time) return FindValues(segment) != nullptr;
  const bool narrows = segment.spec.bounds_time && !branches_.front().window.is_open();
  return narrows || TimeVariesFrom(next);
}

// The periods of all branches, counted no further than `limit`.
size_t KeyWalk::CountPeriods(const Spec& spec, size_t limit) const {
  size_t count = 0;
  for (const Branch& branch : branches_) {
    for (TimeUs t = branch.window.from; t < branch.window.to; t = PeriodOf(spec, t).to) {
      if (++count >= limit) return count;
    }
  }
  return count;
}

// How many branches the segments after this one make of each.
size_t KeyWalk::FanOutAfter() const {
  size_t count = 1;
  for (size_t i = at_ + 1; i < segments_.size() && count <= kMaxRanges; ++i) {
    const Segment& segment = segments_[i];
    if (segment.is_literal()) continue;
    const Values* values = FindValues(segment);
    if (IsOpenSalt(segment)) {
      count *= segment.spec.n;
    } else if (segment.is_time || values == nullptr) {
      break;
    } else {
      count *= std::max<size_t>(values->size(), 1);
    }
  }
  return count;
}

// ---- The ranges ----

KeyRanges KeyWalk::Finish() {
  if (found_.ranges.empty()) {
    const bool whole_key = at_ == segments_.size();
    for (const Branch& branch : branches_) {
      found_.ranges.push_back(whole_key ? KeyRange{branch.prefix, branch.prefix + '\0'}
                                        : PrefixRange(branch.prefix));
    }
  }
  found_.time_ordered = TimeVariesFrom(at_);
  found_.time_descends = at_ < segments_.size() && Descends(segments_[at_]);
  if (!found_.bounded) found_.would_bound = WouldBound();
  return std::move(found_);
}

// The first segment that is neither text nor salt: had it been known, it would have bounded.
std::vector<std::string> KeyWalk::WouldBound() const {
  const auto segment = std::ranges::find_if(segments_, [](const Segment& candidate) {
    return !candidate.is_literal() && !candidate.is_salt();
  });
  // A label of several in one placeholder bounds no range by itself.
  if (segment == segments_.end() || segment->is_labels) return {};
  if (segment->is_time) {
    std::vector<std::string> sides;
    if (!segment->spec.bounds_time) return sides;
    if (IsOpenBefore(known_.time)) sides.push_back("from");
    if (IsOpenAfter(known_.time)) sides.push_back("to");
    return sides;
  }
  return {std::string(segment->field == kFieldPlaceholder ? kFieldsParameter : segment->field)};
}

Error KeyWalk::TooMany(size_t ranges) const {
  std::string narrower;
  for (const Segment& segment : segments_) {
    const Values* values = FindValues(segment);
    if (segment.is_literal() || values == nullptr || values->size() < 2) continue;
    narrower += "fewer values of " + segment.field + ", ";
  }
  narrower += "a shorter range of time";
  std::string message = "the query needs " + std::to_string(ranges) + " key ranges of ";
  message.append(row_key_.text()).append(", at most ").append(std::to_string(kMaxRanges));
  message.append(" are read at once; it takes ").append(narrower);
  return Error(ErrorCode::kUnprocessable, std::move(message));
}

}  // namespace tallyd
