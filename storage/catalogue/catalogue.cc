#include "storage/catalogue/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <numeric>

namespace tallyd {
namespace {

Error HasData(const TableInfo& stored, const std::string& differences) {
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

TimeUnit UnitOf(const StoredCatalogue& stored, const std::string& stream) {
  const auto known = stored.streams.find(stream);
  return known == stored.streams.end() ? TimeUnit::kMilliseconds : known->second.unit;
}

StoredStream StoredAs(const Stream& stream) {
  StoredStream stored{stream.unit, stream.labels};
  std::ranges::sort(stored.labels);
  const auto [repeated, end] = std::ranges::unique(stored.labels);
  stored.labels.erase(repeated, end);
  return stored;
}

std::string ListOf(const std::vector<std::string>& names) {
  return fmt::format("[{}]", fmt::join(names, ", "));
}

// The table as the configuration (null: not in it) sees it.
TablePtr Configure(TableInfo table, uint64_t adoption, const Table* configured) {
  table.orphaned = configured == nullptr;
  table.max_bytes = configured != nullptr ? configured->max_bytes.value_or(0) : 0;
  table.adoption = adoption;
  for (StoredFamily& family : table.families) {
    const Family* rules = configured ? configured->FindFamily(family.name) : nullptr;
    // An orphaned table shows everything: what it kept is no longer known.
    family.configured = rules != nullptr || configured == nullptr;
    family.rules = rules ? *rules : Family{};
    // What it is, it stays: cells are folded wherever they are read or written again.
    family.rules.aggregate = family.last.aggregate;
    family.rules.bucket_us = family.last.bucket_us;
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

// Which adoptions made the marks is not stored.
void KeepAdoptions(const TableInfo& known, TableInfo* table) {
  table->membership.adoption = known.membership.adoption;
  for (RuleMark& mark : table->rules) {
    for (const RuleMark& before : known.rules) {
      // In memory it may be later than on the disk.
      if (before.rule == mark.rule && before.since >= mark.since) {
        mark.adoption = std::max(mark.adoption, before.adoption);
      }
    }
  }
}

// To ask whether a schema changes anything at all.
class UnknownPast final : public StoredPast {
 public:
  uint64_t sequence() const override { return 0; }
  TimeUs now() const override { return 0; }
  bool EverTook(std::string_view) override { return false; }
  bool IsEmpty(const TableInfo&) override { return false; }
  TimeUs EndOf(const TableInfo&) override { return 0; }
  bool TookSince(const TableInfo&, uint64_t) override { return true; }
};

}  // namespace

// One schema being adopted: what is stored, step by step, as it will be.
class Catalogue::Planner {
 public:
  Planner(const StoredCatalogue& stored, const Schema& schema, StoredPast* past, uint64_t number)
      : schema_(schema), adoption_(stored.tables, past, number) {
    plan_.stored = stored;
    plan_.schema = std::make_shared<const Schema>(schema);
    plan_.adoption = number;
  }

  Result<Plan> Run() && {
    const TableId next_table = plan_.stored.next_table;
    for (const Stream& stream : schema_.streams) {
      const Status added = AddStream(stream);
      if (!added) return added.error();
    }
    for (auto& [name, table] : ByName()) {
      if (IsStagedName(name) || schema_.FindTable(name) != nullptr) continue;
      if (adoption_.Orphan(table)) Put(*table);
    }
    for (const Table& configured : schema_.tables) {
      const Status added = AddTable(configured);
      if (!added) return added.error();
    }
    if (plan_.stored.next_table != next_table) plan_.put.next_table = plan_.stored.next_table;
    return std::move(plan_);
  }

 private:
  Status MayChange(const std::string& stream, const StoredStream& known,
                   const StoredStream& configured) {
    if (known.unit != configured.unit && !adoption_.IsEmpty(stream)) {
      return Error(
          ErrorCode::kConflict,
          fmt::format("stream {}: {}. It may not change while a table of the stream has "
                      "data",
                      stream, Difference("unit", ToString(known.unit), ToString(configured.unit))));
    }
    if (known.labels == configured.labels) return {};
    const TableInfo* const table = adoption_.FindWithLabels(stream);
    if (table == nullptr) return {};
    return Error(
        ErrorCode::kConflict,
        fmt::format("stream {}: {}. It may not change while table {}, whose row key has "
                    "{{labels}}, has data",
                    stream, Difference("labels", ListOf(known.labels), ListOf(configured.labels)),
                    table->name));
  }

  std::map<std::string, TableInfo*> ByName() {
    std::map<std::string, TableInfo*> by_name;
    for (auto& [id, table] : plan_.stored.tables) by_name[table.name] = &table;
    return by_name;
  }

  void Put(const TableInfo& table) { plan_.put.tables.push_back(table); }

  Status AddStream(const Stream& stream) {
    const StoredStream configured = StoredAs(stream);
    const auto [known, added] = plan_.stored.streams.try_emplace(stream.name, configured);
    if (!added && known->second == configured) return {};
    if (!added) {
      if (Status may = MayChange(stream.name, known->second, configured); !may) return may;
    }
    known->second = configured;
    plan_.put.streams.emplace_back(stream.name, configured);
    return {};
  }

  Status AddTable(const Table& configured) {
    const auto by_name = ByName();
    const auto known = by_name.find(configured.name);
    TableInfo* table = known == by_name.end() ? nullptr : known->second;
    if (table != nullptr) {
      const std::string differences = Differences(*table, configured);
      if (!differences.empty() && !adoption_.MayDrop(*table)) return HasData(*table, differences);
      // What does not hold a row is made anew: nothing of it is found under its number again.
      if (!differences.empty()) {
        plan_.dropped.push_back(table->id);
        plan_.stored.tables.erase(table->id);
        table = nullptr;
      }
    }
    if (table == nullptr) {
      const TableId id = plan_.stored.next_table++;
      table = &plan_.stored.tables.emplace(id, NewTable(id, configured)).first->second;
    }
    if (adoption_.Configure(configured, UnitOf(plan_.stored, configured.stream), table)) {
      Put(*table);
    }
    return {};
  }

  const Schema& schema_;
  Plan plan_;
  Adoption adoption_;
};

bool Catalogue::AdoptUnchanged(const Schema& schema) {
  const std::unique_lock lock(mutex_);
  UnknownPast past;
  Result<Plan> plan = Planner(stored_, schema, &past, adoption_).Run();
  if (!plan || !plan->put.empty() || !plan->dropped.empty()) return false;
  schema_ = std::move(plan->schema);
  Rebuild();
  return true;
}

Result<Catalogue::Plan> Catalogue::PlanAdopt(const Schema& schema, StoredPast* past) const {
  const std::shared_lock lock(mutex_);
  return Planner(stored_, schema, past, adoption_ + 1).Run();
}

Result<Catalogue::Plan> Catalogue::PlanDrop(std::string_view name) const {
  const std::shared_lock lock(mutex_);
  const auto found = tables_.find(name);
  if (found == tables_.end()) {
    return Error(ErrorCode::kNotFound, fmt::format("there is no table '{}'", name));
  }
  if (!found->second->orphaned) {
    return Error(ErrorCode::kConflict,
                 fmt::format("table {} is in the configuration: take it out first", name));
  }
  Plan plan = Unchanged();
  PlanToDrop(found->second->id, &plan);
  return plan;
}

Catalogue::Plan Catalogue::Unchanged() const {
  Plan plan;
  plan.stored = stored_;
  plan.schema = schema_;
  plan.adoption = adoption_;
  return plan;
}

void Catalogue::PlanToDrop(TableId table, Plan* plan) {
  plan->stored.tables.erase(table);
  plan->dropped.push_back(table);
}

// It has no marks, and whoever adopts it later finds it as it is configured.
Result<Catalogue::Plan> Catalogue::PlanStage(const Table& table, StoredPast* past) const {
  const std::shared_lock lock(mutex_);
  Plan plan = Unchanged();
  const auto before = tables_.find(StagedName(table.name));
  if (before != tables_.end()) PlanToDrop(before->second->id, &plan);
  const TableId id = plan.stored.next_table++;
  TableInfo staged = NewTable(id, table);
  Adoption(stored_.tables, past, adoption_)
      .Configure(table, UnitOf(stored_, table.stream), &staged);
  staged.name = StagedName(table.name);
  staged.membership.whole_from = 0;
  for (RuleMark& mark : staged.rules) mark.whole_from = 0;
  plan.put.tables.push_back(staged);
  plan.put.next_table = plan.stored.next_table;
  plan.stored.tables.emplace(id, std::move(staged));
  return plan;
}

Result<Catalogue::Plan> Catalogue::PlanSwap(const Table& table, TableId staged) const {
  const std::shared_lock lock(mutex_);
  Plan plan = Unchanged();
  const std::string behind = StagedName(table.name);
  const auto known = tables_.find(behind);
  if ((known == tables_.end() ? TableId{0} : known->second->id) != staged) {
    return Error(ErrorCode::kConflict,
                 fmt::format("table {} is being made by somebody else", table.name));
  }
  for (const auto& [from, to] : {std::pair(table.name, behind), std::pair(behind, table.name)}) {
    const auto found = tables_.find(from);
    if (found == tables_.end()) continue;
    TableInfo& renamed = plan.stored.tables.at(found->second->id);
    renamed.name = to;
    plan.put.tables.push_back(renamed);
  }
  if (plan.put.empty()) {
    return Error(ErrorCode::kNotFound, fmt::format("there is no table '{}'", table.name));
  }
  if (schema_->FindTable(table.name) == nullptr) {
    auto with_table = std::make_shared<Schema>(*schema_);
    with_table->tables.push_back(table);
    plan.schema = std::move(with_table);
  }
  return plan;
}

Result<Catalogue::Plan> Catalogue::PlanWhole(const TableInfo& seen, TimeUs from) const {
  const std::shared_lock lock(mutex_);
  const auto found = stored_.tables.find(seen.id);
  if (found == stored_.tables.end()) {
    return Error(ErrorCode::kNotFound, fmt::format("there is no table '{}'", seen.name));
  }
  if (EncodeTable(found->second) != EncodeTable(seen)) {
    return Error(ErrorCode::kConflict,
                 fmt::format("the rules of table {} have changed meanwhile", seen.name));
  }
  Plan plan = Unchanged();
  TableInfo& table = plan.stored.tables.at(seen.id);
  const auto lower = [from](TimeUs* whole_from) { *whole_from = std::min(*whole_from, from); };
  lower(&table.membership.whole_from);
  for (RuleMark& mark : table.rules) {
    if (mark.away_since == 0) lower(&mark.whole_from);
  }
  // What max_bytes let go is gone.
  for (StoredFamily& family : table.families) {
    if (seen.max_bytes == 0) lower(&family.whole_from);
  }
  plan.put.tables.push_back(table);
  return plan;
}

void Catalogue::Publish(Plan plan) {
  const std::unique_lock lock(mutex_);
  stored_ = std::move(plan.stored);
  schema_ = std::move(plan.schema);
  adoption_ = plan.adoption;
  Rebuild();
}

CatalogueRecords Catalogue::LetGo(TableId id, TimeUs until) {
  const std::unique_lock lock(mutex_);
  const auto found = stored_.tables.find(id);
  if (found == stored_.tables.end()) return {};
  for (StoredFamily& family : found->second.families) {
    family.whole_from = std::max(family.whole_from, until);
  }
  Rebuild();
  return {.tables = {found->second}};
}

CatalogueRecords Catalogue::CoverLate(std::span<const TableId> written, uint64_t adoption,
                                      const Late& late) {
  const std::unique_lock lock(mutex_);
  CatalogueRecords records;
  for (auto& [id, table] : stored_.tables) {
    bool changed = false;
    const auto cover = [&](RuleMark* mark) {
      if (mark->adoption <= adoption) return;
      const TimeUs missed = MissedUntil(table, written, late.end);
      if (missed == 0) return;
      changed = true;
      mark->whole_from = std::max(mark->whole_from, missed);
      // Whoever fills the table for this mark may be past these events: it is another mark.
      mark->since = std::max(mark->since, late.sequence);
    };
    cover(&table.membership);
    for (RuleMark& mark : table.rules) cover(&mark);
    if (changed) records.tables.push_back(table);
  }
  if (!records.empty()) Rebuild();
  return records;
}

// Behind the latest time that an event of `written` can have in the table; 0: none of its stream.
TimeUs Catalogue::MissedUntil(const TableInfo& table, std::span<const TableId> written,
                              TimeUs end) const {
  TimeUs missed = 0;
  for (const TableId id : written) {
    const auto other = stored_.tables.find(id);
    if (other == stored_.tables.end() || other->second.stream != table.stream) continue;
    missed = std::max(missed, other->second.time_field == table.time_field ? end : kNeverWhole);
  }
  return missed;
}

void Catalogue::Reload(StoredCatalogue stored) {
  const std::unique_lock lock(mutex_);
  for (auto& [id, table] : stored.tables) {
    const auto known = stored_.tables.find(id);
    if (known != stored_.tables.end()) KeepAdoptions(known->second, &table);
  }
  stored_ = std::move(stored);
  Rebuild();
}

void Catalogue::Rebuild() {
  ++version_;
  tables_.clear();
  for (const auto& [id, table] : stored_.tables) {
    tables_[table.name] = Configure(table, adoption_, schema_->FindTable(table.name));
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

std::vector<TablePtr> Catalogue::Named() const {
  std::vector<TablePtr> tables = Tables();
  std::erase_if(tables, [](const TablePtr& table) { return IsStagedName(table->name); });
  return tables;
}

std::vector<std::string> Catalogue::StagedNames() const {
  std::vector<std::string> names;
  for (const TablePtr& table : Tables()) {
    if (IsStagedName(table->name)) names.emplace_back(NameBehind(table->name));
  }
  return names;
}

uint64_t Catalogue::adoption() const {
  const std::shared_lock lock(mutex_);
  return adoption_;
}

bool Catalogue::Exists(TableId table) const {
  const std::shared_lock lock(mutex_);
  return stored_.tables.contains(table);
}

CatalogueRecords Catalogue::RecordsOf(TableId table) const {
  const std::shared_lock lock(mutex_);
  const auto found = stored_.tables.find(table);
  if (found == stored_.tables.end()) return {};
  CatalogueRecords records{.tables = {found->second}};
  const auto stream = stored_.streams.find(found->second.stream);
  if (stream != stored_.streams.end()) records.streams.push_back(*stream);
  return records;
}

}  // namespace tallyd
