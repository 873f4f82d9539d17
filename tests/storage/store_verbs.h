// StoreVerbs: what tests do with a store of any kind: Put, Write, Erase, Read. A fixture derives
// from it and says which store it is. Beside it a clock that tests set, and schemas of small
// tables.
#ifndef TALLYD_TESTS_STORAGE_STORE_VERBS_H_
#define TALLYD_TESTS_STORAGE_STORE_VERBS_H_

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/schema/schema.h"
#include "storage/store.h"

namespace tallyd {

class ManualClock final : public Clock {
 public:
  TimeUs Now() const override { return now; }
  int64_t SteadyUs() const override { return steady; }
  // Time passes; setting `now` alone is a jump of the wall clock.
  void Pass(int64_t us) {
    steady += us;
    now += us;
  }
  std::atomic<TimeUs> now{1'000'000'000'000};
  std::atomic<int64_t> steady{0};
};

// A schema of tables over stream "s" (milliseconds), each with families A and B.
Table MakeTable(const std::string& name, Pattern pattern = Pattern::kSingleTimestamp,
                bool keep_row = false);
Schema MakeSchema(std::vector<Table> tables);

// "family:qualifier@time" -> the value's text.
using Cells = std::map<std::string, std::string>;
using Rows = std::vector<std::pair<std::string, Cells>>;

// One column with its value.
struct TestCell {
  std::string family;
  std::string qualifier;
  Value value;
};

class StoreVerbs {
 public:
  virtual ~StoreVerbs() = default;

  virtual Store& store() = 0;

  TablePtr Find(const std::string& table) { return store().FindTable(table); }
  std::unique_ptr<Batch> NewBatch() { return store().NewBatch(); }

  // By column set, or by name.
  void Put(Batch* batch, const std::string& table, const std::string& row, TimeUs time,
           const std::vector<TestCell>& cells, bool by_set = true);
  void Delete(Batch* batch, const std::string& table, const DeleteSpec& what);
  Status Commit(std::unique_ptr<Batch> batch);
  Status Write(const std::string& table, const std::string& row, TimeUs time,
               const std::vector<TestCell>& cells, bool by_set = true);
  Status Erase(const std::string& table, const DeleteSpec& what);

  // At the clock's time, where the spec names none.
  Rows Read(const std::string& table, ScanSpec spec = {});
  Result<Rows> TryRead(const std::string& table, ScanSpec spec = {});
  Rows ReadRuns(const std::string& table, ScanSpec spec = {});  // By ScanRuns.
  Result<Rows> TryReadRuns(const std::string& table, ScanSpec spec = {});

  ManualClock clock;

 private:
  static void AddRow(const TableInfo& table, const Row& row, Cells* cells);
  static void AddRun(const TableInfo& table, const ColumnRun& run, Cells* cells);
};

DeleteSpec RowDelete(const std::string& start, const std::string& end);
KeyRange OneRow(const std::string& row);

}  // namespace tallyd

#endif  // TALLYD_TESTS_STORAGE_STORE_VERBS_H_
