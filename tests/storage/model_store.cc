#include "tests/storage/model_store.h"

#include <algorithm>
#include <numeric>

namespace tallyd {
namespace {

TableMode ModeIn(const Table& table) {
  if (!KeepsNewest(table)) return TableMode::kHistory;
  return table.keep_row ? TableMode::kLatestRow : TableMode::kLatestCell;
}

// Does to the disk what the batch says, change by change.
class ModelBatch final : public Batch {
 public:
  using Change = std::function<void(ModelDisk*)>;

  void Put(const TableInfo& table, std::string_view row_key, TimeUs time, const ColumnSet& set,
           std::span<const Value> values) override {
    std::vector<ColumnRef> columns;
    for (const Column& column : set.columns) columns.push_back(column.ref());
    Put(table, row_key, time, columns, values);
  }

  void Put(const TableInfo& table, std::string_view row_key, TimeUs time,
           std::span<const ColumnRef> columns, std::span<const Value> values) override {
    std::vector<ModelTable::Change> cells;
    for (size_t i = 0; i < columns.size(); ++i) {
      if (values[i].is_null()) continue;
      const Column column{columns[i].family, std::string(columns[i].qualifier)};
      const std::optional<Aggregate> folded = table.families[column.family].rules.aggregate;
      cells.push_back({column, OwnedValue(values[i]), folded});
    }
    written_.push_back({table.id, time, RowWatch::PlaceOf(row_key, time)});
    Add(table, [mode = table.mode, row = std::string(row_key), time, cells](ModelTable* rows) {
      rows->Put(mode, row, time, cells);
    });
  }

  void Delete(const TableInfo& table, const DeleteSpec& what) override {
    written_.push_back({table.id, 0, std::nullopt});
    Add(table, [what](ModelTable* rows) { rows->Delete(what); });
  }

  void AddField(std::string_view stream, std::string_view field, uint8_t type_bits) override {
    ChangeField(stream, field, [type_bits](ModelDisk*, FieldInfo* info) {
      info->type_bits = static_cast<uint8_t>(info->type_bits | type_bits);
    });
  }

  void AddMissed(const TableInfo&, std::string_view, uint8_t) override {}
  void NoteSpelling(std::string_view stream, std::string_view field) override {
    ChangeField(stream, field,
                [](ModelDisk* disk, FieldInfo* info) { info->spelled = ++disk->spellings; });
  }

  void PutMemo(std::string_view key, std::string_view value, NoteOrder) override {
    changes_.push_back([of = std::string(key), memo = std::string(value)](ModelDisk* disk) {
      disk->memos[of] = memo;
    });
  }
  void DropMemo(std::string_view key) override {
    changes_.push_back([of = std::string(key)](ModelDisk* disk) { disk->memos.erase(of); });
  }

  bool empty() const override { return changes_.empty(); }

  void Apply(ModelDisk* disk) const {
    for (const Change& change : changes_) change(disk);
  }

  void TellOf(RowWatch* watch) const {
    for (const Written& each : written_) {
      if (each.table != watch->table()) continue;
      if (!each.place) {
        watch->NoteAll();
      } else if (watch->Watches(each.time)) {
        watch->Note(*each.place);
      }
    }
  }
  bool WasForestalled(const RowWatch& watch) const {
    return std::ranges::any_of(written_, [&](const Written& each) {
      return each.table == watch.table() && each.place && watch.WasTouched(*each.place);
    });
  }

 private:
  template <class ToRows>
  void Add(const TableInfo& table, ToRows change) {
    changes_.push_back([id = table.id, change](ModelDisk* disk) {
      const auto found = disk->tables.find(id);
      if (found != disk->tables.end()) change(&found->second.rows);
    });
  }

  template <class ToField>
  void ChangeField(std::string_view stream, std::string_view field, ToField change) {
    changes_.push_back(
        [of = std::string(stream), name = std::string(field), change](ModelDisk* disk) {
          FieldInfo& info = disk->fields[of][name];
          info.name = name;
          change(disk, &info);
        });
  }

  struct Written {
    TableId table = 0;
    TimeUs time = 0;
    std::optional<uint64_t> place;  // None: a delete.
  };

