// The patterns (docs/configuration.md): ways in which an event becomes rows and cells. A pattern is
// its row of kPatterns: its name, the column rule of a table or rule that gives none, and what is
// true of its tables beside what their rules say. Whoever must know asks for the property that it
// needs, and for no pattern by name, so that another pattern is another row.
#ifndef TALLYD_CONFIG_SCHEMA_PATTERN_H_
#define TALLYD_CONFIG_SCHEMA_PATTERN_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
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

// What an event shall become beside those of its entity that came before it. It is what the pattern
// is meant for and no promise: the row key and the rules decide.
enum class EventBecomes : uint8_t {
  kRow,      // A row of its own.
  kVersion,  // Another version of its cells, in a row of several events.
  kColumn,   // Another column, in a row of several events.
  kChange,   // A change of the cells that are there.
};

struct PatternInfo {
  Pattern pattern;
  std::string_view name;  // As the file spells it, and the store keeps it.
  // Its own column rule: templates of the qualifier and of the value.
  std::string_view rule_name;
  std::string_view rule_value;
  Serialization serialize;
  EventBecomes event_becomes;
  // What it keeps instead of events, as messages go on after "it keeps"; empty: each event as it
  // came, with the event's own time.
  std::string_view instead_of_events = {};
  // A cell has its newest value and no other. So a row is read whole, and has no versions, days or
  // oldest ones to let go; what a removal takes away may uncover an older event.
  bool keeps_newest = false;
  // Values are the inputs of aggregate families, into which alone it writes: each is looked at when
  // it is written, and becomes a state.
  bool merges_inputs = false;
  bool may_flush = false;  // What its rules measure may be added up in memory (`flush`).

  constexpr bool keeps_events() const { return instead_of_events.empty(); }
};

// In the order in which messages list them; a place for each value of the enum.
inline constexpr std::array kPatterns = {
    PatternInfo{.pattern = Pattern::kSingleTimestamp,
                .name = "single-timestamp",
                .rule_name = "{field}",
                .rule_value = "{value}",
                .serialize = Serialization::kNone,
                .event_becomes = EventBecomes::kRow,
                .may_flush = true},
    PatternInfo{.pattern = Pattern::kSingleTimestampSerialized,
                .name = "single-timestamp-serialized",
                .rule_name = kBlobName,
                .rule_value = "",
                .serialize = Serialization::kProtobuf,
                .event_becomes = EventBecomes::kRow},
    PatternInfo{.pattern = Pattern::kNewCell,
                .name = "new-cell",
                .rule_name = "{field}",
                .rule_value = "{value}",
                .serialize = Serialization::kNone,
                .event_becomes = EventBecomes::kVersion},
    PatternInfo{.pattern = Pattern::kNewCellSerialized,
                .name = "new-cell-serialized",
                .rule_name = kBlobName,
                .rule_value = "",
                .serialize = Serialization::kProtobuf,
                .event_becomes = EventBecomes::kVersion},
    PatternInfo{.pattern = Pattern::kNewColumn,
                .name = "new-column",
                .rule_name = "{value}",
                .rule_value = "",
                .serialize = Serialization::kNone,
                .event_becomes = EventBecomes::kColumn},
    PatternInfo{.pattern = Pattern::kLatest,
                .name = "latest",
                .rule_name = "{field}",
                .rule_value = "{value}",
                .serialize = Serialization::kNone,
                .event_becomes = EventBecomes::kChange,
                .instead_of_events = "only the latest values",
                .keeps_newest = true},
    PatternInfo{.pattern = Pattern::kAggregate,
                .name = "aggregate",
                .rule_name = "{field}",
                .rule_value = "{value}",
                .serialize = Serialization::kNone,
                .event_becomes = EventBecomes::kChange,
                .instead_of_events = "what events add up to, not the events",
                .merges_inputs = true},
};

constexpr bool EachPatternIsAtItsPlace() {
  for (size_t i = 0; i < kPatterns.size(); ++i) {
    if (static_cast<size_t>(kPatterns[i].pattern) != i) return false;
  }
  return true;
}
static_assert(EachPatternIsAtItsPlace());

constexpr const PatternInfo& InfoOf(Pattern pattern) {
  return kPatterns[static_cast<size_t>(pattern)];
}

constexpr std::string_view ToString(Pattern pattern) { return InfoOf(pattern).name; }

// The names of those that have the property, for messages: "a", "a or b".
std::string PatternsWith(bool PatternInfo::*property);

}  // namespace tallyd

#endif  // TALLYD_CONFIG_SCHEMA_PATTERN_H_
