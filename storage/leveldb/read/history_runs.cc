#include "storage/leveldb/read/history_runs.h"

#include <algorithm>
#include <span>
#include <utility>

#include "storage/leveldb/env/status.h"

namespace tallyd {
namespace {

// A run of fewer entries is not worth its set-up.
constexpr uint32_t kLeastRun = 2;

}  // namespace

Result<bool> HistoryRuns::Next() {
  is_run_ = false;
  const Result<bool> run = NextRun();
  if (!run) return run;
  if (*run) return is_run_ = true;
  return merge_.NextRow();
}

Result<bool> HistoryRuns::NextRun() {
  const LeaseAccess access(merge_.lease());
  if (!access) return Reopening();
  if (taken_from_ != nullptr) {
    const Status moved = Skip(std::exchange(taken_from_, nullptr), taken_);
    if (!moved) return moved.error();
  }
  while (true) {
    const Result<BlockSource*> source = merge_.RunSource(access, &end_);
    if (!source) return source.error();
    if (*source == nullptr) return false;
    const uint32_t outside = (*source)->LengthOutside(end_, merge_.times());
    if (outside > 0) {
      const Status moved = Skip(*source, outside);
      if (!moved) return moved.error();
      if (access.must_stop()) return Closing();
      continue;
    }
    const uint32_t length = (*source)->RunLength(end_, merge_.times());
    if (length < kLeastRun) return false;
    const Result<const ShapeCells*> cells =
        names_only_ ? (*source)->RunColumns() : (*source)->RunCells();
    if (!cells) return cells.error();
    const Fill fill = FillRun(*source, **cells, length);
    if (fill != Fill::kNothing) return fill == Fill::kRun;
    const Status moved = Skip(*source, length);
    if (!moved) return moved.error();
    if (access.must_stop()) return Closing();
  }
}

Status HistoryRuns::Skip(BlockSource* source, uint32_t count) {
  const Status moved = source->Skip(count);
  merge_.RunSourceMoved();
  return moved;
}

HistoryRuns::Fill HistoryRuns::FillRun(BlockSource* source, const ShapeCells& cells,
                                       uint32_t length) {
  const ColumnBlock& block = source->block();
  const uint32_t begin = source->entry();
  if (cells.columns.empty()) return Fill::kNothing;
  run_.times = block.times().Of(begin, begin + length);
  const bool may_be_past_age = source->place().min_time < cells.ageless_from;
  if (may_be_past_age) {
    const auto times = block.times().All().subspan(begin, length);
    if (std::ranges::min(times) < cells.ageless_from) return Fill::kRows;
  }
  FillColumns(block.times(), cells, begin);
  if (columns_.empty()) return Fill::kNothing;
  block.GetKey(begin, &first_key_);
  block.GetKey(begin + length - 1, &last_key_);
  const KeyRun& run = block.RunOf(begin);
  run_.first_key = first_key_;
  run_.last_key = last_key_;
  run_.key_time = run.time;
  run_.key_place = run.place;
  run_.columns = columns_;
  taken_from_ = source;
  taken_ = length;
  return Fill::kRun;
}

void HistoryRuns::FillColumns(const BlockTimes& block_times, const ShapeCells& cells,
                              uint32_t begin) {
  const auto end = static_cast<uint32_t>(begin + run_.times.size());
  const auto count = [&](const BlockColumn& column) {
    return column.PlaceOf(end) - column.PlaceOf(begin);
  };
  size_t picked = 0;
  for (const ShapeCells::OfColumn& column : cells.columns) {
    if (column.cells.presence != nullptr) picked += count(column.cells);
  }
  times_.resize(picked);
  columns_.clear();
  std::span<TimeUs> left = times_;
  for (const auto& [pick, set_index, number, column] : cells.columns) {
    EntryTimes times = run_.times;
    if (column.presence != nullptr) {
      const auto all = block_times.All().subspan(begin, run_.times.size());
      column.presence->Pick(all, begin, left.data());
      times = EntryTimes(left.first(count(column)));
      left = left.subspan(times.size());
    }
    if (!times.empty()) {
      columns_.push_back({pick->name, names_only_ ? nullptr : column.data, column.PlaceOf(begin),
                          times, block_times.runs_ascend()});
    }
  }
}

}  // namespace tallyd
