#include "storage/leveldb/read/history_runs.h"

#include <algorithm>

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
  const Access access(merge_.lease());
  if (!access) {
    return Error(ErrorCode::kUnavailable,
                 "the store reopened its files during the scan; try again");
  }
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
      if (access.must_stop()) return Error(ErrorCode::kUnavailable, "the store is closing");
      continue;
    }
    const uint32_t length = (*source)->RunLength(end_, merge_.times());
    if (length < kLeastRun) return false;
    const Result<const ShapeCells*> cells = (*source)->Cells();
    if (!cells) return cells.error();
    if (!(*cells)->columns.empty()) return FillRun(*source, **cells, length);
    const Status moved = Skip(*source, length);
    if (!moved) return moved.error();
    if (access.must_stop()) return Error(ErrorCode::kUnavailable, "the store is closing");
  }
}

Status HistoryRuns::Skip(BlockSource* source, uint32_t count) {
  const Status moved = source->Skip(count);
  merge_.RunSourceMoved();
  return moved;
}

// False when some cell of it may be past its age: rows tell.
bool HistoryRuns::FillRun(BlockSource* source, const ShapeCells& cells, uint32_t length) {
  const ColumnBlock& block = source->block();
  const uint32_t begin = source->entry();
  run_.times = block.times().subspan(begin, length);
  if (std::ranges::min(run_.times) < cells.ageless_from) return false;
  columns_.clear();
  for (const ShapeCells::OfColumn& column : cells.columns) {
    columns_.push_back(
        {column.pick->name, column.data, static_cast<uint32_t>(column.IndexOf(begin))});
  }
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
  return true;
}

}  // namespace tallyd
