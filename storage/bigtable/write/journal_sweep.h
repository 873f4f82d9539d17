// JournalSweep: finishes what others left in the journal, and what failed here. It looks every
// `poll`; what it finds whose lease has ended goes the way of all batches (BatchWriter::Finish).
// What cannot be finished is tried again, and given up when it is ten minutes old
// (Journal::kGivenUpUs) and has failed here for thirty polls, in all of which the journal could be
// read, so that not the first try after an outage decides; or at once where something of it must
// not be sent any more. Then its row stays, is counted and named, and nobody looks at it again.
//
//   JournalSweep sweep(client, &journal, &finder, &writer);
//   sweep.Start();     // A thread of its own.
//   sweep.GivenUp();   // What there is by the last look.
//   sweep.Stop();      // Before the writer is closed.
#ifndef TALLYD_STORAGE_BIGTABLE_WRITE_JOURNAL_SWEEP_H_
#define TALLYD_STORAGE_BIGTABLE_WRITE_JOURNAL_SWEEP_H_

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "config/values/repeating_thread.h"
#include "config/values/result.h"
#include "storage/bigtable/journal/journal.h"
#include "storage/bigtable/write/batch_writer.h"
#include "storage/bigtable/write/found_batch.h"

namespace tallyd {

class JournalSweep {
 public:
  // All outlive it.
  JournalSweep(BigtableClient* client, Journal* journal, BatchFinder* finder, BatchWriter* writer)
      : client_(*client), journal_(*journal), finder_(*finder), writer_(*writer) {}
  ~JournalSweep() { Stop(); }

  void Start();  // Does nothing where there is no journal.
  void Stop();   // Idempotent.

  // As the thread does it.
  Status Look();
  // Keys of rows that were given up, and why. Thread-safe.
  std::map<std::string, std::string> GivenUp() const;

 private:
  struct Attempt;

  std::vector<std::string> Due(const std::vector<Journal::Mark>& marks);
  Status FinishSome(const std::vector<std::string>& due, size_t* next);
  void Settle(Attempt* attempt);
  SteadyTime TimeBehind(int polls) const;
  void TryLater(const std::string& key);
  // REQUIRES: it is tried again later.
  bool HasFailedForLong(const std::string& key) const;
  void GiveUp(const std::string& key, const std::string& why);
  void GiveUpUnreadable(const FoundBatch& found);
  void ForgetFinished(const std::vector<std::string>& left,
                      const std::vector<Journal::Mark>& marks);
  void Publish(const std::vector<Journal::Mark>& marks);

  BigtableClient& client_;
  Journal& journal_;
  BatchFinder& finder_;
  BatchWriter& writer_;
  struct Tries {
    SteadyTime again;
    SteadyTime decides;  // Whether it is given up.
  };
  // By key, since the journal could not be read last. Of the thread that looks.
  std::map<std::string, Tries> tries_;
  std::atomic<bool> stopping_ = false;

  mutable std::mutex mutex_;
  std::map<std::string, std::string> given_up_;  // Guarded by mutex_.
  RepeatingThread thread_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_WRITE_JOURNAL_SWEEP_H_
