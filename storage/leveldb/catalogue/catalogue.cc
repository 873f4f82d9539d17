#include "storage/leveldb/catalogue/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <numeric>

#include "storage/leveldb/codec/key_codec.h"
#include "storage/leveldb/codec/meta_codec.h"

namespace tallyd {
namespace {

TableMode ModeOf(const Table& table) {
  if (table.pattern != Pattern::kLatest) return TableMode::kHistory;
  return table.keep_row ? TableMode::kLatestRow : TableMode::kLatestCell;
}

std::string_view KeepOf(TableMode mode) { return mode == TableMode::kLatestRow ? "row" : "cell"; }

// The two values of what may not change, or nothing.
std::string Difference(std::string_view what, std::string_view stored,
                       std::string_view configured) {
  if (stored == configured) return {};
  return fmt::format("{} is \"{}\" in the stored data and \"{}\" in the configuration", what,
                     stored, configured);
}

Status CheckTable(const TableInfo& stored, const Table& configured) {
  const TableMode mode = ModeOf(configured);
  std::string differences;
  for (const std::string& difference :
       {Difference("stream", stored.stream, configured.stream),
        Difference("pattern", stored.pattern, ToString(configured.pattern)),
        Difference("row_key", stored.row_key, configured.row_key.text()),
        stored.mode == TableMode::kHistory || mode == TableMode::kHistory
            ? std::string()
            : Difference("keep", KeepOf(stored.mode), KeepOf(mode))}) {
    if (difference.empty()) continue;
    if (!differences.empty()) differences += "; ";
    differences += difference;
  }
  if (differences.empty()) return {};
  return Error(ErrorCode::kConflict,
               fmt::format("table {}: {}. These may not change while the table has data: undo the "
                           "change, or name the new table differently",
                           stored.name, differences));
}

TableInfo NewTable(TableId id, const Table& configured) {
  TableInfo table;
  table.id = id;
  table.name = configured.name;
  table.stream = configured.stream;
  table.pattern = ToString(configured.pattern);
  table.row_key = configured.row_key.text();
  table.mode = ModeOf(configured);
  return table;
}

// True if a family is new.
bool AddFamilies(const Table& configured, TableInfo* table) {
  bool added = false;
  for (const Family& family : configured.families) {
    if (table->FindFamily(family.name)) continue;
    table->families.push_back({family.name, false, {}});
    added = true;
  }
  return added;
}

// The table as the configuration (null: not in it) sees it.
TablePtr Configure(TableInfo table, const Table* configured) {
  table.orphaned = configured == nullptr;
  for (StoredFamily& family : table.families) {
    const Family* rules = configured ? configured->FindFamily(family.name) : nullptr;
    // An orphaned table shows everything: what it kept is no longer known.
    family.configured = rules != nullptr || configured == nullptr;
    family.rules = rules ? *rules : Family{};
    family.rules.name = family.name;
  }
  std::vector<FamilyId> by_name(table.families.size());
  std::iota(by_name.begin(), by_name.end(), FamilyId{0});
  std::sort(by_name.begin(), by_name.end(), [&](FamilyId a, FamilyId b) {
    return table.families[a].name < table.families[b].name;
  });
  table.family_rank.resize(by_name.size());
  for (size_t rank = 0; rank < by_name.size(); ++rank) {
    table.family_rank[by_name[rank]] = static_cast<uint16_t>(rank);
  }
  return std::make_shared<const TableInfo>(std::move(table));
}

std::string EncodeNextTable(TableId next) {
  std::string record;
  PutU32(&record, next);
  return record;
}

}  // namespace

Result<Catalogue::Plan> Catalogue::PlanAdopt(const Schema& schema) const {
  const std::shared_lock lock(mutex_);
  Plan plan;
  plan.stored = stored_;
  plan.schema = std::make_shared<const Schema>(schema);
  for (const Stream& stream : schema.streams) {
    const auto [known, added] = plan.stored.streams.try_emplace(stream.name, stream.unit);
    if (added) {
      plan.put.emplace_back(StreamKey(stream.name), EncodeStream(stream.unit));
    } else if (known->second != stream.unit) {
      return Error(ErrorCode::kConflict,
                   fmt::format("stream {}: {}. It may not change", stream.name,
                               Difference("unit", ToString(known->second), ToString(stream.unit))));
    }
  }
  std::map<std::string_view, TableInfo*> by_name;
  for (auto& [id, table] : plan.stored.tables) by_name[table.name] = &table;
  for (const Table& configured : schema.tables) {
    const auto known = by_name.find(configured.name);
    const bool added = known == by_name.end();
    TableInfo* table = nullptr;
    if (added) {
      const TableId id = plan.stored.next_table++;
      table = &plan.stored.tables.emplace(id, NewTable(id, configured)).first->second;
    } else {
      table = known->second;
      const Status same = CheckTable(*table, configured);
      if (!same) return same.error();
    }
    if (AddFamilies(configured, table) || added) {
      plan.put.emplace_back(TableKey(table->id), EncodeTable(*table));
    }
  }
  if (plan.stored.next_table != stored_.next_table) {
    plan.put.emplace_back(MetaKey(MetaKind::kNextTable), EncodeNextTable(plan.stored.next_table));
  }
  return plan;
}

Result<Catalogue::Plan> Catalogue::PlanDrop(std::string_view name) const {
  const std::shared_lock lock(mutex_);
  const auto found = tables_.find(name);
  if (found == tables_.end()) {
    return Error(ErrorCode::kNotFound, fmt::format("there is no table {}", name));
  }
  if (!found->second->orphaned) {
    return Error(ErrorCode::kConflict,
                 fmt::format("table {} is in the configuration: take it out first", name));
  }
  Plan plan;
  plan.stored = stored_;
  plan.schema = schema_;
  plan.stored.tables.erase(found->second->id);
  plan.drop.push_back(TableKey(found->second->id));
  return plan;
}

void Catalogue::Publish(Plan plan) {
  const std::unique_lock lock(mutex_);
  stored_ = std::move(plan.stored);
  schema_ = std::move(plan.schema);
  Rebuild();
}

void Catalogue::Reload(StoredCatalogue stored) {
  const std::unique_lock lock(mutex_);
  stored_ = std::move(stored);
  Rebuild();
}

void Catalogue::Rebuild() {
  ++version_;
  tables_.clear();
  for (const auto& [id, table] : stored_.tables) {
    tables_[table.name] = Configure(table, schema_->FindTable(table.name));
  }
}

TablePtr Catalogue::Find(std::string_view name) const {
  const std::shared_lock lock(mutex_);
  const auto found = tables_.find(name);
  return found == tables_.end() ? nullptr : found->second;
}

std::vector<TablePtr> Catalogue::Tables() const {
  const std::shared_lock lock(mutex_);
  std::vector<TablePtr> tables;
  for (const auto& [name, table] : tables_) tables.push_back(table);
  return tables;
}

bool Catalogue::Exists(TableId table) const {
  const std::shared_lock lock(mutex_);
  return stored_.tables.contains(table);
}

std::vector<std::pair<std::string, std::string>> Catalogue::RecordsOf(TableId table) const {
  const std::shared_lock lock(mutex_);
  const auto found = stored_.tables.find(table);
  if (found == stored_.tables.end()) return {};
  std::vector<std::pair<std::string, std::string>> records{
      {TableKey(table), EncodeTable(found->second)}};
  const auto stream = stored_.streams.find(found->second.stream);
  if (stream != stored_.streams.end()) {
    records.emplace_back(StreamKey(stream->first), EncodeStream(stream->second));
  }
  return records;
}

}  // namespace tallyd
