// NewestCells: a batch that gathers, of what is put into it, the newest cell of each column of each
// row (of a table with keep = "row": those of each row's newest event), to be put into another
// batch. Everything else that is told to it is not kept. One table; not thread-safe.
#ifndef TALLYD_SERVICE_REMOVAL_NEWEST_CELLS_H_
#define TALLYD_SERVICE_REMOVAL_NEWEST_CELLS_H_

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "storage/batch.h"

namespace tallyd {

class NewestCells final : public Batch {
 public:
  // Whether cells of the row are wanted.
  using WantsRow = std::function<bool(std::string_view row_key)>;
  NewestCells(const TableInfo& table, WantsRow wants_row)
      : table_(table), wants_row_(std::move(wants_row)) {}

  void Put(const TableInfo& table, std::string_view row_key, TimeUs time, const ColumnSet& set,
           std::span<const Value> values) override;
  void Put(const TableInfo& table, std::string_view row_key, TimeUs time,
           std::span<const ColumnRef> columns, std::span<const Value> values) override;
  void Delete(const TableInfo&, const DeleteSpec&) override {}
  void AddField(std::string_view, std::string_view, uint8_t) override {}
  void NoteSpelling(std::string_view, std::string_view) override {}
  void AddMissed(const TableInfo&, std::string_view, uint8_t) override {}
  void PutMemo(std::string_view, std::string_view, NoteOrder) override {}
  void DropMemo(std::string_view) override {}
  bool empty() const override { return rows_.empty(); }

  size_t bytes() const { return bytes_; }  // In memory, about.

  // Cells of one row and time. A column may come again with another time.
  struct Cells {
    std::vector<ColumnRef> columns;
    std::vector<Value> values;
  };
  using Use = std::function<void(std::string_view row_key, TimeUs time, const Cells& cells)>;
  // Those that are wanted; views live as long as this.
  using WantsCell = std::function<bool(std::string_view row_key, const ColumnRef& column)>;
  void ForEach(const WantsCell& wants, const Use& use) const;

 private:
  struct Slot {
    TimeUs time = 0;
    Value value;  // Null: none was put.
  };
  struct RowCells {
    TimeUs newest = -1;  // That was put.
    std::vector<std::pair<const ColumnSet*, std::vector<Slot>>> by_set;
    std::map<std::pair<FamilyId, std::string>, Slot, std::less<>> by_name;
  };

  // Null: what comes is not wanted, or older than what a row keeps whole.
  RowCells* RowOf(std::string_view row_key, TimeUs time);
  void Set(Slot* slot, TimeUs time, const Value& value);

  const TableInfo& table_;
  const WantsRow wants_row_;
  std::unordered_map<std::string, RowCells> rows_;
  Arena arena_;
  size_t bytes_ = 0;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_REMOVAL_NEWEST_CELLS_H_
