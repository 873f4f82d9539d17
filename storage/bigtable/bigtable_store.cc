#include "storage/bigtable_store.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "config/values/repeating_thread.h"
#include "storage/bigtable/catalogue/bigtable_catalogue.h"
#include "storage/bigtable/catalogue/claim_rows.h"
#include "storage/bigtable/catalogue/gc_watch.h"
#include "storage/bigtable/catalogue/table_admin.h"
#include "storage/bigtable/journal/journal.h"
#include "storage/bigtable/read/bigtable_scan.h"
#include "storage/bigtable/read/row_filter.h"
#include "storage/bigtable/read/table_samples.h"
#include "storage/bigtable/service_watch.h"
#include "storage/bigtable/write/batch_writer.h"
#include "storage/bigtable/write/found_batch.h"
#include "storage/bigtable/write/journal_sweep.h"

namespace tallyd {
namespace {

constexpr std::string_view kRetentionRow = "c";
constexpr size_t kMaxSetsOfTable = 65'536;
// That the service is away is known within 10 s, however long a request may wait for it.
constexpr auto kLongestLook = std::chrono::seconds(3);
// Of 64 bits a sum has room for so many of them, and 2^16 times that.
constexpr int64_t kMostAdded = int64_t{1} << 47;

// Whether a row shows anything, of which the newest cell of each column is known: where one shows,
// so does the newest of its column.
bool Shows(const TableInfo& table, std::span<const GcRule> rules, const WireRow& row) {
  TimeUs newest = -1;
  for (const WireCell& cell : row.cells) newest = std::max(newest, cell.time);
  return std::ranges::any_of(row.cells, [&](const WireCell& cell) {
    const std::optional<FamilyId> family = table.FindFamily(cell.family);
    if (!family || !rules[*family].visible || !TimeRange().Contains(cell.time)) return false;
    const bool is_of_newest = table.mode != TableMode::kLatestRow || cell.time == newest;
    return is_of_newest && !rules[*family].Expires(cell.time, 0);
  });
}

// Of a table that is gone.
class GoneScan final : public RowScan {
 public:
  explicit GoneScan(std::string table) : table_(std::move(table)) {}
  Result<bool> Next() override {
    return Error(ErrorCode::kUnavailable, "table " + table_ + " was dropped meanwhile");
  }
  void SkipTo(std::string_view) override {}
  const Row& row() const override { return row_; }

 private:
  const std::string table_;
  const Row row_;
};

class ColumnSets {
 public:
  const ColumnSet* Intern(const TableInfo& table, std::span<const ColumnRef> columns) {
    std::vector<Column> wanted;
    for (const ColumnRef& column : columns) {
      wanted.push_back({column.family, std::string(column.qualifier)});
    }
    std::ranges::sort(wanted, [&](const Column& a, const Column& b) {
      if (a.family == b.family) return a.qualifier < b.qualifier;
      return table.family_rank[a.family] < table.family_rank[b.family];
    });
    std::string key;
    for (const Column& column : wanted) {
      key.append(std::to_string(column.family)).append(":");
      key.append(std::to_string(column.qualifier.size())).append(":").append(column.qualifier);
    }
    const std::lock_guard lock(mutex_);
    auto& sets = tables_[table.id];
    const auto known = sets.find(key);
    if (known != sets.end()) return known->second.get();
    if (sets.size() == kMaxSetsOfTable) return nullptr;
    auto set = std::make_unique<ColumnSet>();
    set->table = table.id;
    set->id = static_cast<uint32_t>(sets.size());
    set->columns = std::move(wanted);
    return sets.emplace(std::move(key), std::move(set)).first->second.get();
  }

