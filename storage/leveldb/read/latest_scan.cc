#include "storage/leveldb/read/latest_scan.h"

#include <fmt/format.h>

#include <algorithm>

#include "storage/leveldb/codec/key_codec.h"

namespace tallyd {
namespace {

constexpr size_t kMaxChunkRows = 512;

}  // namespace

LatestScan::LatestScan(TablePtr table, const ScanSpec& spec, const ColumnRegistry& sets,
                       const LatestTables& latest)
    : table_(table->id),
      reverse_(spec.reverse),
      keys_only_(spec.keys_only),
      latest_(latest),
      plan_(std::move(table), spec, sets),
      assembler_(&plan_, spec, CellMerge::Versions::kNewest),
      range_(DatabaseRange(KeySpace::kLatest, table_, spec.range)) {
  if (spec.cells.is_empty() || !plan_.any_visible()) range_.end = range_.start;
}

Result<bool> LatestScan::Next() {
  while (true) {
    if (next_ == chunk_.size() && !ReadChunk()) return false;
    const auto& [key, row] = chunk_[next_++];
    const Status read = ReadRow(key, *row);
    if (!read) return read.error();
    if (assembler_.Finish()) {
      assembler_.SetKey(row_key_);
      return true;
    }
  }
}

void LatestScan::SkipTo(std::string_view key) {
  const std::string target = RowPrefix(KeySpace::kLatest, table_, key);
  const auto before = [&](const auto& row) {
    return reverse_ ? row.first > target : row.first < target;
  };
  while (next_ < chunk_.size() && before(chunk_[next_])) ++next_;
  if (next_ < chunk_.size()) return;
  if (reverse_) {
    range_.end = std::min(range_.end, AfterRow(target));
  } else {
    range_.start = std::max(range_.start, target);
  }
}

bool LatestScan::ReadChunk() {
  next_ = 0;
  chunk_ = latest_.Read(range_, reverse_, chunk_rows_);
  chunk_rows_ = std::min(chunk_rows_ * 2, kMaxChunkRows);
  if (chunk_.empty()) return false;
  if (reverse_) {
    range_.end = chunk_.back().first;
  } else {
    range_.start = AfterRow(chunk_.back().first);
  }
  return true;
}

Status LatestScan::ReadRow(const std::string& key, const std::string& row) {
  assembler_.Begin();
  bool good = DecodeRowPrefix(key, &row_key_) && DecodeLatest(row, &layers_);
  for (size_t i = 0; good && i < layers_.size(); ++i) {
    if (keys_only_ && assembler_.HasCellAfter(layers_[i].time)) break;
    good = assembler_.Add(layers_[i].time, layers_[i].sequence, layers_[i].entry);
  }
  if (good) return {};
  return Error(ErrorCode::kCorruption,
               fmt::format("the stored row \"{}\" of a latest table is malformed", row_key_));
}

}  // namespace tallyd
