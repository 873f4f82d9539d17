#include "ingest/map/mapper.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "ingest/labels/event_labels.h"
#include "ingest/map/batch_spellings.h"
#include "ingest/map/held_rows.h"
#include "ingest/map/late_days.h"
#include "ingest/map/row_renderer.h"
#include "ingest/map/scratch_pool.h"
#include "ingest/map/seen_fields.h"
#include "ingest/map/shape_mapping.h"
#include "ingest/map/shape_mappings.h"
#include "ingest/map/table_mapping.h"
#include "ingest/times/time_guard.h"

namespace tallyd {
namespace {

// What one call of Map works with.
struct MapCall {
  MapCall(HeldCounters* counters, TimeUs arrival)
      : next_arrival(arrival), held(counters, arrival), late(arrival) {}

  TimeUs expires_by = 0;  // What has expired by then is not stored.
  TimeUs next_arrival;    // Of the next event without a time.
  TimeGuard guard;
  ArrivalBlock* arrivals = nullptr;  // Null: next_arrival is all there is to know.
  bool gives_arrivals = false;       // next_arrival is one of the block's,
  TimeUs first_arrival = 0;          // which begins here.
  size_t events_left = 0;            // This one and those behind it.
  Batch* batch = nullptr;
  MapOutcome* outcome = nullptr;
  std::unique_ptr<MapScratch> scratch;
  HeldRows held;
  LateDays late;
  EventErrors errors;
  TimeUs newest = -1;           // Of the rows that were put; -1: none was.
  uint64_t text_bytes = 0;      // Of the event at hand.
  const Event* sent = nullptr;  // The event at hand as it came, in its own order.
  // Types that this batch already remembers, per field of `learned_of`.
  const ShapeMapping* learned_of = nullptr;
  std::vector<uint8_t> learned;
  BatchSpellings spellings;
  // This batch already remembers what these missed, of these fields.
  const ShapeMapping* missed_of = nullptr;
  std::vector<bool> missed;
  std::unique_ptr<ShapeMapping> own;  // Of a shape that does not recur.
  SeriesGate* gate = nullptr;
  std::vector<SeriesGate::Row> gated;  // Of the event at hand.
  std::vector<Value> choice;           // The values of the event at hand by place, where it is one.
};

// Room for more is made as it is needed: what comes may be refused.
constexpr size_t kMostExpected = 8192;
// So many mappings are kept for events that have some of a shape's listed labels as text only.
constexpr size_t kMaxByLabels = 1024;

// If they are all as the first one, which goes to so many tables.
void Expect(size_t events, size_t tables, MapCall* call) {
  const size_t puts = std::min(events * tables, kMostExpected);
  call->batch->Expect(puts);
  call->scratch->counts.Expect(puts);
  call->outcome->stems.Expect(std::min(events, kMostExpected));
}

std::vector<TablePtr> InfosOf(const Schema& schema, const Stream& stream, const Store& store) {
  std::vector<TablePtr> infos;
  for (const size_t index : stream.tables) {
    infos.push_back(store.FindTable(schema.tables[index].name));
  }
  return infos;
}

}  // namespace

void MapOutcome::Add(MapOutcome&& other) {
  events += other.events;
  held += other.held;
  increments.Append(std::move(other.increments));
  rows += other.rows;
  cells += other.cells;
  expired += other.expired;
  newest = std::max(newest, other.newest);
  errors.Merge(other.errors);
  if (!clock_error) clock_error = std::move(other.clock_error);
  is_uncounted = is_uncounted || other.is_uncounted;
  row_bytes.Append(other.row_bytes);
  large_values += other.large_values;
  if (stems.tables().empty()) {
    stems = std::move(other.stems);
  } else {
    stems.Append(other.stems);
  }
}

struct Mapper::Impl {
  Impl(std::shared_ptr<const Schema> schema_in, const Stream& stream_in, Store& store_in)
      : schema(std::move(schema_in)),
        stream(stream_in),
        store(store_in),
        seen_fields(store_in, stream_in.name, InfosOf(*schema, stream_in, store_in)) {
    for (const size_t index : stream.tables) {
      const Table& table = schema->tables[index];
      tables.emplace_back(table, store.FindTable(table.name));
      holds_counters = holds_counters || table.flush_us.has_value();
    }
  }

