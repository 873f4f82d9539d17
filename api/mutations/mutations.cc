#include "api/mutations/mutations.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "api/access/refusals.h"
#include "api/errors_json.h"
#include "api/handlers.h"
#include "api/mutations/mutation_reader.h"
#include "api/warnings.h"
#include "ingest/decode/decode.h"
#include "ingest/map/late_days.h"
#include "ingest/map/seen_fields.h"
#include "ingest/text/json.h"
#include "ingest/unmap/rule_inverse.h"
#include "service/fill/fill_wish.h"
#include "service/removal/held_removal.h"
#include "service/rows/row_query.h"
#include "service/write/note_written.h"
#include "storage/batch_counts.h"

namespace tallyd {
namespace {

// What is done to one row, put into a batch. A delete hides what was put before it, and nothing
// that comes; between two of them what is set at one time is put as what one event wrote.
class RowChange {
 public:
  struct Row {
    TablePtr stored;
    const Table& table;
    std::string_view key;
  };

  RowChange(const Row& row, const RowSampling& sampling, Batch* batch)
      : row_(row), sampling_(sampling), batch_(*batch), bytes_(sampling) {}

  void Add(const Mutation& mutation) {
    if (mutation.kind == Mutation::Kind::kDelete) return Delete(mutation);
    const ColumnRef column{*mutation.family, *mutation.qualifier};
    if (mutation.kind != Mutation::Kind::kSet) {
      Put(mutation.time, {column}, {mutation.value});
      return;
    }
    Cells& cells = set_[mutation.time];
    const auto known = std::find(cells.columns.begin(), cells.columns.end(), column);
    if (known == cells.columns.end()) {
      cells.columns.push_back(column);
      cells.values.push_back(mutation.value);
    } else {
      cells.values[static_cast<size_t>(known - cells.columns.begin())] = mutation.value;
    }
  }

  // A cell that was put twice is one; one that was deleted behind it counts nevertheless, but not
  // towards the size of the row.
  WrittenRows Finish() {
    PutWhatIsSet();
    WrittenRows written;
    written.rows = 1;
    written.cells = counts_.cells();
    written.row_bytes = bytes_;
    written.large_values = large_values_;
    if (newest_) {
      const size_t stem = row_.table.row_key.StemSize(row_.key);
      written.stems.Add(row_.stored->id, row_.key.substr(0, stem),
                        {*newest_, stem == row_.key.size(), 1});
    }
    return written;
  }

  bool deletes() const { return !deleted_.empty(); }
  // In the order of the list.
  const std::vector<DeleteSpec>& deleted() const { return deleted_; }
  // What was in the row before is gone.
  bool replaces_row() const { return replaces_row_; }

 private:
  struct Cells {
    std::vector<ColumnRef> columns;
    std::vector<Value> values;
  };

  void Delete(const Mutation& mutation) {
    PutWhatIsSet();
    DeleteSpec what;
    what.rows = RangeOfKey(row_.key);
    what.family = mutation.family;
    if (mutation.qualifier) what.qualifier = std::string(*mutation.qualifier);
    what.cells = mutation.cells;
    batch_.Delete(*row_.stored, what);
    deleted_.push_back(std::move(what));
    if (mutation.family || !mutation.cells.is_open()) return;
    replaces_row_ = true;
    bytes_ = RowBytes(sampling_);
  }

  void Put(TimeUs time, const std::vector<ColumnRef>& columns, const std::vector<Value>& values) {
    batch_.Put(*row_.stored, row_.key, time, columns, values);
    counts_.Add(*row_.stored, row_.key, time, columns, values);
    bytes_.Add(row_.stored, row_.key, time, BytesOf(values));
    large_values_ += static_cast<size_t>(std::ranges::count_if(values, IsLarge));
    newest_ = std::max(newest_.value_or(time), time);
  }

  void PutWhatIsSet() {
    for (const auto& [time, cells] : set_) Put(time, cells.columns, cells.values);
    set_.clear();
  }

