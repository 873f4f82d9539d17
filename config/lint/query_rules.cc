// Declared queries against the tables of their stream: which of them are one range.
//
// A query walks a row key from the left: text passes, and so does a field that the query gives, or
// its salt; a time ends the walk well where the query gives a range of time. {field} and other
// salts are passed, but scatter what stands behind them. Any other field ends the walk. The table
// serves the query if the walk met one of its fields, and all of those that stand in the key.
#include <algorithm>
#include <iterator>

#include "config/lint/rule_groups.h"

namespace tallyd {
namespace {

constexpr size_t kManyFields = 64;

enum class Serves : uint8_t { kNot, kScattered, kWell };

struct Walk {
  size_t met = 0;          // Of the query's fields.
  bool scattered = false;  // Something it needs stands behind {field} or a salt.
  bool reached_time = false;
};

Walk WalkKey(const Table& table, const QueryHint& query) {
  Walk walk;
  bool scatters = false;
  std::set<std::string> met;
  for (const Segment& segment : table.row_key.segments()) {
    if (segment.is_literal()) continue;
    const bool given = std::ranges::count(query.fields, segment.field) > 0;
    if (given && !segment.is_salt()) {
      met.insert(segment.field);
      walk.scattered = walk.scattered || scatters;
    } else if (TellsTime(segment)) {
      walk.reached_time = query.time;
      if (query.fields.empty()) walk.scattered = walk.scattered || scatters;
      break;
    } else if (segment.is_salt() || segment.field == kFieldPlaceholder) {
      scatters = scatters || !given;
    } else {
      break;
    }
  }
  walk.met = met.size();
  return walk;
}

// The table's series are found by any label that {labels} holds.
bool AsksByLabel(const Schema& schema, const Stream& stream, const Table& table,
                 const QueryHint& query) {
  return std::ranges::any_of(query.fields, [&](const std::string& field) {
    return KeyMayHoldAsLabel(schema, stream, table, field);
  });
}

Serves ServesQuery(const Schema& schema, const Stream& stream, const Table& table,
                   const QueryHint& query) {
  if (query.time && KeepsNewest(table)) return Serves::kNot;
  if (AsksByLabel(schema, stream, table, query)) return Serves::kWell;
  if (query.fields.empty()) {
    // All of a latest table, or of a day's, is a range.
    if (!query.time) return KeepsNewest(table) ? Serves::kWell : Serves::kNot;
    if (table.daily) return Serves::kWell;
    const Walk walk = WalkKey(table, query);
    if (!walk.reached_time) return Serves::kNot;
    return walk.scattered ? Serves::kScattered : Serves::kWell;
  }
  const Walk walk = WalkKey(table, query);
  const auto in_key = static_cast<size_t>(std::ranges::count_if(
      std::set<std::string>(query.fields.begin(), query.fields.end()),
      [&](const std::string& field) { return table.row_key.UsesField(field); }));
  if (walk.met == 0 || walk.met < in_key) return Serves::kNot;
  return walk.scattered ? Serves::kScattered : Serves::kWell;
}

std::string TextOf(const QueryHint& query) {
  std::string text = "the query by ";
  for (const std::string& field : query.fields) text += Quoted(field) + ", ";
  text += query.time ? "a range of time" : "no time";
  return text;
}

bool ServesWell(const Schema& schema, const Stream& stream, const Table& table,
                const QueryHint& query) {
  return ServesQuery(schema, stream, table, query) == Serves::kWell;
}

void FindServer(const Schema& schema, const Stream& stream, const QueryHint& query,
                LintFindings* found) {
  const Table* scattered = nullptr;
  for (const size_t index : stream.tables) {
    const Table& table = schema.tables[index];
    const Serves serves = ServesQuery(schema, stream, table, query);
    if (serves == Serves::kWell) return;
    if (serves == Serves::kScattered && scattered == nullptr) scattered = &table;
  }
  if (scattered != nullptr) {
    found->Add(8, scattered->name,
               TextOf(query) + " finds {field} or a salt before its fields in row_key " +
                   Quoted(scattered->row_key.text()));
    return;
  }
  // The table that stands first is the one that its author sees as the stream's.
  const std::string table = stream.tables.empty() ? "" : schema.tables[stream.tables[0]].name;
  found->Add(7, table,
             TextOf(query) + " is a full scan: no table of stream " + Quoted(stream.name) +
                 " has a row key that begins with what it gives");
}

size_t FamiliesOf(const Table& table) {
  std::set<std::string> families;
  for (const ColumnRule& rule : table.columns) families.insert(rule.family);
  return families.size();
}

void FindManyFamilies(const Schema& schema, const Stream& stream, LintFindings* found) {
  if (stream.queries.empty()) return;
  const QueryHint& top = *std::ranges::max_element(stream.queries, {}, &QueryHint::weight);
  const Table* best = nullptr;
  for (const size_t index : stream.tables) {
    const Table& table = schema.tables[index];
    if (!ServesWell(schema, stream, table, top)) continue;
    if (best == nullptr || FamiliesOf(table) < FamiliesOf(*best)) best = &table;
  }
  if (best == nullptr || FamiliesOf(*best) < 2) return;
  found->Add(
      30, best->name,
      TextOf(top) + ", the top one, reads " + std::to_string(FamiliesOf(*best)) + " families");
}

// The fields that have a cell each, by name.
size_t NamedCells(const LintSubject& subject, const QueryHint& query) {
  std::set<std::string> fields;
  for (const ColumnRule& rule : subject.table.columns) {
    if (rule.serialize != Serialization::kNone) continue;
    fields.merge(FieldsOf(subject, rule));
    if (!rule.per_field && rule.name.is_constant()) fields.insert(rule.name.text());
  }
  for (const std::string& field : query.fields) {
    if (!subject.table.row_key.UsesField(field)) fields.insert(field);
  }
  return fields.size();
}

void FindTinyCells(const LintSubject& subject, LintFindings* found) {
  if (!KeepsEvents(subject.table)) return;
  if (subject.table.row_key.names_measured_field()) return;
  const bool serialized = std::ranges::all_of(subject.table.columns, [](const ColumnRule& rule) {
    return rule.serialize != Serialization::kNone;
  });
  if (serialized) return;
  for (const QueryHint& query : subject.stream.queries) {
    const size_t cells = NamedCells(subject, query);
    const bool serves =
        ServesQuery(subject.schema, subject.stream, subject.table, query) != Serves::kNot;
    const bool read = serves || query.fields.size() >= kManyFields;
    if (cells < kManyFields || !read) continue;
    found->Add(31, subject.table.name,
               TextOf(query) + " reads " + std::to_string(cells) + " named fields, a cell each");
    return;
  }
}

}  // namespace

void LintQueries(const Schema& schema, const Stream& stream, const LiveFacts* live,
                 LintFindings* found) {
  for (const QueryHint& query : stream.queries) FindServer(schema, stream, query, found);
  FindManyFamilies(schema, stream, found);
  for (const size_t index : stream.tables) {
    FindTinyCells({schema, stream, schema.tables[index], live}, found);
  }
}

}  // namespace tallyd
