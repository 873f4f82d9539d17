#include "storage/leveldb_store.h"

#include <algorithm>
#include <functional>

#include "storage/leveldb/catalogue/keyed_records.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/commit/engine.h"
#include "storage/leveldb/commit/engine_state.h"
#include "storage/leveldb/env/directory.h"
#include "storage/leveldb/read/history_runs.h"
#include "storage/leveldb/read/table_scan.h"
#include "storage/leveldb/seal/sealer.h"
#include "storage/leveldb/tools/backup.h"
#include "storage/merge_witness.h"

namespace tallyd {
namespace {

Error IsGone(const TableInfo& table) {
  return Error(ErrorCode::kUnavailable,
               "table " + table.name + " was dropped while it was read; ask again");
}

constexpr uint64_t kStatsCountAtMost = 10'000;
// Of rows of a latest table while a delete of many is worked off.
constexpr uint64_t kStatsCountDeletedAtMost = 1'000'000;

// Of base's table files: what memory and heads still hold does not count.
uint64_t LatestDiskBytes(leveldb::DB& base, TableId table) {
  const KeyRange rows = DatabaseRange(KeySpace::kLatest, table, {});
  return Database::BytesOf(&base, rows.start, rows.end);
}

class LevelDbStore final : public Store,
                           public Staging,
                           public Watching,
                           public Filling,
                           public Settling,
                           public BackupMaker,
                           public ClockKeeper,
                           public MergeWitness {
 public:
  explicit LevelDbStore(const LevelDbStoreOptions& options)
      : metrics_(*options.registry),
        storage_(options.storage),
        fields_of_(options.fields_of),
        may_drop_(options.may_drop),
        clock_(*options.clock),
        retention_(*options.clock),
        engine_(options, &metrics_),
        progress_(options.progress),
        backups_(&engine_.database(), options.storage.backup_dir,
                 [this] { return engine_.space().keep_free(); }),
        capabilities_{.engine = "leveldb",
                      .whole_batches = true,
                      .snapshots = true,
                      .staging = this,
                      .watching = this,
                      .filling = this,
                      .settling = this,
                      .backup = this,
                      .clock = this,
                      .merge_witness = this} {}
  ~LevelDbStore() override { Close(); }

  Status Open();
  const Capabilities& capabilities() const override { return capabilities_; }

  Status Adopt(const Schema& schema) override;
  TablePtr FindTable(std::string_view name) const override {
    return IsStagedName(name) ? nullptr : catalogue().Find(name);
  }
  std::vector<TablePtr> Tables() const override { return catalogue().Named(); }
  Status DropTable(std::string_view name) override;
  Result<TablePtr> StageTable(const Table& table) override;
  bool KeepsApart() const override { return true; }
  Status SwapStaged(const Table& table, TableId staged) override;
  Status DropStaged(std::string_view name) override { return DropTable(StagedName(name)); }
  Result<std::vector<std::string>> StagedTables() override { return catalogue().StagedNames(); }

  const ColumnSet* InternColumns(const TableInfo& table,
                                 std::span<const ColumnRef> columns) override {
    return state().sets.Intern(table, columns);
  }

  std::unique_ptr<Batch> NewBatch() override { return NewLevelDbBatch(); }
  void Submit(std::unique_ptr<Batch> batch, CommitDone done) override;

  std::shared_ptr<RowWatch> WatchRows(const TableInfo& table, TimeUs before) override {
    return state().watches.Add(table.id, before);
  }
  Status CommitUnlessTouched(std::unique_ptr<Batch> batch,
                             const std::shared_ptr<RowWatch>& watch) override {
    engine_.PrepareUnlessTouched(batch.get(), watch);
    return Commit(std::move(batch));
  }
  Status CommitBehindLine(std::unique_ptr<Batch> batch, const CompleteBatch& complete) override {
    engine_.PrepareBehindLine(batch.get(), complete);
    return Commit(std::move(batch));
  }
  Status SetWhole(const TableInfo& table, TimeUs from) override;

  std::unique_ptr<RowScan> Scan(const TablePtr& table, const ScanSpec& spec) override;
  std::unique_ptr<RunScan> ScanRuns(const TablePtr& table, const ScanSpec& spec) override;
  Result<std::vector<KeyRange>> Split(const TablePtr& table, const KeyRange& range,
                                      const TimeRange& time, const SplitSpec& spec) override;
  Result<ScanEstimate> Estimate(const TablePtr& table, const EstimateSpec& spec) override;

  std::vector<FieldInfo> Fields(std::string_view stream) const override {
    return engine_.state().fields.Fields(stream);
  }
  std::vector<MissedField> MissedFields(const TableInfo& table) const override {
    return engine_.state().fields.Missed(table.id);
  }
  MergedEvents MergedIn(const TableInfo& table) const override {
    return engine_.state().merges.Of(table.id);
  }
  bool IsAtRisk(const TableInfo& table) const override {
    return !engine_.state().merges.TellingOf(table.id).empty();
  }
  Result<std::optional<std::string>> FindMemo(std::string_view key) override;
  Result<std::vector<Memo>> Memos(std::string_view prefix, size_t limit,
                                  std::string_view after) override;
  Result<TableStats> Stats(const TablePtr& table) override;
  StoreState State() override;
  TimeUs RetentionNow() override { return retention_.Now(); }
  RetentionClock::State Retention() override { return retention_.GetState(); }
  Status TrustClock() override;
  Status Settle() override;
  Result<StoreMember::Members> Backup(const std::string& to,
                                      const std::atomic<bool>& stop) override {
    return backups_.Run(to, clock_.Now(), stop);
  }
  void Close() override;

 private:
  EngineState& state() { return engine_.state(); }
  const Catalogue& catalogue() const { return engine_.state().catalogue; }
  std::unique_ptr<LevelDbBatch> NewLevelDbBatch() {
    return std::make_unique<LevelDbBatch>(state().fields);
  }
  Status Publish(const std::function<Result<Catalogue::Plan>(Catalogue&)>& make);
  void AddDrop(TableId id, LevelDbBatch* batch);
  void BeginCounting();
  // A lease, and the deletes that belong to it.
  Result<std::unique_ptr<Lease>> NewLease(const TableInfo& table, DeleteList* deletes);
  uint64_t CountRows(const TablePtr& table, uint64_t at_most, bool* all);
  void CountLatestRows(const TablePtr& table, TableStats* stats);
  Status PutRetentionTime(TimeUs time);

  StoreMetrics metrics_;
  const StorageConfig storage_;
  const FieldsOfCell fields_of_;
  const MayDropTable may_drop_;
  const Clock& clock_;
  RetentionClock retention_;
  Engine engine_;
  CommitProgress* const progress_;
  Backups backups_;
  const Capabilities capabilities_;
  std::unique_ptr<GroupCommitter> committer_;
  std::unique_ptr<RetentionKeeper> retention_keeper_;
  std::unique_ptr<Sealer> sealer_;
  std::mutex adopt_mutex_;
  std::mutex close_mutex_;
};

Status LevelDbStore::Open() {
  const Status opened = engine_.Open();
  if (!opened) return opened;
  engine_.OnFullHead([this] {
    if (sealer_) sealer_->Wake();
  });
  committer_ = std::make_unique<GroupCommitter>(storage_, &engine_, &metrics_, progress_);
  const std::optional<TimeUs> persisted = state().retention_time;
  retention_.Start(persisted);
  BeginCounting();
  retention_keeper_ = std::make_unique<RetentionKeeper>(
      &retention_, persisted, [this](TimeUs time) { return PutRetentionTime(time); });
  sealer_ = std::make_unique<Sealer>(SealContext::Parts{
      &storage_, &clock_, &retention_, &engine_, committer_.get(), &metrics_, nullptr, nullptr});
  sealer_->Start();
  return {};
}

// What was sealed before anybody counted events that fell on one cell may have some.
void LevelDbStore::BeginCounting() {
  std::map<TableId, TimeUs> unknown;
  const ViewPtr view = engine_.database().view();
  if (!view) return;
  for (const auto& [table, files] : view->files) {
    for (const BlockFilePtr& file : *files) {
      unknown[table] = std::max(unknown[table], file->info().max_time + 1);
    }
  }
  state().merges.Begin(unknown);
}

Status LevelDbStore::Adopt(const Schema& schema) {
  const std::lock_guard lock(adopt_mutex_);
  const Status adopted =
      state().catalogue.AdoptUnchanged(schema) ? Status() : Publish([&](Catalogue& known) {
        EnginePast past(&engine_.database(), &state(), clock_.Now(), may_drop_);
        return known.PlanAdopt(schema, &past);
      });
  if (adopted) state().merges.SetTelling(FindTelling(schema, catalogue().Tables(), fields_of_));
  return adopted;
}

Status LevelDbStore::DropTable(std::string_view name) {
  const std::lock_guard lock(adopt_mutex_);
  return Publish([&](Catalogue& known) { return known.PlanDrop(name); });
}

Result<TablePtr> LevelDbStore::StageTable(const Table& table) {
  const std::lock_guard lock(adopt_mutex_);
  const Status staged = Publish([&](Catalogue& known) {
    EnginePast past(&engine_.database(), &state(), clock_.Now());
    return known.PlanStage(table, &past);
  });
  if (!staged) return staged.error();
  return catalogue().Find(StagedName(table.name));
}

Status LevelDbStore::SwapStaged(const Table& table, TableId staged) {
  const std::lock_guard lock(adopt_mutex_);
  return Publish([&](Catalogue& known) { return known.PlanSwap(table, staged); });
}

// Memory follows the disk before the next group, which may depend on it; and no group comes between
// the plan, which depends on what is stored, and its commit.
Status LevelDbStore::Publish(const std::function<Result<Catalogue::Plan>(Catalogue&)>& make) {
  std::unique_ptr<LevelDbBatch> batch = NewLevelDbBatch();
  Catalogue::Plan plan;
  batch->CommitAlone([&, to = batch.get()]() -> Status {
    Result<Catalogue::Plan> made = make(state().catalogue);
    if (!made) return made.error();
    plan = std::move(*made);
    for (const auto& [key, value] : KeyedRecords(plan.put)) to->PutRecord(key, value);
    for (const TableId table : plan.dropped) AddDrop(table, to);
    return {};
  });
  bool any_dropped = false;
  const Status published = committer_->Commit(std::move(batch), [&] {
    any_dropped = !plan.dropped.empty();
    for (const TableId table : plan.dropped) state().merges.Forget(table);
    state().catalogue.Publish(std::move(plan));
  });
  if (any_dropped) sealer_->Wake();
  return published;
}

// A table's record and rows go, and what is recorded of its columns.
void LevelDbStore::AddDrop(TableId id, LevelDbBatch* batch) {
  batch->DropRecord(TableKey(id));
  for (const TablePtr& table : catalogue().Tables()) {
    // Whatever there is of a latest table that is unknown goes.
    if (table->id == id && table->mode == TableMode::kHistory) batch->Delete(*table, DeleteSpec{});
  }
  for (const uint32_t set : state().sets.StoredSets(id)) batch->DropRecord(ColumnSetKey(id, set));
  for (const MissedField& missed : state().fields.Missed(id)) {
    batch->DropRecord(MissedFieldKey(id, missed.name));
  }
  batch->DropRecord(MergedEventsKey(id));
}

void LevelDbStore::Submit(std::unique_ptr<Batch> batch, CommitDone done) {
  auto* own = dynamic_cast<LevelDbBatch*>(batch.get());
  if (own == nullptr) return done(Invalid("the batch is not of this store"));
  own->Finish();
  if (own->deletes().empty()) return committer_->Submit(std::move(batch), std::move(done));
  committer_->Submit(std::move(batch), [this, done = std::move(done)](Status status) {
    if (status) sealer_->Wake();
    done(std::move(status));
  });
}

Status LevelDbStore::SetWhole(const TableInfo& table, TimeUs from) {
  const std::lock_guard lock(adopt_mutex_);
  return Publish([&](Catalogue& known) { return known.PlanWhole(table, from); });
}

std::unique_ptr<RowScan> LevelDbStore::Scan(const TablePtr& table, const ScanSpec& spec) {
  if (table->mode != TableMode::kHistory) {
    if (!catalogue().Exists(table->id)) return std::make_unique<FailedScan>(IsGone(*table));
    return std::make_unique<LatestScan>(table, spec, state().sets, state().latest,
                                        state().latest_deletes.Of(table->id));
  }
  DeleteList deletes;
  Result<std::unique_ptr<Lease>> lease = NewLease(*table, &deletes);
  if (!lease) return std::make_unique<FailedScan>(lease.error());
  return std::make_unique<HistoryScan>(table, spec, state().sets, std::move(*lease), deletes,
                                       &state().merges);
}

std::unique_ptr<RunScan> LevelDbStore::ScanRuns(const TablePtr& table, const ScanSpec& spec) {
  if (table->mode != TableMode::kHistory) return RunsOfRows(Scan(table, spec));
  DeleteList deletes;
  Result<std::unique_ptr<Lease>> lease = NewLease(*table, &deletes);
  if (!lease) return RunsOfRows(std::make_unique<FailedScan>(lease.error()));
  return std::make_unique<HistoryRuns>(table, spec, state().sets, std::move(*lease), deletes,
                                       &state().merges);
}

// Asked behind the lease: what is dropped later is still in it.
Result<std::unique_ptr<Lease>> LevelDbStore::NewLease(const TableInfo& table, DeleteList* deletes) {
  Result<std::unique_ptr<Lease>> lease = engine_.database().NewLease();
  if (!lease) return lease;
  const LeaseAccess access(lease->get());
  if (access) *deletes = access.view().DeletesOf(table.id);
  if (!catalogue().Exists(table.id)) return IsGone(table);
  return lease;
}

Result<std::vector<KeyRange>> LevelDbStore::Split(const TablePtr& table, const KeyRange& range,
                                                  const TimeRange& time, const SplitSpec& spec) {
  const ViewPtr view = engine_.database().view();
  if (!view || table->mode != TableMode::kHistory) return std::vector{range};
  return SplitRange(*view, table->id, range, time, spec);
}

Result<ScanEstimate> LevelDbStore::Estimate(const TablePtr& table, const EstimateSpec& spec) {
  if (table->mode != TableMode::kHistory) {
    ScanEstimate estimate;
    for (const KeyRange& range : spec.ranges) {
      estimate.rows += state().latest.Count(table->id, range);
    }
    estimate.entries = estimate.rows;
    return estimate;
  }
  const Result<std::unique_ptr<Lease>> lease = engine_.database().NewLease();
  if (!lease) return lease.error();
  return EstimateHistory(lease->get(), table->id, spec);
}

Result<std::optional<std::string>> LevelDbStore::FindMemo(std::string_view key) {
  const Result<std::unique_ptr<Lease>> lease = engine_.database().NewLease();
  if (!lease) return lease.error();
  return tallyd::FindMemo(lease->get(), key);
}

Result<std::vector<Memo>> LevelDbStore::Memos(std::string_view prefix, size_t limit,
                                              std::string_view after) {
  const Result<std::unique_ptr<Lease>> lease = engine_.database().NewLease();
  if (!lease) return lease.error();
  return ListMemos(lease->get(), prefix, limit, after);
}

// One by one, as far as it is worth it.
uint64_t LevelDbStore::CountRows(const TablePtr& table, uint64_t at_most, bool* all) {
  ScanSpec spec;
  spec.keys_only = true;
  spec.now = clock_.Now();
  const auto scan = Scan(table, spec);
  uint64_t rows = 0;
  for (; rows < at_most; ++rows) {
    const Result<bool> more = scan->Next();
    *all = more && !*more;
    if (!more || !*more) break;
  }
  return rows;
}

// Rows that are in memory may be hidden, until what is deleted or has expired is taken out of them:
// of ages soon, of a delete of many rows when nobody reads them any more.
void LevelDbStore::CountLatestRows(const TablePtr& table, TableStats* stats) {
  stats->rows = state().latest.RowsOf(table->id);
  const bool is_deleted = !state().latest_deletes.Of(table->id)->empty();
  const bool expires = std::ranges::any_of(table->families, [](const StoredFamily& family) {
    return family.configured && family.rules.max_age_us.has_value();
  });
  stats->rows_exact = !is_deleted;
  const uint64_t at_most = is_deleted ? kStatsCountDeletedAtMost : kStatsCountAtMost;
  if ((!is_deleted && !expires) || stats->rows > at_most) return;
  stats->rows = CountRows(table, at_most + 1, &stats->rows_exact);
}

Result<TableStats> LevelDbStore::Stats(const TablePtr& table) {
  TableStats stats;
  const Result<std::unique_ptr<Lease>> lease = engine_.database().NewLease();
  if (!lease) return lease.error();
  if (table->mode != TableMode::kHistory) {
    CountLatestRows(table, &stats);
    const LeaseAccess access(lease->get());
    if (access) stats.disk_bytes = LatestDiskBytes(access.base(), table->id);
    return stats;
  }
  {
    const LeaseAccess access(lease->get());
    if (access) stats.disk_bytes = DiskBytes(access.view(), table->id);
  }
  const KeyRange everything;
  const Result<ScanEstimate> estimate =
      EstimateHistory(lease->get(), table->id, {{&everything, 1}, {}, 1, true, kStatsCountAtMost});
  if (!estimate) return estimate.error();
  stats.rows = estimate->rows;
  if (stats.rows < kStatsCountAtMost) {
    stats.rows = CountRows(table, kStatsCountAtMost, &stats.rows_exact);
  }
  return stats;
}

StoreState LevelDbStore::State() {
  StoreState result;
  const GroupCommitter::State committing = committer_->GetState();
  result.writable = committing.writable;
  result.reason = committing.reason;
  result.queued_bytes = committing.queued_bytes;
  result.queued_batches = committing.queued_batches;
  result.retention = retention_.GetState();
  TellOfEngine(&engine_, &result);
  backups_.Tell(&result);
  return result;
}

Status LevelDbStore::PutRetentionTime(TimeUs time) {
  std::string record;
  PutU64(&record, static_cast<uint64_t>(time));
  auto batch = NewLevelDbBatch();
  batch->PutRecord(MetaKey(MetaKind::kRetentionClock), record);
  return committer_->Commit(std::move(batch));
}

Status LevelDbStore::TrustClock() {
  const Status trusted = retention_keeper_->Trust();
  sealer_->Wake();
  return trusted;
}

Status LevelDbStore::Settle() { return sealer_->Settle(); }

void LevelDbStore::Close() {
  const std::lock_guard lock(close_mutex_);
  backups_.Stop();
  if (sealer_) sealer_->Stop();
  if (retention_keeper_) retention_keeper_->Stop();
  if (committer_) committer_->Close();
  engine_.Close();
}

}  // namespace

Result<std::unique_ptr<Store>> OpenLevelDbStore(const LevelDbStoreOptions& options) {
  const Status made = MakeStoreDirectory(options.storage.path);
  if (!made) return made.error();
  auto store = std::make_unique<LevelDbStore>(options);
  const Status opened = store->Open();
  if (!opened) return opened.error();
  return std::unique_ptr<Store>(std::move(store));
}

}  // namespace tallyd
