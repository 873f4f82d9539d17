// NightlyTables: makes the nightly tables of a configuration (config/values/daily.h), keeps them up
// to late readings, and removes them when their time is over.
//
//   NightlyTables nightly(parts);
//   nightly.Open();                  // The store is open, no schema adopted yet.
//   nightly.Configure(schema);       // After each adoption; the file's own schema.
//   nightly.Start();                 // A thread that looks at the clock; Stop ends it.
//   nightly.Build("SENSOR", day);    // On request, from any thread that may block.
//
// A build copies into a table that no reader finds (Store::StageTable), and then lets it take the
// name at once; what it replaced goes a minute later, when nobody reads it any more. Builds come
// one at a time and take `cpu` of one core; who asks for another waits. Whatever changes the list
// of nightly tables calls `refresh`, which adopts WithNightly's schema and puts it in force.
//
// It goes by the retention clock, which believes no jump of the wall clock at once: a day is over,
// and a table's time is, when it says so. Only whoever asks for a day says that it is over.
//
// Where several daemons have the store (Claiming) one of them has the turn to build and to remove;
// the others see that its tables came and went, and call `refresh`.
//
// Thread-safe. What Parts name outlives it.
#ifndef TALLYD_SERVICE_NIGHTLY_NIGHTLY_TABLES_H_
#define TALLYD_SERVICE_NIGHTLY_NIGHTLY_TABLES_H_

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "config/schema/schema.h"
#include "service/nightly/build_turn.h"
#include "service/nightly/day_copy.h"
#include "service/nightly/nightly_record.h"
#include "service/pacer.h"
#include "service/write/writer.h"
#include "storage/store.h"

namespace tallyd {

struct NightlyState {
  enum class Kind : uint8_t { kBuilding, kBehind, kNotBuilt, kBuilt };
  Kind kind = Kind::kBuilt;
  std::string table;
  std::string source;
  TimeUs day = 0;
  DayCounts done;       // So far, of what is being built; else of the last build.
  TimeUs built_at = 0;  // 0: never yet.
  std::string why;      // kNotBuilt.
};

class NightlyTables {
 public:
  struct Parts {
    Store* store = nullptr;
    const Clock* clock = nullptr;
    prometheus::Registry* registry = nullptr;
    Writer* writer = nullptr;
    double cpu = 1;
    std::function<Status()> refresh;
  };

  explicit NightlyTables(Parts parts);
  ~NightlyTables();
  NightlyTables(const NightlyTables&) = delete;
  NightlyTables& operator=(const NightlyTables&) = delete;

  // Drops what builds left that a crash ended, and learns what there is.
  Status Open();
  void Configure(std::shared_ptr<const Schema> configured);
  void Start();
  void Stop();  // Idempotent. A build that runs ends with kCancelled.

  // Makes the table of that day now, and answers when it is in force. kNotFound: no such table.
  // kInvalid: it has no nightly tables, or the day is not over. kConflict: the source has begun to
  // forget the day, the name is another table's, there are too many tables. kUnavailable: another
  // daemon builds.
  Result<NightlyRecord> Build(const std::string& source, TimeUs day);

  // What the thread does twice a second.
  void Look();

  // Rows of the stream's tables were removed, and of its nightly tables that are known here. One
  // that another daemon makes just now, or has just made, may have them: it is made again.
  Status NoteRemoved(const std::string& stream);

  // A table of that name was dropped: what is known of it goes.
  Status Forget(const std::string& table);

  // All that are not just there, and of each source the newest that is.
  std::vector<NightlyState> States() const;

 private:
  // So long a table that was replaced stays for those who read it.
  static constexpr int64_t kReplacedStaysUs = 60 * kUsPerSecond;

  // A table that has nightly tables.
  struct Source {
    std::shared_ptr<const Schema> schema;  // Owns the table.
    const Table* table = nullptr;
    TimeUnit unit = TimeUnit::kMilliseconds;

    const Daily& daily() const { return *table->daily; }
  };
  struct Failure {
    std::string source;
    TimeUs day = 0;
    std::string why;
    int64_t at_us = 0;  // By the monotonic clock.
  };

  // nightly_tables.cc: what there is, and what is due. REQUIRES work_mutex_, from the fifth on.
  void Run();
  Result<Source> FindSource(const std::string& name) const;
  std::vector<Source> Sources() const;
  std::vector<NightlyRecord> RecordsOf(const std::string& source) const;
  void DoWork();
  // Tables whose names are those of nightly ones, and their numbers.
  std::map<std::string, TableId> TablesOfDays() const;
  Status ReadRecords();
  void NoticeOthers();
  Status LearnOfOthers();    // REQUIRES: it is this daemon's turn.
  bool HasLeftWork() const;  // Of a time with other sources.
  bool HasRefreshFailed() const;
  Status MarkUnwatched();
  void RemoveOver(const Source& source);
  Status Remove(const Source& source, const NightlyRecord& record);
  void DropReplaced();
  Status TakeMarks(const Source& source, TimeUs now);
  Status BuildDue(const Source& source, TimeUs now);
  Status Rebuild(const Source& source, TimeUs now);
  void Attempt(const Source& source, TimeUs day);
  bool MayTry(const std::string& name) const;

  // nightly_build.cc: one build. REQUIRES: work_mutex_.
  Status WaitForTurn();  // To have turn_.
  Status CheckTurn() const;
  Result<DayCopy> CopyOf(const Source& source, TimeUs day, TablePtr to) const;
  Status CheckDay(const Source& source, TimeUs day) const;
  Status CheckName(const Source& source, const NightlyRecord& record) const;
  NightlyRecord RecordFor(const Source& source, TimeUs day) const;
  Result<NightlyRecord> BuildNow(const Source& source, TimeUs day);
  Status CopyAndSwap(const Source& source, NightlyRecord* record);
  // Tells the record the number of the table that it makes.
  Result<DayCounts> Copy(const Source& source, NightlyRecord* record);
  // With it goes the mark of late readings, where that is wanted.
  Status PutRecord(const NightlyRecord& record, bool drop_mark);
  Status DropRecord(const NightlyRecord& record);
  void Refresh();

  const Parts parts_;
  Claiming* const claiming_;  // Null: no other daemon has the store.
  prometheus::Gauge& tables_;
  prometheus::Counter& built_;
  prometheus::Counter& failed_;
  prometheus::Counter& rows_;
  prometheus::Counter& removed_;

  std::mutex work_mutex_;  // Of whoever builds or removes.
  // The next three are guarded by it, and used where there is claiming_.
  std::unique_ptr<BuildTurn> turn_;      // While it is this daemon's.
  std::map<std::string, TableId> seen_;  // TablesOfDays of the last refresh.
  int64_t next_turn_us_ = 0;             // By the monotonic clock.

  mutable std::mutex mutex_;
  // What follows is guarded by mutex_.
  std::shared_ptr<const Schema> configured_;
  std::map<std::string, NightlyRecord> records_;  // By name, like the next three.
  // Sources of which nightly tables are there, and which were in the file without `daily`: what was
  // written to them meanwhile left no mark.
  std::set<std::string> unwatched_;
  std::map<std::string, Failure> failures_;
  std::map<std::string, int64_t> replaced_;  // When what was replaced goes, by the monotonic clock.
  std::optional<NightlyState> building_;
  std::set<std::pair<std::string, TimeUs>> empty_;  // Days of sources that were due, without rows.
  bool refresh_failed_ = false;
  bool stopping_ = false;

  std::condition_variable wake_;
  const Pacer pacer_;
  std::thread thread_;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_NIGHTLY_NIGHTLY_TABLES_H_
