#include "storage/leveldb/catalogue/write_teller.h"

#include <xxhash.h>

#include <algorithm>

namespace tallyd {

bool Telling::IsOf(const ColumnRef& name) const {
  if (by != By::kNames) return column.ref() == name;
  return column.family == name.family && std::ranges::find(others, name.qualifier) == others.end();
}

void WriteTeller::Begin() {
  events_.Begin();
  for (std::vector<uint64_t>& fields : latest_) fields.clear();
}

void WriteTeller::Take(size_t place, std::string_view qualifier, const Value& value) {
  switch (telling_[place].by) {
    case Telling::By::kValue:
      prints_[place] = PrintOf(value);
      break;
    case Telling::By::kFields:
      prints_[place] = PrintOfFields(place, value);
      break;
    case Telling::By::kNames:
      // Whichever of them comes first: an event may have several.
      prints_[place] = prints_[place] + (XXH3_64bits(qualifier.data(), qualifier.size()) | 1);
      break;
  }
}

bool WriteTeller::IsAnother() {
  const bool is_another = events_.IsAnother(prints_);
  std::ranges::fill(prints_, 0);
  return is_another;
}

// That of the latest write for all whose fields it has; 0, which tells nothing, where the cell
// holds no fields.
uint64_t WriteTeller::PrintOfFields(size_t place, const Value& value) {
  const Telling& telling = telling_[place];
  fields_.clear();
  if (!telling.fields_of(telling.how, value, &fields_) || fields_.empty()) return 0;
  std::ranges::sort(fields_);
  std::vector<uint64_t>& latest = latest_[place];
  if (latest.empty()) latest = fields_;
  const std::vector<uint64_t>& of = std::ranges::includes(latest, fields_) ? latest : fields_;
  return XXH3_64bits(of.data(), of.size() * sizeof(uint64_t)) | 1;
}

}  // namespace tallyd
