#include "storage/blocks/block_times.h"

#include <algorithm>
#include <ranges>

#include "config/values/aggregate.h"
#include "config/values/integers.h"
#include "storage/bytes/coding.h"

namespace tallyd {
namespace {

// In microseconds. DO NOT CHANGE THESE VALUES: they are stored.
constexpr int64_t kTimeUnits[] = {1, 1000, 1'000'000};

bool RunsAscend(std::span<const KeyRun> runs, std::span<const TimeUs> times) {
  return std::ranges::all_of(runs, [&](const KeyRun& run) {
    return Ascend(times.subspan(run.begin, run.end - run.begin));
  });
}

}  // namespace

int64_t TimeUnitOf(std::span<const TimeUs> times) {
  const auto divides_all = [&](int64_t unit) {
    return std::ranges::all_of(times, [unit](int64_t time) { return time % unit == 0; });
  };
  return *std::ranges::find_if(std::views::reverse(kTimeUnits), divides_all);
}

bool BlockTimeReader::Read(std::string_view section, std::span<const KeyRun> runs,
                           std::span<TimeUs> times, bool* runs_ascend) {
  ByteReader in(section);
  uint64_t stored = 0;
  if (!in.GetVarint(&stored) ||
      std::ranges::find(kTimeUnits, static_cast<int64_t>(stored)) == std::ranges::end(kTimeUnits)) {
    return false;
  }
  const auto unit = static_cast<int64_t>(stored);
  if (ReadEvenInts(&in, times.size(), &stretches_)) {
    if (!in.done() || !Fill(unit, times)) return false;
    *runs_ascend = EvenRunsAscend(runs, times);
    return true;
  }
  Extremes within;
  if (!ReadInts(&in, times, &within) || !in.done()) return false;
  const int64_t most = kMaxTimeUs / unit;
  const bool is_known = within.least >= 0 && within.greatest <= most;
  if (!is_known && !LieWithin(times, 0, most)) return false;
  if (unit > 1) MultiplyAll(times, unit);
  *runs_ascend = RunsAscend(runs, times);
  return true;
}

// False where one is none.
bool BlockTimeReader::Fill(int64_t unit, std::span<TimeUs> times) const {
  const Int128 most = kMaxTimeUs / unit;
  size_t at = 0;
  for (const EvenInts& stretch : stretches_) {
    const Int128 last = stretch.first + Int128{stretch.step} * (stretch.count - 1);
    if (stretch.first < 0 || stretch.first > most || last < 0 || last > most) return false;
    const int64_t step = stretch.count > 1 ? stretch.step * unit : 0;
    FillEvenly(times.subspan(at, stretch.count), stretch.first * unit, step);
    at += stretch.count;
  }
  return true;
}

// Only where two stretches meet, unless one of them does not ascend itself.
bool BlockTimeReader::EvenRunsAscend(std::span<const KeyRun> runs,
                                     std::span<const TimeUs> times) const {
  size_t at = 0;
  auto run = runs.begin();
  for (const EvenInts& stretch : stretches_) {
    if (stretch.count > 1 && stretch.step <= 0) return RunsAscend(runs, times);
    if (at > 0 && times[at] <= times[at - 1]) {
      while (run != runs.end() && run->begin < at) ++run;
      if (run == runs.end() || run->begin != at) return false;
    }
    at += stretch.count;
  }
  return true;
}

}  // namespace tallyd
