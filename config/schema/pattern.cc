#include "config/schema/pattern.h"

#include <iterator>

namespace tallyd {
namespace {

constexpr PatternInfo kPatterns[] = {
    {Pattern::kSingleTimestamp, "single-timestamp", "{field}", "{value}", Serialization::kNone},
    {Pattern::kSingleTimestampSerialized, "single-timestamp-serialized", kBlobName, "",
     Serialization::kProtobuf},
    {Pattern::kNewCell, "new-cell", "{field}", "{value}", Serialization::kNone},
    {Pattern::kNewCellSerialized, "new-cell-serialized", kBlobName, "", Serialization::kProtobuf},
    {Pattern::kNewColumn, "new-column", "{value}", "", Serialization::kNone},
    {Pattern::kLatest, "latest", "{field}", "{value}", Serialization::kNone},
    {Pattern::kAggregate, "aggregate", "{field}", "{value}", Serialization::kNone},
};

constexpr bool EachIsAtItsPlace() {
  for (size_t i = 0; i < std::size(kPatterns); ++i) {
    if (static_cast<size_t>(kPatterns[i].pattern) != i) return false;
  }
  return true;
}
static_assert(EachIsAtItsPlace());

}  // namespace

std::span<const PatternInfo> Patterns() { return kPatterns; }

const PatternInfo& InfoOf(Pattern pattern) { return kPatterns[static_cast<size_t>(pattern)]; }

std::string_view ToString(Pattern pattern) { return InfoOf(pattern).name; }

}  // namespace tallyd
