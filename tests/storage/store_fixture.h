// A LevelDB store in a directory of its own, with verbs for tests: Write, Read, Reopen.
#ifndef TALLYD_TESTS_STORAGE_STORE_FIXTURE_H_
#define TALLYD_TESTS_STORAGE_STORE_FIXTURE_H_

#include <prometheus/registry.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/schema.h"
#include "storage/leveldb_store.h"
#include "storage/store.h"

namespace tallyd {

class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

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

class StoreHarness {
 public:
  explicit StoreHarness(StoreEnv* env = nullptr);
  ~StoreHarness();

  // Before Open: storage is as tests want it (small, no reserve).
  StorageConfig& config() { return config_; }
  void set_rows_at_once(uint64_t rows) { rows_at_once_ = rows; }  // See LevelDbStoreOptions.
  const std::string& path() const { return dir_.path(); }

  Status TryOpen();
  void Open();
  void Close() { store_.reset(); }
  void Reopen();  // Closes, opens, and adopts what was adopted last.
  Status Adopt(const Schema& schema);

  Store& store() { return *store_; }
  TablePtr Find(const std::string& table) { return store_->FindTable(table); }
  std::unique_ptr<Batch> NewBatch() { return store_->NewBatch(); }

  // By column set, or by name.
  void Put(Batch* batch, const std::string& table, const std::string& row, TimeUs time,
           const std::vector<TestCell>& cells, bool by_set = true);
  void Delete(Batch* batch, const std::string& table, const DeleteSpec& what);
  Status Commit(std::unique_ptr<Batch> batch);
  Status Write(const std::string& table, const std::string& row, TimeUs time,
               const std::vector<TestCell>& cells, bool by_set = true);
  Status Erase(const std::string& table, const DeleteSpec& what);

  Rows Read(const std::string& table, ScanSpec spec = {});
  Result<Rows> TryRead(const std::string& table, ScanSpec spec = {});
  Rows ReadRuns(const std::string& table, const ScanSpec& spec);  // By ScanRuns.
  // Until no delete waits to be purged.
  void AwaitPurge();
  // What the engine tells of itself, by its name in /v1/status.
  uint64_t Told(const std::string& member);
  // The ends of files that a start passed over: file and bytes.
  std::vector<std::pair<std::string, uint64_t>> CutTails();

  // The sum of a counter or gauge over its labels.
  double Metric(const std::string& name) const;
  // As the store tells it of itself, all labels together.
  double Gauge(const std::string& name);

  ManualClock clock;
  MeasureVolume measure;  // Before Open.

 private:
  static void AddRow(const TableInfo& table, const Row& row, Cells* cells);

  TempDir dir_;
  StorageConfig config_;
  StoreEnv* env_;
  uint64_t rows_at_once_ = LevelDbStoreOptions().rows_at_once;
  Schema adopted_;
  std::unique_ptr<prometheus::Registry> own_registry_;
  std::unique_ptr<Store> store_;
};

DeleteSpec RowDelete(const std::string& start, const std::string& end);
KeyRange OneRow(const std::string& row);

}  // namespace tallyd

#endif  // TALLYD_TESTS_STORAGE_STORE_FIXTURE_H_
