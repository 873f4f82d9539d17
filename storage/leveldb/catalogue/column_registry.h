// ColumnRegistry: every ColumnSet of every table, by number and by columns. Interning gives a
// number at once; the set's record is written in the first commit that uses it (IsStored tells
// whether one did), so a set that is never used is never stored. Thread-safe. Sets live as long as
// the registry.
#ifndef TALLYD_STORAGE_LEVELDB_CATALOGUE_COLUMN_REGISTRY_H_
#define TALLYD_STORAGE_LEVELDB_CATALOGUE_COLUMN_REGISTRY_H_

#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "config/values/result.h"
#include "storage/table_info.h"

namespace tallyd {

class ColumnRegistry {
 public:
  // Per table; beyond, columns do not recur.
  static constexpr size_t kMaxSets = 16'384;
  static constexpr size_t kMaxBytes = 16u << 20;  // Of the sets' records.

  ColumnRegistry();
  ~ColumnRegistry();
  ColumnRegistry(const ColumnRegistry&) = delete;
  ColumnRegistry& operator=(const ColumnRegistry&) = delete;

  // Null when the table has as many sets as it may have and this is none of them. REQUIRES:
  // distinct columns.
  const ColumnSet* Intern(const TableInfo& table, std::span<const ColumnRef> columns);
  // The set of these columns, which are in read order; null if there is none.
  const ColumnSet* FindEqual(TableId table, const std::vector<Column>& columns) const;
  // Null if unknown.
  const ColumnSet* Find(TableId table, uint32_t set) const;

  // What was read from the database. Also after a reopen: a set that is known becomes stored.
  Status Load(TableId table, uint32_t set, std::vector<Column> columns);
  std::vector<uint32_t> StoredSets(TableId table) const;

  // REQUIRES, for these: the set is of this registry.
  static bool IsStored(const ColumnSet& set);
  static void SetStored(const ColumnSet& set, bool stored);
  // Before reloading from a database whose last writes may not have arrived.
  void ForgetStored();

 private:
  struct Registered;
  struct OfTable;

  Registered* Add(OfTable* table, TableId table_id, uint32_t set, std::vector<Column> columns);

  mutable std::shared_mutex mutex_;
  std::unordered_map<TableId, std::unique_ptr<OfTable>> tables_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_CATALOGUE_COLUMN_REGISTRY_H_
