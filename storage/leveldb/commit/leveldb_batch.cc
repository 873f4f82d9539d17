#include "storage/leveldb/commit/leveldb_batch.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <numeric>

#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/codec/meta_codec.h"

namespace tallyd {
namespace {

constexpr size_t kTwinsTried = 4;

// A set may have columns of a family that was added after this TableInfo was made.
std::optional<Aggregate> AggregateOf(const TableInfo& table, FamilyId family) {
  if (family >= table.families.size()) return std::nullopt;
  return table.families[family].rules.aggregate;
}

}  // namespace

void LevelDbBatch::Put(const TableInfo& table, std::string_view row_key, TimeUs time,
                       const ColumnSet& set, std::span<const Value> given) {
  // By its halves: they come on the stack, each just written there, and a copy of both at once
  // would wait until they are in the cache.
  const Value* const first_value = given.data();
  const std::span values(first_value, given.size());
  if (!ColumnRegistry::IsStored(set) &&
      std::find(new_sets_.begin(), new_sets_.end(), &set) == new_sets_.end()) {
    new_sets_.push_back(&set);
  }
  const bool folds = HasAggregates(table) && std::ranges::any_of(set.columns, [&](const Column& c) {
                       return AggregateOf(table, c.family).has_value();
                     });
  if (folds) {
    std::vector<ColumnRef> columns;
    for (const Column& column : set.columns) columns.push_back(column.ref());
    return PutFolded(table, row_key, time, &set, columns, values);
  }
  const bool is_entry = table.mode == TableMode::kHistory;
  if (!is_entry) {
    has_latest_ = true;
    if (PutTwin(table, row_key, time, set, values)) return;
  }
  BeginPut(table, row_key, time);
  const bool any = AppendEntry(set, values, &bytes_);
  FinishPut(any, set.id);
  if (!any || !is_entry || !has_latest_) return;
  last_values_.assign(values.begin(), values.end());
  last_ops_ = ops_.size();
}

void LevelDbBatch::Put(const TableInfo& table, std::string_view row_key, TimeUs time,
                       std::span<const ColumnRef> columns, std::span<const Value> values) {
  if (HasAggregates(table)) return PutFolded(table, row_key, time, nullptr, columns, values);
  PutPlain(table, row_key, time, columns, values);
}

void LevelDbBatch::PutPlain(const TableInfo& table, std::string_view row_key, TimeUs time,
                            std::span<const ColumnRef> columns, std::span<const Value> values) {
  const auto before = [&](const ColumnRef& a, const ColumnRef& b) {
    if (a.family != b.family) return table.family_rank[a.family] < table.family_rank[b.family];
    return a.qualifier < b.qualifier;
  };
  BeginPut(table, row_key, time);
  if (std::is_sorted(columns.begin(), columns.end(), before)) {
    FinishPut(AppendEntry(columns, values, &bytes_), ColumnRegistry::kNoSet);
    return;
  }
  std::vector<size_t> order(columns.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return before(columns[a], columns[b]); });
  std::vector<ColumnRef> sorted_columns;
  std::vector<Value> sorted_values;
  for (const size_t i : order) {
    sorted_columns.push_back(columns[i]);
    sorted_values.push_back(values[i]);
  }
  FinishPut(AppendEntry(sorted_columns, sorted_values, &bytes_), ColumnRegistry::kNoSet);
}

// Plain cells beside them are put as ever.
void LevelDbBatch::PutFolded(const TableInfo& table, std::string_view row_key, TimeUs time,
                             const ColumnSet* set, std::span<const ColumnRef> columns,
                             std::span<const Value> values) {
  std::vector<Value> plain(values.begin(), values.end());
  std::string key(MaxEntryKeyBytes(row_key.size()), '\0');
  key.resize(static_cast<size_t>(EncodeEntryKey(key.data(), table.id, row_key, time) - key.data()));
  Folding* row = nullptr;
  for (size_t i = 0; i < columns.size(); ++i) {
    const ColumnRef& column = columns[i];
    const std::optional<Aggregate> kind = AggregateOf(table, column.family);
    if (!kind || values[i].is_null()) continue;
    if (row == nullptr) {
      const auto [found, added] = folding_.try_emplace(std::move(key));
      row = &found->second;
      if (added) {
        row->table = table.id;
        row->time = time;
        row->set = set;
      }
      if (row->set != set) row->set = nullptr;
    }
    const std::pair name(table.family_rank[column.family], std::string(column.qualifier));
    auto& cell = row->cells.try_emplace(name, column.family, AggregateFold(*kind)).first->second;
    [[maybe_unused]] const bool is_state = cell.second.Add(values[i]);
    assert(is_state);
    plain[i] = Value();
  }
  if (row != nullptr) {
    adoption_ = std::min(adoption_, table.adoption);
    Touch(table.id);
  }
  if (std::ranges::any_of(plain, [](const Value& value) { return !value.is_null(); })) {
    PutPlain(table, row_key, time, columns, plain);
  }
}

