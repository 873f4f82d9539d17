// The patterns (docs/configuration.md): ways in which an event becomes rows and cells. The list in
// pattern.cc is all that tells them apart before a table's own keys are read: the name, and the
// column rule of a table or rule that gives none. What follows from a pattern is decided by the
// rule it made, except that a latest table keeps the newest values alone, and that the rules of an
// aggregate table alone feed aggregate families: who must know, compares with kLatest, kAggregate.
#ifndef TALLYD_CONFIG_SCHEMA_PATTERN_H_
#define TALLYD_CONFIG_SCHEMA_PATTERN_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace tallyd {

enum class Pattern : uint8_t {
  kSingleTimestamp,
  kSingleTimestampSerialized,
  kNewCell,
  kNewCellSerialized,
  kNewColumn,
  kLatest,
  kAggregate,
};

enum class Serialization : uint8_t { kNone, kProtobuf, kJson, kCbor };

// The qualifier of serialized cells, unless a rule names another.
inline constexpr std::string_view kBlobName = "measurements_blob";

struct PatternInfo {
  Pattern pattern;
  std::string_view name;  // As the file spells it, and the store keeps it.
  // Its own column rule: templates of the qualifier and of the value.
  std::string_view rule_name;
  std::string_view rule_value;
  Serialization serialize;
};

// In the order in which messages list them; a place for each value of the enum.
std::span<const PatternInfo> Patterns();
const PatternInfo& InfoOf(Pattern pattern);
std::string_view ToString(Pattern pattern);  // "single-timestamp", ...

}  // namespace tallyd

#endif  // TALLYD_CONFIG_SCHEMA_PATTERN_H_
