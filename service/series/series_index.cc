#include "service/series/series_index.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace tallyd {
namespace {

bool Contains(const KeyRange& range, std::string_view key) {
  return range.start <= key && (range.end.empty() || key < range.end);
}

bool AnyContains(std::span<const KeyRange> ranges, std::string_view key) {
  const auto behind = std::ranges::upper_bound(ranges, key, {}, [](const KeyRange& range) {
    return std::string_view(range.start);
  });
  return behind != ranges.begin() && Contains(*std::prev(behind), key);
}

// Both ascend.
std::vector<SeriesSet::Id> Both(std::span<const SeriesSet::Id> few,
                                std::span<const SeriesSet::Id> many) {
  std::vector<SeriesSet::Id> both;
  auto at = many.begin();
  for (const SeriesSet::Id id : few) {
    at = std::lower_bound(at, many.end(), id);
    if (at == many.end()) break;
    if (*at == id) both.push_back(id);
  }
  return both;
}

}  // namespace

void SeriesIndex::TermsOf(std::string_view series, std::vector<uint64_t>* terms) const {
  thread_local std::string scratch;
  thread_local std::vector<KeyField> fields;
  if (!keys_.Read(series, &scratch, &fields)) return;
  std::string text;
  for (const KeyField& field : fields) {
    if (field.value.is_null()) continue;
    text.clear();
    AppendText(field.value, &text);
    const uint64_t term = TermOf(keys_.NameOf(field), text);
    if (std::ranges::find(*terms, term) == terms->end()) terms->push_back(term);
  }
}

SeriesIndex::Entry SeriesIndex::Admit(std::string_view series, uint64_t most) {
  {
    const std::shared_lock lock(mutex_);
    const auto id = set_.Find(series);
    if (id && IsSettled(*id)) [[likely]]
      return {};
  }
  std::vector<uint64_t> terms;
  TermsOf(series, &terms);
  const std::unique_lock lock(mutex_);
  if (const auto id = set_.Find(series)) {
    if (IsDoubted(*id)) doubts_[*id] = DoubtOf::kAdmitted;
    const auto pending = pending_.find(*id);
    if (pending == pending_.end()) return {};
    ++pending->second;
    ++unsettled_;
    return {Admitted::kReserved, *id};
  }
  if (most > 0 && !complete_) return {Admitted::kUncounted};
  if (most > 0 && set_.size() >= most) return {Admitted::kFull};
  const SeriesSet::Id id = set_.Add(series, terms);
  if (id < doubts_.size()) doubts_[id] = DoubtOf::kNone;
  pending_[id] = 1;
  ++unsettled_;
  return {Admitted::kReserved, id};
}

void SeriesIndex::Settle(std::span<const SeriesSet::Id> reserved, bool stays) {
  const std::unique_lock lock(mutex_);
  unsettled_ -= reserved.size();
  for (const SeriesSet::Id id : reserved) {
    const auto pending = pending_.find(id);
    if (pending == pending_.end()) continue;  // Somebody else's commit brought it.
    if (!stays && --pending->second > 0) continue;
    pending_.erase(pending);
    if (!stays) set_.Remove(id);
  }
}

std::optional<SeriesIndex::Found> SeriesIndex::Match(std::span<const KeyRange> ranges,
                                                     std::span<const SeriesFilter> filters,
                                                     size_t limit) const {
  if (std::ranges::none_of(filters, &SeriesFilter::has_terms)) {
    return MatchEach(ranges, filters, limit);
  }
  Found found;
  {
    const std::shared_lock lock(mutex_);
    if (!complete_) return std::nullopt;
    for (const SeriesSet::Id id : Candidates(filters)) {
      AddIfMatches(id, ranges, filters, limit, &found);
      if (!found.are_all) break;
    }
  }
  std::ranges::sort(found.series);
  return found;
}

void SeriesIndex::AddIfMatches(SeriesSet::Id id, std::span<const KeyRange> ranges,
                               std::span<const SeriesFilter> filters, size_t limit,
                               Found* found) const {
  if (!set_.is_live(id)) return;
  const std::string_view series = set_.text(id);
  if (!AnyContains(ranges, series) || !Matches(series, filters)) return;
  found->are_all = found->series.size() < limit;
  if (found->are_all) found->series.emplace_back(series);
}

// What comes meanwhile may be missed, as by any reading that begins now.
std::optional<SeriesIndex::Found> SeriesIndex::MatchEach(std::span<const KeyRange> ranges,
                                                         std::span<const SeriesFilter> filters,
                                                         size_t limit) const {
  Found found;
  uint64_t numberings = 0;
  for (SeriesSet::Id id = 0;;) {
    const std::shared_lock lock(mutex_);
    if (!complete_) return std::nullopt;
    if (numberings_ != numberings || id == 0) {
      numberings = numberings_;
      found = {};
      id = 0;
    }
    const SeriesSet::Id end = std::min(set_.end(), id + kPiece);
    for (; id < end && found.are_all; ++id) AddIfMatches(id, ranges, filters, limit, &found);
    if (id == set_.end() || !found.are_all) break;
  }
  std::ranges::sort(found.series);
  return found;
}

