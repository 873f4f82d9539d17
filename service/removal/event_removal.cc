#include "service/removal/event_removal.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "config/series/series_key.h"
#include "service/query/ask/key_fields.h"
#include "service/removal/bucket_cut.h"
#include "service/removal/latest_restorer.h"
#include "service/removal/removal_count.h"
#include "service/rows/row_query.h"
#include "service/series/series_search.h"
#include "service/write/held_removal.h"

namespace tallyd {
namespace {

constexpr size_t kMaxSingleRows = 100'000;

Error Unprocessable(std::string message) {
  return Error(ErrorCode::kUnprocessable, std::move(message));
}

Error CannotRestore(const std::string& table) {
  return Error(
      ErrorCode::kConflict,
      fmt::format("this engine cannot bring back what {} would lose: older events may have "
                  "values for what is removed from its rows; remove the entity's events of "
                  "all times",
                  table));
}

struct Removal {
  const EventQuery& query;
  const Table& table;
  TablePtr stored;
  const RowClamp* clamp;  // Null: every row.

  bool IsOwn(std::string_view key) const { return clamp == nullptr || clamp->Admits(key); }
};

// Of all tables.
struct RemovalPlan {
  EventDeletes deletes;
  std::unique_ptr<RestoreTask> lost;  // Null: there is no latest row.
  bool loses = false;                 // Or none of which the removal may take something.
  EventsRemoved removed;
};

// The stream's tables: those of the file, nightly ones, then what the store has beside them, with
// what a delete needs of it: tables that were in the file, and those that a reload has just brought
// back, of which this query's schema does not know yet.
Result<std::vector<Table>> TablesOf(const EventQuery& query, const Store& store) {
  std::vector<Table> tables;
  for (const size_t index : query.stream->tables) {
    tables.push_back(query.schema().tables[index]);
  }
  for (const Table& table : query.schema().tables) {
    if (table.nightly && table.stream == query.stream->name) tables.push_back(table);
  }
  if (query.access.is_scoped()) return tables;  // What is in no file is there for nobody's scope.
  for (const TablePtr& stored : store.Tables()) {
    const bool is_listed = std::ranges::find(tables, stored->name, &Table::name) != tables.end();
    if (is_listed || stored->stream != query.stream->name) continue;
    Result<RowKeyTemplate> row_key = RowKeyTemplate::Parse(stored->row_key, stored->time_field);
    if (!row_key) return row_key.error().Prefixed("table " + stored->name);
    Table& table = tables.emplace_back();
    table.name = stored->name;
    table.row_key = std::move(*row_key);
  }
  return tables;
}

// Whether a filter is on a field of some table's row key.
bool NamesKeyField(const EventQuery& query) {
  const auto in_some_key = [&](const FieldFilter& filter) {
    return std::any_of(query.stream->tables.begin(), query.stream->tables.end(), [&](size_t table) {
      return KeyMayTell(query.schema().tables[table], *query.known, filter.field);
    });
  };
  return std::any_of(query.filters.begin(), query.filters.end(), in_some_key);
}

// Whether the table can be removed from: its keys tell the entity, and no bucket of it is cut.
Status CheckTable(const Removal& removal, const BucketCut& cut) {
  const Table& table = removal.table;
  for (const FieldFilter& filter : removal.query.filters) {
    if (KeyAlwaysTells(table, *removal.query.known, filter.field)) continue;
    if (KeyMayTell(table, *removal.query.known, filter.field)) {
      return Unprocessable(fmt::format(
          "{}: it was a label of some events and an ordinary field of others, which the row key of "
          "table {} ({}) does not tell; delete from that table by prefix",
          filter.field, table.name, table.row_key.text()));
    }
    return Unprocessable(fmt::format(
        "{}: the row key of table {} ({}) does not hold it, so its rows cannot be told apart; "
        "delete by key fields, or from that table by prefix; one that is in the file no more can "
        "be dropped{}",
        filter.field, table.name, table.row_key.text(),
        AddsUp(table, *removal.stored) ? "; aggregates=keep leaves this one as it is" : ""));
  }
  const std::optional<std::string> why = cut.Why(table, *removal.stored);
  return why ? Status(Unprocessable(*why)) : Status();
}

// Where the table once went by another time, its keys do not stand where the range is: all of the
// entity's are met, and the cells tell their time.
KnownFields KnownEntity(const Removal& removal) {
  KnownFields known;
  if (removal.stored->membership.whole_from == 0) known.time = removal.query.time;
  for (const FieldFilter& filter : removal.query.filters) {
    known.values[filter.field] = filter.values;
  }
  if (removal.clamp != nullptr) removal.clamp->Narrow(&known);
  return known;
}

// Which series are meant, where a label says it: of very many nothing is said (DeleteBySeries).
Status AddSeries(const Removal& removal, Store& store, KnownFields* known) {
  const auto keys = SeriesKey::Of(removal.table.row_key, removal.stored->time_field);
  if (!keys || !removal.table.row_key.holds_labels()) return {};
  std::vector<SeriesFilter> filters;
  for (const FieldFilter& filter : removal.query.filters) {
    if (!SeriesTells(removal.table, *keys, filter.field, true)) return {};
    filters.push_back({filter.field, filter.values});
  }
  if (FiltersLeadSeries(*keys, filters)) return {};
  const SeriesSearch search{removal.table,
                            removal.stored,
                            *keys,
                            removal.query.access.snapshot->series.get(),
                            removal.clamp,
                            removal.query.stream->unit,
                            removal.query.now,
                            std::move(filters)};
  Result<SeriesIndex::Found> found = SearchSeries(search, store);
  if (!found) return found.error();
  if (!found->are_all) return {};
  known->series = std::make_shared<const std::vector<std::string>>(std::move(found->series));
  return {};
}

// Whether the key's leading placeholders are just the filtered fields (and salts of them).
bool FiltersLead(const Removal& removal, const KnownFields& known) {
  std::vector<std::string> seen;
  for (const Segment& segment : removal.table.row_key.segments()) {
    if (segment.is_literal()) continue;
    if (segment.is_labels) break;
    if (segment.is_time || known.values.find(segment.field) == known.values.end()) break;
    if (segment.is_salt()) continue;
    if (std::find(seen.begin(), seen.end(), segment.field) == seen.end()) {
      seen.push_back(segment.field);
    }
  }
  return seen.size() == known.values.size();
}

// Whether the key is of the entity: each filtered field reads back as one of its values' texts.
bool IsOfEntity(const Removal& removal, const std::vector<KeyField>& fields) {
  const RowKeyTemplate& row_key = removal.table.row_key;
  return std::ranges::all_of(removal.query.filters, [&](const FieldFilter& filter) {
    return std::ranges::any_of(fields, [&](const KeyField& field) {
      return row_key.NameOf(field) == filter.field && !field.value.is_null() &&
             std::ranges::find(filter.values, ToText(field.value)) != filter.values.end();
    });
  });
}

// The keys of rows that may be of the entity and have something in the range of time.
std::unique_ptr<RowScan> ScanKeys(const Removal& removal, const KeyRanges& keys, Store& store) {
  ScanSpec spec;
  if (keys.bounded) spec.ranges = keys.ranges;
  spec.cells = removal.query.time;
  spec.keys_only = true;
  spec.now = removal.query.now;
  return ScanRows(store, removal.stored, std::move(spec), removal.clamp);
}

// Where a label tells the entity, its series are deleted, each with one range: how many.
Result<size_t> DeleteBySeries(const Removal& removal, const SeriesKey& series,
                              const KeyRanges& keys, Store& store, Batch* batch,
                              RemovalCount* count) {
  size_t found = 0;
  std::string scratch;
  std::vector<KeyField> fields;
  const std::unique_ptr<RowScan> scan = ScanKeys(removal, keys, store);
  while (true) {
    const Result<bool> more = scan->Next();
    if (!more) return more.error();
    if (!*more) return found;
    const std::string name(series.SeriesOf(scan->row().key));
    if (name.empty()) continue;  // The template cannot have made it.
    const KeyRange rows = series.RangeOf(name);
    if (series.Read(name, &scratch, &fields) && IsOfEntity(removal, fields)) {
      if (++found > kMaxSingleRows) {
        return Unprocessable(
            fmt::format("table {}: more than {} series would have to be deleted "
                        "one by one; give more labels",
                        removal.table.name, kMaxSingleRows));
      }
      const DeleteSpec what{rows, {}, {}, removal.query.time};
      count->Add(store, removal.stored, what, removal.query.now);
      batch->Delete(*removal.stored, what);
    }
    if (rows.end.empty()) return found;
    scan->SkipTo(rows.end);
  }
}

Result<size_t> DeleteByKey(const Removal& removal, const KeyRanges& keys, Store& store,
                           Batch* batch, RemovalCount* count) {
  size_t rows = 0;
  std::string scratch;
  std::vector<KeyField> fields;
  const std::unique_ptr<RowScan> scan = ScanKeys(removal, keys, store);
  while (true) {
    const Result<bool> more = scan->Next();
    if (!more) return more.error();
    if (!*more) return rows;
    const std::string key(scan->row().key);
    if (!removal.table.row_key.ReadBack(key, &scratch, &fields)) continue;
    if (!IsOfEntity(removal, fields)) continue;
    if (++rows > kMaxSingleRows) {
      return Unprocessable(
          fmt::format("table {}: more than {} rows would have to be deleted one by one; narrow "
                      "the time range",
                      removal.table.name, kMaxSingleRows));
    }
    count->AddRow();
    batch->Delete(*removal.stored, {RangeOfKey(key), {}, {}, removal.query.time});
  }
}

// How many ranges or rows of the table are to be forgotten; *count is told what is in them.
Result<size_t> AddDeletes(const Removal& removal, const KnownFields& known, Store& store,
                          Batch* batch, RemovalCount* count) {
  Result<KeyRanges> keys = FindKeyRanges(removal.table.row_key, known, removal.query.stream->unit);
  if (!keys) return keys.error();
  if (known.series == nullptr && !FiltersLead(removal, known)) {
    const RowKeyTemplate& row_key = removal.table.row_key;
    const std::optional<SeriesKey> series = SeriesKey::Of(row_key, removal.stored->time_field);
    if (row_key.holds_labels() && series) {
      return DeleteBySeries(removal, *series, *keys, store, batch, count);
    }
    return DeleteByKey(removal, *keys, store, batch, count);
  }
  for (const KeyRange& range : keys->ranges) {
    const DeleteSpec what{range, {}, {}, removal.query.time};
    if (removal.clamp == nullptr) {
      count->Add(store, removal.stored, what, removal.query.now);
    } else {
      count->AddOwn(store, removal.stored, what, removal.query.now, *removal.clamp);
    }
    batch->Delete(*removal.stored, what);
  }
  return keys->ranges.size();
}

// A row that is held has the key and the time that it will be written with.
void AddHeldEntity(const Removal& removal, std::vector<HeldRemoval>* held) {
  if (!MayHold(removal.query.schema(), *removal.stored)) return;
  held->push_back(
      {removal.stored->id, [removal](std::string_view key, TimeUs time, const ColumnRef&) {
         std::string scratch;
         std::vector<KeyField> fields;
         return removal.query.time.Contains(time) && removal.IsOwn(key) &&
                removal.table.row_key.ReadBack(key, &scratch, &fields) &&
                IsOfEntity(removal, fields);
       }});
}

// Whose events go: as the query says it, and the scope.
std::vector<FieldFilter> FiltersOf(const Removal& removal) {
  std::vector<FieldFilter> filters = removal.query.filters;
  if (removal.clamp == nullptr) return filters;
  for (const auto& [field, value] : removal.clamp->scope()) filters.push_back({field, {value}});
  return filters;
}

// What rows of a latest table may lose to which an older event has another value. Whatever is
// removed of a table that no range bounds below leaves nothing older.
Status AddLost(const Removal& removal, const KnownFields& known, const RemovalParts& parts,
               RemovalPlan* plan) {
  const EventQuery& query = removal.query;
  // Of a table that is out of the file the store alone knows what it keeps.
  if (removal.stored->mode == TableMode::kHistory || query.time.from <= 0) return {};
  const bool can_restore = parts.store.capabilities().watching != nullptr;
  if (can_restore && !plan->lost) {
    plan->lost = parts.restorer.NewTask({0, query.stream->name, FiltersOf(removal), query.time});
  }
  // The stream's other latest tables may lack the scope's field, and lose nothing.
  if (plan->lost && removal.clamp != nullptr) plan->lost->note.tables.push_back(removal.stored->id);
  Result<KeyRanges> keys = FindKeyRanges(removal.table.row_key, known, query.stream->unit);
  if (!keys) return keys.error();
  std::string scratch;
  std::vector<KeyField> fields;
  const auto is_of_entity = [&](std::string_view key) {
    return removal.IsOwn(key) && removal.table.row_key.ReadBack(key, &scratch, &fields) &&
           IsOfEntity(removal, fields);
  };
  LostCells lost(removal.stored->mode == TableMode::kLatestRow);
  const std::vector<KeyRange> ranges =
      keys->bounded ? std::move(keys->ranges) : std::vector{KeyRange{}};
  const Result<bool> all = lost.Add(parts.store, removal.stored, ranges, is_of_entity, query.now);
  if (!all) return all.error();
  if (!can_restore) {
    const bool keeps_all = *all && !lost.HasWithin(query.time);
    return keeps_all ? Status() : Status(CannotRestore(removal.table.name));
  }
  plan->loses = plan->loses || !*all || !lost.empty();
  if (*all) plan->lost->lost.emplace(removal.stored->id, std::move(lost));
  return {};
}

Status AddTable(const Removal& removal, const RemovalParts& parts, RemovalPlan* plan) {
  KnownFields known = KnownEntity(removal);
  if (Status found = AddSeries(removal, parts.store, &known); !found) return found;
  if (Status lost = AddLost(removal, known, parts, plan); !lost) return lost;
  RemovalCount count;
  const Result<size_t> ranges =
      AddDeletes(removal, known, parts.store, plan->deletes.batch.get(), &count);
  if (!ranges) return ranges.error();
  AddHeldEntity(removal, &plan->deletes.held);
  EventsRemoved::OfTable told{removal.table.name, *ranges, count, {}};
  // What an event's time is there is not what the stream says: who wonders at the count sees why.
  const EventQuery& query = removal.query;
  const bool has_own_time = removal.stored->time_field != query.stream->time_field;
  if (has_own_time && !query.time.is_open()) told.time_field = removal.stored->time_field;
  plan->removed.tables.push_back(std::move(told));
  plan->deletes.tables.push_back(removal.stored->id);
  return {};
}

// What is removed of all tables; the first that cannot be removed from refuses it.
Status MakePlan(const EventQuery& query, const std::vector<Table>& tables, bool keeps_aggregates,
                const RemovalParts& parts, RemovalPlan* plan) {
  BucketCut cut(query.time);
  std::vector<Removal> removals;
  for (const Table& table : tables) {
    const Removal removal{query, table, parts.store.FindTable(table.name), query.ClampOf(table)};
    if (removal.stored == nullptr) continue;  // A nightly table that has just gone.
    cut.Add(table, *removal.stored);
    removals.push_back(removal);
  }
  for (const Removal& removal : removals) {
    const Status usable = CheckTable(removal, cut);
    if (!usable && keeps_aggregates && AddsUp(removal.table, *removal.stored)) {
      plan->removed.kept.push_back(removal.table.name);
      continue;
    }
    if (!usable) return usable;
    if (Status added = AddTable(removal, parts, plan); !added) return added;
  }
  return {};
}

}  // namespace

EventRemoval::EventRemoval(const RemovalParts& parts)
    : parts_(parts), held_(parts.writer.gate().Hold()) {}

Status EventRemoval::CheckEntity(const EventQuery& query) {
  if (NamesKeyField(query)) return {};
  return Invalid("say whose events: a key field, as in hostname=server1.bbb.com");
}

Result<EventsRemoved> EventRemoval::Run(const EventQuery& query, bool keeps_aggregates) {
  if (Status whose = CheckEntity(query); !whose) return whose.error();
  const Result<std::vector<Table>> tables = TablesOf(query, parts_.store);
  if (!tables) return tables.error();
  RemovalPlan plan;
  plan.deletes.stream = query.stream->name;
  plan.deletes.batch = parts_.store.NewBatch();
  if (Status made = MakePlan(query, *tables, keeps_aggregates, parts_, &plan); !made) {
    return made.error();
  }
  EventDeletes& deletes = plan.deletes;
  if (deletes.batch->empty() && deletes.held.empty()) return std::move(plan.removed);
  if (plan.loses) LatestRestorer::PutNote(*plan.lost, deletes.batch.get());
  const Result<uint64_t> lost_held =
      parts_.writer.RemoveEvents(parts_.who, held_, std::move(deletes));
  if (plan.loses) parts_.restorer.Add(std::move(plan.lost));
  if (!lost_held) return lost_held.error();
  const Status noted = parts_.nightly.NoteRemoved(query.stream->name);
  if (!noted) return noted.error();
  plan.removed.held_rows = *lost_held;
  return std::move(plan.removed);
}

}  // namespace tallyd
