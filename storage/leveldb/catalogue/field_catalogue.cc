#include "storage/leveldb/catalogue/field_catalogue.h"

#include <algorithm>
#include <mutex>

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

void FieldCatalogue::Add(const FieldTypes& fields) {
  if (fields.empty()) return;
  const std::unique_lock lock(mutex_);
  for (const auto& [stream, of_stream] : fields) {
    for (const auto& [name, marks] : of_stream) {
      const auto [known, added] = fields_[stream].try_emplace(name);
      known->second.type_bits |= marks.type_bits;
      known->second.spelled = std::max(known->second.spelled, marks.spelled);
      if (added) name_bytes_[stream] += name.size();
    }
  }
}

void FieldCatalogue::Replace(FieldTypes fields) {
  {
    const std::unique_lock lock(mutex_);
    fields_.clear();
    name_bytes_.clear();
  }
  Add(fields);
}

}  // namespace tallyd
