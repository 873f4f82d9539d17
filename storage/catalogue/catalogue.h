// Catalogue: the streams and tables that are stored, and how the configuration in force sees them.
//
// Adopting a schema is two steps, so that memory follows the disk: PlanAdopt says which records are
// to be written, or what contradicts what is stored; Publish makes the plan the truth once they
// are. Both between the same two commits: what is planned depends on what the tables hold. Numbers
// of tables and families are given once. Thread-safe; one adopter at a time.
#ifndef TALLYD_STORAGE_CATALOGUE_CATALOGUE_H_
#define TALLYD_STORAGE_CATALOGUE_CATALOGUE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/schema/schema.h"
#include "config/values/result.h"
#include "storage/batch.h"
#include "storage/catalogue/adoption.h"
#include "storage/catalogue/record_codec.h"
#include "storage/table_info.h"

namespace tallyd {

// What is stored.
struct StoredCatalogue {
  std::map<std::string, StoredStream> streams;
  std::map<TableId, TableInfo> tables;
  TableId next_table = 1;
};

// Of it what is to be written.
struct CatalogueRecords {
  std::vector<std::pair<std::string, StoredStream>> streams = {};  // Each with its name.
  std::vector<TableInfo> tables = {};
  std::optional<TableId> next_table = {};

  bool empty() const { return streams.empty() && tables.empty() && !next_table; }
};

class Catalogue {
 public:
  struct Plan {
    StoredCatalogue stored;
    CatalogueRecords put;
    std::vector<TableId> dropped;          // Their records and rows are to go.
    std::shared_ptr<const Schema> schema;  // The configuration from then on.
    uint64_t adoption = 0;
  };

  // True: the schema is adopted, as no record changes by it. False: nothing has happened.
  bool AdoptUnchanged(const Schema& schema);
  // kConflict, naming what is stored and what is configured, when they contradict each other.
  Result<Plan> PlanAdopt(const Schema& schema, StoredPast* past) const;
  // kNotFound; kConflict when the table is configured.
  Result<Plan> PlanDrop(std::string_view name) const;
  // A new, empty table that is staged: its name in the catalogue is StagedName, which none of the
  // configuration has. In place of one that was.
  Result<Plan> PlanStage(const Table& table, StoredPast* past) const;
  // The table of that name, if there is one, and the staged one, whose number is `staged` (0: there
  // is none), change names. kNotFound: there is neither. kConflict: another one is staged.
  Result<Plan> PlanSwap(const Table& table, TableId staged) const;
  void Publish(Plan plan);
  // After a reopen: what is stored may have changed, the configuration has not.
  void Reload(StoredCatalogue stored);

  // The marks of the table, as they are in `seen`, say no later time than `from`. kConflict: they
  // are others by now. kNotFound: the table is gone.
  Result<Plan> PlanWhole(const TableInfo& seen, TimeUs from) const;

  // Entries come of a batch that was made before the last schema was adopted: rules that are newer
  // than `adoption`, the batch's, did not see its events, whose times lie before `end`, and apply
  // behind its last sequence only. The records that say so, to be written with the batch. Of the
  // committer's thread.
  struct Late {
    TimeUs end = 0;
    uint64_t sequence = 0;
  };
  CatalogueRecords CoverLate(std::span<const TableId> written, uint64_t adoption, const Late& late);

  // Everything of the table before `until` is let go: from then on it claims to be whole only
  // behind. The record that says so, to be written with it. Of the committer's thread.
  CatalogueRecords LetGo(TableId table, TimeUs until);

  // How many schemas were adopted; a TableInfo tells which made it.
  uint64_t adoption() const;
  TablePtr Find(std::string_view name) const;
  std::vector<TablePtr> Tables() const;          // By name.
  std::vector<TablePtr> Named() const;           // The same without those that are staged.
  std::vector<std::string> StagedNames() const;  // Of these the names behind which.
  bool Exists(TableId table) const;
  // Those of the table and of its stream; none if it is unknown.
  CatalogueRecords RecordsOf(TableId table) const;
  // Another one, whenever tables are others than they were.
  uint64_t version() const { return version_.load(std::memory_order_relaxed); }

 private:
  class Planner;

  Plan Unchanged() const;  // REQUIRES: mutex_, shared at least.
  static void PlanToDrop(TableId table, Plan* plan);
  void Rebuild();  // REQUIRES: mutex_ exclusively.
  TimeUs MissedUntil(const TableInfo& table, std::span<const TableId> written, TimeUs end) const;

  mutable std::shared_mutex mutex_;
  std::atomic<uint64_t> version_ = 0;
  StoredCatalogue stored_;
  uint64_t adoption_ = 0;
  std::shared_ptr<const Schema> schema_ = std::make_shared<const Schema>();
  std::map<std::string, TablePtr, std::less<>> tables_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_CATALOGUE_CATALOGUE_H_
