#include "storage/leveldb/field_catalogue.h"

#include <mutex>

namespace tallyd {

uint8_t FieldCatalogue::TypesOf(std::string_view stream, std::string_view field) const {
  const std::shared_lock lock(mutex_);
  const auto of_stream = fields_.find(stream);
  if (of_stream == fields_.end()) return 0;
  const auto found = of_stream->second.find(field);
  return found == of_stream->second.end() ? uint8_t{0} : found->second;
}

std::vector<FieldInfo> FieldCatalogue::Fields(std::string_view stream) const {
  const std::shared_lock lock(mutex_);
  std::vector<FieldInfo> fields;
  const auto of_stream = fields_.find(stream);
  if (of_stream == fields_.end()) return fields;
  for (const auto& [name, type_bits] : of_stream->second) fields.push_back({name, type_bits});
  return fields;
}

void FieldCatalogue::Add(const FieldTypes& fields) {
  if (fields.empty()) return;
  const std::unique_lock lock(mutex_);
  for (const auto& [stream, types] : fields) {
    for (const auto& [name, type_bits] : types) {
      uint8_t& known = fields_[stream][name];
      known = static_cast<uint8_t>(known | type_bits);
    }
  }
}

void FieldCatalogue::Replace(FieldTypes fields) {
  const std::unique_lock lock(mutex_);
  fields_ = std::move(fields);
}

}  // namespace tallyd
