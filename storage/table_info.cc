#include "storage/table_info.h"

namespace tallyd {

std::optional<FamilyId> TableInfo::FindFamily(std::string_view family) const {
  for (size_t i = 0; i < families.size(); ++i) {
    if (families[i].name == family) return static_cast<FamilyId>(i);
  }
  return std::nullopt;
}

}  // namespace tallyd
