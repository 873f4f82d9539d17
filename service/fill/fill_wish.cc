#include "service/fill/fill_wish.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "config/schema/gone_rule.h"
#include "config/schema/table_rules.h"
#include "service/query/ask/candidate.h"
#include "service/query/ask/key_fields.h"
#include "service/write/hand_changes.h"

namespace tallyd {
namespace {

std::string PrintOf(const RuleMark& mark) {
  return fmt::format("{} {} {} {} {} ", mark.rule.size(), mark.rule, mark.since, mark.whole_from,
                     mark.away_since);
}

// The fields of events that decide what the table makes of them.
std::vector<std::string> FieldsFor(const Table& table, const StreamFields& known) {
  const auto named = FieldsNamedBy(table);
  std::vector<std::string> fields;
  for (const std::string& field : known.names()) {
    if (!known.WasSeen(field) || field == table.time_field) continue;
    if (named.contains(field) || table.row_key.UsesField(field) || AnyRuleTakes(table, field) ||
        KeyMayTell(table, known, field)) {
      fields.push_back(field);
    }
  }
  return fields;
}

// From when on the plan's table is whole for its query; nothing where it is not at all.
std::optional<TimeUs> WholeFrom(const TablePlan& plan) {
  if (plan.standing == Standing::kWhole) return 0;
  Lack others = plan.lack;
  others.whole_from = 0;
  others.since = 0;
  if (others.merging == Merging::kUnknown) others.merging = Merging::kNone;
  const TimeUs from = std::max(plan.lack.whole_from, plan.merging_unknown_before);
  const bool by_time_alone =
      plan.standing == Standing::kPartial && from > 0 && from < kNeverWhole && others == Lack();
  return by_time_alone ? std::optional(from) : std::nullopt;
}

// Why the source does not tell which fields of its events are labels; empty: it does.
std::string WhyLabelsAreUntold(const EventQuery& all, const Table& source, const Table& table) {
  const bool tells_labels = MayTellLabels(all.schema(), *all.stream);
  if (tells_labels && !source.row_key.holds_labels()) {
    return "its keys do not tell which fields are labels";
  }
  for (const std::string& field : all.known->names()) {
    if (!table.row_key.HoldsAsLabel(field) || source.row_key.HoldsAsLabel(field)) continue;
    const bool is_told = !all.known->WasLabel(field) ||
                         (tells_labels ? all.known->IsLabelAsText(field)
                                       : ListsAsLabel(*all.stream, field));
    if (!is_told) return "its keys do not tell where " + field + " is a label";
  }
  return {};
}

// What keeps this table from being the source, whatever it holds; empty: nothing.
std::string WhyNoSource(const EventQuery& all, const Table& source, const Table& table) {
  if (source.time_field != table.time_field) return "it goes by another time, " + source.time_field;
  if (source.row_key.names_measured_field()) return "it spreads an event over several rows";
  if (table.row_key.holds_labels()) return WhyLabelsAreUntold(all, source, table);
  return {};
}

class SourceFinder {
 public:
  // `had`: the table with the rules that it had, if what these wrote is to go.
  SourceFinder(Store& store, const Clock& clock, const Table* had, FillWish* wish)
      : store_(store), clock_(clock), had_(had), wish_(*wish) {}

  void Find() {
    const Table& table = *wish_.table;
    const EventQuery all = QueryOfAll(wish_.snapshot, *wish_.stream, store_, clock_);
    std::vector<std::string> fields = FieldsFor(table, *all.known);
    if (had_ != nullptr) {
      for (std::string& field : FieldsFor(*had_, *all.known)) {
        if (std::ranges::count(fields, field) == 0) fields.push_back(std::move(field));
      }
    }
    // What it makes of every event, every event must be there for.
    const bool of_every_event =
        std::ranges::any_of(table.columns, [](const ColumnRule& rule) { return !rule.per_field; });
    const auto by_fields = Judge(fields.empty() ? std::vector{table.time_field} : fields);
    const auto by_event = of_every_event ? Judge({table.time_field}) : by_fields;
    for (size_t i = 0; i < by_fields.size(); ++i) {
      const Table& source = *by_fields[i].table;
      if (source.name == table.name) continue;
      Consider(all, source, by_fields[i], by_event[i]);
    }
    if (wish_.source != nullptr) {
      wish_.why.clear();
    } else if (wish_.why.empty()) {
      wish_.why = "no other table of the stream keeps its events";
    }
  }

