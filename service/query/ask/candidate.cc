#include "service/query/ask/candidate.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "config/schema/table_rules.h"
#include "service/nightly/nightly_record.h"
#include "service/query/ask/completeness.h"
#include "service/query/ask/key_fields.h"
#include "service/query/ask/series_ranges.h"

namespace tallyd {
namespace {

// What takes as long as reading so many bytes, measured: to open a range, to begin a row, to put
// together what one event left in a row, to read and decode one column of a block. A blob is taken
// apart once more.
constexpr uint64_t kRangePrice = 20'000;
constexpr uint64_t kRowPrice = 400;
constexpr uint64_t kEntryPrice = 500;
constexpr uint64_t kBlobPrice = 1000;
constexpr uint64_t kStreamPrice = 9000;

template <class List, class T>
bool Contains(const List& list, const T& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

bool TellsWhose(const EventQuery& query, std::string_view field) {
  return std::ranges::any_of(query.stream->tables, [&](size_t index) {
    return KeyAlwaysTells(query.schema().tables[index], *query.known, field);
  });
}

// What the table's row key lets the planner use of the query.
KnownFields KnownOf(const EventQuery& query, const Wanted& wanted, const Table& table) {
  KnownFields known;
  known.time = query.time;
  std::vector<std::string> measured;
  const auto add_measured = [&](const std::string& field) {
    if (!Contains(measured, field) && AnyRuleTakes(table, field)) measured.push_back(field);
  };
  for (const FieldFilter& filter : query.filters) {
    if (table.row_key.UsesField(filter.field) && filter.field != "field") {
      known.values[filter.field] = filter.values;
    }
  }
  if (const RowClamp* const clamp = query.ClampOf(table)) clamp->Narrow(&known);
  for (const std::string& field : query.FilteredFields()) {
    if (!KeyAlwaysTells(table, *query.known, field)) add_measured(field);
  }
  if (!table.row_key.names_measured_field()) return known;
  for (const std::string& field : wanted.fields) add_measured(field);
  for (const std::string& field : query.by) add_measured(field);
  const bool asks_measured = !wanted.every_row && !measured.empty() &&
                             std::ranges::none_of(wanted.fields, [&](const std::string& field) {
                               return ComesWithOthers(table, field);
                             });
  if (!asks_measured) {
    for (const std::string& field : query.known->names()) add_measured(field);
  }
  known.values["field"] = std::move(measured);
  return known;
}

// Whether the ranges are less than the table for a reason that the query gave. A table whose key
// begins with {field} fans out over every field that is known, and so reads all of itself.
Result<bool> IsBounded(const EventQuery& query, const TablePlan& plan) {
  if (!plan.ranges.bounded) return false;
  if (!plan.table->row_key.names_measured_field() || !query.fields.empty()) return true;
  KnownFields fields_alone;
  const auto names = plan.known.values.find("field");
  if (names != plan.known.values.end()) fields_alone.values.insert(*names);
  Result<KeyRanges> all = FindKeyRanges(plan.table->row_key, fields_alone, query.stream->unit);
  if (!all) return all.error();
  return all->ranges != plan.ranges.ranges || all->ranges.empty();
}

// Rows whose columns are named for fields are read as far as the fields are wanted.
double ColumnShare(const EventQuery& query, const Wanted& wanted, const Table& table) {
  const bool by_field =
      std::all_of(table.columns.begin(), table.columns.end(), [](const ColumnRule& rule) {
        return rule.per_field && rule.serialize == Serialization::kNone && rule.name.Names("field");
      });
  if (wanted.fields.empty() || !by_field || table.row_key.names_measured_field()) return 1;
  size_t all = 0;
  size_t read = 0;
  for (const std::string& field : query.known->names()) {
    if (!query.known->WasSeen(field) || !AnyRuleTakes(table, field)) continue;
    if (KeyAlwaysTells(table, *query.known, field)) continue;
    ++all;
    read += Contains(wanted.fields, field) || Contains(wanted.others, field);
  }
  return read == 0 ? 1 : static_cast<double>(read) / static_cast<double>(all);
}

// Why the table cannot answer; empty if it can, and then its ranges are known.
std::string WhyUnfit(const EventQuery& query, const Wanted& wanted, Store& store,
                     TablePlan* plan) {
  const Table& table = *plan->table;
  // What is asked for, too, may be what it is filtered by.
  for (const std::string& field : query.FilteredFields()) {
    if (!Holds(query, table, field)) return "it does not hold " + field;
  }
  std::vector<std::string> needed;
  const auto check = [&](const std::vector<std::string>& fields) {
    for (const std::string& field : fields) {
      if (!Holds(query, table, field)) needed.push_back(field);
    }
  };
  check(wanted.others);
  if (needed.empty()) check(wanted.fields);
  const bool holds_none = needed.size() == wanted.fields.size() && !needed.empty();
  const bool lacks_other = !needed.empty() && Contains(wanted.others, needed.front());
  if (holds_none || lacks_other) return "it does not hold " + FirstNames(needed);
  if (plan->stored == nullptr) return "it is not in the store yet";
  plan->known = KnownOf(query, wanted, table);
  Result<KeyRanges> ranges = FindKeyRanges(table.row_key, plan->known, query.stream->unit);
  if (!ranges) return ranges.error().message();
  plan->ranges = std::move(*ranges);
  if (Status narrowed = NarrowToSeries(query, store, plan); !narrowed) {
    return narrowed.error().message();
  }
  const Result<bool> bounded = IsBounded(query, *plan);
  plan->ranges.bounded = bounded && *bounded;
  plan->column_share = ColumnShare(query, wanted, table);
  return "";
}

// What late events a nightly table may lack; empty where it lacks none. Whoever has a scope is not
// told whether others' events were late.
std::string WhyBehind(const EventQuery& query, Store& store, const Table& nightly) {
  if (query.access.is_scoped()) {
    return "late events may have come after " + nightly.name + " was built";
  }
  const Result<bool> behind = IsBehind(store, nightly.name, *nightly.nightly);
  if (!behind) {
    return "whether late events came after " + nightly.name +
           " was built is not known: " + behind.error().message();
  }
  if (!*behind) return {};
  return nightly.name + " was built before late events came, and is being built again";
}

// A nightly table is asked for its own day, and lacks what its source lacks of it.
TablePlan NightlyCandidate(const EventQuery& query, Store& store, const Table& nightly) {
  const std::string why_behind = WhyBehind(query, store, nightly);  // Before the table is found.
  EventQuery own = InTermsOf(nightly, query);
  const TimeRange day = RangeOfDay(nightly.nightly->day);
  own.time.from = std::max(own.time.from, day.from);
  own.time.to = std::max(own.time.from, std::min(own.time.to, day.to));
  const Wanted wanted(own, nightly);
  TablePlan plan;
  plan.table = &nightly;
  plan.stored = store.FindTable(nightly.name);
  plan.reason = WhyUnfit(own, wanted, store, &plan);
  if (!plan.reason.empty()) return plan;
  if (!plan.ranges.bounded) plan.ranges.ranges = {KeyRange()};
  plan.ranges.bounded = true;
  const TablePtr source = store.FindTable(nightly.nightly->source);
  const TablePtr stored = std::exchange(plan.stored, source ? source : plan.stored);
  JudgeHistory(own, wanted, store, &plan);
  plan.stored = stored;
  if (!why_behind.empty() && plan.standing == Standing::kWhole) {
    plan.standing = Standing::kPartial;
    plan.reason = why_behind;
  }
  return plan;
}

}  // namespace

std::string FirstNames(const std::vector<std::string>& names) {
  constexpr size_t kMaxNamed = 5;
  std::string text;
  for (size_t i = 0; i < names.size() && i < kMaxNamed; ++i) {
    if (i > 0) text += ", ";
    text += names[i];
  }
  if (names.size() > kMaxNamed) text += fmt::format(" and {} more", names.size() - kMaxNamed);
  return text;
}

bool Holds(const EventQuery& query, const Table& table, std::string_view field) {
  return query.IsTime(table, field) || TableHolds(table, field) ||
         KeyMayTell(table, *query.known, field);
}

uint64_t TablePlan::cost() const {
  const uint64_t opened = is_scan() ? 1 : ranges.ranges.size();
  const bool has_blobs =
      std::any_of(table->columns.begin(), table->columns.end(),
                  [](const ColumnRule& rule) { return rule.serialize != Serialization::kNone; });
  const uint64_t entry_price = has_blobs ? kEntryPrice + kBlobPrice : kEntryPrice;
  return estimate->bytes + estimate->rows * kRowPrice + estimate->entries * entry_price +
         estimate->streams * kStreamPrice + opened * kRangePrice;
}

Wanted::Wanted(const EventQuery& query, const Table& table) {
  for (const std::string& pattern : query.fields) {
    // One pattern gives no name twice, and may give very many.
    const auto before = static_cast<std::ptrdiff_t>(fields.size());
    for (std::string& name : query.known->Matching(pattern)) {
      const auto end = fields.begin() + before;
      if (std::find(fields.begin(), end, name) == end) fields.push_back(std::move(name));
    }
  }
  const auto add = [&](const std::string& name) {
    if (!Contains(fields, name) && !Contains(others, name)) others.push_back(name);
  };
  for (const std::string& name : query.FilteredFields()) add(name);
  for (const std::string& name : query.by) add(name);
  for (const std::string& name : fields) {
    if (!query.IsTime(table, name) && !TellsWhose(query, name)) reasons.push_back(name);
  }
  if (!reasons.empty()) return;
  reasons = fields;
  any_event = query.fields.empty() || std::ranges::any_of(fields, [&](const std::string& name) {
                return query.IsTime(table, name);
              });
  every_row = any_event || std::ranges::any_of(fields, [&](const std::string& name) {
                return KeyHolds(table, name);
              });
}

namespace {

// What a table keeps instead of events; empty where it keeps those.
std::string WhyNoEvents(const Table& table) {
  const PatternInfo& pattern = InfoOf(table.pattern);
  return pattern.keeps_events() ? "" : fmt::format("it keeps {}", pattern.instead_of_events);
}

}  // namespace

std::vector<TablePlan> Candidates(const EventQuery& query, Store& store) {
  std::vector<TablePlan> plans;
  std::vector<bool> could_answer;
  for (const size_t index : query.stream->tables) {
    TablePlan& plan = plans.emplace_back();
    plan.table = &query.schema().tables[index];
    plan.stored = store.FindTable(plan.table->name);
    const EventQuery own = InTermsOf(*plan.table, query);
    const Wanted wanted(own, *plan.table);
    plan.reason = WhyNoEvents(*plan.table);
    if (plan.reason.empty()) plan.reason = WhyUnfit(own, wanted, store, &plan);
    could_answer.push_back(plan.reason.empty());
    if (!query.table.empty() && query.table != plan.table->name) {
      plan.reason = "table=" + query.table + " was asked for";
    }
    if (plan.reason.empty()) JudgeHistory(own, wanted, store, &plan);
  }
  JudgeTogether(query, could_answer, &plans);
  const Table* pinned = query.schema().FindTable(query.table);
  if (pinned != nullptr && pinned->nightly)
    plans.push_back(NightlyCandidate(query, store, *pinned));
  return plans;
}

TablePlan LatestCandidate(const EventQuery& query, Store& store, const Table& latest) {
  const EventQuery own = InTermsOf(latest, query);
  const Wanted wanted(own, latest);
  TablePlan plan;
  plan.table = &latest;
  plan.stored = store.FindTable(latest.name);
  plan.reason = WhyUnfit(own, wanted, store, &plan);
  if (!plan.reason.empty()) return plan;
  if (!plan.ranges.bounded) plan.ranges.ranges = {KeyRange()};
  plan.ranges.bounded = true;
  JudgeLatest(own, wanted, &plan);
  return plan;
}

}  // namespace tallyd
