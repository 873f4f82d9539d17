// ModelStore: a Store in memory, as plain as can be: the model that other stores are compared with,
// and the second one that the conformance suite runs over. What it keeps is a ModelDisk, which
// outlives it: a store opened on the same one has everything. Leaves nothing for later; takes no
// care of time or memory.
#ifndef TALLYD_TESTS_STORAGE_MODEL_STORE_H_
#define TALLYD_TESTS_STORAGE_MODEL_STORE_H_

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "storage/store.h"
#include "tests/storage/model_table.h"

namespace tallyd {

// A value: a copy of it is the store of that moment.
struct ModelDisk {
  struct StoredTable {
    TableInfo info;  // Families without their rules.
    ModelTable rows;
  };
  std::map<std::string, TimeUnit, std::less<>> streams;
  std::map<TableId, StoredTable> tables;
  TableId next_table = 1;
  std::map<std::string, std::map<std::string, FieldInfo>, std::less<>> fields;
  uint64_t spellings = 0;  // Noted so far.
  std::map<std::string, std::string, std::less<>> memos;
  std::optional<TimeUs> retention;
};

class ModelStore final : public Store, public Watching, public ClockKeeper {
 public:
  // Both outlive the store.
  ModelStore(ModelDisk* disk, const Clock* clock);
  ~ModelStore() override;

  const Capabilities& capabilities() const override { return capabilities_; }
  Status Adopt(const Schema& schema) override;
  TablePtr FindTable(std::string_view name) const override;
  std::vector<TablePtr> Tables() const override;
  Status DropTable(std::string_view name) override;
  const ColumnSet* InternColumns(const TableInfo& table,
                                 std::span<const ColumnRef> columns) override;
  std::unique_ptr<Batch> NewBatch() override;
  void Submit(std::unique_ptr<Batch> batch, CommitDone done) override;
  std::shared_ptr<RowWatch> WatchRows(const TableInfo& table, TimeUs before) override {
    return watches_.Add(table.id, before);
  }
  Status CommitUnlessTouched(std::unique_ptr<Batch> batch,
                             const std::shared_ptr<RowWatch>& watch) override;
  std::unique_ptr<RowScan> Scan(const TablePtr& table, const ScanSpec& spec) override;
  std::unique_ptr<RunScan> ScanRuns(const TablePtr& table, const ScanSpec& spec) override;
  Result<std::vector<KeyRange>> Split(const TablePtr& table, const KeyRange& range,
                                      const TimeRange& time, const SplitSpec& spec) override;
  Result<ScanEstimate> Estimate(const TablePtr& table, const EstimateSpec& wanted) override;
  std::vector<FieldInfo> Fields(std::string_view stream) const override;
  std::vector<MissedField> MissedFields(const TableInfo&) const override { return {}; }
  Result<std::optional<std::string>> FindMemo(std::string_view key) override;
  Result<std::vector<Memo>> Memos(std::string_view prefix, size_t limit,
                                  std::string_view after) override;
  Result<TableStats> Stats(const TablePtr& table) override;
  StoreState State() override;
  TimeUs RetentionNow() override { return retention_.Now(); }
  Status TrustClock() override;
  void Close() override;

  // What has expired by this time may be gone, in another store that this one is compared with.
  void Expire(TimeUs now);
  // The same of what a table has of times before that, for its max_bytes, which is no matter here.
  void LetGo(std::string_view table, TimeUs until);
  // Whether a store with the same history may answer this.
  bool Accepts(std::string_view table, const ScanSpec& spec, const Rows& answer) const;

 private:
  // Null: nobody minds what came before.
  Status Apply(const Batch& batch, const RowWatch* own_watch);
  bool HoldsRows(std::string_view stream) const;
  Status Check(const Schema& schema) const;
  void Configure();
  void ExpireLocked(TimeUs now);
  const TableInfo* FindStored(std::string_view name) const;

  const Capabilities capabilities_;
  ModelDisk& disk_;
  const Clock& clock_;
  RetentionClock retention_;
  mutable std::mutex mutex_;
  Schema schema_;
  std::map<std::string, TablePtr, std::less<>> tables_;  // As schema_ sees them.
  std::vector<std::unique_ptr<const ColumnSet>> sets_;
  RowWatches watches_;
  bool closed_ = false;
};

}  // namespace tallyd

#endif  // TALLYD_TESTS_STORAGE_MODEL_STORE_H_