 private:
  std::mutex mutex_;
  std::map<TableId, std::map<std::string, std::unique_ptr<const ColumnSet>>> tables_;
};

class BigtableStore final : public Store, public Staging, public ClockKeeper {
 public:
  BigtableStore(const BigtableStoreOptions& options, std::unique_ptr<BigtableClient> client)
      : capabilities_{.engine = "bigtable",
                      .whole_batches = options.bigtable.whole_batches,
                      .counts_once = true,
                      .most_added = kMostAdded,
                      .staging = this,
                      .clock = this,
                      .claiming = &claims_},
        clock_(*options.clock),
        client_(std::move(client)),
        traits_{.grain_us = options.grain_us},
        catalogue_(client_.get(), &clock_, options.grain_us, options.may_drop),
        journal_(client_.get(), &clock_),
        claims_(&catalogue_.rows(), &journal_, &clock_),
        tables_(*client_),
        finder_(&journal_, &catalogue_, &tables_, &clock_, options.grain_us),
        samples_(client_.get()),
        retention_(clock_),
        writer_({.client = client_.get(),
                 .catalogue = &catalogue_,
                 .claims = &claims_,
                 .journal = &journal_,
                 .finder = &finder_,
                 .clock = &clock_,
                 .grain_us = options.grain_us}),
        sweep_(client_.get(), &journal_, &finder_, &writer_),
        gc_watch_(client_.get(), &catalogue_, &clock_) {}
  ~BigtableStore() override { Close(); }

  Status Connect(std::chrono::milliseconds patience) override {
    const std::lock_guard connecting(connect_mutex_);
    if (is_connected_) return {};
    const Status reached = Reach(std::chrono::steady_clock::now() + patience);
    watch_.Tell(reached);
    is_connected_ = reached.has_value();
    if (is_connected_) StartLooking();
    return reached;
  }
  // Nobody is waited for who is known to be away.
  void EndBy(SteadyTime when) override { client_->EndBy(watch_.IsAway() ? SteadyTime() : when); }

  const Capabilities& capabilities() const override { return capabilities_; }

  Status Adopt(const Schema& schema) override {
    return writer_.Alone([&] {
      return catalogue_.Adopt(schema, [this](const TablePtr& table) { return HoldsRow(table); });
    });
  }
  TablePtr FindTable(std::string_view name) const override {
    return IsStagedName(name) ? nullptr : catalogue_.Find(name);
  }
  std::vector<TablePtr> Tables() const override { return catalogue_.Tables(); }
  Status DropTable(std::string_view name) override {
    const TablePtr table = catalogue_.Find(name);
    if (table != nullptr) samples_.Drop(table->id);
    return writer_.Alone([&] { return catalogue_.Drop(name); });
  }

  Status SetAgain(const Schema& file) override {
    return client_->config().create ? gc_watch_.SetAgain(file) : Status();
  }

  bool KeepsApart() const override { return false; }
  Result<TablePtr> StageTable(const Table& table) override { return catalogue_.Stage(table); }
  Status SwapStaged(const Table& table, TableId staged) override {
    return catalogue_.Swap(table, staged);
  }
  Status DropStaged(std::string_view name) override {
    const TablePtr table = catalogue_.Find(StagedName(name));
    if (table != nullptr) samples_.Drop(table->id);
    return writer_.Alone([&] { return catalogue_.DropStaged(name); });
  }
  Result<std::vector<std::string>> StagedTables() override {
    if (Status read = catalogue_.Load(); !read) return read.error();
    return catalogue_.StagedNames();
  }

  std::vector<FieldInfo> Fields(std::string_view stream) const override {
    return catalogue_.notes().Fields(stream);
  }
  std::vector<MissedField> MissedFields(const TableInfo& table) const override {
    return catalogue_.notes().Missed(table.id);
  }

  bool AskForFields() override {
    const SteadyTime until = std::chrono::steady_clock::now() + kLongestLook;
    return !watch_.IsAway() && catalogue_.RefreshOnce(until);
  }

  Result<std::optional<std::string>> FindMemo(std::string_view key) override {
    const Result<CatalogueCells> cells = catalogue_.rows().Read(std::string(kMemoRows).append(key));
    if (!cells) return cells.error();
    const auto value = cells->find(std::string(kValueColumn));
    return value == cells->end() ? std::nullopt : std::optional(value->second);
  }

