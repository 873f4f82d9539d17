// GcWatch: looks whether the service still collects garbage as the file says. Whoever has other
// means may change a family's rule there: one that keeps less loses what tallyd would show, one
// that keeps more costs. Neither is mended by itself: it is told, and a rule is set by the adoption
// that changes it, or by whoever asks for that.
//
//   GcWatch watch(client, &catalogue, &clock);
//   watch.Start();         // A thread of its own.
//   watch.Drifts();        // What this daemon or another found last.
//   watch.SetAgain(file);  // On request, from any thread.
//
// The daemons of an instance share row `g` of the catalogue's table: `lease` says who reads rules
// until when, `a/TABLE` when a table's were read, `d/TABLE` what was found. Each table's are read
// every ten minutes at most, whoever reads them.
#ifndef TALLYD_STORAGE_BIGTABLE_CATALOGUE_GC_WATCH_H_
#define TALLYD_STORAGE_BIGTABLE_CATALOGUE_GC_WATCH_H_

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "config/schema/schema.h"
#include "config/values/repeating_thread.h"
#include "config/values/result.h"
#include "config/values/time.h"
#include "storage/bigtable/catalogue/bigtable_catalogue.h"
#include "storage/bigtable/wire/client.h"

namespace tallyd {

class GcWatch {
 public:
  static constexpr int64_t kBetweenReadsUs = 600 * kUsPerSecond;  // Of one table's rules.
  static constexpr int64_t kLeaseUs = 120 * kUsPerSecond;

  // All outlive it.
  GcWatch(BigtableClient* client, BigtableCatalogue* catalogue, const Clock* clock);
  ~GcWatch() { Stop(); }

  void Start();
  void Stop() { thread_.Stop(); }  // Idempotent.

  // As the thread does it once a minute.
  Status Look();
  // Sets the rules of the schema's tables that differ there; nightly tables are in no file, and
  // stay as they are. What is missing there stays so. Blocks.
  Status SetAgain(const Schema& file);
  // By table: the families whose rules differ, in words. Thread-safe.
  std::map<std::string, std::string> Drifts() const;

 private:
  Result<bool> HoldLease(const CatalogueCells& cells, TimeUs now);
  // One family's rule, there and by the file.
  struct Difference {
    std::string family;
    std::optional<admin_api::GcRule> there;  // None: there is no such family.
    admin_api::GcRule wanted;
  };
  // None: the table is gone.
  Result<std::optional<std::vector<Difference>>> DifferencesOf(const TableInfo& table);
  Status SetRules(const TableInfo& table, const std::vector<Difference>& differences);
  static std::string TextOfAll(const std::vector<Difference>& differences);
  RpcStatus Ask(const std::function<RpcStatus(SteadyTime until)>& call) const;
  Status Note(const TableInfo& table, const std::string& drift, TimeUs now, CatalogueCells* cells);
  Status ForgetGone(const CatalogueCells& cells, TimeUs now);
  void Publish(const CatalogueCells& cells);

  BigtableClient& client_;
  BigtableCatalogue& catalogue_;
  const Clock& clock_;
  const std::string owner_;

  mutable std::mutex mutex_;
  std::map<std::string, std::string> drifts_;  // Guarded by mutex_.
  RepeatingThread thread_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_CATALOGUE_GC_WATCH_H_