 private:
  std::vector<TablePlan> Judge(std::vector<std::string> fields) const {
    const EventQuery query =
        QueryOfAll(wish_.snapshot, *wish_.stream, store_, clock_, std::move(fields));
    std::vector<TablePlan> plans = Candidates(query, store_);
    plans.resize(wish_.stream->tables.size());
    return plans;
  }

  void Consider(const EventQuery& all, const Table& source, const TablePlan& by_fields,
                const TablePlan& by_event) {
    std::string why = WhyNoSource(all, source, *wish_.table);
    if (why.empty() && had_ != nullptr && WasChangedByHand(source.name, &store_)) {
      why = "rows of it alone were deleted or written by their keys, and " + wish_.table->name +
            " would lose what it has of them";
    }
    const std::optional<TimeUs> from = WholeFrom(by_fields);
    const std::optional<TimeUs> events_from = WholeFrom(by_event);
    if (why.empty() && !from) why = by_fields.reason;
    if (why.empty() && !events_from) why = by_event.reason;
    const TimeUs whole_from = std::max(from.value_or(0), events_from.value_or(0));
    if (why.empty() && whole_from >= wish_.before) {
      why = (from.value_or(0) >= wish_.before ? by_fields : by_event).reason;
    }
    if (!why.empty()) {
      if (!wish_.why.empty()) wish_.why += "; ";
      wish_.why += source.name + ": " + why;
    } else if (wish_.source == nullptr || whole_from < wish_.from) {
      wish_.source = &source;
      wish_.source_stored = by_fields.stored;
      wish_.from = whole_from;
    }
  }