  Result<std::vector<Memo>> Memos(std::string_view prefix, size_t limit,
                                  std::string_view after) override {
    std::vector<Memo> memos;
    if (limit == 0) return memos;
    KeyRange range = PrefixRange(std::string(kMemoRows).append(prefix));
    if (!after.empty()) {
      range.start = std::max(range.start, std::string(kMemoRows).append(after) + '\0');
    }
    const Result<std::vector<CatalogueRow>> rows = catalogue_.rows().ReadRange(range, limit);
    if (!rows) return rows.error();
    for (const CatalogueRow& row : *rows) {
      const auto value = row.cells.find(std::string(kValueColumn));
      if (value == row.cells.end()) continue;
      memos.emplace_back(row.key.substr(kMemoRows.size()), value->second);
    }
    return memos;
  }

  const ColumnSet* InternColumns(const TableInfo& table,
                                 std::span<const ColumnRef> columns) override {
    return sets_.Intern(table, columns);
  }
  std::unique_ptr<Batch> NewBatch() override {
    return std::make_unique<BigtableBatch>(&tables_, catalogue_.adoption(), traits_.grain_us);
  }
  void Submit(std::unique_ptr<Batch> batch, CommitDone done) override {
    auto* const own = dynamic_cast<BigtableBatch*>(batch.get());
    if (own == nullptr) return done(Invalid("the batch is not of this store"));
    batch.release();
    samples_.Tell(*own);
    writer_.Submit(std::unique_ptr<BigtableBatch>(own), std::move(done));
  }

  std::unique_ptr<RowScan> Scan(const TablePtr& table, const ScanSpec& spec) override {
    if (!catalogue_.Exists(table->id)) return std::make_unique<GoneScan>(table->name);
    return std::make_unique<BigtableScan>(client_.get(), traits_, table, spec,
                                          samples_.Of(table->id));
  }
  std::unique_ptr<RunScan> ScanRuns(const TablePtr& table, const ScanSpec& spec) override {
    return RunsOfRows(Scan(table, spec));
  }
  Result<std::vector<KeyRange>> Split(const TablePtr& table, const KeyRange& range,
                                      const TimeRange&, const SplitSpec& spec) override {
    if (spec.parts < 2) return std::vector{range};
    samples_.AskOnce(*table, DeadlineOfAsking(spec.limits));
    return samples_.Of(table->id)->Split(range, spec.parts, spec.least_entries);
  }
  Result<ScanEstimate> Estimate(const TablePtr& table, const EstimateSpec& spec) override;
  Result<TableStats> Stats(const TablePtr& table) override;

  StoreState State() override;
  std::string_view Trouble() override {
    if (watch_.IsAway()) return "Bigtable does not answer";
    return catalogue_.is_foreign() ? "another daemon took another file" : std::string_view();
  }
  TimeUs RetentionNow() override { return retention_.Now(); }
  RetentionClock::State Retention() override { return retention_.GetState(); }
  Status TrustClock() override { return retention_keeper_->Trust(); }
  void Close() override {
    gc_watch_.Stop();
    poller_.Stop();
    sweep_.Stop();
    writer_.Close();
    journal_.Stop();  // Until then it keeps the leases of what is written.
    if (retention_keeper_ != nullptr) retention_keeper_->Stop();
  }

 private:
  Status Reach(SteadyTime until);
  void StartLooking();
  void TellForeign();
  void LookForJournal(SteadyTime deadline);
  Status StartRetention();
  Result<bool> HoldsRow(const TablePtr& table);
  // Of one try: who only wants to know about how much there is waits no longer.
  SteadyTime DeadlineOfAsking(const ReadLimits& limits) const {
    return std::min(limits.deadline, std::chrono::steady_clock::now() +
                                         std::chrono::microseconds(client_->config().attempt_us));
  }

  const Capabilities capabilities_;
  const Clock& clock_;
  const std::unique_ptr<BigtableClient> client_;
  ServiceTraits traits_;
  std::string store_id_;  // Like traits_ set before is_connected_.
  BigtableCatalogue catalogue_;
  Journal journal_;
  ClaimRows claims_;
  WireTables tables_;
  BatchFinder finder_;
  TableSamples samples_;
  ColumnSets sets_;
  RetentionClock retention_;
  BatchWriter writer_;
  JournalSweep sweep_;
  std::unique_ptr<RetentionKeeper> retention_keeper_;

