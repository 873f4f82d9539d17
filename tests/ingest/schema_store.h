// A Store that knows a schema's tables and columns and keeps nothing but the batches that it is
// given: what the mapper and the row reader need of one.
#ifndef TALLYD_TESTS_INGEST_SCHEMA_STORE_H_
#define TALLYD_TESTS_INGEST_SCHEMA_STORE_H_

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "config/file/config.h"
#include "storage/store.h"

namespace tallyd {

class SchemaStore final : public Store, public Watching {
 public:
  explicit SchemaStore(const Schema& schema) {
    for (const Table& table : schema.tables) {
      auto info = std::make_shared<TableInfo>();
      info->id = static_cast<TableId>(tables_.size() + 1);
      info->name = table.name;
      info->stream = table.stream;
      info->pattern = ToString(table.pattern);
      info->row_key = table.row_key.text();
      if (KeepsNewest(table)) {
        info->mode = table.keep_row ? TableMode::kLatestRow : TableMode::kLatestCell;
      }
      for (const Family& family : table.families) {
        info->family_rank.push_back(static_cast<uint16_t>(info->families.size()));
        info->families.push_back({family.name, true, family});
      }
      tables_[table.name] = info;
    }
  }

  const Capabilities& capabilities() const override { return capabilities_; }
  TablePtr FindTable(std::string_view name) const override {
    const auto found = tables_.find(std::string(name));
    return found == tables_.end() ? nullptr : found->second;
  }
  const ColumnSet* InternColumns(const TableInfo& table,
                                 std::span<const ColumnRef> columns) override {
    std::lock_guard lock(mutex_);
    if (sets_.size() >= max_sets) return nullptr;
    ColumnSet set;
    set.table = table.id;
    for (const ColumnRef& column : columns) {
      set.columns.push_back({column.family, std::string(column.qualifier)});
    }
    std::ranges::sort(set.columns, [](const Column& a, const Column& b) {
      return std::tie(a.family, a.qualifier) < std::tie(b.family, b.qualifier);
    });
    for (const ColumnSet& known : sets_) {
      if (known.table == set.table && known.columns == set.columns) return &known;
    }
    set.id = static_cast<uint32_t>(sets_.size());
    return &sets_.emplace_back(std::move(set));
  }
  std::vector<FieldInfo> Fields(std::string_view) const override { return fields; }

  std::vector<MissedField> MissedFields(const TableInfo&) const override { return missed; }

  Status Adopt(const Schema&) override { return {}; }
  std::vector<TablePtr> Tables() const override {
    std::vector<TablePtr> all;
    for (const auto& [name, table] : tables_) all.push_back(table);
    return all;
  }
  Status DropTable(std::string_view) override { return {}; }
  std::unique_ptr<Batch> NewBatch() override { return std::make_unique<PreviewBatch>(); }
  void Submit(std::unique_ptr<Batch> batch, CommitDone done) override {
    if (refuses) {
      done(*refuses);
      return;
    }
    if (!batch->empty()) submitted.push_back(std::move(batch));
    done({});
  }
  std::shared_ptr<RowWatch> WatchRows(const TableInfo& table, TimeUs before) override {
    return std::make_shared<RowWatch>(table.id, before);
  }
  Status CommitUnlessTouched(std::unique_ptr<Batch> batch,
                             const std::shared_ptr<RowWatch>&) override {
    return Commit(std::move(batch));
  }
  std::unique_ptr<RowScan> Scan(const TablePtr&, const ScanSpec&) override { return nullptr; }
  std::unique_ptr<RunScan> ScanRuns(const TablePtr&, const ScanSpec&) override { return nullptr; }
  Result<std::vector<KeyRange>> Split(const TablePtr&, const KeyRange& range, const TimeRange&,
                                      const SplitSpec&) override {
    return std::vector{range};
  }
  Result<ScanEstimate> Estimate(const TablePtr&, const EstimateSpec&) override {
    return ScanEstimate();
  }
  Result<std::optional<std::string>> FindMemo(std::string_view) override {
    return std::optional<std::string>();
  }
  Result<std::vector<Memo>> Memos(std::string_view, size_t, std::string_view) override {
    return std::vector<Memo>();
  }
  Result<TableStats> Stats(const TablePtr&) override { return TableStats(); }
  StoreState State() override { return {}; }
  TimeUs RetentionNow() override { return retention_now; }
  void Close() override {}

  size_t max_sets = 1000;
  TimeUs retention_now = kMaxTimeUs;
  std::vector<FieldInfo> fields;
  std::optional<Error> refuses;  // What Submit answers.
  std::vector<std::unique_ptr<Batch>> submitted;
  std::vector<MissedField> missed;

 private:
  const Capabilities capabilities_{
      .engine = "schema", .whole_batches = true, .snapshots = true, .watching = this};
  std::map<std::string, TablePtr> tables_;
  std::mutex mutex_;
  std::deque<ColumnSet> sets_;
};

}  // namespace tallyd

#endif  // TALLYD_TESTS_INGEST_SCHEMA_STORE_H_
