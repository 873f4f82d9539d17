// The two ways in which block files are made: from the oldest head, and from other block files.
// Both only write files; what they stand for changes when the caller commits that, and, of a head,
// the latest rows that it changed. Of the sealer's thread.
#ifndef TALLYD_STORAGE_LEVELDB_SEAL_REWRITE_H_
#define TALLYD_STORAGE_LEVELDB_SEAL_REWRITE_H_

#include <atomic>
#include <functional>
#include <vector>

#include "storage/leveldb/commit/engine_state.h"
#include "storage/leveldb/files/database.h"
#include "storage/leveldb/seal/base_compaction.h"
#include "storage/leveldb/seal/pacer.h"

namespace tallyd {

struct RewriteInput {
  Database* database = nullptr;
  EngineState* state = nullptr;
  Pacer* pacer = nullptr;
  std::function<bool()> stopping;
  std::function<Status()> yield;  // Called between steps, with nothing locked; its error ends all.
  TimeUs now = 0;                 // By the clock that says what may go from the disk.
  int64_t window_us = 0;          // storage.seal_window
};

// What a head becomes.
struct SealedHead {
  uint64_t head = 0;
  uint64_t last_sequence = 0;
  uint64_t entries = 0;
  std::vector<BlockFilePtr> files;
  Records records;  // For base: the deletes'.
};

// REQUIRES: the lease's view has a head that is older than another.
Result<SealedHead> SealOldestHead(const RewriteInput& input, Lease* lease);

struct MergedFiles {
  std::vector<BlockFilePtr> from;
  std::vector<BlockFilePtr> files;
  uint64_t entries = 0;
};

// `from`: files of one table and window.
Result<MergedFiles> MergeFiles(const RewriteInput& input, Lease* lease,
                               std::vector<BlockFilePtr> from);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_SEAL_REWRITE_H_
