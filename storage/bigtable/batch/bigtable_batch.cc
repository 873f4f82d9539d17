#include "storage/bigtable/batch/bigtable_batch.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "config/values/aggregate.h"
#include "storage/bigtable/codec/cell_time.h"
#include "storage/bigtable/wire/bulk_write.h"

namespace tallyd {
namespace {

// What a note has beside a field's name in a qualifier.
constexpr size_t kBytesOfNote = 2;

// As the service folds them: a sum wraps around.
int64_t FoldedInt64(Aggregate kind, int64_t a, int64_t b) {
  if (kind == Aggregate::kMin) return std::min(a, b);
  if (kind == Aggregate::kMax) return std::max(a, b);
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

// The row, where it is one.
std::optional<std::string_view> RowOf(const KeyRange& rows) {
  const bool is_one = !rows.start.empty() && rows.end.size() == rows.start.size() + 1 &&
                      rows.end.back() == '\0' && rows.end.starts_with(rows.start);
  return is_one ? std::optional<std::string_view>(rows.start) : std::nullopt;
}

// Whether Bigtable can delete that of a row without being told which columns it has, and between
// what else is written to the row. A row that is checked is written otherwise, and one that is
// folded comes again under a token by which only what is added counts once.
bool IsMutation(const TableInfo& table, const DeleteSpec& what) {
  return table.mode != TableMode::kLatestRow && !HasAggregates(table) && RowOf(what.rows) &&
         (what.qualifier || what.cells.is_open());
}

uint64_t PlaceOf(TableId table, std::string_view row_key) {
  std::string key(sizeof table, '\0');
  std::memcpy(key.data(), &table, sizeof table);
  key.append(row_key);
  return XXH3_64bits(key.data(), key.size());
}

}  // namespace

bool HasTimes(const DeleteSpec& what, int64_t grain_us) {
  return !what.cells.is_empty() &&
         NextGrain(what.cells.from, grain_us) < NextGrain(what.cells.to, grain_us);
}

void DeleteColumn(const TableInfo& table, const DeleteSpec& what, int64_t grain_us,
                  data_api::Mutation::DeleteFromColumn* column) {
  if (what.cells.is_open()) return;
  auto* const times = column->mutable_time_range();
  // What a newer cell of a latest table hid must not come back when that goes.
  if (table.mode == TableMode::kHistory) {
    times->set_start_timestamp_micros(NextGrain(what.cells.from, grain_us));
  }
  if (what.cells.to <= kMaxTimeUs) {
    times->set_end_timestamp_micros(NextGrain(what.cells.to, grain_us));
  }
}

WireTablePtr WireTables::Of(const TableInfo& table) {
  const std::lock_guard lock(mutex_);
  WireTablePtr& known = tables_[table.id];
  if (known == nullptr || known->info.adoption != table.adoption) {
    known = std::make_shared<const WireTable>(
        WireTable{table, client_.TableName(NameBehind(table.name)), CellCodec(table)});
  }
  return known;
}

BigtableBatch::BigtableBatch(WireTables* tables, uint64_t adoption, int64_t grain_us)
    : tables_(*tables), adoption_(adoption), grain_us_(grain_us), steps_(1) {}

bool BigtableBatch::empty() const { return rows_ == 0 && removals_ == 0 && notes_.empty(); }

const WireTablePtr& BigtableBatch::TableOf(const TableInfo& table) {
  const bool is_last = last_table_ != nullptr && last_table_->info.id == table.id &&
                       last_table_->info.adoption == table.adoption;
  if (!is_last) last_table_ = tables_.Of(table);
  return last_table_;
}

BigtableBatch::Entry* BigtableBatch::Find(const TableInfo& table, std::string_view row_key,
                                          TimeUs time) {
  place_key_.resize(sizeof(TableId));
  std::memcpy(place_key_.data(), &table.id, sizeof(TableId));
  place_key_.append(row_key);
  std::vector<Entry>& rows = steps_.back().rows;
  const auto [place, is_new] = places_.try_emplace(place_key_, rows.size());
  if (is_new) {
    Entry& added = rows.emplace_back();
    added.table = TableOf(table);
    added.time = time;
    added.place = XXH3_64bits(place_key_.data(), place_key_.size());  // As PlaceOf has it.
    added.entry.set_row_key(std::string(row_key));
    ++rows_;
    bytes_ += row_key.size() + sizeof(Entry);
    return &added;
  }
  Entry& known = rows[place->second];
  if (!known.is_checked()) return &known;
  if (known.time > time) return nullptr;
  known.time = time;
  known.entry.clear_mutations();
  return &known;
}

void BigtableBatch::AddEntry(const TableInfo& table, Entry row) {
  row.table = TableOf(table);
  row.place = PlaceOf(table.id, row.entry.row_key());
  folds_ = folds_ || row.folds;
  bytes_ += sizeof(Entry) + row.entry.ByteSizeLong();
  ++rows_;
  steps_.back().rows.push_back(std::move(row));
}

void BigtableBatch::PutCell(Entry* entry, const ColumnRef& column, const Value& value,
                            TimeUs time) {
  const WireTable& table = *entry->table;
  if (table.info.families[column.family].rules.aggregate) {
    return PutState(entry, column, value, time);
  }
  data_api::Mutation::SetCell* const cell = entry->entry.add_mutations()->mutable_set_cell();
  cell->set_family_name(table.info.families[column.family].name);
  cell->set_column_qualifier(std::string(column.qualifier));
  cell->set_timestamp_micros(time);
  table.codec.Append(column, value, cell->mutable_value());
  constexpr size_t kBytesOfCell = 64;
  bytes_ += kBytesOfCell + column.qualifier.size() + cell->value().size();
  if (cell->value().size() > kMaxValueBytes) {
    refused_ = Invalid(
        fmt::format("table {}: a value of {} bytes takes {} on Bigtable; accepted: "
                    "{} there",
                    table.info.name, value.AsView().size(), cell->value().size(), kMaxValueBytes));
  }
  // It is one call, and what it replaces goes with it.
  if (entry->is_checked() && entry->entry.mutations_size() == kMutationsOfPart) {
    refused_ =
        Invalid(fmt::format("table {}: an event of a row that it replaces has {} columns or "
                            "more; Bigtable takes less",
                            table.info.name, kMutationsOfPart));
  }
}

void BigtableBatch::PutState(Entry* entry, const ColumnRef& column, const Value& state,
                             TimeUs time) {
  const StoredFamily& family = entry->table->info.families[column.family];
  if (state.type() != ValueType::kInt64) {
    refused_ =
        Invalid(fmt::format("family {} of table {}: {} on Bigtable is of 64 bits", family.name,
                            entry->table->info.name, ToString(*family.rules.aggregate)));
    return;
  }
  folds_ = true;
  entry->folds = true;
  entry->counts = entry->counts || InfoOf(*family.rules.aggregate).counts_repeats;
  const auto row = static_cast<size_t>(entry - steps_.back().rows.data());
  std::string place(reinterpret_cast<const char*>(&row), sizeof row);
  place.append(reinterpret_cast<const char*>(&column.family), sizeof column.family);
  place.append(reinterpret_cast<const char*>(&time), sizeof time).append(column.qualifier);
  const auto [known, is_new] = added_.try_emplace(place, entry->entry.mutations_size());
  if (!is_new) {
    data_api::Value* const input =
        entry->entry.mutable_mutations(known->second)->mutable_add_to_cell()->mutable_input();
    input->set_int_value(FoldedInt64(*family.rules.aggregate, input->int_value(), state.AsInt()));
    return;
  }
  auto* const add = entry->entry.add_mutations()->mutable_add_to_cell();
  add->set_family_name(family.name);
  add->mutable_column_qualifier()->set_raw_value(std::string(column.qualifier));
  add->mutable_timestamp()->set_raw_timestamp_micros(time);
  add->mutable_input()->set_int_value(state.AsInt());
  constexpr size_t kBytesOfAdded = 160;
  bytes_ += kBytesOfAdded + 2 * column.qualifier.size();
}

void BigtableBatch::Put(const TableInfo& table, std::string_view row_key, TimeUs time,
                        const ColumnSet& set, std::span<const Value> values) {
  const TimeUs cell_time = time - time % grain_us_;
  Entry* const entry = Find(table, row_key, cell_time);
  if (entry == nullptr) return;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].is_null()) PutCell(entry, set.columns[i].ref(), values[i], cell_time);
  }
}