  std::vector<Change> changes_;
  std::vector<Written> written_;
};

class ModelScan final : public RowScan {
 public:
  ModelScan(std::vector<ModelTable::ReadRow> rows, const ScanSpec& spec)
      : rows_(std::move(rows)), limit_(spec.limit), reverse_(spec.reverse) {}

  Result<bool> Next() override {
    if (next_ == rows_.size() || (limit_ > 0 && returned_ == limit_)) return false;
    ++returned_;
    View(rows_[next_++]);
    return true;
  }

  void SkipTo(std::string_view key) override {
    const auto is_before = [&](const std::string& row) { return reverse_ ? row > key : row < key; };
    while (next_ < rows_.size() && is_before(rows_[next_].key)) ++next_;
  }

  const Row& row() const override { return row_; }

 private:
  void View(const ModelTable::ReadRow& row) {
    row_ = {row.key, {}, {}};
    for (const ModelTable::ReadCell& cell : row.cells) {
      const auto at = static_cast<uint32_t>(row_.cells.size());
      if (row_.parts.empty() || row_.parts.back().time != cell.time) {
        row_.parts.push_back({cell.time, at, at, nullptr});
      }
      row_.cells.push_back({cell.column.ref(), 0, cell.value.value()});
      row_.parts.back().end = at + 1;
    }
  }

