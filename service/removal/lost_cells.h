// LostCells: which cells of a latest table's rows a removal may take away, so that whoever looks
// for what history has instead knows when it has found everything.
//
// What rows have before the removal commits is more than what they lose, and enough: a column that
// a row does not have has nothing in its history. What they still have afterwards is left out again
// (DropKept). Of a table with keep = "row" rows are lost and kept whole: what an older event has in
// its place may have other columns. Not thread-safe.
#ifndef TALLYD_SERVICE_REMOVAL_LOST_CELLS_H_
#define TALLYD_SERVICE_REMOVAL_LOST_CELLS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/schema/key_ranges.h"
#include "storage/store.h"

namespace tallyd {

class LostCells {
 public:
  // Beyond, not worth the memory: 32 MiB.
  static constexpr size_t kMaxCells = 8u << 20;
  static constexpr size_t kMaxRows = 200'000;

  explicit LostCells(bool whole_rows) : whole_rows_(whole_rows) {}

  // Adds what the rows have, of those keys that `is_of_entity` says. False: they have too much.
  using IsOfEntity = std::function<bool(std::string_view row_key)>;
  Result<bool> Add(Store& store, const TablePtr& table, const std::vector<KeyRange>& ranges,
                   const IsOfEntity& is_of_entity, TimeUs now);
  // Leaves out what the rows have as they had it, or have from a time behind the removed range.
  Status DropKept(Store& store, const TablePtr& table, TimeUs behind, TimeUs now);

  bool empty() const { return rows_.empty(); }
  // Whether any of what was added is of that time.
  bool HasWithin(const TimeRange& time) const;
  bool HasRow(std::string_view row_key) const { return rows_.contains(std::string(row_key)); }
  bool Has(std::string_view row_key, const ColumnRef& column) const;
  void Drop(std::string_view row_key, const ColumnRef& column);

 private:
  struct Part {
    TimeUs time = 0;
    std::vector<uint32_t> columns;
  };
  using Parts = std::vector<Part>;

  static std::string NameOf(const ColumnRef& column);
  uint32_t NumberOf(const ColumnRef& column);
  void AddRow(const Row& row);
  void DropKept(const Row& row, TimeUs behind);
  template <class Keeps>
  void Erase(const std::string& row_key, uint32_t column, const Keeps& keeps);

  const bool whole_rows_;
  std::unordered_map<std::string, uint32_t> numbers_;  // Of columns.
  std::map<std::string, Parts> rows_;
  size_t cells_ = 0;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_REMOVAL_LOST_CELLS_H_