  GcWatch gc_watch_;
  ServiceWatch watch_;
  std::mutex connect_mutex_;
  std::atomic<bool> is_connected_ = false;  // Set under connect_mutex_.
  std::string told_foreign_;                // By the thread that looks.
  RepeatingThread poller_;
};

Status BigtableStore::Reach(SteadyTime until) {
  if (Status opened = catalogue_.Open(until); !opened) return opened;
  Result<std::string> id = catalogue_.rows().StoreId(until);
  if (!id) return id.error();
  store_id_ = std::move(*id);
  const Result<bool> reverses = catalogue_.rows().TakesReverseScans();
  if (!reverses) return reverses.error();
  traits_.reverses = *reverses;
  if (!*reverses) {
    spdlog::warn("bigtable: the service takes no reverse scans: rows are turned round here");
  }
  if (Status loaded = catalogue_.Load(); !loaded) return loaded;
  if (Status opened = journal_.Open(); !opened) return opened;
  return StartRetention();
}

void BigtableStore::StartLooking() {
  gc_watch_.Start();
  journal_.Start();
  sweep_.Start();
  const auto poll = std::chrono::duration_cast<RepeatingThread::Wait>(
      std::chrono::microseconds(client_->config().poll_us));
  poller_.Start(poll, [this, poll] {
    const SteadyTime deadline = std::chrono::steady_clock::now() + kLongestLook;
    const Status looked = catalogue_.Refresh(deadline);
    watch_.Tell(looked);
    TellForeign();
    if (looked) {
      LookForJournal(deadline);
      for (const TablePtr& table : catalogue_.Tables()) samples_.AskAgain(*table, deadline);
    }
    return poll;
  });
}

void BigtableStore::TellForeign() {
  std::string why = catalogue_.WhyForeign();
  if (why == told_foreign_) return;
  if (why.empty()) {
    spdlog::info("bigtable: the file that counts is this daemon's again");
  } else {
    spdlog::warn("bigtable: {}", why);
  }
  told_foreign_ = std::move(why);
}

// Another daemon may have made it since this one looked.
void BigtableStore::LookForJournal(SteadyTime deadline) {
  if (journal_.is_there()) return;
  if (const Status looked = journal_.Open(deadline); !looked) {
    spdlog::debug("bigtable: the journal: {}", looked.error().message());
  }
  journal_.Start();
  sweep_.Start();
}

// The daemons have one: it is as far as the one of them that noted it last.
Status BigtableStore::StartRetention() {
  const Result<CatalogueCells> kept = catalogue_.rows().Read(kRetentionRow);
  if (!kept) return kept.error();
  std::optional<TimeUs> reached;
  const auto value = kept->find(std::string(kValueColumn));
  if (value != kept->end()) {
    TimeUs time = -1;
    std::from_chars(value->second.data(), value->second.data() + value->second.size(), time);
    if (time < 0 || time > kMaxTimeUs) {
      return Error(ErrorCode::kCorruption,
                   "the catalogue on Bigtable: how far the retention clock is, is damaged");
    }
    reached = time;
  }
  retention_.Start(reached);
  retention_keeper_ = std::make_unique<RetentionKeeper>(&retention_, reached, [this](TimeUs time) {
    std::vector<CatalogueEntry> entries(1);
    entries[0].set_row_key(std::string(kRetentionRow));
    SetCatalogueCell(kValueColumn, std::to_string(time), 0, &entries[0]);
    return catalogue_.rows().Write(std::move(entries));
  });
  return {};
}

// A table that holds none may go: a wall clock that jumped ahead makes none empty.
Result<bool> BigtableStore::HoldsRow(const TablePtr& table) {
  ScanSpec spec;
  spec.limit = 1;
  spec.now = retention_.Now();
  const Result<bool> holds = Scan(table, spec)->Next();
  if (holds || holds.error().code() != ErrorCode::kUnavailable) return holds;
  // An adoption that did not come to its end may have left it without the table.
  const Result<bool> is_there = HasTable(client_.get(), table->name);
  return is_there && !*is_there ? Result<bool>(false) : holds;
}

// By what is known here: whoever wants to know about how much there is waits for no reading.
Result<ScanEstimate> BigtableStore::Estimate(const TablePtr& table, const EstimateSpec& spec) {
  if (!catalogue_.Exists(table->id)) {
    return Error(ErrorCode::kUnavailable, "table " + table->name + " was dropped meanwhile");
  }
  samples_.AskOnce(*table, DeadlineOfAsking(spec.limits));
  TimeUs oldest = kMaxTimeUs;
  for (const StoredFamily& family : table->families) {
    oldest = std::min(oldest, GcRule::Of(family, clock_.Now()).oldest_of_all());
  }
  ScanEstimate estimate = samples_.Of(table->id)->Estimate(spec.ranges, spec.cells, oldest);
  estimate.bytes = static_cast<uint64_t>(static_cast<double>(estimate.bytes) * spec.column_share);
  return estimate;
}

Result<TableStats> BigtableStore::Stats(const TablePtr& table) {
  constexpr uint64_t kCounted = 1000;
  // The service keeps what has expired for a while.
  constexpr uint64_t kMostLookedAt = 10 * kCounted;
  if (!catalogue_.Exists(table->id)) {
    return Error(ErrorCode::kUnavailable, "table " + table->name + " was dropped meanwhile");
  }
  RowsQuery query;
  query.table = client_->TableName(NameBehind(table->name));
  query.ranges = {KeyRange{}};
  query.filter = NewestFilter();
  query.expected = kCounted;
  RowStream stream(client_.get(), std::move(query));
  std::vector<GcRule> rules;
  for (const StoredFamily& family : table->families) {
    rules.push_back(GcRule::Of(family, clock_.Now()));
  }
  TableStats stats;
  for (uint64_t seen = 0; stats.rows < kCounted && seen < kMostLookedAt; ++seen) {
    const Result<bool> more = stream.Next();
    if (!more) return more.error();
    if (!*more) {
      stats.rows_exact = true;
      return stats;
    }
    stats.rows += Shows(*table, rules, stream.row()) ? 1 : 0;
  }
  const KeyRange everything;
  const Result<ScanEstimate> estimate = Estimate(table, {.ranges = {&everything, 1}});
  if (!estimate) return estimate.error();
  stats.rows = std::max(stats.rows, estimate->rows);
  stats.disk_bytes = estimate->bytes;
  return stats;
}

StoreState BigtableStore::State() {
  StoreState state;
  state.queued_bytes = writer_.queued_bytes();
  state.queued_batches = writer_.queued_batches();
  state.retention = retention_.GetState();
  state.reason = watch_.Why();
  if (state.reason.empty()) state.reason = catalogue_.WhyForeign();
  state.writable = state.reason.empty();
  state.members.push_back({"instance", client_->instance_name()});
  if (is_connected_) {
    if (!store_id_.empty()) state.members.push_back({"id", store_id_});
    state.members.push_back({"reverse_scans", traits_.reverses});
  }
  StoreMember::Members drifts;
  for (auto& [table, drift] : gc_watch_.Drifts()) {
    drifts.push_back({"", StoreMember::Members{{"table", table}, {"rules", std::move(drift)}}});
  }
  state.gauges.push_back({"tallyd_bigtable_drifted_tables",
                          "Tables whose garbage is not collected as the file says.",
                          {},
                          static_cast<double>(drifts.size())});
  state.members.push_back({"garbage_collection_drifts", std::move(drifts)});
  constexpr size_t kToldBatches = 100;
  StoreMember::Members failed;
  const std::map<std::string, std::string> given_up = sweep_.GivenUp();
  for (const auto& [key, why] : given_up) {
    if (failed.size() == kToldBatches) break;
    failed.push_back({"", StoreMember::Members{{"batch", key}, {"why", why}}});
  }
  state.gauges.push_back({"tallyd_bigtable_failed_batches",
                          "Batches of the journal that were given up, and are there in part.",
                          {},
                          static_cast<double>(given_up.size())});
  state.members.push_back({"failed_batches", std::move(failed)});
  return state;
}

}  // namespace

Result<std::unique_ptr<Store>> OpenBigtableStore(const BigtableStoreOptions& options) {
  Result<std::unique_ptr<BigtableClient>> client = BigtableClient::Make(options.bigtable);
  if (!client) return client.error();
  return std::unique_ptr<Store>(std::make_unique<BigtableStore>(options, std::move(*client)));
}

}  // namespace tallyd