// Ascending; all that match, and maybe others.
std::vector<SeriesSet::Id> SeriesIndex::Candidates(std::span<const SeriesFilter> filters) const {
  std::vector<std::vector<SeriesSet::Id>> with;
  for (const SeriesFilter& filter : filters) {
    if (filter.has_terms()) with.push_back(WithAny(filter));
  }
  std::ranges::sort(with, {}, &std::vector<SeriesSet::Id>::size);
  if (with.empty()) return {};
  std::vector<SeriesSet::Id> all = std::move(with.front());
  for (size_t i = 1; i < with.size(); ++i) all = Both(all, with[i]);
  return all;
}

std::vector<SeriesSet::Id> SeriesIndex::WithAny(const SeriesFilter& filter) const {
  std::vector<SeriesSet::Id> any;
  for (const std::string& value : filter.values) {
    const std::span<const SeriesSet::Id> with = set_.With(TermOf(filter.field, value));
    any.insert(any.end(), with.begin(), with.end());
  }
  if (filter.values.size() == 1) return any;
  std::ranges::sort(any);
  any.erase(std::ranges::unique(any).begin(), any.end());
  return any;
}

bool SeriesIndex::Matches(std::string_view series, std::span<const SeriesFilter> filters) const {
  thread_local std::string scratch;
  thread_local std::vector<KeyField> fields;
  return keys_.Read(series, &scratch, &fields) && MatchesAll(keys_, fields, filters);
}

size_t SeriesIndex::size() const {
  const std::shared_lock lock(mutex_);
  return set_.size();
}

size_t SeriesIndex::bytes() const {
  const std::shared_lock lock(mutex_);
  return set_.bytes();
}

bool SeriesIndex::is_complete() const {
  const std::shared_lock lock(mutex_);
  return complete_;
}

void SeriesIndex::AddFound(std::string_view series) {
  std::vector<uint64_t> terms;
  TermsOf(series, &terms);
  const std::unique_lock lock(mutex_);
  if (const auto id = set_.Find(series)) {
    pending_.erase(*id);  // It has a row, whatever becomes of who reserved it.
  } else {
    set_.Add(series, terms);
  }
}

void SeriesIndex::SetComplete() {
  const std::unique_lock lock(mutex_);
  complete_ = true;
}

void SeriesIndex::Doubt(std::span<const KeyRange> ranges) {
  for (SeriesSet::Id from = 0;; from += kPiece) {
    const std::unique_lock lock(mutex_);
    if (from == 0) doubts_.assign(set_.end(), DoubtOf::kNone);
    const SeriesSet::Id end = std::min(from + kPiece, static_cast<SeriesSet::Id>(doubts_.size()));
    for (SeriesSet::Id id = from; id < end; ++id) {
      if (set_.is_live(id) && AnyContains(ranges, set_.text(id))) doubts_[id] = DoubtOf::kDoubted;
    }
    if (end == doubts_.size()) return;
  }
}

void SeriesIndex::ClearDoubt(std::string_view series) {
  const std::unique_lock lock(mutex_);
  const auto id = set_.Find(series);
  if (id && *id < doubts_.size()) doubts_[*id] = DoubtOf::kNone;
}

void SeriesIndex::EndDoubt(bool drop, std::vector<KeyRange>* again) {
  for (SeriesSet::Id from = 0; drop; from += kPiece) {
    const std::unique_lock lock(mutex_);
    const SeriesSet::Id end = std::min(from + kPiece, static_cast<SeriesSet::Id>(doubts_.size()));
    for (SeriesSet::Id id = from; id < end; ++id) {
      if (doubts_[id] == DoubtOf::kNone || !set_.is_live(id) || pending_.contains(id)) continue;
      if (doubts_[id] == DoubtOf::kAdmitted) {
        again->push_back(keys_.RangeOf(set_.text(id)));
      } else {
        set_.Remove(id);
      }
      doubts_[id] = DoubtOf::kNone;
    }
    if (end == doubts_.size()) break;
  }
  const std::unique_lock lock(mutex_);
  doubts_.clear();
  if (unsettled_ == 0 && set_.wants_compaction()) {
    ++numberings_;
    set_.Compact([this](std::string_view series, std::vector<uint64_t>* terms) {
      TermsOf(series, terms);
    });
  }
}

}  // namespace tallyd