  const ShapeMapping& MappingOf(const Shape& shape);
  const ShapeMapping* FindByLabels(const Shape& shape, const ShapeLabels& labels);
  void MapByLabels(const Event& event, MapCall* call);
  void MapOne(const Event& event, const ShapeMapping& mapping, MapCall* call);
  bool MapChoice(const Event& event, const ShapeMapping& mapping, MapCall* call);
  const ShapeMapping& CompileOwn(const Shape& shape, const ShapeLabels& labels,
                                 MapCall* call) const;
  const ShapeMapping& CompileOwn(const Shape& shape, MapCall* call) const {
    return CompileOwn(shape, LabelsOf(stream, shape), call);
  }
  void MapEvent(const Event& event, const ShapeMapping& mapping, MapCall* call);
  std::optional<Refusal> Enter(const Event& event, std::span<const Value> values,
                               const ShapeMapping& mapping, MapCall* call);
  std::optional<Refusal> RenderTables(const Event& event, const ShapeMapping& mapping,
                                      MapCall* call, size_t* expired);
  std::optional<Refusal> FindTime(const TableMapping& table, const Event& event, MapCall* call,
                                  TimeUs* time);
  std::optional<Refusal> GiveArrival(const TableMapping& table, MapCall* call, TimeUs* time);
  std::optional<Refusal> CheckValues(const Event& event, const ShapeMapping& mapping, MapCall* call,
                                     bool* new_types);
  std::optional<Refusal> Admit(const Event& event, bool new_types, MapCall* call);
  void PutRows(MapCall* call);
  void LearnTypes(const Event& event, const ShapeMapping& mapping, MapCall* call);
  static void NoteSpelled(const Event& event, const ShapeMapping& mapping, MapCall* call);
  void NoteSpellings(MapCall* call);
  void NoteMisread(const TableMapping& mapping, MapCall* call);
  void LearnMissed(const Event& event, const ShapeMapping& mapping, MapCall* call);

  const std::shared_ptr<const Schema> schema;
  const Stream& stream;
  Store& store;
  SeenFields seen_fields;
  std::deque<MappedTable> tables;
  bool holds_counters = false;  // Some table of them does.

