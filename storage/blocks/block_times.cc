#include "storage/blocks/block_times.h"

#include <algorithm>

#include "config/values/aggregate.h"
#include "config/values/integers.h"
#include "storage/bytes/coding.h"

namespace tallyd {
namespace {

// In microseconds. DO NOT CHANGE THESE VALUES: they are stored.
constexpr int64_t kTimeUnits[] = {1, 1000, 1'000'000};

// By a constant, which takes no division. False, and nothing was done: it does not divide all.
template <int64_t kUnit>
bool DivideExactly(std::span<TimeUs> times) {
  if (!std::ranges::all_of(times, [](TimeUs time) { return time % kUnit == 0; })) return false;
  for (TimeUs& time : times) time /= kUnit;
  return true;
}

bool RunsAscend(std::span<const KeyRun> runs, std::span<const TimeUs> times) {
  return std::ranges::all_of(runs, [&](const KeyRun& run) {
    return Ascend(times.subspan(run.begin, run.end - run.begin));
  });
}

}  // namespace

int64_t DivideByUnit(std::span<TimeUs> times) {
  if (DivideExactly<kTimeUnits[2]>(times)) return kTimeUnits[2];
  if (DivideExactly<kTimeUnits[1]>(times)) return kTimeUnits[1];
  return kTimeUnits[0];
}

bool BlockTimes::Read(std::string_view section, std::span<const KeyRun> runs, uint32_t entries) {
  entries_ = entries;
  has_all_ = false;
  stretches_.clear();
  ByteReader in(section);
  uint64_t stored = 0;
  if (!in.GetVarint(&stored) ||
      std::ranges::find(kTimeUnits, static_cast<int64_t>(stored)) == std::ranges::end(kTimeUnits)) {
    return false;
  }
  const auto unit = static_cast<int64_t>(stored);
  if (ReadEvenInts(&in, entries, &stored_)) {
    if (!ReadStretches(unit) || !in.done()) return false;
    runs_ascend_ = EvenRunsAscend(runs);
    return true;
  }
  if (room_.size() < entries) room_.resize(entries);
  const std::span<TimeUs> times = std::span(room_).first(entries);
  Extremes within;
  if (!ReadInts(&in, times, &within) || !in.done()) return false;
  const int64_t most = kMaxTimeUs / unit;
  const bool is_known = within.least >= 0 && within.greatest <= most;
  if (!is_known && !LieWithin(times, 0, most)) return false;
  if (unit > 1) MultiplyAll(times, unit);
  has_all_ = true;
  runs_ascend_ = RunsAscend(runs, times);
  return true;
}

// False where one is none.
bool BlockTimes::ReadStretches(int64_t unit) {
  const Int128 most = kMaxTimeUs / unit;
  uint32_t at = 0;
  for (const EvenInts& stored : stored_) {
    const Int128 last = stored.first + Int128{stored.step} * (stored.count - 1);
    if (stored.first < 0 || stored.first > most || last < 0 || last > most) return false;
    stretches_.push_back({at, stored.first * unit, stored.count > 1 ? stored.step * unit : 0});
    at += stored.count;
  }
  return true;
}

// Only where two stretches meet, unless one of them does not ascend itself.
bool BlockTimes::EvenRunsAscend(std::span<const KeyRun> runs) const {
  auto run = runs.begin();
  for (size_t i = 0; i < stretches_.size(); ++i) {
    const Stretch& stretch = stretches_[i];
    if (stored_[i].count > 1 && stretch.step <= 0) return RunsAscend(runs, All());
    if (i > 0 && stretch.first <= In(stretches_[i - 1], stretch.begin - 1)) {
      while (run != runs.end() && run->begin < stretch.begin) ++run;
      if (run == runs.end() || run->begin != stretch.begin) return false;
    }
  }
  return true;
}

const BlockTimes::Stretch* BlockTimes::StretchOf(uint32_t entry) const {
  const auto after =
      std::ranges::partition_point(stretches_, [&](const Stretch& s) { return s.begin <= entry; });
  return &*std::prev(after);
}

TimeUs BlockTimes::At(uint32_t entry) const {
  return has_all_ ? room_[entry] : In(*StretchOf(entry), entry);
}

std::span<const TimeUs> BlockTimes::All() const {
  if (!has_all_) {
    if (room_.size() < entries_) room_.resize(entries_);
    for (size_t i = 0; i < stretches_.size(); ++i) {
      const Stretch& stretch = stretches_[i];
      FillEvenly(std::span(room_).subspan(stretch.begin, stored_[i].count), stretch.first,
                 stretch.step);
    }
    has_all_ = true;
  }
  return std::span(room_).first(entries_);
}

EntryTimes BlockTimes::Of(uint32_t begin, uint32_t end) const {
  if (!stretches_.empty()) {
    const Stretch* const stretch = StretchOf(begin);
    const bool has_all = stretch == &stretches_.back() || stretch[1].begin >= end;
    if (has_all) return EntryTimes(In(*stretch, begin), stretch->step, end - begin);
  }
  return EntryTimes(All().subspan(begin, end - begin));
}

}  // namespace tallyd
