// RemovalCount: what a delete is about to forget, for its answer. Where indexes tell that it is
// little, it is read and counted exactly; of more the rows are told as indexes estimate them, and
// the cells are not.
//
//   RemovalCount count;
//   count.Add(store, table, what, now);   // Before the delete commits, for each of its ranges.
//
// What is written or expires meanwhile may be in it or not. Not thread-safe; blocks on the disk.
#ifndef TALLYD_SERVICE_REMOVAL_REMOVAL_COUNT_H_
#define TALLYD_SERVICE_REMOVAL_REMOVAL_COUNT_H_

#include <cstdint>
#include <optional>

#include "service/access/row_clamp.h"
#include "storage/store.h"

namespace tallyd {

class RemovalCount {
 public:
  void Add(Store& store, const TablePtr& table, const DeleteSpec& what, TimeUs now);
  // Of the clamp's rows alone. Indexes tell of others', too: much of it is not counted.
  void AddOwn(Store& store, const TablePtr& table, const DeleteSpec& what, TimeUs now,
              const RowClamp& clamp);
  // One row that was met, of which nobody counts the cells.
  void AddRow();

  // Nothing: nobody knows.
  std::optional<uint64_t> rows() const { return known_ ? std::optional(rows_) : std::nullopt; }
  bool is_exact() const { return exact_; }  // Otherwise the rows are estimated.
  // Nothing: they were not counted.
  std::optional<uint64_t> cells() const {
    return known_ && exact_ && has_cells_ ? std::optional(cells_) : std::nullopt;
  }

 private:
  // `read`: so many rows it looked at.
  bool CountAll(RowScan* scan, const DeleteSpec& what, uint64_t* read);

  uint64_t rows_ = 0;
  uint64_t cells_ = 0;
  uint64_t entries_ = 0;  // As estimated: what it takes to read them.
  bool exact_ = true;
  bool has_cells_ = true;
  bool known_ = true;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_REMOVAL_REMOVAL_COUNT_H_
