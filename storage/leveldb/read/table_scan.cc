#include "storage/leveldb/read/table_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>

#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/env/status.h"

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

namespace {

// The newest entries have no index to estimate by: they are counted so much further.
constexpr uint64_t kCountFurther = 16;
constexpr size_t kSampledFiles = 16;

bool Begins(const KeyRange& range, std::string_view first_key) {
  return range.end.empty() || first_key < range.end;
}

// The bytes from `at` on as the digits of a number.
double NumberAt(std::string_view key, size_t at) {
  double number = 0;
  for (size_t i = at; i < at + sizeof(uint64_t); ++i) {
    number = number * 256 + (i < key.size() ? static_cast<unsigned char>(key[i]) : 0);
  }
  return number;
}

// Which part of a block's keys lie before this one, as if they were evenly apart.
double ShareBefore(const BlockPlace& block, std::string_view key) {
  if (key <= block.first_key) return 0;
  if (key > block.last_key) return 1;
  const auto differ = std::mismatch(block.first_key.begin(), block.first_key.end(),
                                    block.last_key.begin(), block.last_key.end());
  const auto common = static_cast<size_t>(differ.first - block.first_key.begin());
  const double first = NumberAt(block.first_key, common);
  const double last = NumberAt(block.last_key, common);
  return last > first ? (NumberAt(key, common) - first) / (last - first) : 0;
}

double ShareWithin(const BlockPlace& block, const KeyRange& range) {
  const double end = range.end.empty() ? 1 : ShareBefore(block, range.end);
  return std::max(end - ShareBefore(block, range.start), 0.0);
}

double ShareWithin(const BlockPlace& block, const TimeRange& time) {
  const auto from = static_cast<double>(std::max(time.from, block.min_time));
  const auto to = static_cast<double>(std::min(time.to, block.max_time + 1));
  return (to - from) / static_cast<double>(block.max_time + 1 - block.min_time);
}

// Keys of one entity that end in their time are not evenly apart from those of the next one: what
// begins and ends within a block has at least one of its runs, for the part of the time.
double LeastShare(const BlockPlace& block, const KeyRange& range, double of_time) {
  const bool meets = range.start <= block.last_key && Begins(range, block.first_key);
  return meets && block.runs > 1 ? of_time / block.runs : 0;
}

uint64_t Part(double share, uint64_t of) {
  return std::max<uint64_t>(static_cast<uint64_t>(share * static_cast<double>(of)), 1);
}

class Estimator {
 public:
  Estimator(const LeaseAccess& access, TableId table, const EstimateSpec& spec)
      : access_(access), table_(table), spec_(spec) {}

  Result<ScanEstimate> Run() {
    for (const KeyRange& range : spec_.ranges) {
      for (size_t head = 0; head < access_.view().heads.size(); ++head) {
        const Status counted = AddHead(&access_.iterator(head), range);
        if (!counted) return counted.error();
      }
    }
    for (const BlockFilePtr& file : access_.view().FilesOf(table_)) {
      if (!file->info().Overlaps(spec_.cells)) continue;
      const Status added = AddFile(*file);
      if (!added) return added.error();
    }
    return estimate_;
  }

 private:
  Status AddHead(leveldb::Iterator* it, const KeyRange& range) {
    const KeyRange keys = DatabaseRange(KeySpace::kRows, table_, range);
    if (keys.start >= keys.end) return {};
    std::string row_prefix;
    for (it->Seek(ToSlice(keys.start)); it->Valid() && ToView(it->key()) < keys.end; it->Next()) {
      EntryKey entry;
      if (!ParseEntryKey(ToView(it->key()), &entry)) {
        return Error(ErrorCode::kCorruption, "a stored key is malformed");
      }
      if (entry.row_prefix != row_prefix) {
        row_prefix.assign(entry.row_prefix);
        ++estimate_.rows;
      }
      estimate_.entries += spec_.cells.Contains(entry.time);
      estimate_.bytes += it->key().size() + it->value().size();
      if (++counted_ >= spec_.count_at_most * kCountFurther) return {};
    }
    return FromLevelDb(it->status());
  }

