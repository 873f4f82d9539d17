// ModelTable: the rows of one table as plain maps, and what storage/store.h promises of them
// written down as plainly as can be: which write wins, what a delete forgets, what has expired when
// it is read. Shares no code with any engine. A value; not thread-safe.
//
// Stores may differ in one thing: what has expired once, by the retention clock, may be gone for
// good or may not. Expire marks it; Accepts takes every answer that the rest allows.
#ifndef TALLYD_TESTS_STORAGE_MODEL_TABLE_H_
#define TALLYD_TESTS_STORAGE_MODEL_TABLE_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "storage/batch.h"
#include "storage/scan.h"
#include "tests/storage/store_verbs.h"

namespace tallyd {

// A value with its text.
class OwnedValue {
 public:
  explicit OwnedValue(const Value& value);
  const Value& value() const { return value_; }

 private:
  std::shared_ptr<const std::string> text_;
  Value value_;
};

class ModelTable {
 public:
  struct Change {
    Column column;
    OwnedValue value;
    std::optional<Aggregate> folded;  // Of an aggregate family.
  };
  // Of a row that is read: newest first, then in read order.
  struct ReadCell {
    TimeUs time = 0;
    Column column;
    OwnedValue value;
  };
  struct ReadRow {
    std::string key;
    std::vector<ReadCell> cells;
  };

  bool empty() const { return rows_.empty(); }

  // `changes` are the cells of one event that have a value.
  void Put(TableMode mode, const std::string& row, TimeUs time, const std::vector<Change>& changes);
  void Delete(const DeleteSpec& what);
  // Marks what has expired by this time: a store may have removed it.
  void Expire(const TableInfo& table, TimeUs now);
  // Marks what is older than that: a store that keeps to a table's max_bytes may have let it go.
  void LetGo(TimeUs until);

  // The rows that the spec asks for, in the direction of the scan; its limit is left to the caller.
  std::vector<ReadRow> Read(const TableInfo& table, const ScanSpec& spec) const;
  // Whether a store may answer this.
  bool Accepts(const TableInfo& table, const ScanSpec& spec, const Rows& answer) const;

 private:
  struct Cell {
    OwnedValue value;
    bool may_be_gone = false;
    // Of an aggregate family: what was written to it, in order, of which so many of the first may
    // be gone.
    std::vector<OwnedValue> inputs = {};
    size_t inputs_may_go = 0;
    std::optional<Aggregate> folded = {};
  };
  static Cell Folded(const Change& change, const Cell* before);
  static bool MayBe(const Cell& cell, const std::string& text);
  using Versions = std::map<TimeUs, Cell, std::greater<>>;  // Newest first.
  using Columns = std::map<std::pair<FamilyId, std::string>, Versions>;
  // Of the cells of a column that are newer than the one at hand: how many are there, and how many
  // of them are given.
  struct Newer {
    uint32_t there = 0;
    uint32_t given = 0;
    friend auto operator<=>(const Newer&, const Newer&) = default;
  };

  static bool IsGiven(const TableInfo& table, const ScanSpec& spec, FamilyId family, TimeUs time,
                      const Newer& newer);
  static void DropOlderEvents(Columns* columns);
  static void DropOlderCells(Versions* cells);
  static bool AcceptsRow(const TableInfo& table, const ScanSpec& spec, const Columns& columns,
                         const Cells& answer);
  static bool AcceptsColumn(const TableInfo& table, const ScanSpec& spec, FamilyId family,
                            const Versions& cells, const std::map<TimeUs, std::string>& answer);
  static bool AcceptsEvent(const TableInfo& table, const ScanSpec& spec, const Columns& columns,
                           const Cells& answer);
  void DropEmpty();

  std::map<std::string, Columns> rows_;
};

}  // namespace tallyd

#endif  // TALLYD_TESTS_STORAGE_MODEL_TABLE_H_