  const Row row_;
  const RowSampling sampling_;
  Batch& batch_;
  std::map<TimeUs, Cells> set_;
  BatchCounts counts_;
  RowBytes bytes_;
  size_t large_values_ = 0;
  std::optional<TimeUs> newest_;  // Of what was put.
  std::vector<DeleteSpec> deleted_;
  bool replaces_row_ = false;
};

// The field whose values a column of this meaning holds; empty: none alone.
std::string_view FieldOf(const ColumnMeaning& meaning) {
  if (meaning.measured == ColumnMeaning::Measured::kFixed) return meaning.field;
  if (meaning.rule == nullptr || meaning.rule->per_field) return {};
  const ValueTemplate& value = meaning.rule->value;
  return value.is_one_placeholder() ? std::string_view(value.segments()[0].field)
                                    : std::string_view();
}

// What the stream's events are known to have: a column may be the first of its field.
void AddFields(const std::vector<Mutation>& mutations, const TableInfo& stored, const Table& table,
               Batch* batch) {
  const std::vector<std::string> spellings;
  const RuleInverse inverse(table, stored, spellings);
  for (const Mutation& mutation : mutations) {
    if (mutation.kind == Mutation::Kind::kDelete) continue;
    const ColumnMeaning meaning = inverse.Read({*mutation.family, *mutation.qualifier});
    const std::string_view field = FieldOf(meaning);
    if (field.empty()) continue;
    // An aggregate cell is read as a number.
    const Value& value = mutation.kind == Mutation::Kind::kSet ? mutation.value : Value::Int(0);
    batch->AddField(table.stream, field, TypeBitsOf(value, 0));
  }
}

Response Refused(const EventErrors& errors, size_t seen) {
  const EventError& first = errors.kept().front();
  const std::string where = first.field.empty() ? "" : first.field + ": ";
  return Problem(400,
                 fmt::format("{} of {} mutations refused, nothing was changed; the first: mutation "
                             "{}: {}{}",
                             errors.count(), seen, first.index, where, first.detail),
                 JsonOfErrors(errors));
}

// What can be said without reading the list.
Status CheckHead(const Request& request) {
  if (Status known = request.params.RefuseUnknown({}); !known) return known;
  if (FindBodyFormat(request.content_type) != FindBodyFormat("application/json") ||
      !request.content_encoding.empty()) {
    return Error(ErrorCode::kUnsupported, "mutations come as application/json, not encoded");
  }
  const std::string& key = request.arguments[1];
  if (key.size() <= kMaxRowKeyBytes) return {};
  return Invalid(
      fmt::format("the row key has {} bytes; 1 to {} are taken", key.size(), kMaxRowKeyBytes));
}

}  // namespace

KeyedRequest KeyedMutations(const Request& request) {
  return {"mutations of " + request.arguments[0], *request.idempotency_key,
          PrintOf(request.arguments[1], request.body)};
}

Response PostMutations(const Request& request, ApiContext& context) {
  const auto snapshot = context.snapshot();
  const Result<TablePtr> stored =
      FindStoredTable(context.AccessOf(*request.principal), context.store, request.arguments[0]);
  if (!stored) return ProblemOf(stored.error());
  if (const Status good = CheckHead(request); !good) return ProblemOf(good.error());
  const Table* const table = snapshot->schema->FindTable((*stored)->name);
  if (table == nullptr) {
    return Problem(409, fmt::format("table {} is not in the configuration: its rows can be read "
                                    "and removed, not changed",
                                    (*stored)->name));
  }
  MutationReader reader(**stored, *table);
  const Result<std::vector<Mutation>> mutations = reader.Read(request.body);
  if (!mutations) return ProblemOf(mutations.error());
  if (!reader.errors().empty()) return Refused(reader.errors(), mutations->size());
  const bool deletes = std::ranges::count(*mutations, Mutation::Kind::kDelete, &Mutation::kind) > 0;
  if (deletes && !request.principal->roles.Have(Role::kDelete)) {
    return LacksRole(*request.principal, Role::kDelete);
  }
  std::unique_ptr<Batch> batch = context.store.NewBatch();
  RowChange change({*stored, *table, request.arguments[1]}, context.row_sizes.Sampling(),
                   batch.get());
  for (const Mutation& mutation : *mutations) change.Add(mutation);
  WrittenRows written = change.Finish();
  if (mutations->empty()) written.rows = 0;
  // Nothing is known to be in a row that is replaced.
  const Status fits = change.replaces_row() ? RowSizes().Check(written.row_bytes)
                                            : context.row_sizes.Check(written.row_bytes);
  if (!fits) return ProblemOf(fits.error());
  AddFields(*mutations, **stored, *table, batch.get());
  for (const Mutation& mutation : *mutations) {
    const bool is_delete = mutation.kind == Mutation::Kind::kDelete;
    NoteChange(*table, request.arguments[1],
               is_delete ? std::optional<TimeUs>() : std::optional(mutation.time),
               context.clock.Now(), batch.get());
    NoteHandChange(**stored, is_delete ? HandChange::kDeleted : HandChange::kWritten, batch.get());
  }
  Json counted = {
      {"mutations", mutations->size()}, {"rows", written.rows}, {"cells", written.cells}};
  if (request.claim != nullptr) {
    const Response answer = Response::Of(200, counted);
    const Status kept = request.claim->Remember({answer.status, answer.body}, batch.get());
    if (!kept) return ProblemOf(kept.error());
  }
  if (batch->empty()) return Response::Of(200, counted);
  std::vector<HeldRemoval> held;
  if (MayHold(*snapshot->schema, **stored)) {
    for (const DeleteSpec& what : change.deleted()) AddHeld(**stored, what, &held);
  }
  if (const auto done = CommitRemoval(&context.store, &context.counters, std::move(batch), held);
      !done) {
    return ProblemOf(done.error());
  }
  if (change.deletes()) {
    context.row_sizes.Shrink((*stored)->id, RangeOfKey(request.arguments[1]));
  }
  AddWarnings(NoteWritten(written, context.write_parts()), &counted);
  return Response::Of(200, counted);
}

}  // namespace tallyd
