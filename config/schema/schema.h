// The schema that the configuration names: streams, the tables they feed, how an event becomes
// cells, what families keep. Plain values; a loaded Schema is immutable and shared by everyone
// (std::shared_ptr<const Schema>), a reload makes another.
#ifndef TALLYD_CONFIG_SCHEMA_SCHEMA_H_
#define TALLYD_CONFIG_SCHEMA_SCHEMA_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/pattern.h"
#include "config/schema/protocols.h"
#include "config/schema/row_key_template.h"
#include "config/values/aggregate.h"
#include "config/values/daily.h"
#include "config/values/time.h"

namespace tallyd {

// What a family keeps. Age is judged by the cell's own time.
struct Family {
  std::string name;
  std::optional<int64_t> max_age_us;
  std::optional<uint32_t> max_versions;
  bool expire_by_both = false;         // gc = "all"; the default is "any": expired by either.
  std::optional<Aggregate> aggregate;  // Its cells merge what is written to them.
  std::optional<int64_t> bucket_us;    // Of aggregate families: cell times are truncated to it.
  friend bool operator==(const Family&, const Family&) = default;
};

// The age at which a cell of the family expires whatever else there is; none if there is no such.
inline std::optional<int64_t> AgeAlone(const Family& family) {
  return family.expire_by_both && family.max_versions ? std::nullopt : family.max_age_us;
}

// What the file says that a family is, which cannot change on data: "a plain family", "an aggregate
// family of sum with a bucket of 1d".
std::string KindOf(const Family& family);
inline bool SameKind(const Family& a, const Family& b) {
  return a.aggregate == b.aggregate && a.bucket_us == b.bucket_us;
}

// The time of the cell that something of this time is written to.
inline TimeUs CellTime(const Family& family, TimeUs time) {
  return family.bucket_us ? time - time % *family.bucket_us : time;
}

// How event fields become columns. A rule runs once per measured field (`per_field`) or once per
// event. In a per-field rule {field} and {value} are that field's name and value; in a per-event
// rule every {x} is the event's own field x.
struct ColumnRule {
  std::string family;
  // Names or globs; empty: every field that neither the row key nor the time uses.
  std::vector<std::string> fields;
  ValueTemplate name;  // The qualifier.
  ValueTemplate value;
  std::vector<std::pair<std::string, std::string>> rename;  // field -> qualifier
  bool compact_names = false;                               // "Bid size" -> BIDSIZE
  // Other than kNone: the rule's fields go into one cell, and `name` is constant.
  Serialization serialize = Serialization::kNone;
  bool per_field = true;  // Serialized rules take fields in the same way.
};

// What Bigtable allows an instance.
inline constexpr size_t kMaxTables = 1000;

// Of a nightly table: whose rows of which day it holds.
struct NightlyOf {
  std::string source;
  TimeUs day = 0;
};

struct Table {
  std::string name;
  std::string stream;
  Pattern pattern = Pattern::kSingleTimestamp;
  RowKeyTemplate row_key;
  std::string time_field;             // The stream's, or the table's own override.
  std::vector<std::string> when;      // Fields that an event must have to enter.
  std::vector<ColumnRule> columns;    // Never empty: the pattern's own rule is written out.
  std::vector<Family> families;       // In name order.
  bool keep_row = false;              // keep = "row", in latest tables.
  std::optional<uint64_t> max_bytes;  // On the disk; beyond it the oldest goes.
  std::optional<int64_t> flush_us;    // Counters are held in memory for so long and added up.
  std::optional<Daily> daily;         // Its nightly tables, if it has any.
  bool fill = true;                   // What it lacks of the past is filled from another table.
  std::optional<NightlyOf> nightly;   // It is one: in no stream's list of tables.
  bool of_protocol = false;           // Its stream's by default: the file does not spell it out.

  const Family* FindFamily(std::string_view name) const;
  int FamilyIndex(std::string_view name) const;  // -1 if absent.
};

// Whether its rows are the events that entered it, each as it came: neither the newest values
// alone, nor what they add up to.
inline bool KeepsEvents(const Table& table) {
  return InfoOf(table.pattern).keeps_events() && !table.flush_us;
}
// What else its pattern says of it (config/schema/pattern.h).
inline bool KeepsNewest(const Table& table) { return InfoOf(table.pattern).keeps_newest; }
inline bool MergesInputs(const Table& table) { return InfoOf(table.pattern).merges_inputs; }

// What lint and estimate know of a field; no effect on storage.
struct FieldHints {
  bool personal = false;
  bool sequential = false;
  bool domain = false;
  std::optional<uint64_t> distinct;
  std::optional<int64_t> keep_us;
};

// Which times of its events a stream takes as they are sent (the section [ingest]): what is outside
// is nearly always meant in another unit, or comes from a clock that is wrong.
struct IngestGuards {
  TimeUs min_time = 100'000'000 * kUsPerSecond;          // 1973-03-03T09:46:40Z
  std::optional<int64_t> max_future_us = 2 * kUsPerDay;  // Ahead of now; none: any.
};

struct QueryHint {
  std::vector<std::string> fields;
  bool time = true;
  bool newest_first = false;
  double weight = 1;
};

struct Stream {
  std::string name;
  std::string time_field = "ts";
  bool declares_time = false;  // Its section names the field.
  bool time_required = false;  // An event without its time is refused.
  bool of_protocol = false;    // A section [protocols.X] names it.
  TimeUnit unit = TimeUnit::kMilliseconds;
  IngestGuards guards;
  // Names and globs of the fields that are labels where they are text, of events whose protocol
  // has no word for labels. The time is none.
  std::vector<std::string> labels;
  std::optional<uint64_t> max_series;  // Distinct sets of key fields; none: any number.
  std::optional<uint64_t> max_fields;  // That its events ever had, labels counted; none: any.
  std::optional<int64_t> every_us;
  std::map<std::string, FieldHints> fields;
  std::vector<QueryHint> queries;
  std::vector<size_t> tables;  // Indices into Schema::tables, in the file's order.
};

// Whether the stream's list `labels` has the field.
bool ListsAsLabel(const Stream& stream, std::string_view field);

struct Schema {
  // In the file's order; streams only named by a table come where the table stands.
  std::vector<Stream> streams;
  std::vector<Table> tables;  // In the file's order; behind them nightly tables.
  Protocols protocols;
  // Of the file, where it says so: of two that share a store the higher counts.
  std::optional<uint64_t> generation = {};

  const Stream* FindStream(std::string_view name) const;
  const Table* FindTable(std::string_view name) const;
};

// Whether a protocol that tells labels may bring events of the stream, so that its list of labels
// is not all there is to know.
bool MayTellLabels(const Schema& schema, const Stream& stream);

// Equal for two rules exactly when they take the same fields to the same columns, in any schema
// with the same row key and time. Stored; opaque.
std::string CanonicalText(const ColumnRule& rule);
// Whether a column that one of the rules made may be taken for one of the other's.
bool MayShareColumns(const ColumnRule& a, const ColumnRule& b);

// Capitals without spaces: "Bid size" -> "BIDSIZE".
std::string CompactName(std::string_view name);

}  // namespace tallyd

#endif  // TALLYD_CONFIG_SCHEMA_SCHEMA_H_
