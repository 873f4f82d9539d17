#include "storage/leveldb/read/row_estimate.h"

#include <algorithm>

#include "storage/blocks/column_block.h"
#include "storage/leveldb/codec/key_codec.h"
#include "storage/leveldb/env/status.h"

namespace tallyd {
namespace {

constexpr int kStepsBeforeSeek = 4;
// Blocks that a range cuts are opened to be counted; of many ranges, those of the first.
constexpr size_t kBlocksOpened = 16;
// The newest rows have no index to estimate by: they are counted so much further.
constexpr uint64_t kCountFurther = 16;
// Entries below which a part is not worth a thread.
constexpr uint64_t kLeastPart = 8192;

bool Begins(const KeyRange& range, std::string_view first_key) {
  return range.end.empty() || first_key < range.end;
}

// To the next row, by steps while the row is short.
void NextRow(leveldb::Iterator* it, const std::string& row_prefix) {
  for (int step = 0; step < kStepsBeforeSeek; ++step) {
    it->Next();
    if (!it->Valid() || !ToView(it->key()).starts_with(row_prefix)) return;
  }
  it->Seek(ToSlice(AfterRow(row_prefix)));
}

class Estimator {
 public:
  Estimator(const Access& access, TableId table, uint64_t limit)
      : access_(access), table_(table), limit_(limit) {}

  Result<uint64_t> Count(std::span<const KeyRange> ranges) {
    for (const KeyRange& range : ranges) {
      for (size_t head = 0; head < access_.view().heads.size(); ++head) {
        const Status counted = CountHead(&access_.iterator(head), range);
        if (!counted) return counted.error();
      }
      for (const BlockFilePtr& file : access_.view().FilesOf(table_)) {
        const Status counted = CountFile(*file, range);
        if (!counted) return counted.error();
      }
    }
    return rows_;
  }

 private:
  Status CountHead(leveldb::Iterator* it, const KeyRange& range) {
    const KeyRange keys = DatabaseRange(KeySpace::kRows, table_, range);
    if (keys.start >= keys.end) return {};
    for (it->Seek(ToSlice(keys.start)); it->Valid() && ToView(it->key()) < keys.end;
         NextRow(it, row_prefix_)) {
      EntryKey entry;
      if (!ParseEntryKey(ToView(it->key()), &entry)) {
        return Error(ErrorCode::kCorruption, "a stored key is malformed");
      }
      row_prefix_.assign(entry.row_prefix);
      ++rows_;
      if (++counted_ >= limit_ * kCountFurther) return {};
    }
    return FromLevelDb(it->status());
  }

  Status CountFile(const BlockFile& file, const KeyRange& range) {
    if (file.last_key() < range.start || !Begins(range, file.first_key())) return {};
    if (file.first_key() >= range.start && Begins(range, file.last_key())) {
      rows_ += file.info().rows;
      return {};
    }
    const Result<BlockIndexPtr> index = file.Index();
    if (!index) return index.error();
    const auto& blocks = (*index)->blocks();
    for (size_t i = (*index)->FindBlock(range.start); i < blocks.size(); ++i) {
      const BlockPlace& block = blocks[i];
      if (!Begins(range, block.first_key)) return {};
      const bool whole = block.first_key >= range.start && Begins(range, block.last_key);
      if (whole) {
        rows_ += block.rows;
        continue;
      }
      if (opened_ == kBlocksOpened) {
        rows_ += opened_rows_ / kBlocksOpened;
        continue;
      }
      const Status counted = CountBlock(file, block, range);
      if (!counted) return counted;
    }
    return {};
  }

  Status CountBlock(const BlockFile& file, const BlockPlace& place, const KeyRange& range) {
    Status done = file.Read(place, 0, place.head_size, &bytes_);
    if (!done) return done;
    done = block_.Open(bytes_);
    if (!done) return file.Damaged(done.error());
    const uint32_t begin = block_.LowerBound(range.start);
    const uint32_t end = range.end.empty() ? block_.entries() : block_.LowerBound(range.end);
    uint64_t rows = 0;
    for (uint32_t entry = begin; entry < end; entry = block_.RowEnd(entry)) ++rows;
    ++opened_;
    opened_rows_ += rows;
    rows_ += rows;
    return {};
  }

  const Access& access_;
  const TableId table_;
  const uint64_t limit_;
  uint64_t rows_ = 0;
  uint64_t counted_ = 0;  // Of heads.
  size_t opened_ = 0;
  uint64_t opened_rows_ = 0;
  std::string row_prefix_;
  std::string bytes_;
  ColumnBlock block_;
};

}  // namespace

Result<uint64_t> EstimateHistoryRows(Lease* lease, TableId table, std::span<const KeyRange> ranges,
                                     uint64_t count_at_most) {
  const Access access(lease);
  if (!access) {
    return Error(ErrorCode::kUnavailable, "the store is reopening its files; try again");
  }
  return Estimator(access, table, count_at_most).Count(ranges);
}

uint64_t DiskBytes(const View& view, TableId table) {
  uint64_t bytes = 0;
  for (const BlockFilePtr& file : view.FilesOf(table)) bytes += file->info().bytes;
  return bytes;
}

std::vector<KeyRange> SplitRange(const View& view, TableId table, const KeyRange& range,
                                 const TimeRange& time, size_t parts) {
  std::vector<std::pair<std::string, uint64_t>> blocks;  // First keys and entries.
  uint64_t entries = 0;
  for (const BlockFilePtr& file : view.FilesOf(table)) {
    if (!file->info().Overlaps(time) || file->last_key() < range.start ||
        !Begins(range, file->first_key())) {
      continue;
    }
    const Result<BlockIndexPtr> index = file->Index();
    if (!index) return {range};  // Whoever scans it will be told.
    for (size_t i = (*index)->FindBlock(range.start); i < (*index)->blocks().size(); ++i) {
      const BlockPlace& block = (*index)->blocks()[i];
      if (!Begins(range, block.first_key)) break;
      if (!block.Overlaps(time)) continue;
      blocks.emplace_back(block.first_key, block.entries);
      entries += block.entries;
    }
  }
  const size_t wanted = std::min<size_t>(parts, entries / kLeastPart);
  if (wanted < 2) return {range};
  std::sort(blocks.begin(), blocks.end());
  std::vector<KeyRange> split;
  std::string start = range.start;
  uint64_t passed = 0;
  for (const auto& [key, of_block] : blocks) {
    const bool due = passed * wanted >= entries * (split.size() + 1);
    if (due && key > start && split.size() + 1 < wanted) {
      split.push_back({std::exchange(start, key), key});
    }
    passed += of_block;
  }
  split.push_back({start, range.end});
  return split;
}

}  // namespace tallyd
