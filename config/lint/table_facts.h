// What the rules of lint, and the estimate, ask of a table: where the time stands in its key, which
// fields it stores, how often its events come. Views of the schema, which must outlive them; pure.
#ifndef TALLYD_CONFIG_LINT_TABLE_FACTS_H_
#define TALLYD_CONFIG_LINT_TABLE_FACTS_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/lint/lint.h"
#include "config/schema/schema.h"

namespace tallyd {

// A table with what belongs to it. Live facts may be null.
struct LintSubject {
  const Schema& schema;
  const Stream& stream;
  const Table& table;
  const LiveFacts* live;
};

// The placeholders of the row key, from the left.
std::vector<const Segment*> Placeholders(const Table& table);
// Whether the segment says when, be it the table's time or another.
bool TellsTime(const Segment& segment);

// Whether {labels} of the key may hold the field: as far as the file tells, events have it as a
// label, since the stream lists it or a protocol that has labels may bring them.
bool KeyMayHoldAsLabel(const Schema& schema, const Stream& stream, const Table& table,
                       std::string_view field);

// The time in a row key.
struct TimeInKey {
  bool any = false;
  // How long the events of one row may lie apart; 0: for ever, since no time is in the key or it
  // recurs ("%H%M").
  int64_t period_us = 0;
};
TimeInKey TimeInKeyOf(const Table& table);

// What the file says of a field, or else the data.
std::optional<uint64_t> DistinctOf(const LintSubject& subject, std::string_view field);
bool IsSequential(const LintSubject& subject, std::string_view field);
const FieldHints* HintsOf(const LintSubject& subject, std::string_view field);
const LiveField* LiveOf(const LintSubject& subject, std::string_view field);

// Whether a number that grows with each entity or event stands in the key.
bool HasSequence(const LintSubject& subject);

// The measured fields that are known by name and that the rule, or some rule, takes: its `fields`,
// those that the stream declares, those that the data has.
std::set<std::string> FieldsOf(const LintSubject& subject, const ColumnRule& rule);
std::set<std::string> FieldsOf(const LintSubject& subject);

// The family that the rule writes to. Null only where the loader found a mistake.
const Family* FamilyOf(const Table& table, const ColumnRule& rule);

// Whether a template of the rule's column name holds a time, or the reading itself.
bool NamesTime(const ColumnRule& rule);
bool NamesReading(const ColumnRule& rule);

std::string Quoted(std::string_view text);  // "\"hostname\""

}  // namespace tallyd

#endif  // TALLYD_CONFIG_LINT_TABLE_FACTS_H_
