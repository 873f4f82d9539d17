// What the store knows of a table: its stable number, how its rows merge, its families and what
// they keep, and from when on it holds what its rules take. Numbers are given once and never again,
// so that stored bytes keep their meaning when the configuration changes. Immutable; shared by
// std::shared_ptr<const TableInfo>. A reload that changes any of it makes another. Beside it the
// columns of its rows, and the sets in which they recur (ColumnSet).
#ifndef TALLYD_STORAGE_TABLE_INFO_H_
#define TALLYD_STORAGE_TABLE_INFO_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/schema.h"
#include "config/values/time.h"

namespace tallyd {

using TableId = uint32_t;
using FamilyId = uint16_t;  // An index into TableInfo::families.

// DO NOT CHANGE THESE VALUES: they are stored.
enum class TableMode : uint8_t {
  kHistory = 0,     // Every cell is kept until GC.
  kLatestCell = 1,  // The newest cell of every column.
  kLatestRow = 2,   // The cells of the newest event.
};

// `whole_from`: the event time from which on a table holds all that something takes. 0 is all that
// its stream ever took, kNeverWhole nothing for certain. When a table joins a stream with history,
// or a rule changes, the events before are not found by it. Whoever fills a table from one that is
// whole sets it to 0.
inline constexpr TimeUs kNeverWhole = kMaxTimeUs + 1;

struct RuleMark {
  // Its canonical text (config/schema/schema.h); empty: all rules as one, or the membership.
  std::string rule;
  uint64_t since = 0;       // The last commit before it applied.
  TimeUs whole_from = 0;    // The table holds all that it takes from this time on.
  uint64_t away_since = 0;  // It applies no more: the last commit before that. 0: it applies.
  uint64_t adoption = 0;    // Since which one it applies (TableInfo); not stored.
};

struct StoredFamily {
  std::string name;
  bool configured = false;  // False: no longer in the file; its cells are kept and not shown.
  Family rules;             // Of configured families; of all others only what it is (KindOf).
  Family last = {};         // The rules that it had when it was last in the file.
  TimeUs whole_from = 0;    // Older cells may have gone under older rules, or max_bytes.
};

struct TableInfo {
  TableId id = 0;
  std::string name;
  std::string stream;
  std::string pattern;  // As the file spells it.
  std::string row_key;  // The template's text.
  TableMode mode = TableMode::kHistory;
  std::string time_field;  // As last in the file, like `when`.
  std::vector<std::string> when;
  RuleMark membership;                 // Of `time_field` and `when`: which events enter.
  std::vector<RuleMark> rules;         // Of the columns; those that apply first, in their order.
  bool orphaned = false;               // No longer in the file.
  uint64_t max_bytes = 0;              // On the disk, as the file has it; 0: as many as come.
  uint64_t adoption = 0;               // How many schemas the store had adopted; not stored.
  std::vector<StoredFamily> families;  // By FamilyId.
  std::vector<uint16_t> family_rank;   // By FamilyId: its place in name order.

  std::optional<FamilyId> FindFamily(std::string_view family) const {
    for (size_t i = 0; i < families.size(); ++i) {
      if (families[i].name == family) return static_cast<FamilyId>(i);
    }
    return std::nullopt;
  }
};

// Whether what is written to some of the table's cells is folded.
inline bool HasAggregates(const TableInfo& table) {
  return std::ranges::any_of(table.families, [](const StoredFamily& family) {
    return family.rules.aggregate.has_value();
  });
}

using TablePtr = std::shared_ptr<const TableInfo>;

// The name by which a catalogue knows the table that is staged for another one's name
// (Staging::StageTable), or was replaced there: no table of a configuration can have it.
inline constexpr char kStagedMark = '~';
inline std::string StagedName(std::string_view name) { return std::string(name) + kStagedMark; }
inline bool IsStagedName(std::string_view name) { return name.ends_with(kStagedMark); }
// The name behind which it is staged; of any other table its own.
inline std::string_view NameBehind(std::string_view name) {
  return IsStagedName(name) ? name.substr(0, name.size() - 1) : name;
}

// A column by view: what callers pass and rows return.
struct ColumnRef {
  FamilyId family = 0;
  std::string_view qualifier;
  friend bool operator==(const ColumnRef&, const ColumnRef&) = default;
};

struct Column {
  FamilyId family = 0;
  std::string qualifier;
  ColumnRef ref() const { return {family, qualifier}; }
  friend bool operator==(const Column&, const Column&) = default;
};

// For maps of columns by name, which a ColumnRef is looked up in, without a copy of the name.
struct ColumnNameHash {
  using is_transparent = void;
  size_t operator()(const ColumnRef& c) const {
    return std::hash<std::string_view>()(c.qualifier) * 31 + c.family;
  }
  size_t operator()(const Column& c) const { return (*this)(c.ref()); }
};
struct ColumnNameEqual {
  using is_transparent = void;
  bool operator()(const Column& a, const Column& b) const { return a == b; }
  bool operator()(const ColumnRef& a, const Column& b) const { return a == b.ref(); }
  bool operator()(const Column& a, const ColumnRef& b) const { return a.ref() == b; }
};

// ColumnSet: a recurring list of columns, learned once. An entry that uses one stores a number
// instead of names, and whoever writes or reads it compares a pointer instead of looking up
// strings.
//
// Sets are interned per table by the Store (Store::InternColumns) and live as long as it does; two
// sets are equal iff their pointers are. Columns are in read order: families by name, qualifiers by
// bytes; no column twice.
struct ColumnSet {
  TableId table = 0;
  uint32_t id = 0;  // Unique in its table.
  std::vector<Column> columns;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_TABLE_INFO_H_
