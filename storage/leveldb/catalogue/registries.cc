#include "storage/leveldb/catalogue/registries.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <utility>

#include "storage/leveldb/codec/meta_codec.h"

namespace tallyd {
namespace {

// Never given: there is no number after it.
constexpr uint32_t kLastNumber = std::numeric_limits<uint32_t>::max();

}  // namespace

struct ColumnRegistry::Registered : ColumnSet {
  mutable std::atomic<bool> stored{false};
};

struct ColumnRegistry::OfTable {
  std::unordered_map<uint32_t, std::unique_ptr<Registered>> by_number;
  std::unordered_map<std::string, Registered*> by_columns;  // Keys: the sets' records.
  size_t bytes = 0;                                         // Of all records.
  uint32_t next = 1;
};

ColumnRegistry::ColumnRegistry() = default;
ColumnRegistry::~ColumnRegistry() = default;

const ColumnSet* ColumnRegistry::Intern(const TableInfo& table,
                                        std::span<const ColumnRef> columns) {
  std::vector<Column> sorted;
  for (const ColumnRef& column : columns) {
    sorted.push_back({column.family, std::string(column.qualifier)});
  }
  std::sort(sorted.begin(), sorted.end(), [&](const Column& a, const Column& b) {
    if (a.family != b.family) return table.family_rank[a.family] < table.family_rank[b.family];
    return a.qualifier < b.qualifier;
  });
  const std::string record = EncodeColumnSet(sorted);
  const std::unique_lock lock(mutex_);
  std::unique_ptr<OfTable>& of_table = tables_[table.id];
  if (!of_table) of_table = std::make_unique<OfTable>();
  const auto known = of_table->by_columns.find(record);
  if (known != of_table->by_columns.end()) return known->second;
  if (of_table->by_number.size() >= kMaxSets) return nullptr;
  if (of_table->bytes + record.size() > kMaxBytes) return nullptr;
  if (of_table->next == kLastNumber) return nullptr;
  return Add(of_table.get(), table.id, of_table->next, std::move(sorted));
}

ColumnRegistry::Registered* ColumnRegistry::Add(OfTable* table, TableId table_id, uint32_t set,
                                                std::vector<Column> columns) {
  auto added = std::make_unique<Registered>();
  added->table = table_id;
  added->id = set;
  added->columns = std::move(columns);
  table->next = std::max(table->next, set == kLastNumber ? set : set + 1);
  std::string record = EncodeColumnSet(added->columns);
  table->bytes += record.size();
  table->by_columns[std::move(record)] = added.get();
  return (table->by_number[set] = std::move(added)).get();
}

const ColumnSet* ColumnRegistry::FindEqual(TableId table,
                                           const std::vector<Column>& columns) const {
  const std::string record = EncodeColumnSet(columns);
  const std::shared_lock lock(mutex_);
  const auto of_table = tables_.find(table);
  if (of_table == tables_.end()) return nullptr;
  const auto known = of_table->second->by_columns.find(record);
  return known == of_table->second->by_columns.end() ? nullptr : known->second;
}

const ColumnSet* ColumnRegistry::Find(TableId table, uint32_t set) const {
  const std::shared_lock lock(mutex_);
  const auto of_table = tables_.find(table);
  if (of_table == tables_.end()) return nullptr;
  const auto found = of_table->second->by_number.find(set);
  return found == of_table->second->by_number.end() ? nullptr : found->second.get();
}

Status ColumnRegistry::Load(TableId table, uint32_t set, std::vector<Column> columns) {
  const std::unique_lock lock(mutex_);
  std::unique_ptr<OfTable>& of_table = tables_[table];
  if (!of_table) of_table = std::make_unique<OfTable>();
  const auto known = of_table->by_number.find(set);
  if (known == of_table->by_number.end()) {
    Add(of_table.get(), table, set, std::move(columns))->stored = true;
    return {};
  }
  if (known->second->columns != columns) {
    return Error(ErrorCode::kCorruption, "column set " + std::to_string(set) + " of table " +
                                             std::to_string(table) + " has changed on disk");
  }
  known->second->stored = true;
  return {};
}

std::vector<uint32_t> ColumnRegistry::StoredSets(TableId table) const {
  const std::shared_lock lock(mutex_);
  std::vector<uint32_t> sets;
  const auto of_table = tables_.find(table);
  if (of_table == tables_.end()) return sets;
  for (const auto& [number, set] : of_table->second->by_number) {
    if (set->stored) sets.push_back(number);
  }
  return sets;
}

bool ColumnRegistry::IsStored(const ColumnSet& set) {
  return static_cast<const Registered&>(set).stored.load(std::memory_order_acquire);
}

void ColumnRegistry::SetStored(const ColumnSet& set, bool stored) {
  static_cast<const Registered&>(set).stored.store(stored, std::memory_order_release);
}

void ColumnRegistry::ForgetStored() {
  const std::unique_lock lock(mutex_);
  for (const auto& [table, sets] : tables_) {
    for (const auto& [number, set] : sets->by_number) set->stored = false;
  }
}

FieldMarks FieldCatalogue::Find(std::string_view stream, std::string_view field) const {
  const std::shared_lock lock(mutex_);
  const auto of_stream = fields_.find(stream);
  if (of_stream == fields_.end()) return {};
  const auto found = of_stream->second.find(field);
  return found == of_stream->second.end() ? FieldMarks() : found->second;
}

FieldMarks FieldCatalogue::FindSure(std::string_view stream, std::string_view field) const {
  {
    const std::shared_lock lock(mutex_);
    const auto doubted = doubted_.find(stream);
    if (doubted != doubted_.end() && doubted->second.names.contains(field)) return {};
  }
  return Find(stream, field);
}

std::vector<FieldInfo> FieldCatalogue::Fields(std::string_view stream) const {
  const std::shared_lock lock(mutex_);
  std::vector<FieldInfo> fields;
  const auto of_stream = fields_.find(stream);
  if (of_stream == fields_.end()) return fields;
  for (const auto& [name, marks] : of_stream->second) {
    fields.push_back({name, marks.type_bits, marks.spelled});
  }
  return fields;
}

uint64_t FieldCatalogue::AddedBy(std::string_view stream, std::string_view field) const {
  const std::shared_lock lock(mutex_);
  const auto of_stream = added_by_.find(stream);
  if (of_stream == added_by_.end()) return loaded_by_;
  const auto added = of_stream->second.find(field);
  return added == of_stream->second.end() ? loaded_by_ : added->second;
}

void FieldCatalogue::Doubt(std::string_view stream, const std::vector<std::string>& names) {
  const std::unique_lock lock(mutex_);
  doubted_.erase(std::string(stream));
  if (!names.empty()) doubted_[std::string(stream)].names = {names.begin(), names.end()};
}

std::vector<std::string> FieldCatalogue::Doubted(std::string_view stream) const {
  const std::shared_lock lock(mutex_);
  const auto doubted = doubted_.find(stream);
  if (doubted == doubted_.end()) return {};
  return {doubted->second.names.begin(), doubted->second.names.end()};
}

std::shared_ptr<const void> FieldCatalogue::HoldBatches() const {
  const std::shared_lock lock(mutex_);
  return batches_;
}

bool FieldCatalogue::BatchesAreGone(std::string_view stream) {
  const std::unique_lock lock(mutex_);
  const auto doubted = doubted_.find(stream);
  if (doubted == doubted_.end()) return false;
  const auto is_gone = [](const auto& held) { return held.expired(); };
  if (!doubted->second.batches) {
    std::erase_if(old_batches_, is_gone);
    old_batches_.emplace_back(std::exchange(batches_, std::make_shared<int>()));
    doubted->second.batches = old_batches_;
  }
  return std::ranges::all_of(*doubted->second.batches, is_gone);
}

uint64_t FieldCatalogue::GoneBy(std::string_view stream, uint64_t now) {
  const std::unique_lock lock(mutex_);
  const auto doubted = doubted_.find(stream);
  if (doubted == doubted_.end()) return now;
  if (!doubted->second.gone_by) doubted->second.gone_by = now;
  return *doubted->second.gone_by;
}

void FieldCatalogue::Forget(std::string_view stream, const std::vector<std::string>& names) {
  const std::unique_lock lock(mutex_);
  const auto of_stream = fields_.find(stream);
  if (of_stream == fields_.end()) return;
  for (const std::string& name : names) {
    if (of_stream->second.erase(name) > 0) name_bytes_[std::string(stream)] -= name.size();
    added_by_[std::string(stream)].erase(name);
  }
  doubted_.erase(std::string(stream));
}

bool FieldCatalogue::HasRoom(std::string_view stream) const {
  const std::shared_lock lock(mutex_);
  const auto bytes = name_bytes_.find(stream);
  return bytes == name_bytes_.end() || bytes->second < kMaxNameBytes;
}

bool FieldCatalogue::HasRoomForMissed(TableId table) const {
  const std::shared_lock lock(mutex_);
  const auto bytes = missed_bytes_.find(table);
  return bytes == missed_bytes_.end() || bytes->second < kMaxNameBytes;
}

uint8_t FieldCatalogue::HowMissed(TableId table, std::string_view field) const {
  const std::shared_lock lock(mutex_);
  const auto of_table = missed_.find(table);
  if (of_table == missed_.end()) return 0;
  const auto found = of_table->second.find(field);
  return found == of_table->second.end() ? uint8_t{0} : found->second.how;
}

std::vector<MissedField> FieldCatalogue::Missed(TableId table) const {
  const std::shared_lock lock(mutex_);
  std::vector<MissedField> missed;
  const auto of_table = missed_.find(table);
  if (of_table == missed_.end()) return missed;
  for (const auto& [name, field] : of_table->second) missed.push_back(field);
  return missed;
}

void FieldCatalogue::Add(const FieldTypes& fields, const MissedFields& missed, uint64_t sequence) {
  if (fields.empty() && missed.empty()) return;
  const std::unique_lock lock(mutex_);
  AddFields(fields, sequence);
  AddMissed(missed);
}

void FieldCatalogue::AddFields(const FieldTypes& fields, uint64_t sequence) {
  for (const auto& [stream, of_stream] : fields) {
    const auto doubted = doubted_.find(stream);
    auto& added_by = added_by_[stream];
    for (const auto& [name, marks] : of_stream) {
      const auto [known, added] = fields_[stream].try_emplace(name);
      known->second.type_bits |= marks.type_bits;
      known->second.spelled = std::max(known->second.spelled, marks.spelled);
      if (added) name_bytes_[stream] += name.size();
      added_by[name] = sequence;
      if (doubted != doubted_.end()) doubted->second.names.erase(name);
    }
  }
}

void FieldCatalogue::AddMissed(const MissedFields& missed) {
  for (const auto& [table, of_table] : missed) {
    for (const auto& [name, field] : of_table) {
      const auto [known, added] = missed_[table].insert_or_assign(name, field);
      if (added) missed_bytes_[table] += name.size();
    }
  }
}

void FieldCatalogue::Replace(const FieldTypes& fields, const MissedFields& missed,
                             uint64_t sequence) {
  const std::unique_lock lock(mutex_);
  fields_.clear();
  doubted_.clear();
  name_bytes_.clear();
  missed_.clear();
  missed_bytes_.clear();
  AddFields(fields, sequence);
  added_by_.clear();
  loaded_by_ = sequence;
  AddMissed(missed);
}

}  // namespace tallyd