  ScratchPool scratches;
  ShapeMappings mappings;
  // Of interned shapes, for events that have only these of the listed labels as text.
  std::shared_mutex by_labels_mutex;
  std::map<std::pair<const Shape*, LabelPlaces>, std::unique_ptr<const ShapeMapping>> by_labels;
};

Mapper::Mapper(std::shared_ptr<const Schema> schema, const Stream& stream, Store& store)
    : impl_(std::make_unique<Impl>(std::move(schema), stream, store)) {}
Mapper::~Mapper() = default;

MapOutcome Mapper::Map(const EventBatch& events, TimeUs arrival, Batch* batch,
                       HeldCounters* counters, const RowSampling& sampling, const MapTerms& terms) {
  impl_->seen_fields.Refresh(arrival);
  MapOutcome outcome;
  outcome.row_bytes = RowBytes(sampling);
  MapCall call(impl_->holds_counters ? counters : nullptr, arrival);
  call.expires_by = std::min(arrival, impl_->store.RetentionNow());
  call.batch = batch;
  call.outcome = &outcome;
  call.scratch = impl_->scratches.Take();
  if (terms.guarded) call.guard = TimeGuard(impl_->stream, arrival);
  call.arrivals = terms.arrivals;
  call.gate = terms.gate;
  const Shape* shape = nullptr;
  const ShapeMapping* mapping = nullptr;
  for (size_t i = 0; i < events.size() && !outcome.clock_error; ++i) {
    const Event event = events.event(i);
    call.events_left = events.size() - i;
    if (event.shape != shape) {
      shape = event.shape;
      mapping = shape->interned ? &impl_->MappingOf(*shape) : &impl_->CompileOwn(*shape, &call);
    }
    if (i == 0) Expect(events.size(), mapping->tables.size(), &call);
    if (terms.refuses) [[unlikely]] {
      if (std::optional<Refusal> refusal = terms.refuses(event)) {
        call.errors.Add(event.index, std::move(*refusal));
        continue;
      }
    }
    if (mapping->ServesLabels(event)) [[likely]] {
      impl_->MapOne(event, *mapping, &call);
      continue;
    }
    impl_->MapByLabels(event, &call);
    shape = nullptr;  // Its mapping may have gone with the event's own.
  }
  impl_->NoteSpellings(&call);
  call.late.PutMarks(batch);
  if (call.gives_arrivals) call.arrivals->Use(call.next_arrival);
  outcome.rows = call.scratch->counts.rows();
  outcome.cells = call.scratch->counts.cells();
  impl_->scratches.GiveBack(std::move(call.scratch));
  if (call.newest >= 0) outcome.newest = call.newest;
  outcome.held = call.held.events();
  outcome.increments = call.held.Take();
  outcome.errors = events.errors();
  outcome.errors.Merge(call.errors);
  return outcome;
}

void Mapper::Impl::MapOne(const Event& event, const ShapeMapping& mapping, MapCall* call) {
  if (!event.is_choice()) return MapEvent(event, mapping, call);
  if (MapChoice(event, mapping, call)) return;
  Shape own;
  for (size_t v = 0; v < event.values.size(); ++v) own.fields.push_back(event.FieldOf(v));
  MapEvent({event.index, &own, event.values, {}, event.batch}, CompileOwn(own, call), call);
}

const ShapeMapping& Mapper::Impl::MappingOf(const Shape& shape) {
  if (const ShapeMapping* const known = mappings.Find(shape)) [[likely]] {
    return *known;
  }
  // Interning columns may wait for the disk: not under a lock. Two threads may do it twice.
  return mappings.Add(CompileShape(tables, stream, shape, LabelsOf(stream, shape), &store));
}

// An event with a number in a field that the stream lists as a label is mapped by the labels that
// it has.
void Mapper::Impl::MapByLabels(const Event& event, MapCall* call) {
  if (event.is_choice()) {
    Shape own;
    for (size_t v = 0; v < event.values.size(); ++v) own.fields.push_back(event.FieldOf(v));
    return MapByLabels({event.index, &own, event.values, {}, event.batch}, call);
  }
  ShapeLabels labels = LabelsOf(stream, *event.shape);
  std::erase_if(labels.places, [&](uint32_t place) { return !IsLabelText(event.values[place]); });
  labels.where_text = false;
  const ShapeMapping* const known =
      event.shape->interned ? FindByLabels(*event.shape, labels) : nullptr;
  MapEvent(event, known != nullptr ? *known : CompileOwn(*event.shape, labels, call), call);
}

// Null: there are too many already.
const ShapeMapping* Mapper::Impl::FindByLabels(const Shape& shape, const ShapeLabels& labels) {
  const std::pair key(&shape, labels.places);
  {
    const std::shared_lock lock(by_labels_mutex);
    if (const auto known = by_labels.find(key); known != by_labels.end()) {
      return known->second.get();
    }
    if (by_labels.size() >= kMaxByLabels) return nullptr;
  }
  auto compiled = CompileShape(tables, stream, shape, labels, &store);
  const std::unique_lock lock(by_labels_mutex);
  return by_labels.try_emplace(key, std::move(compiled)).first->second.get();
}

const ShapeMapping& Mapper::Impl::CompileOwn(const Shape& shape, const ShapeLabels& labels,
                                             MapCall* call) const {
  call->own = CompileShape(tables, stream, shape, labels, nullptr);
  call->own->of_one_event = true;
  // It may stand where another one stood.
  call->learned_of = nullptr;
  call->missed_of = nullptr;
  return *call->own;
}

// By the mapping of all fields that it is a choice of. False, and nothing has changed: by its own
// shape it may become something else, or be refused in other words.
bool Mapper::Impl::MapChoice(const Event& event, const ShapeMapping& mapping, MapCall* call) {
  if (!mapping.serves_choices) return false;
  call->choice.assign(event.shape->fields.size(), Value());
  for (size_t i = 0; i < event.values.size(); ++i) call->choice[event.places[i]] = event.values[i];
  if (!mapping.Serves(call->choice)) return false;
  const TimeUs next_arrival = call->next_arrival;
  const bool gave_arrivals = call->gives_arrivals;
  const size_t large_values = call->outcome->large_values;
  if (!Enter(event, call->choice, mapping, call) || call->outcome->clock_error) return true;
  call->next_arrival = gave_arrivals == call->gives_arrivals ? next_arrival : call->first_arrival;
  call->outcome->large_values = large_values;
  return false;
}

void Mapper::Impl::MapEvent(const Event& event, const ShapeMapping& mapping, MapCall* call) {
  if (mapping.refused) return call->errors.Add(event.index, *mapping.refused);
  std::optional<Refusal> refusal = Enter(event, event.values, mapping, call);
  if (refusal) call->errors.Add(event.index, std::move(*refusal));
}

// `values`: by place. Only the batch's arrivals and large values are counted if it is refused.
std::optional<Refusal> Mapper::Impl::Enter(const Event& event, std::span<const Value> values,
                                           const ShapeMapping& mapping, MapCall* call) {
  bool new_types = false;
  size_t expired = 0;
  call->sent = &event;
  if (auto refusal = CheckValues(event, mapping, call, &new_types)) return refusal;
  const Event by_place{event.index, event.shape, values, {}};
  if (auto refusal = RenderTables(by_place, mapping, call, &expired)) return refusal;
  if (auto refusal = call->held.Check(call->scratch->renderer)) return refusal;
  if (call->gate != nullptr) {
    if (auto refusal = Admit(event, new_types, call)) return refusal;
  }
  PutRows(call);
  if (!call->scratch->renderer.rows().empty()) {
    if (new_types) LearnTypes(event, mapping, call);
    NoteSpelled(event, mapping, call);
    if (!mapping.missed.empty()) LearnMissed(by_place, mapping, call);
  }
  ++call->outcome->events;
  if (expired > 0) ++call->outcome->expired;
  return {};
}

// One pass over the values: is one too large, and has one a type that is new to the stream?
std::optional<Refusal> Mapper::Impl::CheckValues(const Event& event, const ShapeMapping& mapping,
                                                 MapCall* call, bool* new_types) {
  call->text_bytes = 0;
  size_t large = 0;
  unsigned fresh = 0;
  for (size_t i = 0; i < event.values.size(); ++i) {
    const Value& value = event.values[i];
    const uint8_t known = mapping.known_types[event.PlaceOf(i)].load(std::memory_order_relaxed);
    if (value.type() < ValueType::kString) [[likely]] {
      fresh |= TypeBit(value.type()) & ~unsigned{known};
      continue;
    }
    fresh |= TypeBitsOf(value, known, mapping.text_bits[event.PlaceOf(i)]) & ~unsigned{known};
    call->text_bytes += value.AsView().size();
    if (IsLarge(value)) ++large;
    if (value.AsView().size() > kMaxValueBytes) {
      const std::string& field = event.FieldOf(i);
      return Refusal{field,
                     fmt::format("field \"{}\": its {} bytes are more than the {} that are stored",
                                 field, value.AsView().size(), kMaxValueBytes)};
    }
  }
  call->outcome->large_values += large;
  *new_types = fresh != 0;
  return {};
}

std::optional<Refusal> Mapper::Impl::RenderTables(const Event& event, const ShapeMapping& mapping,
                                                  MapCall* call, size_t* expired) {
  call->scratch->renderer.Begin();
  TimeUs given = -1;  // The time of arrival, once a table asked for it.
  for (const TableMapping& table : mapping.tables) {
    TableTime time{given, stream.unit};
    if (table.time_value) {
      if (auto refusal = FindTime(table, event, call, &time.t)) return refusal;
    } else if (given < 0) {
      if (auto refusal = GiveArrival(table, call, &given)) return refusal;
      time.t = given;
    }
    if (call->held.Holds(table)) time.t = call->held.TimeOf(table, time.t);
    switch (call->scratch->renderer.Render(table, event, time, call->expires_by)) {
      case RowRenderer::Outcome::kRendered:
        break;
      case RowRenderer::Outcome::kExpired:
        ++*expired;
        break;
      case RowRenderer::Outcome::kRefused:
        return call->scratch->renderer.refusal();
    }
  }
  return {};
}

// As the event says it.
std::optional<Refusal> Mapper::Impl::FindTime(const TableMapping& table, const Event& event,
                                              MapCall* call, TimeUs* time) {
  const Value& value = event.values[*table.time_value];
  std::string_view digits;
  if (value.type() == ValueType::kFloat64) digits = call->sent->DigitsOf(*table.time_value);
  const Result<TimeUs> own = ParseEventTime(value, stream.unit, digits);
  const std::string& field = table.table->time_field;
  if (!own) return Refusal{field, fmt::format("field \"{}\": {}", field, own.error().message())};
  *time = *own;
  if (call->guard.Takes(*time)) [[likely]]
    return {};
  Error why = call->guard.WhyNot(field, value, *time, store.Retention().time);
  Refusal refusal{field, why.message()};
  if (why.code() == ErrorCode::kUnavailable) call->outcome->clock_error = std::move(why);
  return refusal;
}

std::optional<Refusal> Mapper::Impl::GiveArrival(const TableMapping& table, MapCall* call,
                                                 TimeUs* time) {
  const std::string& field = table.table->time_field;
  if (stream.time_required) {
    return Refusal{field, fmt::format("field \"{}\": missing, and stream {} requires the time of "
                                      "each event (time_required)",
                                      field, stream.name)};
  }
  if (call->arrivals != nullptr && !call->gives_arrivals) {
    Result<TimeUs> first = call->arrivals->Take(call->events_left);
    if (!first) {
      Refusal refusal{field, first.error().message()};
      call->outcome->clock_error = first.error();
      return refusal;
    }
    call->first_arrival = call->next_arrival = *first;
    call->gives_arrivals = true;
  }
  *time = std::clamp<TimeUs>(call->next_arrival++, 0, kMaxTimeUs);
  return {};
}

// Whether its series and its fields may come, where they are new.
std::optional<Refusal> Mapper::Impl::Admit(const Event& event, bool new_types, MapCall* call) {
  call->gated.clear();
  for (const PendingRow& row : call->scratch->renderer.rows()) {
    if (call->held.Holds(*row.mapping)) continue;
    call->gated.push_back({row.mapping->info->id, row.key.substr(0, row.stem_size)});
  }
  if (call->gated.empty()) return {};
  std::vector<std::string> fields;
  for (size_t i = 0; new_types && i < event.values.size(); ++i) {
    const std::string& field = event.FieldOf(i);
    if (seen_fields.KnownTypes(field) == 0) fields.push_back(field);
  }
  SeriesGate::Answer answer = call->gate->Admit(call->gated, fields);
  if (!answer.later) return std::move(answer.refusal);
  call->outcome->is_uncounted = true;
  return Refusal{{}, "its series are still being counted"};
}

void Mapper::Impl::PutRows(MapCall* call) {
  const RowRenderer& renderer = call->scratch->renderer;
  call->held.Add(renderer);
  for (const PendingRow& row : renderer.rows()) {
    call->late.Note(*row.mapping->table, row.time);
    call->newest = std::max(call->newest, row.time);
    if (call->held.Holds(*row.mapping)) continue;
    const TableInfo& table = *row.mapping->info;
    if (row.is_misread) NoteMisread(*row.mapping, call);
    const std::span<const Value> values = renderer.values(row);
    call->outcome->stems.Add(table.id, row.key.substr(0, row.stem_size),
                             {row.time, row.stem_size == row.key.size(), 1});
    if (row.mapping->is_wide || call->text_bytes >= RowBytes::kSampleBytes) {
      call->outcome->row_bytes.Add(row.mapping->info, row.key, row.time, BytesOf(values));
    }
    if (row.set != nullptr) {
      call->batch->Put(table, row.key, row.time, *row.set, values);
      call->scratch->counts.Add(table, row.key, row.time, *row.set, values);
    } else {
      call->batch->Put(table, row.key, row.time, renderer.columns(row), values);
      call->scratch->counts.Add(table, row.key, row.time, renderer.columns(row), values);
    }
  }
}

// Which fields an answer then has wrong, and for which event, nobody knows: any.
void Mapper::Impl::NoteMisread(const TableMapping& mapping, MapCall* call) {
  if (!KeepsEvents(*mapping.table)) return;
  if (seen_fields.KnowsMissed(*mapping.info, {}, kMissedInside)) return;
  call->batch->AddMissed(*mapping.info, {}, kMissedInside);
  seen_fields.NoteMissing();
}

// `event`: with values by place.
void Mapper::Impl::LearnMissed(const Event& event, const ShapeMapping& mapping, MapCall* call) {
  if (mapping.missed_is_known.load(std::memory_order_relaxed)) return;
  const bool first = call->missed_of != &mapping;
  if (!first && !mapping.serves_choices) return;
  call->missed_of = &mapping;
  if (first) call->missed.assign(mapping.missed.size(), false);
  bool all_known = first;
  for (size_t i = 0; i < mapping.missed.size(); ++i) {
    const MissedByTable& missed = mapping.missed[i];
    const bool lacks = event.values[missed.field].is_null();
    if (lacks) all_known = false;
    if (lacks || call->missed[i]) continue;
    call->missed[i] = true;
    const std::string& field = event.shape->fields[missed.field];
    if (seen_fields.KnowsMissed(*missed.table, field, missed.how)) continue;
    call->batch->AddMissed(*missed.table, field, missed.how);
    seen_fields.NoteMissing();
    all_known = false;
  }
  if (first) mapping.missed_is_known.store(all_known, std::memory_order_relaxed);
}

void Mapper::Impl::LearnTypes(const Event& event, const ShapeMapping& mapping, MapCall* call) {
  if (call->learned_of != &mapping) {
    call->learned_of = &mapping;
    call->learned.assign(event.shape->fields.size(), 0);
  }
  for (size_t i = 0; i < event.values.size(); ++i) {
    const size_t place = event.PlaceOf(i);
    std::atomic<uint8_t>& known_types = mapping.known_types[place];
    const auto known =
        static_cast<uint8_t>(known_types.load(std::memory_order_relaxed) | call->learned[place]);
    const uint8_t types = TypeBitsOf(event.values[i], known, mapping.text_bits[place]);
    if ((types & ~known) == 0) continue;
    const uint8_t stored = seen_fields.KnownTypes(event.FieldOf(i));
    known_types.fetch_or(stored, std::memory_order_relaxed);
    if ((types & ~stored) == 0) continue;
    call->learned[place] |= types;
    call->batch->AddField(stream.name, event.FieldOf(i), types);
    seen_fields.NoteMissing();
  }
}

void Mapper::Impl::NoteSpelled(const Event& event, const ShapeMapping& mapping, MapCall* call) {
  if (event.is_choice()) {
    call->spellings.NoteChoice(mapping, call->choice);
  } else if (mapping.of_one_event) {
    call->spellings.NoteOwn(mapping);
  } else {
    call->spellings.Note(mapping);
  }
}

void Mapper::Impl::NoteSpellings(MapCall* call) {
  for (const auto& [compact, field] : call->spellings.Last()) {
    if (seen_fields.IsLastSpelling(compact, field)) continue;
    call->batch->NoteSpelling(stream.name, field);
    seen_fields.NoteSpelling(compact, field);
  }
}

}  // namespace tallyd