  const std::vector<ModelTable::ReadRow> rows_;
  const uint64_t limit_;
  const bool reverse_;
  size_t next_ = 0;
  uint64_t returned_ = 0;
  Row row_;
};

// The table as the schema (null: it is not in it) sees it.
TablePtr ConfiguredAs(TableInfo table, const Table* configured) {
  table.orphaned = configured == nullptr;
  for (StoredFamily& family : table.families) {
    const Family* rules = configured ? configured->FindFamily(family.name) : nullptr;
    family.configured = rules != nullptr || table.orphaned;
    if (rules) family.rules = *rules;
    family.rules.name = family.name;
  }
  for (const StoredFamily& family : table.families) {
    const auto before = std::count_if(table.families.begin(), table.families.end(),
                                      [&](const auto& other) { return other.name < family.name; });
    table.family_rank.push_back(static_cast<uint16_t>(before));
  }
  return std::make_shared<const TableInfo>(std::move(table));
}

}  // namespace

ModelStore::ModelStore(ModelDisk* disk, const Clock* clock)
    : capabilities_{.engine = "model",
                    .whole_batches = true,
                    .snapshots = true,
                    .watching = this,
                    .clock = this},
      disk_(*disk),
      clock_(*clock),
      retention_(*clock) {
  retention_.Start(disk_.retention);
  Configure();
}

ModelStore::~ModelStore() { Close(); }

const TableInfo* ModelStore::FindStored(std::string_view name) const {
  for (const auto& [id, table] : disk_.tables) {
    if (table.info.name == name) return &table.info;
  }
  return nullptr;
}

bool ModelStore::HoldsRows(std::string_view stream) const {
  return std::any_of(disk_.tables.begin(), disk_.tables.end(), [&](const auto& table) {
    return table.second.info.stream == stream && !table.second.rows.empty();
  });
}

// What is stored may not change where there are rows.
Status ModelStore::Check(const Schema& schema) const {
  const auto conflict = [](const std::string& name, std::string_view stored, std::string_view now) {
    return Error(ErrorCode::kConflict,
                 name + ": \"" + std::string(stored) + "\" is not \"" + std::string(now) + "\"");
  };
  for (const Stream& stream : schema.streams) {
    const auto stored = disk_.streams.find(stream.name);
    const bool changes = stored != disk_.streams.end() && stored->second != stream.unit;
    if (changes && HoldsRows(stream.name)) {
      return conflict(stream.name, ToString(stored->second), ToString(stream.unit));
    }
  }
  for (const Table& table : schema.tables) {
    const TableInfo* stored = FindStored(table.name);
    if (stored == nullptr || disk_.tables.at(stored->id).rows.empty()) continue;
    const std::vector<std::pair<std::string_view, std::string_view>> fixed = {
        {stored->stream, table.stream},
        {stored->pattern, ToString(table.pattern)},
        {stored->row_key, table.row_key.text()},
        {stored->mode == TableMode::kLatestRow ? "row" : "cell",
         ModeIn(table) == TableMode::kLatestRow ? "row" : "cell"}};
    for (const auto& [before, now] : fixed) {
      if (before != now) return conflict(table.name, before, now);
    }
    for (const Family& family : table.families) {
      const auto known = stored->FindFamily(family.name);
      if (!known || SameKind(stored->families[*known].rules, family)) continue;
      return conflict(family.name, KindOf(stored->families[*known].rules), KindOf(family));
    }
  }
  return {};
}

Status ModelStore::Adopt(const Schema& schema) {
  const std::lock_guard lock(mutex_);
  const Status checked = Check(schema);
  if (!checked) return checked;
  for (const Stream& stream : schema.streams) disk_.streams[stream.name] = stream.unit;
  for (const Table& table : schema.tables) {
    if (FindStored(table.name) == nullptr) {
      TableInfo info;
      info.id = disk_.next_table++;
      info.name = table.name;
      disk_.tables[info.id].info = info;
    }
    TableInfo& stored = disk_.tables.at(FindStored(table.name)->id).info;
    stored.stream = table.stream;
    stored.pattern = ToString(table.pattern);
    stored.row_key = table.row_key.text();
    stored.mode = ModeIn(table);
    for (const Family& family : table.families) {
      if (!stored.FindFamily(family.name)) stored.families.push_back({family.name, false, {}});
      Family& kept = stored.families[*stored.FindFamily(family.name)].rules;
      kept.aggregate = family.aggregate;
      kept.bucket_us = family.bucket_us;
    }
  }
  schema_ = schema;
  Configure();
  return {};
}

void ModelStore::Configure() {
  tables_.clear();
  for (const auto& [id, table] : disk_.tables) {
    tables_[table.info.name] = ConfiguredAs(table.info, schema_.FindTable(table.info.name));
  }
  ExpireLocked(retention_.Now());
}

TablePtr ModelStore::FindTable(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = tables_.find(name);
  return found == tables_.end() ? nullptr : found->second;
}

std::vector<TablePtr> ModelStore::Tables() const {
  const std::lock_guard lock(mutex_);
  std::vector<TablePtr> tables;
  for (const auto& [name, table] : tables_) tables.push_back(table);
  return tables;
}

Status ModelStore::DropTable(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto found = tables_.find(name);
  if (found == tables_.end()) return Error(ErrorCode::kNotFound, "there is no such table");
  if (!found->second->orphaned) return Error(ErrorCode::kConflict, "the table is configured");
  disk_.tables.erase(found->second->id);
  tables_.erase(found);
  return {};
}

const ColumnSet* ModelStore::InternColumns(const TableInfo& table,
                                           std::span<const ColumnRef> columns) {
  auto set = std::make_unique<ColumnSet>();
  set->table = table.id;
  for (const ColumnRef& column : columns) {
    set->columns.push_back({column.family, std::string(column.qualifier)});
  }
  std::sort(set->columns.begin(), set->columns.end(), [&](const Column& a, const Column& b) {
    if (a.family == b.family) return a.qualifier < b.qualifier;
    return table.families[a.family].name < table.families[b.family].name;
  });
  const std::lock_guard lock(mutex_);
  for (const auto& known : sets_) {
    if (known->table == table.id && known->columns == set->columns) return known.get();
  }
  set->id = static_cast<uint32_t>(sets_.size());
  return sets_.emplace_back(std::move(set)).get();
}

std::unique_ptr<Batch> ModelStore::NewBatch() { return std::make_unique<ModelBatch>(); }

void ModelStore::Submit(std::unique_ptr<Batch> batch, CommitDone done) {
  const auto* own = dynamic_cast<const ModelBatch*>(batch.get());
  if (own == nullptr) return done(Invalid("the batch is not of this store"));
  done(Apply(*own, nullptr));
}

Status ModelStore::Apply(const Batch& batch, const RowWatch* own_watch) {
  const auto& own = static_cast<const ModelBatch&>(batch);
  const std::lock_guard lock(mutex_);
  if (closed_) return Error(ErrorCode::kUnavailable, "the store is closed");
  if (own_watch != nullptr && own.WasForestalled(*own_watch)) {
    return Error(ErrorCode::kConflict, "others wrote to the same rows meanwhile");
  }
  own.Apply(&disk_);
  for (const auto& watch : watches_.All()) {
    if (watch.get() != own_watch) own.TellOf(watch.get());
  }
  ExpireLocked(retention_.Now());
  return {};
}

Status ModelStore::CommitUnlessTouched(std::unique_ptr<Batch> batch,
                                       const std::shared_ptr<RowWatch>& watch) {
  return Apply(*batch, watch.get());
}

std::unique_ptr<RowScan> ModelStore::Scan(const TablePtr& table, const ScanSpec& spec) {
  const std::lock_guard lock(mutex_);
  const auto found = disk_.tables.find(table->id);
  std::vector<ModelTable::ReadRow> rows;
  if (found != disk_.tables.end()) rows = found->second.rows.Read(*table, spec);
  return std::make_unique<ModelScan>(std::move(rows), spec);
}

std::unique_ptr<RunScan> ModelStore::ScanRuns(const TablePtr& table, const ScanSpec& spec) {
  return RunsOfRows(Scan(table, spec));
}

Result<std::vector<KeyRange>> ModelStore::Split(const TablePtr&, const KeyRange& range,
                                                const TimeRange&, const SplitSpec&) {
  return std::vector{range};
}

Result<ScanEstimate> ModelStore::Estimate(const TablePtr& table, const EstimateSpec& wanted) {
  ScanSpec spec;
  spec.ranges.assign(wanted.ranges.begin(), wanted.ranges.end());
  spec.now = clock_.Now();
  const std::lock_guard lock(mutex_);
  ScanEstimate estimate;
  const auto found = disk_.tables.find(table->id);
  if (found != disk_.tables.end()) estimate.rows = found->second.rows.Read(*table, spec).size();
  return estimate;
}

std::vector<FieldInfo> ModelStore::Fields(std::string_view stream) const {
  const std::lock_guard lock(mutex_);
  std::vector<FieldInfo> fields;
  const auto found = disk_.fields.find(stream);
  if (found == disk_.fields.end()) return fields;
  for (const auto& [name, info] : found->second) fields.push_back(info);
  return fields;
}

Result<std::optional<std::string>> ModelStore::FindMemo(std::string_view key) {
  const std::lock_guard lock(mutex_);
  const auto found = disk_.memos.find(key);
  return found == disk_.memos.end() ? std::nullopt : std::optional(found->second);
}

Result<std::vector<Memo>> ModelStore::Memos(std::string_view prefix, size_t limit,
                                            std::string_view after) {
  const std::lock_guard lock(mutex_);
  std::vector<Memo> memos;
  for (const auto& [key, value] : disk_.memos) {
    if (key.starts_with(prefix) && key > after && memos.size() < limit)
      memos.emplace_back(key, value);
  }
  return memos;
}

Result<TableStats> ModelStore::Stats(const TablePtr& table) {
  TableStats stats;
  const KeyRange everything;
  stats.rows = Estimate(table, {{&everything, 1}})->rows;
  stats.rows_exact = true;
  return stats;
}

StoreState ModelStore::State() {
  StoreState state;
  state.writable = true;
  state.retention = retention_.GetState();
  return state;
}

Status ModelStore::TrustClock() {
  retention_.Trust();
  return {};
}

void ModelStore::Close() {
  const std::lock_guard lock(mutex_);
  if (!closed_) disk_.retention = retention_.GetState().time;
  closed_ = true;
}

void ModelStore::Expire(TimeUs now) {
  const std::lock_guard lock(mutex_);
  ExpireLocked(now);
}

void ModelStore::LetGo(std::string_view table, TimeUs until) {
  const std::lock_guard lock(mutex_);
  const auto found = tables_.find(table);
  if (found != tables_.end()) disk_.tables.at(found->second->id).rows.LetGo(until);
}

void ModelStore::ExpireLocked(TimeUs now) {
  for (const auto& [name, table] : tables_) disk_.tables.at(table->id).rows.Expire(*table, now);
}

bool ModelStore::Accepts(std::string_view table, const ScanSpec& spec, const Rows& answer) const {
  const std::lock_guard lock(mutex_);
  const TablePtr& info = tables_.find(table)->second;
  return disk_.tables.at(info->id).rows.Accepts(*info, spec, answer);
}

}  // namespace tallyd
