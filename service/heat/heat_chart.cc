#include "service/heat/heat_chart.h"

#include <algorithm>
#include <utility>

namespace tallyd {

// By range.
std::vector<bool> ChartMaker::ToldOf(const HeatChunk& chunk) const {
  std::vector<bool> told(chunk.ranges.size(), !is_told_);
  if (!is_told_ || chunk.is_partition) return told;
  for (size_t i = 0; i < told.size(); ++i) told[i] = is_told_(chunk.ranges[i]);
  return told;
}

void ChartMaker::Learn(const HeatChunk& chunk) {
  std::vector<uint64_t> rows(chunk.ranges.size());
  const std::vector<bool> told = ToldOf(chunk);
  for (const HeatMinute& minute : chunk.minutes) {
    if (!Contains(minute.minute)) continue;
    bool is_seen = !is_told_;
    for (const HeatCell& cell : minute.cells) {
      if (!told[cell.range]) continue;
      rows[cell.range] += cell.rows;
      is_seen = true;
    }
    if (!is_seen) continue;
    first_seen_ = any_ ? std::min(first_seen_, minute.minute) : minute.minute;
    last_seen_ = any_ ? std::max(last_seen_, minute.minute) : minute.minute;
    any_ = true;
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] == 0) continue;
    chart_.is_partition = chart_.is_partition || chunk.is_partition;
    Piece& piece =
        pieces_.try_emplace(chunk.ranges[i].start, Piece{chunk.ranges[i].end, 0}).first->second;
    piece.rows += rows[i];
  }
}

void ChartMaker::Arrange() {
  HeatChunk all;
  all.minutes.emplace_back();
  for (const auto& [start, piece] : pieces_) {
    const auto number = static_cast<uint32_t>(all.ranges.size());
    const auto rows = static_cast<uint32_t>(std::min<uint64_t>(piece.rows, UINT32_MAX >> 10));
    all.ranges.push_back({start, piece.end});
    all.minutes.front().cells.push_back({number, rows, 0});
  }
  pieces_.clear();
  Coarsen(&all, kMaxHeatRanges);
  chart_.ranges = std::move(all.ranges);
  if (chart_.is_partition) {
    for (size_t i = 0; i + 1 < chart_.ranges.size(); ++i) {
      chart_.ranges[i].end = chart_.ranges[i + 1].start;
    }
    chart_.ranges.back().end.clear();
  }
  if (!any_) return;
  chart_.first_minute = first_seen_;
  chart_.minutes = static_cast<size_t>(last_seen_ - first_seen_ + 1);
  chart_.rows.resize(chart_.ranges.size() * chart_.minutes);
  chart_.totals.resize(chart_.ranges.size());
  chart_.at_ends.resize(chart_.ranges.size());
}

// The last range that starts there or before.
size_t ChartMaker::PlaceOf(const std::string& start) const {
  const auto behind = std::upper_bound(
      chart_.ranges.begin(), chart_.ranges.end(), start,
      [](const std::string& sought, const KeyRange& range) { return sought < range.start; });
  return behind == chart_.ranges.begin() ? 0
                                         : static_cast<size_t>(behind - chart_.ranges.begin()) - 1;
}

void ChartMaker::Count(const HeatChunk& chunk) {
  if (chart_.ranges.empty()) return;
  std::vector<size_t> places;
  for (const KeyRange& range : chunk.ranges) places.push_back(PlaceOf(range.start));
  const std::vector<bool> told = ToldOf(chunk);
  for (const HeatMinute& minute : chunk.minutes) {
    const int64_t at = minute.minute - chart_.first_minute;
    if (!Contains(minute.minute) || at < 0 || at >= static_cast<int64_t>(chart_.minutes)) continue;
    for (const HeatCell& cell : minute.cells) {
      if (!told[cell.range]) continue;
      const size_t place = places[cell.range];
      chart_.rows[place * chart_.minutes + static_cast<size_t>(at)] += cell.rows;
      chart_.totals[place] += cell.rows;
      chart_.at_ends[place] += cell.at_end;
    }
  }
}

}  // namespace tallyd
