// Journal: the table in which a batch of several rows is before any of its rows is written, so that
// it is not there in part for good: whoever finds its row finishes it and deletes the row. Of each
// row (storage/FORMAT.md, The journal on Cloud Bigtable) one daemon at a time has the lease, by
// compare-and-set; those of the batches under way are kept by a thread.
//
//   journal.Write(&rows, deadline);   // From here on they are kept.
//   ... their batches are written ...
//   journal.Erase(keys, deadline);    // Those that are all there.
//   journal.LetGo(keys);              // All: the leases of the others end within kLeaseUs.
//
// The lease keeps two daemons from doing the same work; what must not be done twice is guarded
// otherwise (tokens, BeginCounting). The daemons' clocks are to agree within some seconds.
// Thread-safe.
#ifndef TALLYD_STORAGE_BIGTABLE_JOURNAL_JOURNAL_H_
#define TALLYD_STORAGE_BIGTABLE_JOURNAL_JOURNAL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/repeating_thread.h"
#include "config/values/result.h"
#include "config/values/time.h"
#include "storage/bigtable/wire/client.h"

namespace tallyd {

// Behind the prefix; no table of a configuration may be called so.
inline constexpr std::string_view kJournalTable = "tallyd_journal";

class Journal {
 public:
  static constexpr int64_t kLeaseUs = 10 * kUsPerSecond;
  // What cannot be finished for so long is given up; what counts is not sent when it is older.
  static constexpr int64_t kGivenUpUs = 600 * kUsPerSecond;
  static constexpr size_t kMaxBatchBytes = 100u << 20;

  // A batch's row, to be written. How it `ended` is set by Write.
  struct NewRow {
    std::string key;
    std::string bytes;
    RpcStatus ended = {};
    bool is_in_doubt = false;  // Not written well, and it may be there all the same.
  };
  // What of a row is read to know whose it is.
  struct Mark {
    std::string key;
    std::string lease;                       // As stored; empty: it was given up.
    std::optional<std::string> failed = {};  // Then: why.
    bool has_begun_counting = false;
  };
  struct StoredRow {
    Mark mark;
    std::string bytes;
  };

  // Both outlive it.
  Journal(BigtableClient* client, const Clock* clock);
  ~Journal() { Stop(); }

  // Looks whether the table is there, and makes it where batches are to be written to it. kInvalid,
  // naming the key: it may not be made. `until`: of the look, in place of the client's deadline.
  Status Open(std::optional<SteadyTime> until = {});
  // Keeps leases from then on. Once; does nothing where there is no table.
  void Start();
  void Stop() { keeper_.Stop(); }  // Idempotent.

  bool is_there() const { return is_there_; }
  bool takes_batches() const { return client_.config().whole_batches; }

  // 32 digits that nobody else has.
  static std::string NewKey();
  // Side by side, and tried again until the deadline. Leases of all of them are kept from then on.
  void Write(std::vector<NewRow>* rows, SteadyTime deadline);
  // Of each whether it is gone.
  std::vector<RpcStatus> Erase(std::span<const std::string> keys, SteadyTime deadline);
  void LetGo(std::span<const std::string> keys);
  bool Holds(const std::string& key) const;

  // All rows, without their batches, in key order.
  Result<std::vector<Mark>> List(SteadyTime deadline);
  Result<std::optional<StoredRow>> Read(const std::string& key, SteadyTime deadline);
  // Whether the row is there and was not given up.
  Result<bool> IsPending(const std::string& key, SteadyTime deadline);
  // Whether somebody else may be at the row's batch.
  bool IsOthers(const Mark& mark) const;

  // Takes the lease of each that still has the one that was read; of each whether it is this
  // daemon's now, and kept from then on.
  Result<std::vector<bool>> Take(std::span<const Mark> marks, SteadyTime deadline);
  // Notes that what counts is sent from now on without tokens: whoever finds the row then does not
  // send it. False: the lease is somebody else's.
  Result<bool> BeginCounting(const std::string& key, SteadyTime deadline);
  // Gives up a row whose lease is this daemon's. False: it is somebody else's.
  Result<bool> GiveUp(const std::string& key, std::string_view why, SteadyTime deadline);

 private:
  std::string NewLease() const;
  data_api::CheckAndMutateRowRequest OfOwner(const std::string& key) const;
  Result<std::vector<bool>> Check(std::vector<data_api::CheckAndMutateRowRequest> requests,
                                  SteadyTime deadline);
  void Keep();

  BigtableClient& client_;
  const Clock& clock_;
  const std::string table_;
  const std::string owner_;
  std::atomic<bool> is_there_ = false;

  mutable std::mutex mutex_;
  std::map<std::string, SteadyTime> held_;  // Since when. Guarded by mutex_.
  RepeatingThread keeper_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_JOURNAL_JOURNAL_H_