  Status AddFile(const BlockFile& file) {
    const BlockFileInfo& info = file.info();
    const std::span<const KeyRange> ranges = RangesNear(file);
    if (info.min_time >= spec_.cells.from && info.max_time < spec_.cells.to) {
      for (const KeyRange& range : ranges) {
        if (file.first_key() < range.start || !Begins(range, file.last_key())) continue;
        estimate_.rows += info.rows;
        estimate_.entries += info.entries;
        estimate_.bytes += Part(spec_.column_share, info.bytes);
        return spec_.rows_only ? Status() : AddStreams(file);
      }
    }
    size_t next = 0;  // The first block whose bytes are not added: ranges share blocks.
    for (const KeyRange& range : ranges) {
      if (file.last_key() < range.start || !Begins(range, file.first_key())) continue;
      const Result<BlockIndexPtr> index = file.Index();
      if (!index) return index.error();
      next = AddBlocks(**index, range, next);
    }
    return {};
  }

  // Of the ranges, which may be as many as the files, all that hold keys of this file: those that
  // begin within it and, as they are in order and disjoint, the one before those.
  std::span<const KeyRange> RangesNear(const BlockFile& file) const {
    const auto begins_after = [](std::string_view key, const KeyRange& range) {
      return key < range.start;
    };
    const auto first = spec_.ranges.begin();
    const auto last = spec_.ranges.end();
    const auto within = std::upper_bound(first, last, file.first_key(), begins_after);
    const auto begin = within == first ? within : within - 1;
    return {begin, std::upper_bound(begin, last, file.last_key(), begins_after)};
  }

  // Of a whole file: the indexes of the first few tell for the others.
  Status AddStreams(const BlockFile& file) {
    const uint64_t entries = file.info().entries;
    if (sampled_files_ == kSampledFiles) {
      estimate_.streams += sampled_streams_ * entries / std::max<uint64_t>(sampled_entries_, 1);
      return {};
    }
    const Result<BlockIndexPtr> index = file.Index();
    if (!index) return index.error();
    uint64_t streams = 0;
    for (const BlockPlace& block : (*index)->blocks()) streams += StreamsOf(block);
    ++sampled_files_;
    sampled_streams_ += streams;
    sampled_entries_ += entries;
    estimate_.streams += streams;
    return {};
  }

  uint64_t StreamsOf(const BlockPlace& block) const {
    return 1 + Part(spec_.column_share, block.columns);  // Its head, too.
  }

  size_t AddBlocks(const BlockIndex& index, const KeyRange& range, size_t next) {
    const auto& blocks = index.blocks();
    for (size_t i = index.FindBlock(range.start); i < blocks.size(); ++i) {
      const BlockPlace& block = blocks[i];
      if (!Begins(range, block.first_key)) break;
      if (!block.Overlaps(spec_.cells)) continue;
      const double times = ShareWithin(block, spec_.cells);
      const double keys = std::max(ShareWithin(block, range), LeastShare(block, range, times));
      // Where the key tells the time, both tell the same.
      const double entries = std::min(keys, times);
      estimate_.rows += Part(keys, block.rows);
      estimate_.entries += Part(entries, block.entries);
      if (i < next) continue;
      estimate_.bytes += block.head_size + Part(spec_.column_share, block.size - block.head_size);
      estimate_.streams += StreamsOf(block);
      next = i + 1;
    }
    return next;
  }

  const LeaseAccess& access_;
  const TableId table_;
  const EstimateSpec& spec_;
  ScanEstimate estimate_;
  uint64_t counted_ = 0;  // Entries of heads.
  size_t sampled_files_ = 0;
  uint64_t sampled_streams_ = 0;
  uint64_t sampled_entries_ = 0;
};

}  // namespace

Result<ScanEstimate> EstimateHistory(Lease* lease, TableId table, const EstimateSpec& spec) {
  const LeaseAccess access(lease);
  if (!access) return Reopening();
  return Estimator(access, table, spec).Run();
}

uint64_t DiskBytes(const View& view, TableId table) {
  uint64_t bytes = 0;
  for (const BlockFilePtr& file : view.FilesOf(table)) bytes += file->info().bytes;
  return bytes;
}

std::vector<KeyRange> SplitRange(const View& view, TableId table, const KeyRange& range,
                                 const TimeRange& time, const SplitSpec& spec) {
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
  const size_t wanted =
      std::min<size_t>(spec.parts, entries / std::max<uint64_t>(spec.least_entries, 1));
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
