// ColumnPlan: what one scan wants of each column. Which columns the spec selects and which GC rule
// they are under is worked out once per column set, not per entry; a column has one small number
// throughout the scan, whichever set or name it comes by, so that versions can be counted.
// Not thread-safe: one per scan.
#ifndef TALLYD_STORAGE_LEVELDB_READ_COLUMN_PLAN_H_
#define TALLYD_STORAGE_LEVELDB_READ_COLUMN_PLAN_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "storage/cell_merge.h"
#include "storage/leveldb/catalogue/registries.h"
#include "storage/scan.h"

namespace tallyd {

class ColumnPlan {
 public:
  struct Pick {
    bool selected = false;
    uint32_t number = 0;  // Of selected columns.
    const GcRule* rule = nullptr;
    ColumnRef name;  // Its bytes live as long as the pick does.
  };
  struct OfSet {
    const ColumnSet* set = nullptr;
    std::vector<Pick> picks;  // By index in the set.
    uint32_t end = 0;         // After the last selected one; 0: none.
    TimeUs ageless_from = 0;  // From here on no selected column is past its age.
  };

  ColumnPlan(TablePtr table, const ScanSpec& spec, const ColumnRegistry& sets);
  // Of every column, also of families that are no longer configured: those keep what they have.
  // For whoever writes entries again without what is past its age at `now`.
  ColumnPlan(TablePtr table, const ColumnRegistry& sets, TimeUs now);

  // Null if there is no such set.
  const OfSet* Set(uint32_t number);
  const Pick& Named(const ColumnRef& column);
  // Before each row: names that do not recur must not pile up.
  void BeginRow();
  uint32_t columns() const { return next_number_; }
  // Changes when BeginRow forgets picks: those that were given are then gone.
  uint64_t generation() const { return generation_; }
  const ColumnRegistry& sets() const { return sets_; }

  const TableInfo& table() const { return *table_; }
  bool any_visible() const;
  bool counts_versions() const;  // Some visible family's GC counts them.
  // Every cell of an older time has expired.
  TimeUs oldest() const;
  // No cell from here on is past its age.
  TimeUs ageless_from() const;

 private:
  // Looked up by ColumnRef, without a copy of the name.
  struct Hash {
    using is_transparent = void;
    size_t operator()(const ColumnRef& c) const {
      return std::hash<std::string_view>()(c.qualifier) * 31 + c.family;
    }
    size_t operator()(const Column& c) const { return (*this)(c.ref()); }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const Column& a, const Column& b) const { return a == b; }
    bool operator()(const ColumnRef& a, const Column& b) const { return a == b.ref(); }
    bool operator()(const Column& a, const ColumnRef& b) const { return a.ref() == b; }
  };

  bool Selects(const ColumnRef& column) const;
  Pick MakePick(const ColumnRef& column);

  const TablePtr table_;
  const std::vector<ColumnPattern> patterns_;
  const ColumnRegistry& sets_;
  std::vector<GcRule> rules_;  // By FamilyId.
  std::unordered_map<Column, Pick, Hash, Equal> picks_;
  uint32_t next_number_ = 0;
  uint64_t generation_ = 0;
  std::unordered_map<uint32_t, std::unique_ptr<OfSet>> plans_;
  const OfSet* last_ = nullptr;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_READ_COLUMN_PLAN_H_