void LevelDbBatch::Finish() {
  for (const auto& [key, row] : folding_) Encode(key, row);
  folding_.clear();
}

void LevelDbBatch::Encode(std::string_view key, const Folding& row) {
  Arena arena;
  std::string bytes;
  std::vector<ColumnRef> columns;
  std::vector<Value> values;
  for (const auto& [name, cell] : row.cells) {
    const Value state = cell.second.Get(&bytes);
    columns.push_back({cell.first, name.second});
    values.push_back(state.type() == ValueType::kBytes ? Value::Bytes(arena.Copy(bytes)) : state);
  }
  Op& op = ops_.emplace_back();
  op.table = row.table;
  op.time = row.time;
  op.offset = bytes_.size();
  bytes_.Append(key);
  op.key_size = static_cast<uint32_t>(key.size());
  // A set has its columns in the order of `cells`, which lack those that no input had.
  const bool by_set = row.set != nullptr && row.set->columns.size() == columns.size();
  const bool any =
      by_set ? AppendEntry(*row.set, values, &bytes_) : AppendEntry(columns, values, &bytes_);
  FinishPut(any, by_set ? row.set->id : ColumnRegistry::kNoSet);
}

LevelDbBatch::Op& LevelDbBatch::BeginPut(const TableInfo& table, std::string_view row_key,
                                         TimeUs time) {
  Op& op = ops_.emplace_back();
  op.mode = table.mode;
  op.kind = table.mode == TableMode::kHistory ? OpKind::kEntry : OpKind::kLatest;
  op.table = table.id;
  op.time = time;
  op.offset = bytes_.size();
  adoption_ = std::min(adoption_, table.adoption);
  if (op.kind == OpKind::kEntry) {
    char* const to = bytes_.Reserve(MaxEntryKeyBytes(row_key.size()));
    bytes_.Finish(EncodeEntryKey(to, table.id, row_key, time));
  } else {
    bytes_.Append(row_key);
  }
  op.key_size = static_cast<uint32_t>(bytes_.size() - op.offset);
  return op;
}

void LevelDbBatch::FinishPut(bool any_value, uint32_t set) {
  Op& op = ops_.back();
  if (!any_value) {
    bytes_.Truncate(op.offset);
    ops_.pop_back();
    return;
  }
  op.value_size = bytes_.size() - op.offset - op.key_size;
  if (op.kind == OpKind::kLatest) op.twin = FindTwin(op);
  NotePut(op, set);
}

void LevelDbBatch::NotePut(const Op& op, uint32_t set) {
  const size_t place = Touch(op.table);
  TimeRange& times = times_[place];
  if (op.kind == OpKind::kEntry) times = times.Joined({op.time, op.time + 1});
  size_t& last = last_layouts_[place];
  if (last > 0 && layouts_[last - 1].set == set) return;
  layouts_.push_back({op.table, set});
  last = layouts_.size();
}

// An event mostly goes to a history table and to a latest one with the same values: these are
// copied as they were encoded. False, and nothing was put: they are others, or some view a text,
// which may have changed since. REQUIRES: the table is a latest one.
bool LevelDbBatch::PutTwin(const TableInfo& table, std::string_view row_key, TimeUs time,
                           const ColumnSet& set, std::span<const Value> values) {
  if (ops_.empty() || ops_.size() != last_ops_) return false;
  const Op& other = ops_.back();
  if (other.kind != OpKind::kEntry || other.time != time) return false;
  if (values.size() != last_values_.size() ||
      std::memcmp(values.data(), last_values_.data(), values.size_bytes()) != 0 ||
      std::ranges::any_of(values, [](const Value& v) { return v.type() >= ValueType::kString; })) {
    return false;
  }
  const size_t entry_at = other.offset + other.key_size;
  const size_t entry_size = other.value_size;
  Op& op = BeginPut(table, row_key, time);
  char* const to = bytes_.Reserve(kMaxVarintBytes + entry_size);
  bytes_.Finish(EncodeWithSet(to, bytes_.View(entry_at, entry_size), set.id));
  op.value_size = bytes_.size() - op.offset - op.key_size;
  op.twin = static_cast<int32_t>(ops_.size() - 2);
  NotePut(op, set.id);
  return true;
}

// The entry before it, the last, that was encoded with the same values; -1: there is none.
int32_t LevelDbBatch::FindTwin(const Op& op) const {
  const std::string_view values = ValuesOfEntry(ValueOf(op));
  if (values.empty()) return -1;
  const size_t last = ops_.size() - 1;
  const size_t first = last > kTwinsTried ? last - kTwinsTried : 0;
  for (size_t i = last; i-- > first;) {
    const Op& other = ops_[i];
    if (other.kind != OpKind::kEntry || other.time != op.time) continue;
    const std::string_view entry = ValueOf(other);
    if (entry[0] == ValueOf(op)[0] && ValuesOfEntry(entry) == values)
      return static_cast<int32_t>(i);
  }
  return -1;
}

