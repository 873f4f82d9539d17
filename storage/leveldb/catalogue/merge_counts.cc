#include "storage/leveldb/catalogue/merge_counts.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "config/schema/merge_risk.h"
#include "storage/bytes/coding.h"
#include "storage/bytes/record_parts.h"

namespace tallyd {
namespace {

constexpr uint8_t kRecordVersion = 1;
constexpr uint8_t kAny = 1;
constexpr uint8_t kAnyColumn = 2;

// What the keys of a stream's tables hold that are no longer in the file.
std::vector<std::string> FieldsOfOrphans(const std::vector<TablePtr>& tables,
                                         const std::string& stream) {
  std::vector<std::string> fields;
  for (const TablePtr& table : tables) {
    if (!table->orphaned || table->stream != stream || table->mode != TableMode::kHistory ||
        HasAggregates(*table) || IsStagedName(table->name)) {
      continue;
    }
    const Result<RowKeyTemplate> key = RowKeyTemplate::Parse(table->row_key, table->time_field);
    if (!key) continue;
    fields.insert(fields.end(), key->entity_fields().begin(), key->entity_fields().end());
  }
  return fields;
}

}  // namespace

std::string MergedEventsKey(TableId table) {
  std::string key = MetaKey(kMergedEvents);
  PutU32(&key, table);
  return key;
}

std::string EncodeMergeRecord(const MergeRecord& merges) {
  std::string record{static_cast<char>(kRecordVersion)};
  PutVarint(&record, merges.count);
  record.push_back(
      static_cast<char>((merges.any ? kAny : 0) | (merges.any_column ? kAnyColumn : 0)));
  PutVarint(&record, static_cast<uint64_t>(merges.unknown_before));
  PutVarint(&record, merges.columns.size());
  for (const auto& [column, events] : merges.columns) {
    PutVarint(&record, column.family);
    PutString(&record, column.qualifier);
    PutVarint(&record, events);
  }
  return record;
}

Result<MergeRecord> DecodeMergeRecord(std::string_view record) {
  ByteReader in(record);
  MergeRecord merges;
  uint8_t version = 0;
  uint8_t flags = 0;
  uint64_t columns = 0;
  bool good = in.GetByte(&version) && version == kRecordVersion && in.GetVarint(&merges.count) &&
              in.GetByte(&flags) && flags <= (kAny | kAnyColumn) &&
              in.GetNumber(&merges.unknown_before, static_cast<uint64_t>(kNeverWhole)) &&
              in.GetVarint(&columns);
  merges.any = (flags & kAny) != 0;
  merges.any_column = (flags & kAnyColumn) != 0;
  for (; good && columns > 0; --columns) {
    ColumnMerges of_column;
    std::string_view qualifier;
    good = in.GetNumber(&of_column.column.family, UINT16_MAX) && in.GetString(&qualifier) &&
           in.GetVarint(&of_column.events);
    of_column.column.qualifier = qualifier;
    merges.columns.push_back(std::move(of_column));
  }
  if (good && in.done()) return merges;
  return DamagedRecord("merged events");
}

std::map<TableId, std::vector<Telling>> FindTelling(const Schema& schema,
                                                    const std::vector<TablePtr>& tables,
                                                    FieldsOfCell fields_of) {
  std::map<TableId, std::vector<Telling>> telling;
  for (const TablePtr& table : tables) {
    const Table* const configured = schema.FindTable(table->name);
    if (configured == nullptr || !MayMergeEvents(*configured)) continue;
    const auto others = FieldsOfOrphans(tables, table->stream);
    const MergeRisk risk = MergeRiskOf(schema, *configured, others);
    const auto add = [&](const std::string& family, Telling each) {
      const std::optional<FamilyId> id = table->FindFamily(family);
      if (!id) return;
      each.column.family = *id;
      std::vector<Telling>& of_table = telling[table->id];
      if (std::ranges::find(of_table, each) == of_table.end()) of_table.push_back(std::move(each));
    };
    for (const MergeRisk::Kept& kept : risk.kept) add(kept.family, {{0, kept.qualifier}});
    for (const MergeRisk::Serialized& cell : risk.serialized) {
      if (fields_of == nullptr) break;
      add(cell.family, {{0, cell.qualifier}, Telling::By::kFields, cell.how, fields_of});
    }
    for (const MergeRisk::Valued& valued : risk.valued) {
      Telling by_names{{}, Telling::By::kNames};
      by_names.others = valued.others;
      add(valued.family, std::move(by_names));
    }
  }
  return telling;
}

void MergesFound::Add(uint64_t place, uint64_t events) {
  count += events;
  if (places.size() < MergeCounts::kMaxPlaces) places.push_back(place);
}

void MergeCounts::Replace(Records records) {
  const std::lock_guard lock(mutex_);
  for (auto& [id, table] : tables_) {
    MergeRecord& record = records[id];
    // Of what was not written yet the database does not say otherwise.
    const MergeRecord stored = record;
    record.any = record.any || table.record.any;
    record.unknown_before = std::max(record.unknown_before, table.record.unknown_before);
    table.unwritten = table.unwritten || record != stored;
  }
  for (auto& [id, record] : records) tables_[id].record = std::move(record);
}

void MergeCounts::Begin(const std::map<TableId, TimeUs>& unknown) {
  const std::lock_guard lock(mutex_);
  const auto [began, is_new] = tables_.try_emplace(kBegan);
  if (!is_new) return;
  began->second.unwritten = true;
  for (const auto& [id, before] : unknown) {
    OfTable& table = tables_[id];
    table.record.unknown_before = std::max(table.record.unknown_before, before);
    table.unwritten = true;
  }
}

void MergeCounts::SetTelling(std::map<TableId, std::vector<Telling>> telling) {
  const std::lock_guard lock(mutex_);
  telling_ = std::move(telling);
}

std::vector<Telling> MergeCounts::TellingOf(TableId table) const {
  const std::lock_guard lock(mutex_);
  const auto found = telling_.find(table);
  return found == telling_.end() ? std::vector<Telling>() : found->second;
}

MergedEvents MergeCounts::Of(TableId table) const {
  const std::lock_guard lock(mutex_);
  MergedEvents merged;
  const auto found = tables_.find(table);
  if (found == tables_.end()) return merged;
  const MergeRecord& record = found->second.record;
  merged.count = record.count;
  bool differs = false;
  // Whoever wrote entries again before it was known what tells them apart counted by column.
  const auto telling = telling_.find(table);
  if (telling != telling_.end()) {
    for (const Telling& each : telling->second) {
      // Another value tells nothing where it is the set of fields or of columns that does.
      if (each.by != Telling::By::kValue) continue;
      differs = differs || record.any_column;
      const auto of = std::ranges::find(record.columns, each.column, &ColumnMerges::column);
      if (of != record.columns.end()) merged.count = std::max(merged.count, of->events);
    }
  }
  for (const auto& [place, events] : found->second.met) merged.count += events;
  merged.any = merged.count > 0 || record.any || differs;
  if (merged.any) merged.count = std::max<uint64_t>(merged.count, 1);
  merged.unknown_before = record.unknown_before;
  return merged;
}

void MergeCounts::Met(TableId table, uint64_t place, uint64_t events) {
  const std::lock_guard lock(mutex_);
  OfTable& of_table = tables_[table];
  if (!of_table.record.any) {
    of_table.record.any = true;
    of_table.unwritten = true;
  }
  if (of_table.met.size() < kMaxPlaces) {
    of_table.met[place] = events;
  } else if (const auto known = of_table.met.find(place); known != of_table.met.end()) {
    known->second = events;
  }
}

MergeRecord MergeCounts::With(MergeRecord record, const MergesFound& found) {
  record.count += found.count;
  record.any = record.any || found.count > 0;
  for (const ColumnMerges& more : found.columns) {
    if (record.any_column) break;
    const auto known = std::ranges::find(record.columns, more.column, &ColumnMerges::column);
    if (known != record.columns.end()) {
      known->events += more.events;
      continue;
    }
    record.columns.push_back(more);
    record.any_column = record.columns.size() > kMaxColumns;
  }
  if (record.any_column) record.columns.clear();
  return record;
}

std::pair<std::string, std::string> MergeCounts::RecordWith(TableId table,
                                                            const MergesFound& found) const {
  const std::lock_guard lock(mutex_);
  const auto known = tables_.find(table);
  const MergeRecord record = known == tables_.end() ? MergeRecord() : known->second.record;
  return {MergedEventsKey(table), EncodeMergeRecord(With(record, found))};
}

void MergeCounts::Count(TableId table, const MergesFound& found) {
  const std::lock_guard lock(mutex_);
  OfTable& of_table = tables_[table];
  of_table.record = With(std::move(of_table.record), found);
  for (const uint64_t place : found.places) of_table.met.erase(place);
  if (found.places.size() < found.count && found.places.size() == kMaxPlaces) of_table.met.clear();
}

bool MergeCounts::has_met() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(
      tables_, [](const auto& table) { return table.second.unwritten && table.second.record.any; });
}

MergeCounts::Written MergeCounts::Unwritten() const {
  const std::lock_guard lock(mutex_);
  Written records;
  for (const auto& [id, table] : tables_) {
    if (!table.unwritten) continue;
    records.emplace_back(MergedEventsKey(id), EncodeMergeRecord(table.record));
  }
  return records;
}

void MergeCounts::WasWritten(const Written& records) {
  const std::lock_guard lock(mutex_);
  for (auto& [id, table] : tables_) {
    const std::pair record{MergedEventsKey(id), EncodeMergeRecord(table.record)};
    if (std::ranges::find(records, record) != records.end()) table.unwritten = false;
  }
}

void MergeCounts::Forget(TableId table) {
  const std::lock_guard lock(mutex_);
  tables_.erase(table);
}

}  // namespace tallyd
