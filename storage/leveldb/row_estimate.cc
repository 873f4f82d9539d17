#include "storage/leveldb/row_estimate.h"

#include <algorithm>

#include "storage/leveldb/key_codec.h"
#include "storage/leveldb/status.h"

namespace tallyd {
namespace {

// What is only in memory has no size on disk to extrapolate by: it is counted so much further.
constexpr uint64_t kCountFurther = 16;
constexpr int kStepsBeforeSeek = 4;

uint64_t SizeOnDisk(leveldb::DB* db, std::string_view start, std::string_view end) {
  if (start >= end) return 0;
  const leveldb::Range range(ToSlice(start), ToSlice(end));
  uint64_t size = 0;
  db->GetApproximateSizes(&range, 1, &size);
  return size;
}

Error Reopening() {
  return Error(ErrorCode::kUnavailable, "the store is reopening its files; try again");
}

// To the next row, by steps while the row is short.
void NextRow(leveldb::Iterator* it, const std::string& row_prefix) {
  for (int step = 0; step < kStepsBeforeSeek; ++step) {
    it->Next();
    if (!it->Valid() || !ToView(it->key()).starts_with(row_prefix)) return;
  }
  it->Seek(ToSlice(AfterRow(row_prefix)));
}

}  // namespace

Result<RowEstimate> EstimateHistoryRows(Lease* lease, TableId table,
                                        std::span<const KeyRange> ranges, uint64_t count_at_most) {
  const Access access(lease);
  if (!access) return Reopening();
  leveldb::Iterator& it = access.iterator();
  RowEstimate estimate;
  uint64_t counted_size = 0;
  uint64_t limit = count_at_most;
  std::string row_prefix;
  for (size_t r = 0; r < ranges.size(); ++r) {
    const KeyRange range = DatabaseRange(KeySpace::kRows, table, ranges[r]);
    if (range.start >= range.end) continue;
    for (it.Seek(ToSlice(range.start)); it.Valid() && ToView(it.key()) < range.end;
         NextRow(&it, row_prefix)) {
      EntryKey entry;
      if (!ParseEntryKey(ToView(it.key()), &entry)) {
        return Error(ErrorCode::kCorruption, "a stored key is malformed");
      }
      row_prefix.assign(entry.row_prefix);
      ++estimate.rows;
      if (estimate.rows < limit) continue;
      if (access.must_stop()) return Reopening();
      // The rest by its size, if what was counted has one.
      const uint64_t seen = counted_size + SizeOnDisk(&access.db(), range.start, row_prefix);
      uint64_t left = SizeOnDisk(&access.db(), row_prefix, range.end);
      for (size_t later = r + 1; later < ranges.size(); ++later) {
        const KeyRange next = DatabaseRange(KeySpace::kRows, table, ranges[later]);
        left += SizeOnDisk(&access.db(), next.start, next.end);
      }
      if (seen == 0 && limit == count_at_most) {
        limit *= kCountFurther;
        continue;
      }
      if (seen > 0) {
        const double more = static_cast<double>(left) / static_cast<double>(seen);
        estimate.rows += static_cast<uint64_t>(static_cast<double>(estimate.rows) * more);
      }
      return estimate;
    }
    counted_size += SizeOnDisk(&access.db(), range.start, range.end);
  }
  const Status status = FromLevelDb(it.status());
  if (!status) return status.error();
  estimate.exact = true;
  return estimate;
}

uint64_t ApproximateDiskBytes(Lease* lease, TableId table) {
  const Access access(lease);
  if (!access) return 0;
  return SizeOnDisk(&access.db(), TablePrefix(KeySpace::kRows, table),
                    TableEnd(KeySpace::kRows, table)) +
         SizeOnDisk(&access.db(), TablePrefix(KeySpace::kLatest, table),
                    TableEnd(KeySpace::kLatest, table));
}

}  // namespace tallyd