void LevelDbBatch::Delete(const TableInfo& table, const DeleteSpec& what) {
  Finish();  // It hides what was put before it, and nothing that comes.
  Op op;
  op.kind = OpKind::kDelete;
  op.mode = table.mode;
  op.table = table.id;
  op.index = static_cast<uint32_t>(deletes_.size());
  deletes_.push_back(what);
  ops_.push_back(op);
  Touch(table.id);
}

bool LevelDbBatch::stores_something() const {
  const auto is_any = [this](OpKind kind) {
    return std::ranges::find(ops_, kind, &Op::kind) != ops_.end();
  };
  if (is_any(OpKind::kEntry) || is_any(OpKind::kLatest)) return true;
  // What a removal notes of itself is small, and what it frees is not.
  return is_any(OpKind::kPutMemo) && deletes_.empty();
}

void LevelDbBatch::TrimRow(TableId table, std::string_view row_key) {
  AddRow(OpKind::kTrim, table, row_key);
  Touch(table);
}

void LevelDbBatch::StoreRow(TableId table, std::string_view row_key) {
  AddRow(OpKind::kStoreRow, table, row_key);
}

void LevelDbBatch::AddRow(OpKind kind, TableId table, std::string_view row_key) {
  Op op;
  op.kind = kind;
  op.table = table;
  op.offset = bytes_.size();
  op.key_size = static_cast<uint32_t>(row_key.size());
  bytes_.Append(row_key);
  ops_.push_back(op);
}

std::optional<uint64_t> LevelDbBatch::PlaceOf(const Op& op) const {
  if (op.kind == OpKind::kLatest) return RowWatch::PlaceOf(Key(op), op.time);
  if (op.kind != OpKind::kEntry) return std::nullopt;
  // In front of the time and the sequence.
  return RowWatch::PlaceOf(Key(op).substr(0, op.key_size - 2 * sizeof(uint64_t)), op.time);
}

bool LevelDbBatch::WasForestalled() const {
  return std::ranges::any_of(ops_, [&](const Op& op) {
    if (op.table != watch_->table()) return false;
    const std::optional<uint64_t> place = PlaceOf(op);
    return place && watch_->WasTouched(*place);
  });
}

void LevelDbBatch::TellOf(RowWatch* watch) const {
  if (watch == watch_.get()) return;
  if (std::ranges::find(tables_, watch->table()) == tables_.end()) return;
  for (const Op& op : ops_) {
    if (op.table != watch->table()) continue;
    if (op.kind == OpKind::kDelete) return watch->NoteAll();
    const std::optional<uint64_t> place = PlaceOf(op);
    if (place && watch->Watches(op.time)) watch->Note(*place);
  }
}

size_t LevelDbBatch::TouchAnother(TableId table) {
  const auto known = std::ranges::find(tables_, table);
  if (known != tables_.end()) {
    last_table_ = static_cast<size_t>(known - tables_.begin());
    return last_table_;
  }
  last_table_ = tables_.size();
  if (tables_.empty()) {
    tables_.reserve(kUsualTables);
    times_.reserve(kUsualTables);
    last_layouts_.reserve(kUsualTables);
  }
  tables_.push_back(table);
  times_.push_back({0, 0});
  last_layouts_.push_back(0);
  return last_table_;
}

void LevelDbBatch::AddField(std::string_view stream, std::string_view field, uint8_t type_bits) {
  if ((known_fields_.Find(stream, field).type_bits & type_bits) == type_bits) return;
  fields_[std::string(stream)][std::string(field)].type_bits |= type_bits;
}

void LevelDbBatch::NoteSpelling(std::string_view stream, std::string_view field) {
  fields_[std::string(stream)][std::string(field)].spelled = 1;
}

void LevelDbBatch::AddMissed(const TableInfo& table, std::string_view field, uint8_t how) {
  MissedField& missed = missed_[table.id][std::string(field)];
  missed.name = field;
  missed.how |= how;
}

void LevelDbBatch::PutRecord(std::string_view key, std::string_view value) {
  AddRecord(OpKind::kPutRecord, key, value);
}

void LevelDbBatch::DropRecord(std::string_view key) { AddRecord(OpKind::kDropRecord, key, {}); }

void LevelDbBatch::PutMemo(std::string_view key, std::string_view value, NoteOrder) {
  AddRecord(OpKind::kPutMemo, MemoKey(key), EncodeMemo(value));
}

void LevelDbBatch::DropMemo(std::string_view key) {
  AddRecord(OpKind::kDropMemo, MemoKey(key), EncodeMemo({}));
}

void LevelDbBatch::AddRecord(OpKind kind, std::string_view key, std::string_view value) {
  Op op;
  op.kind = kind;
  op.offset = bytes_.size();
  op.key_size = static_cast<uint32_t>(key.size());
  op.value_size = value.size();
  bytes_.Append(key);
  bytes_.Append(value);
  ops_.push_back(op);
}

}  // namespace tallyd
