// MergeRisk: by what a table may not hold all that its stream's events said, or more than that, and
// how that is told. The one place that knows:
//
// - fields tell a stream's events apart that the table's row key does not hold, so that two events
//   of one time may fall on one cell; in which columns the table keeps them, by which two writes to
//   one row and time are told to be of one event or of two;
// - a rule puts several fields into one cell, which whoever brings others of them overwrites;
// - a rule names columns by values, so that a correction does not cover what it corrects.
//
// The fields are those that the key of another table of the stream, or a declared query, names, and
// labels that the stream lists by name. Which others there are only events tell:
// what a latest or an aggregate table keeps apart is of several events, too. Pure functions of a
// loaded schema, for any thread.
#ifndef TALLYD_CONFIG_SCHEMA_MERGE_RISK_H_
#define TALLYD_CONFIG_SCHEMA_MERGE_RISK_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/schema.h"

namespace tallyd {

struct MergeRisk {
  struct Kept {
    std::string field;
    std::string family;
    std::string qualifier;
    friend bool operator==(const Kept&, const Kept&) = default;
  };
  // A cell for several fields of an event: one of the same row and time with other fields takes
  // away what it lacks.
  struct Serialized {
    std::string family;
    std::string qualifier;
    Serialization how = Serialization::kNone;
    friend bool operator==(const Serialized&, const Serialized&) = default;
  };
  // A family with columns that are named by the value: one that was corrected stays beside its
  // correction. `others`: its columns of other rules.
  struct Valued {
    std::string family;
    std::vector<std::string> others;
    friend bool operator==(const Valued&, const Valued&) = default;
  };
  std::vector<Kept> kept;           // Each in a column of its own.
  std::vector<std::string> untold;  // In none: nobody can tell whether events merged.
  std::vector<Serialized> serialized;
  std::vector<Valued> valued;

  // Whether what is written later may take something from, or leave something false of, what was
  // written before, so that somebody has to look.
  bool needs_look() const { return any() || !serialized.empty() || !valued.empty(); }
  // Whether the key lacks what tells events apart.
  bool any() const { return !kept.empty() || !untold.empty(); }
  std::vector<std::string> Fields() const;
};

// Whether events may fall on one cell of the table at all: neither the newest values alone nor sums
// are kept, and it is no nightly table, which has what its source has.
bool MayMergeEvents(const Table& table);

// Whether labels that the file does not name may tell events of the table apart: those of a
// protocol or a glob, where the key has no {labels}.
bool LacksUnnamedLabels(const Stream& stream, const Table& table);

// What declared queries of the stream name that the table's key does not hold.
std::vector<std::string> QueriedBesideKey(const Stream& stream, const Table& table);
// The same of the keys of the stream's other tables, and of `others`: fields that keys of tables
// hold which are no longer in the schema.
MergeRisk MergeRiskOf(const Schema& schema, const Table& table,
                      std::span<const std::string> others = {});

}  // namespace tallyd

#endif  // TALLYD_CONFIG_SCHEMA_MERGE_RISK_H_
