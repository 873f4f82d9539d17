// RowAssembler: the entries of one row, newest first -> a Row. Applies, in this order: deletes; of
// writes to the same column and time the later, or of aggregates all, folded; GC; the spec's range
// of cell times and its number of versions. Decodes only what is selected. Entries are copied when
// they are taken, so the bytes given need not stay. What is selected, and by which rule cells
// expire, its ColumnPlan tells. Neither is thread-safe.
#ifndef TALLYD_STORAGE_LEVELDB_READ_ROW_ASSEMBLER_H_
#define TALLYD_STORAGE_LEVELDB_READ_ROW_ASSEMBLER_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "storage/batch.h"
#include "storage/blocks/column_block.h"
#include "storage/cell_merge.h"
#include "storage/leveldb/catalogue/delete_range.h"
#include "storage/leveldb/catalogue/registries.h"
#include "storage/leveldb/catalogue/write_teller.h"
#include "storage/scan.h"
#include "storage/table_info.h"

namespace tallyd {

// ColumnPlan: what one scan wants of each column. Which columns the spec selects and which GC rule
// they are under is worked out once per column set, not per entry; a column has one small number
// throughout the scan, whichever set or name it comes by, so that versions can be counted. One per
// scan.
class ColumnPlan {
 public:
  struct Pick {
    bool selected = false;
    uint32_t number = 0;  // Of selected columns.
    const GcRule* rule = nullptr;
    ColumnRef name;  // Its bytes live as long as the pick does.
    // Its place among the columns that tell events apart, whether it is selected or not; -1: none.
    int tells = -1;
  };
  struct OfSet {
    const ColumnSet* set = nullptr;
    std::vector<Pick> picks;  // By index in the set.
    uint32_t end = 0;         // After the last one that is selected or tells; 0: none.
    TimeUs ageless_from = 0;  // From here on no selected column is past its age.
  };

  // `telling`: the columns that tell the table's events apart, where others than those of one event
  // may fall on one cell.
  ColumnPlan(TablePtr table, const ScanSpec& spec, const ColumnRegistry& sets,
             std::vector<Telling> telling = {});
  // Of every column, also of families that are no longer configured: those keep what they have.
  // For whoever writes entries again without what is past its age at `now`.
  ColumnPlan(TablePtr table, const ColumnRegistry& sets, TimeUs now,
             std::vector<Telling> telling = {});

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
  // None: nothing puts the table's events at that risk.
  const std::vector<Telling>& telling() const { return telling_; }
  // Every cell of an older time has expired.
  TimeUs oldest() const;
  // No cell from here on is past its age.
  TimeUs ageless_from() const;

 private:
  bool Selects(const ColumnRef& column) const;
  Pick MakePick(const ColumnRef& column);

  const TablePtr table_;
  const std::vector<ColumnPattern> patterns_;
  const ColumnRegistry& sets_;
  std::vector<GcRule> rules_;  // By FamilyId.
  const std::vector<Telling> telling_;
  std::unordered_map<Column, Pick, ColumnNameHash, ColumnNameEqual> picks_;
  uint32_t next_number_ = 0;
  uint64_t generation_ = 0;
  std::unordered_map<uint32_t, std::unique_ptr<OfSet>> plans_;
  const OfSet* last_ = nullptr;
};

// The cells of entries of a column block in some of its columns, mostly those of one shape, as far
// as they are selected. An entry may lack some of them.
struct ShapeCells {
  struct OfColumn {
    const ColumnPlan::Pick* pick = nullptr;
    uint32_t set_index = 0;
    uint32_t number = 0;  // In the block.
    BlockColumn cells;
  };
  std::vector<OfColumn> columns;   // In read order.
  std::vector<BlockColumn> cells;  // The cells of these, for those who copy them.
  std::vector<CellView> blank;     // By column; without values.
  std::vector<OfColumn> telling;   // Of any column that tells; decoded only for rows.
  const ColumnSet* set = nullptr;  // Of all the shape's columns; null where there is none.
  TimeUs ageless_from = 0;         // From here on no selected column is past its age.
  bool some_absent = false;        // Some entries of the block lack some of the columns.
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
  bool Add(TimeUs time, uint64_t sequence, const ShapeCells& cells, uint32_t entry);
  // Whether there is a cell to return that is newer than `time`.
  bool HasCellAfter(TimeUs time) const { return !row_.cells.empty() && time != time_; }
  // Completes row(), but for its key; false when there is no cell to return.
  bool Finish();

  void SetKey(std::string_view key) { row_.key = key; }
  // The times of the row at which events fell on cells of others, and how many.
  struct Merged {
    TimeUs time = 0;
    uint64_t events = 0;
  };
  std::span<const Merged> merged() const { return merged_; }
  const Row& row() const { return row_; }

 private:
  bool Begin(TimeUs time, uint64_t sequence);
  void End(size_t cells_before, uint32_t writers_before);
  Value ValueOf(const ShapeCells::OfColumn& column, uint32_t entry);
  void Tell(const ColumnPlan::Pick& pick, const Value& value);
  void TellFirst();
  bool AddBySet(const ColumnPlan::OfSet& plan, bool sparse, std::string_view values);
  bool AddByName(uint32_t count, std::string_view cells);
  bool Consider(const ColumnPlan::Pick& pick, const CellView& cell);
  bool Fold(const ColumnPlan::Pick& pick, const Value& value);
  Value Copy(const Value& value);
  void StartTime(TimeUs time);
  void MarkEmitted();
  void MarkPlace(const ColumnPlan::Pick& pick, size_t place);
  void FinishPart();
  bool HidesCell(const ColumnRef& column) const;
  bool HasEnough(uint32_t column);

  ColumnPlan* const plan_;
  const TimeRange cells_;
  const uint32_t versions_;
  const uint64_t line_;  // What was written from this sequence on is not given; 0: all is.
  const bool counting_;

  Row row_;
  Arena arena_;
  std::vector<const DeleteRange*> deletes_;
  CellMerge merge_;
  std::vector<uint32_t> returned_;  // By column: how many cells of the row; where versions_ counts.

  // Of columns of aggregate families: where in row_.cells their last cell is, and in which row
  // that was; what the part's cells fold to.
  struct Place {
    uint64_t row = 0;
    size_t cell = 0;
  };
  std::vector<Place> places_;  // By column.
  uint64_t rows_ = 0;
  CellFolds folds_;

  // Where columns tell events apart: what they tell. The first entry of a time is looked at once
  // another one comes: few have one, and a look may cost as much as reading the entry.
  struct Told {
    const ColumnPlan::Pick* pick = nullptr;
    Value value;
  };
  WriteTeller teller_;
  std::vector<Told> first_told_;
  std::vector<Merged> merged_;

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