  Store& store_;
  const Clock& clock_;
  const Table* const had_;
  FillWish& wish_;
};

// Whether a template takes the time as the value that it came as.
bool TakesTime(const ValueTemplate& text) {
  return std::ranges::any_of(text.segments(), [](const Segment& segment) {
    return !segment.is_literal() && segment.of_time_field && !segment.is_time && !segment.is_salt();
  });
}

// Rules that the table had, whose cells one of those that it has may take for its own.
bool MayMisread(const Table& table, const std::vector<ColumnRule>& gone) {
  return std::ranges::any_of(gone, [&](const ColumnRule& before) {
    return std::ranges::any_of(
        table.columns, [&](const ColumnRule& rule) { return MayShareColumns(before, rule); });
  });
}

FillWay WayOf(const Table& table, const std::vector<ColumnRule>& gone) {
  const bool adds = std::ranges::any_of(table.families, IsAggregate);
  if (adds) return FillWay::kAdded;
  return MayMisread(table, gone) ? FillWay::kAnew : FillWay::kPut;
}

// What keeps the table from being filled, whatever others hold; empty: nothing.
std::string WhyNotFilled(const Table& table) {
  if (table.flush_us) return "it holds what counters added up to, which is not made again";
  if (table.max_bytes) return "it has max_bytes, which lets the oldest go";
  const auto adds = std::ranges::count_if(table.families, IsAggregate);
  if (adds > 0 && adds < static_cast<ptrdiff_t>(table.families.size())) {
    return "some of its families add up and others do not";
  }
  const bool takes_time = AnyRuleTakes(table, table.time_field) ||
                          std::ranges::any_of(table.columns, [](const ColumnRule& rule) {
                            return TakesTime(rule.name) || TakesTime(rule.value);
                          });
  if (takes_time) return "its rules take the time as a field, which no table gives back as it came";
  return {};
}

// Whether somebody changed rows of it that a filling would change back.
std::string WhyChanged(const TableInfo& stored, Store* store) {
  const auto was = [&](HandChange change) { return WasChangedByHand(stored.name, change, store); };
  if (was(HandChange::kWritten)) return "rows of it were written by their keys, beside its events";
  if (was(HandChange::kDeleted)) return "rows of it alone were deleted, and would come back";
  return {};
}

// The rules that the table had; nothing where one cannot be read.
std::optional<std::vector<ColumnRule>> GoneRules(const Table& table, const TableInfo& stored) {
  std::vector<ColumnRule> gone;
  for (const RuleMark& mark : stored.rules) {
    if (mark.rule.empty() || mark.away_since == 0) continue;
    std::optional<ColumnRule> rule = FromCanonicalText(mark.rule, table.time_field);
    if (!rule) return std::nullopt;
    gone.push_back(std::move(*rule));
  }
  return gone;
}

void FindSource(Store& store, const Clock& clock, FillWish* wish) {
  const Table& table = *wish->table;
  const auto gone = GoneRules(table, *wish->stored);
  if (!gone) {
    wish->why = "a rule that it had cannot be read";
    return;
  }
  wish->way = WayOf(table, *gone);
  wish->why = WhyChanged(*wish->stored, &store);
  if (!wish->why.empty()) return;
  Table had = table;
  had.columns = *gone;
  SourceFinder(store, clock, wish->way == FillWay::kPut ? nullptr : &had, wish).Find();
  if (wish->way != FillWay::kAdded) return;
  // A bucket is made of all of its events, those that came lately included.
  const TimeUs lacks_before = std::exchange(wish->before, kNeverWhole);
  for (const Family& family : table.families) {
    const int64_t bucket = family.bucket_us.value_or(1);
    while (CellTime(family, wish->from) < wish->from) {
      wish->from = CellTime(family, wish->from) + bucket;
    }
  }
  if (wish->source == nullptr || wish->from < lacks_before) return;
  wish->why = wish->source->name + ": it has all of a bucket from " + FormatRfc3339(wish->from) +
              " on only, as the table itself";
  wish->source = nullptr;
  wish->source_stored = nullptr;
}

}  // namespace

void FindPutSource(Store& store, const Clock& clock, FillWish* wish) {
  wish->way = FillWay::kPut;
  SourceFinder(store, clock, nullptr, wish).Find();
}

uint64_t FillWish::Print() const {
  std::string print = fmt::format("{} {} ", stored->id, source_stored ? source_stored->id : 0);
  print += PrintOf(stored->membership);
  for (const RuleMark& mark : stored->rules) print += PrintOf(mark);
  for (const StoredFamily& family : stored->families) {
    print += fmt::format("{} {} ", family.name, family.whole_from);
  }
  return XXH3_64bits(print.data(), print.size()) >> 1;
}

TimeUs LacksBefore(const Table& table, const TableInfo& stored) {
  TimeUs before = stored.membership.whole_from;
  for (const RuleMark& mark : stored.rules) {
    if (mark.away_since == 0) before = std::max(before, mark.whole_from);
  }
  // What max_bytes let go is not to come back.
  for (const StoredFamily& family : stored.families) {
    if (family.configured && !table.max_bytes) before = std::max(before, family.whole_from);
  }
  return before;
}

EventQuery QueryOfAll(const std::shared_ptr<const SchemaSnapshot>& snapshot, const Stream& stream,
                      Store& store, const Clock& clock, std::vector<std::string> fields) {
  EventQuery query;
  query.access.snapshot = snapshot;
  query.stream = &stream;
  query.known = std::make_shared<StreamFields>(*snapshot->schema, stream, store);
  query.fields = std::move(fields);
  // A clock that went back does not bring back what expired before.
  query.now = std::max(clock.Now(), store.State().retention.time);
  query.scan = true;
  return query;
}

std::vector<FillWish> FindFillWishes(const LiveSchema& live_schema, Store& store,
                                     const Clock& clock) {
  std::vector<FillWish> wishes;
  const std::shared_ptr<const SchemaSnapshot> snapshot = live_schema.snapshot();
  if (!snapshot) return wishes;
  const Schema& schema = *snapshot->schema;
  for (const Table& table : schema.tables) {
    if (table.nightly) continue;
    FillWish wish;
    wish.snapshot = snapshot;
    wish.stream = schema.FindStream(table.stream);
    wish.table = &table;
    wish.stored = store.FindTable(table.name);
    if (wish.stored == nullptr || wish.stored->orphaned) continue;
    wish.before = LacksBefore(table, *wish.stored);
    if (wish.before == 0) continue;
    wish.declined = !table.fill;
    wish.why = wish.declined ? "fill = false" : WhyNotFilled(table);
    if (wish.why.empty()) FindSource(store, clock, &wish);
    wishes.push_back(std::move(wish));
  }
  return wishes;
}

}  // namespace tallyd
