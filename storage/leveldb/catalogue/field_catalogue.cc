#include "storage/leveldb/catalogue/field_catalogue.h"

#include <algorithm>
#include <mutex>
#include <utility>

namespace tallyd {

FieldMarks FieldCatalogue::Find(std::string_view stream, std::string_view field) const {
  const std::shared_lock lock(mutex_);
  const auto of_stream = fields_.find(stream);
  if (of_stream == fields_.end()) return {};
  const auto found = of_stream->second.find(field);
  return found == of_stream->second.end() ? FieldMarks() : found->second;
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

void FieldCatalogue::Add(const FieldTypes& fields, const MissedFields& missed) {
  if (fields.empty() && missed.empty()) return;
  const std::unique_lock lock(mutex_);
  AddMissed(missed);
  for (const auto& [stream, of_stream] : fields) {
    for (const auto& [name, marks] : of_stream) {
      const auto [known, added] = fields_[stream].try_emplace(name);
      known->second.type_bits |= marks.type_bits;
      known->second.spelled = std::max(known->second.spelled, marks.spelled);
      if (added) name_bytes_[stream] += name.size();
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

void FieldCatalogue::Replace(const FieldTypes& fields, const MissedFields& missed) {
  {
    const std::unique_lock lock(mutex_);
    fields_.clear();
    name_bytes_.clear();
    missed_.clear();
    missed_bytes_.clear();
    AddMissed(missed);
  }
  Add(fields, {});
}

}  // namespace tallyd
