// SeriesKeeper: makes the indexes of series (series_index.h), and takes from them what has no row
// any more.
//
//   snapshot->series = keeper.IndexesOf(schema);   // Before the snapshot is in force,
//   keeper.InForce(wait);                          // and when it is: new indexes are filled.
//   SeriesWrite series = keeper.Begin();           // Before a write takes the snapshot.
//   keeper.NoteRemoved(table, rows);               // When something of these rows was removed.
//   keeper.Settle();                               // Returns when that is seen to.
//
// An index is filled by a reading of its table, as many steps as there are series, on a thread of
// its own; that of a table without rows is complete at once. A series goes when a reading that
// began behind all writes that may have known it finds no row: so no index ever lacks one.
//
// Thread-safe. The store outlives it.
#ifndef TALLYD_SERVICE_SERIES_SERIES_KEEPER_H_
#define TALLYD_SERVICE_SERIES_SERIES_KEEPER_H_

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "config/schema/schema.h"
#include "config/values/result.h"
#include "config/values/time.h"
#include "service/series/series_indexes.h"
#include "service/series/series_write.h"
#include "storage/store.h"

namespace tallyd {

class SeriesKeeper {
 public:
  SeriesKeeper(Store& store, const Clock& clock) : store_(store), clock_(clock) {}
  ~SeriesKeeper() { Stop(); }
  SeriesKeeper(const SeriesKeeper&) = delete;
  SeriesKeeper& operator=(const SeriesKeeper&) = delete;

  // Null where the schema needs none. REQUIRES: the store adopted it.
  std::shared_ptr<const SeriesIndexes> IndexesOf(const Schema& schema);
  // Fills those that are not complete, and waits for it for as long as that.
  void InForce(std::chrono::milliseconds wait);
  SeriesWrite Begin() const;

  // Nothing is done of tables that have no index.
  void NoteRemoved(TableId table, const KeyRange& rows);
  // What was removed, has expired or gone otherwise by now is in no index.
  Status Settle();
  // Idempotent. What is not filled by then stays so.
  void Stop();

 private:
  struct Kept {
    SeriesIndexPtr index;
    bool forgets = false;           // By age, or by its size.
    std::vector<KeyRange> removed;  // In these something may have gone since it was looked.
  };

  void Wake();
  void Run(const std::stop_token& stop);
  void NoteExpired();
  bool Work();
  Status Fill(SeriesIndex* index);
  // *again: ranges that are to be swept once more.
  Status Sweep(SeriesIndex* index, std::vector<KeyRange> ranges, std::vector<KeyRange>* again);
  bool WaitForWrites();
  template <class Use>
  Status ReadSeries(const SeriesIndex& index, const std::vector<KeyRange>& ranges, const Use& use);

  Store& store_;
  const Clock& clock_;
  std::mutex work_mutex_;  // Held by whoever fills or sweeps. Taken before mutex_.
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  // Guarded by mutex_.
  std::map<TableId, Kept> kept_;
  std::shared_ptr<const void> writes_ = std::make_shared<int>();  // Held by those that begin now.
  bool is_due_ = false;
  bool stopped_ = false;
  std::jthread thread_;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_SERIES_SERIES_KEEPER_H_
