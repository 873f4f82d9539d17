// RowAssembler: the entries of one row, newest first -> a Row. Applies, in this order: deletes; of
// writes to the same column and time the later; GC; the spec's range of cell times; the spec's
// number of versions. Decodes only what is selected. Entries are copied when they are taken, so the
// bytes given need not stay. Not thread-safe.
#ifndef TALLYD_STORAGE_LEVELDB_READ_ROW_ASSEMBLER_H_
#define TALLYD_STORAGE_LEVELDB_READ_ROW_ASSEMBLER_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "storage/batch.h"
#include "storage/cell_merge.h"
#include "storage/leveldb/catalogue/catalogue.h"
#include "storage/leveldb/read/column_plan.h"
#include "storage/scan.h"

namespace tallyd {

// The cells of the entries of one shape in a column block, as far as they are selected.
struct ShapeCells {
  struct OfColumn {
    const ColumnPlan::Pick* pick = nullptr;
    uint32_t set_index = 0;
    uint32_t number = 0;  // In the block.
    const ColumnData* data = nullptr;
    std::span<const uint32_t> indexes;  // By entry; empty: the entry itself.

    size_t IndexOf(uint32_t entry) const { return indexes.empty() ? entry : indexes[entry]; }
  };
  std::vector<OfColumn> columns;
  std::vector<CellView> blank;     // By column; without values.
  const ColumnSet* set = nullptr;  // Of all the shape's columns; null where there is none.
  TimeUs ageless_from = 0;         // From here on no selected column is past its age.
};

class RowAssembler {
 public:
  // `plan` outlives the assembler.
  RowAssembler(ColumnPlan* plan, const ScanSpec& spec, CellMerge::Versions versions);

  void Begin();
  void Hide(const DeleteRange* range) { deletes_.push_back(range); }  // After Begin.
  // False if the entry is malformed. REQUIRES: in descending order of (time, sequence).
  bool Add(TimeUs time, uint64_t sequence, std::string_view entry);
  // The same of an entry of a column block.
  void Add(TimeUs time, uint64_t sequence, const ShapeCells& cells, uint32_t entry);
  // Whether there is a cell to return that is newer than `time`.
  bool HasCellAfter(TimeUs time) const { return !row_.cells.empty() && time != time_; }
  // Completes row(), but for its key; false when there is no cell to return.
  bool Finish();

  void SetKey(std::string_view key) { row_.key = key; }
  const Row& row() const { return row_; }

 private:
  bool Begin(TimeUs time, uint64_t sequence);
  void End(size_t cells_before, uint32_t writers_before);
  Value ValueOf(const ShapeCells::OfColumn& column, uint32_t entry);
  bool AddBySet(const ColumnPlan::OfSet& plan, bool sparse, std::string_view values);
  bool AddByName(uint32_t count, std::string_view cells);
  void Consider(const ColumnPlan::Pick& pick, const CellView& cell);
  void StartTime(TimeUs time);
  void MarkEmitted();
  void FinishPart();
  bool HidesCell(const ColumnRef& column) const;
  bool HasEnough(uint32_t column);

  ColumnPlan* const plan_;
  const TimeRange cells_;
  const uint32_t versions_;
  const bool counting_;

  Row row_;
  Arena arena_;
  std::vector<const DeleteRange*> deletes_;
  CellMerge merge_;
  std::vector<uint32_t> returned_;  // By column: how many cells of the row; where versions_ counts.

  // The entry at hand, and the part that its time makes.
  TimeUs time_ = -1;
  uint64_t sequence_ = 0;
  bool cell_deletes_ = false;       // Some delete hides single cells of this entry.
  const ColumnSet* set_ = nullptr;  // That this entry uses.
  bool careful_ = false;            // Cells of this entry may be hidden one by one.
  uint32_t part_entries_ = 0;
  uint32_t part_begin_ = 0;
  uint32_t part_writers_ = 0;  // Entries with a cell in the part.
  const ColumnSet* part_set_ = nullptr;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_READ_ROW_ASSEMBLER_H_
