// Opener: opens the LevelDBs of a store, base and the heads, after it has judged whether what lies
// in the directory can be what was left behind. LevelDB makes an empty database where it finds
// none, and takes damage at the end of a log for a torn tail: a store that has lost base, a head,
// or what was acknowledged must be refused, not opened as if it were sound.
//
//   0. No restore or salvage that has not ended left its mark there.
//   1. Base is there if anything else is, and its logs are whole (env/wal_check.h). It is asked
//      over changes in memory (env/overlay_env.h): until all is judged no byte becomes another.
//   2. The heads after the last one that base calls sealed have no gap, at least one is there once
//      tables were adopted, and their logs are whole: all of them, before any is opened.
//   3. Nothing is created but where a listing of the directory proves that there is nothing, and
//      what cannot be read is an error: it is never taken for absent. Nor is a store created in
//      the place of one that was open before.
//   4. A head that was closed is followed by another one, one that says of which store it is says
//      that of base, and what it says of its place, tables and columns (head_claims.h) nothing
//      contradicts. Only a head that is open can tell: these refusals come after LevelDB began new
//      logs in base and the heads before.
//
// Every refusal names what is missing or damaged, and is kCorruption; a format version that is not
// this one's, another program's database, a store that is not made yet, or one that another process
// has open, is kConflict. Of the committer's thread, but for OpenHead, which the sealer calls for a
// new head, and torn_tails.
#ifndef TALLYD_STORAGE_LEVELDB_FILES_OPENER_H_
#define TALLYD_STORAGE_LEVELDB_FILES_OPENER_H_

#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/filter_policy.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "config/file/config.h"
#include "config/values/result.h"
#include "storage/leveldb/env/durable_env.h"
#include "storage/leveldb/env/wal_check.h"
#include "storage/leveldb/files/head_claims.h"
#include "storage/leveldb/files/view.h"

namespace tallyd {

class OverlayEnv;

// A directory in that of a store: who makes a store of what was saved makes it first, and base in
// it. Without CURRENT beside it there is no store yet, and no empty one may take its place.
inline constexpr char kUnfinishedName[] = "restoring";
// LevelDB's own: what names the manifest in use, and what a process that has it open locks.
inline constexpr char kCurrentName[] = "CURRENT";
inline constexpr char kLockName[] = "LOCK";
// What to do where it was left.
std::string UnfinishedAdvice(const std::string& path);

struct OpenedFiles {
  std::string store;  // Its id, which base and the heads agree on.
  std::unique_ptr<leveldb::DB> base;
  std::vector<std::shared_ptr<Head>> heads;  // Not sealed; oldest first.
};

class Opener {
 public:
  // All outlive the opener.
  Opener(const StorageConfig& config, StoreEnv* env, leveldb::Cache* cache, Disposer* disposer);

  // `may_create`: a store, where there is none; not where there was one.
  Result<OpenedFiles> Open(size_t head_bytes, bool may_create);
  // `room`: of the log that it is about to get.
  Result<std::shared_ptr<Head>> OpenHead(uint64_t number, const LogRoom& room = {});
  std::string PathOf(uint64_t head) const;
  // All that were found so far, whether they had to be cut off or not.
  std::vector<TornTail> torn_tails() const;

 private:
  // A head that is to be opened.
  struct FoundHead {
    uint64_t number = 0;
    WalCheck logs;
  };

  // What may be opened as it is.
  struct Found {
    WalCheck base;
    std::optional<uint32_t> format;  // Nothing: base has no record yet.
    std::string store;               // The id; empty: base has none yet.
    uint64_t sealed = 0;             // The last sealed head.
    std::vector<FoundHead> heads;
  };

  leveldb::Options CommonOptions() const;
  Result<Found> Judge(bool may_create) const;
  Result<Found> JudgeLocked(bool may_create) const;
  Result<WalCheck> CheckBase() const;
  Result<std::unique_ptr<leveldb::DB>> OpenUnchanged(const WalCheck& base,
                                                     OverlayEnv* overlay) const;
  Result<std::optional<uint32_t>> CheckFormat(leveldb::DB* base) const;
  Status CheckEmpty(leveldb::DB* base) const;
  Status OpenBase(const WalCheck& checked, OpenedFiles* opened);
  Status WriteFormat(const Found& found, OpenedFiles* opened) const;
  Status OpenHeads(const Found& found, OpenedFiles* opened);
  Result<std::vector<FoundHead>> FindHeads(uint64_t sealed, bool any_use) const;
  // A head of which that is known: nobody else may have it in use.
  Result<std::shared_ptr<Head>> OpenJudged(uint64_t number, const WalCheck& logs);
  Status OpenFound(const std::vector<FoundHead>& found, OpenedFiles* opened);
  static Status CheckStore(const Head& head, const std::string& path, const std::string& store);
  // Adds what the head ends with to *before, which is what lies before the next one.
  static Status CheckClaims(Head* head, const std::string& path, leveldb::DB* base,
                            BeforeHead* before);
  Status TellAndCutTails(const WalCheck& checked);

  const StorageConfig config_;
  StoreEnv* const env_;
  leveldb::Cache* const cache_;
  Disposer* const disposer_;
  const std::string heads_directory_;
  const std::unique_ptr<const leveldb::FilterPolicy> filter_;
  std::atomic<size_t> head_bytes_{0};

  mutable std::mutex mutex_;
  std::vector<TornTail> torn_tails_;  // Guarded by mutex_.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_FILES_OPENER_H_
