#include "storage/leveldb/read/latest_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace tallyd {
namespace {

constexpr size_t kMaxChunkRows = 512;

}  // namespace

LatestScan::LatestScan(TablePtr table, const ScanSpec& spec, const ColumnRegistry& sets,
                       const LatestTables& latest, DeleteListPtr deletes)
    : table_(table->id),
      reverse_(spec.reverse),
      keys_only_(spec.keys_only),
      latest_(latest),
      deletes_(std::move(deletes)),
      plan_(std::move(table), spec, sets),
      assembler_(&plan_, spec, CellMerge::Versions::kNewest),
      ranges_(spec),
      more_(!spec.cells.is_empty() && plan_.any_visible()),
      rows_left_(spec.limit > 0 ? spec.limit : std::numeric_limits<uint64_t>::max()) {}

Result<bool> LatestScan::Next() {
  while (rows_left_ > 0) {
    if (next_ == chunk_.rows().size() && !ReadChunk()) return false;
    const auto& [key, row] = chunk_.rows()[next_++];
    const Status read = ReadRow(key, row);
    if (!read) return read.error();
    if (assembler_.Finish()) {
      assembler_.SetKey(key);
      --rows_left_;
      return true;
    }
  }
  return false;
}

void LatestScan::SkipTo(std::string_view key) {
  const auto& rows = chunk_.rows();
  const auto before = [&](std::string_view row) { return reverse_ ? row > key : row < key; };
  while (next_ < rows.size() && before(rows[next_].first)) ++next_;
  if (next_ == rows.size()) ranges_.SkipTo(key);
}

bool LatestScan::ReadChunk() {
  while (more_ && !ranges_.done()) {
    const bool more = latest_.Read(table_, ranges_.at(), reverse_, chunk_rows_, &chunk_);
    next_ = 0;
    chunk_rows_ = std::min(chunk_rows_ * 2, kMaxChunkRows);
    if (more) {
      ranges_.Passed(chunk_.rows().back().first);
    } else {
      ranges_.Next();
    }
    if (!chunk_.rows().empty()) return true;
  }
  return false;
}

Status LatestScan::ReadRow(std::string_view key, std::string_view row) {
  assembler_.Begin();
  for (const auto& deleted : *deletes_) {
    if (deleted->CoversRow(key)) assembler_.Hide(deleted.get());
  }
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
