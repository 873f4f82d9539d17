// PreviewBatch: a Batch that is never submitted: what it would write, as rows, for dry runs.
//
//   PreviewBatch preview;
//   mapper.Map(events, arrival, &preview);
//   for (const PreviewTable& table : preview.Tables()) for (const Row& row : table.rows) ...
//
// Rows merge as the store merges them (of one row, column and time the later wins; latest tables
// keep the newest), as if the store were empty. What Tables() returns views the PreviewBatch and is
// valid until the next Put. Not thread-safe.
#ifndef TALLYD_STORAGE_PREVIEW_BATCH_H_
#define TALLYD_STORAGE_PREVIEW_BATCH_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "storage/arena.h"
#include "storage/batch.h"
#include "storage/cell_merge.h"
#include "storage/row_scan.h"

namespace tallyd {

struct PreviewTable {
  TableInfo table;
  std::vector<Row> rows;  // In key order.
};

class PreviewBatch final : public Batch {
 public:
  PreviewBatch() = default;
  PreviewBatch(const PreviewBatch&) = delete;
  PreviewBatch& operator=(const PreviewBatch&) = delete;

  void Put(const TableInfo& table, std::string_view row_key, TimeUs time, const ColumnSet& set,
           std::span<const Value> values) override;
  void Put(const TableInfo& table, std::string_view row_key, TimeUs time,
           std::span<const ColumnRef> columns, std::span<const Value> values) override;
  void Delete(const TableInfo& table, const DeleteSpec& what) override;
  void AddField(std::string_view, std::string_view, uint8_t) override {}
  void NoteSpelling(std::string_view, std::string_view) override {}
  void AddMissed(const TableInfo&, std::string_view, uint8_t) override {}
  bool empty() const override { return tables_.empty(); }

  // The tables in the order of their first use.
  std::vector<PreviewTable> Tables() const;

 private:
  struct Cell {
    ColumnRef column;
    WriteMoment written;
    Value value;
  };
  using Rows = std::map<std::string, std::vector<Cell>, std::less<>>;
  struct Entry {
    TableInfo table;
    Rows rows;
  };

  static void Merge(const TableInfo& table, std::vector<Cell>* cells);
  Entry& Find(const TableInfo& table);
  void PutCells(Entry* entry, std::string_view row_key, TimeUs time,
                std::span<const ColumnRef> columns, std::span<const Value> values);

  uint64_t puts_ = 0;
  std::vector<std::unique_ptr<Entry>> tables_;
  Arena arena_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_PREVIEW_BATCH_H_