void BigtableBatch::Put(const TableInfo& table, std::string_view row_key, TimeUs time,
                        std::span<const ColumnRef> columns, std::span<const Value> values) {
  const TimeUs cell_time = time - time % grain_us_;
  Entry* const entry = Find(table, row_key, cell_time);
  if (entry == nullptr) return;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].is_null()) PutCell(entry, columns[i], values[i], cell_time);
  }
}

bool BigtableBatch::JoinRemoval(const TableInfo& table, const DeleteSpec& what) {
  if (steps_.size() < 2 || !steps_.back().rows.empty()) return false;
  Removal& last = *steps_[steps_.size() - 2].removal;
  const std::string& end = last.ranges.back().end;
  const bool is_behind = !end.empty() && end <= what.rows.start;
  if (!is_behind || last.table != TableOf(table) || last.what.family != what.family ||
      last.what.qualifier != what.qualifier || last.what.cells != what.cells) {
    return false;
  }
  last.ranges.push_back(what.rows);
  return true;
}

void BigtableBatch::Delete(const TableInfo& table, const DeleteSpec& what) {
  if (!HasTimes(what, grain_us_)) return;
  deletes_ = true;
  if (IsMutation(table, what)) return DeleteOfRow(table, what);
  if (JoinRemoval(table, what)) return;
  steps_.back().removal = Removal{TableOf(table), what, {what.rows}};
  steps_.emplace_back();
  places_.clear();
  added_.clear();
  ++removals_;
}

