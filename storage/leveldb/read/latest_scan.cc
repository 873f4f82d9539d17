#include "storage/leveldb/read/latest_scan.h"

#include <fmt/format.h>

#include <algorithm>

namespace tallyd {
namespace {

constexpr size_t kMaxChunkRows = 512;

// The least key after this one.
std::string After(std::string_view key) { return std::string(key) + '\0'; }

}  // namespace

LatestScan::LatestScan(TablePtr table, const ScanSpec& spec, const ColumnRegistry& sets,
                       const LatestTables& latest)
    : table_(table->id),
      reverse_(spec.reverse),
      keys_only_(spec.keys_only),
      latest_(latest),
      plan_(std::move(table), spec, sets),
      assembler_(&plan_, spec, CellMerge::Versions::kNewest),
      range_(spec.range),
      more_(!spec.cells.is_empty() && plan_.any_visible()) {}

Result<bool> LatestScan::Next() {
  while (true) {
    if (next_ == chunk_.rows().size() && !ReadChunk()) return false;
    const auto& [key, row] = chunk_.rows()[next_++];
    const Status read = ReadRow(key, row);
    if (!read) return read.error();
    if (assembler_.Finish()) {
      assembler_.SetKey(key);
      return true;
    }
  }
}

void LatestScan::SkipTo(std::string_view key) {
  const auto& rows = chunk_.rows();
  const auto before = [&](std::string_view row) { return reverse_ ? row > key : row < key; };
  while (next_ < rows.size() && before(rows[next_].first)) ++next_;
  if (next_ < rows.size()) return;
  if (!reverse_) {
    range_.start = std::max<std::string>(range_.start, std::string(key));
  } else if (const std::string after = After(key); range_.end.empty() || after < range_.end) {
    range_.end = after;
  }
}

bool LatestScan::ReadChunk() {
  if (!more_) return false;
  more_ = latest_.Read(table_, range_, reverse_, chunk_rows_, &chunk_);
  next_ = 0;
  chunk_rows_ = std::min(chunk_rows_ * 2, kMaxChunkRows);
  if (chunk_.rows().empty()) return false;
  const std::string_view last = chunk_.rows().back().first;
  if (reverse_) {
    range_.end = last;
  } else {
    range_.start = After(last);
  }
  return true;
}

Status LatestScan::ReadRow(std::string_view key, std::string_view row) {
  assembler_.Begin();
  bool good = DecodeLatest(row, &layers_);
  for (size_t i = 0; good && i < layers_.size(); ++i) {
    if (keys_only_ && assembler_.HasCellAfter(layers_[i].time)) break;
    good = assembler_.Add(layers_[i].time, layers_[i].sequence, layers_[i].entry);
  }
  if (good) return {};
  return Error(ErrorCode::kCorruption,
               fmt::format("the stored row \"{}\" of a latest table is malformed", key));
}

}  // namespace tallyd
