// Mutation: one change to a row, checked against its table's families and the limits of cells. A
// value of an aggregate family is a state of it (config/values/aggregate.h), its time that of its
// cell. A plain value; what it views outlives it.
#ifndef TALLYD_SERVICE_WRITE_MUTATION_H_
#define TALLYD_SERVICE_WRITE_MUTATION_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "config/values/time.h"
#include "config/values/value.h"
#include "storage/table_info.h"

namespace tallyd {

struct Mutation {
  enum class Kind : uint8_t { kSet, kAdd, kMerge, kDelete };
  Kind kind = Kind::kSet;
  std::optional<FamilyId> family;             // Always, but of kDelete, like `qualifier`.
  std::optional<std::string_view> qualifier;  // Only with family.
  TimeUs time = 0;                            // Of the cell. Not of kDelete.
  Value value;                                // The same. Of an aggregate family, a state.
  TimeRange cells;                            // Of kDelete.
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_WRITE_MUTATION_H_