// In order with what else is written to the row, and in one call with it.
void BigtableBatch::DeleteOfRow(const TableInfo& table, const DeleteSpec& what) {
  data_api::Mutation* const mutation = Find(table, *RowOf(what.rows), 0)->entry.add_mutations();
  if (!what.family) {
    mutation->mutable_delete_from_row();
    return;
  }
  const std::string& family = table.families[*what.family].name;
  if (!what.qualifier) {
    mutation->mutable_delete_from_family()->set_family_name(family);
    return;
  }
  auto* const column = mutation->mutable_delete_from_column();
  column->set_family_name(family);
  column->set_column_qualifier(*what.qualifier);
  DeleteColumn(table, what, grain_us_, column);
}

void BigtableBatch::CheckName(std::string_view field) {
  constexpr size_t kMost = kMaxQualifierBytes - kBytesOfNote;
  if (field.size() <= kMost) return;
  refused_ = Invalid(
      fmt::format("a field's name has {} bytes; accepted on Bigtable: {}", field.size(), kMost));
}

void BigtableBatch::AddField(std::string_view stream, std::string_view field, uint8_t type_bits) {
  CheckName(field);
  uint8_t& bits = notes_.fields[{std::string(stream), std::string(field)}];
  bits = static_cast<uint8_t>(bits | type_bits);
}

void BigtableBatch::NoteSpelling(std::string_view stream, std::string_view field) {
  CheckName(field);
  notes_.spellings.emplace_back(stream, field);
}

void BigtableBatch::AddMissed(const TableInfo& table, std::string_view field, uint8_t how) {
  CheckName(field);
  uint8_t& known = notes_.missed[{table.id, std::string(field)}];
  known = static_cast<uint8_t>(known | how);
}

void BigtableBatch::PutMemo(std::string_view key, std::string_view value, NoteOrder order) {
  notes_.memos[std::string(key)] = {order, std::string(value)};
}

void BigtableBatch::DropMemo(std::string_view key) {
  notes_.memos[std::string(key)] = {NoteOrder::kAfter, std::nullopt};
}

}  // namespace tallyd
