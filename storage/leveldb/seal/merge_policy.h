// Which block files of one window to merge into one: files of about one size, so that an entry is
// written again a few times only, however long its window takes writes (size-tiered compaction, as
// in Cassandra and RocksDB's universal style). Entries carry their sequences, so any files may be
// merged, whatever lies between them in time or in the order of commits.
#ifndef TALLYD_STORAGE_LEVELDB_SEAL_MERGE_POLICY_H_
#define TALLYD_STORAGE_LEVELDB_SEAL_MERGE_POLICY_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tallyd {

// So many files of about one size make one of the next size.
inline constexpr size_t kMergeFan = 8;
// No merge takes more files: of each a block is in memory, its columns decoded.
inline constexpr size_t kMaxMergeFiles = 4 * kMergeFan;
// Nor more bytes than this.
inline constexpr uint64_t kMaxMergeBytes = uint64_t{2} << 30;
// Of such files there are soon more while heads fill fast: one merge of many is less work than
// several of few, whose results are merged once more.
inline constexpr uint64_t kSoonManyBytes = uint64_t{8} << 20;
// A file that is at least so large is not merged again: a merge would not hold enough of its size.
inline constexpr uint64_t kTopFileBytes = kMaxMergeBytes / kMergeFan;

// Sizes of files -> places in `sizes` of those to merge now; fewer than two: none. A pure function.
// `patient`: files below kSoonManyBytes wait until there are kMaxMergeFiles of them, and as many
// more that are never alike are borne.
std::vector<size_t> ChooseMerge(std::span<const uint64_t> sizes, bool patient);
// The same for those who want as few files as can be: all that may be merged, in pieces that can be
// handled.
std::vector<size_t> ChooseWholeMerge(std::span<const uint64_t> sizes);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_SEAL_MERGE_POLICY_H_
