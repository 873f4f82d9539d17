#include "ingest/map/mapper.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <shared_mutex>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "config/schema/table_rules.h"
#include "ingest/map/held_rows.h"
#include "ingest/map/late_days.h"
#include "ingest/map/missed_fields.h"
#include "ingest/map/row_renderer.h"
#include "ingest/map/seen_fields.h"
#include "ingest/map/table_mapping.h"

namespace tallyd {
namespace {

// An event that fits no table of a stream with many: so many are told why not.
constexpr size_t kMaxReasons = 5;

// What becomes of the events of one shape.
struct ShapeMapping {
  std::vector<TableMapping> tables;  // Those that the events enter.
  std::optional<Refusal> refused;    // What all events of the shape are refused for.
  // Per field, the types that the store is known to know.
  std::unique_ptr<std::atomic<uint8_t>[]> known_types;
  // The fields that a table keeps by their compact names: that name, and the field.
  std::vector<std::pair<std::string, std::string>> compact;
  bool of_one_event = false;  // The shape does not recur.
  std::vector<MissedByTable> missed;
  // Whether the store knows all of them.
  mutable std::atomic<bool> missed_is_known = false;
};

// What one call of Map works with.
struct MapCall {
  MapCall(HeldCounters* counters, TimeUs arrival)
      : next_arrival(arrival), held(counters, arrival), late(arrival) {}

  TimeUs expires_by = 0;  // What has expired by then is not stored.
  TimeUs next_arrival;    // Of the next event without a time.
  Batch* batch = nullptr;
  MapOutcome* outcome = nullptr;
  RowRenderer renderer;
  HeldRows held;
  BatchCounts counts;
  LateDays late;
  EventErrors errors;
  uint64_t text_bytes = 0;  // Of the event at hand.
  // Types that this batch already remembers, per field of `learned_of`.
  const ShapeMapping* learned_of = nullptr;
  std::vector<uint8_t> learned;
  // Compact names: which mappings that have some were used, and when last; of mappings that do not
  // stay, the names themselves, with the field and when.
  const ShapeMapping* spelled_by = nullptr;
  size_t times_spelled = 0;
  std::unordered_map<const ShapeMapping*, size_t> spelling_mappings;
  std::map<std::string, std::pair<size_t, std::string>> spellings;
  const ShapeMapping* missed_of = nullptr;  // This batch already remembers what these missed.
};

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
  errors.Merge(other.errors);
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
    }
  }

  const ShapeMapping& MappingOf(const Shape& shape);
  std::unique_ptr<ShapeMapping> Compile(const Shape& shape, Store* interner) const;
  std::string WhyNowhere(const std::vector<TableMapping>& mappings) const;
  void MapEvent(const Event& event, const ShapeMapping& mapping, MapCall* call);
  bool RenderTables(const Event& event, const ShapeMapping& mapping, MapCall* call,
                    size_t* expired);
  bool CheckValues(const Event& event, const ShapeMapping& mapping, MapCall* call, bool* new_types);
  bool PutRows(size_t event, MapCall* call);
  void LearnTypes(const Event& event, const ShapeMapping& mapping, MapCall* call);
  static void Spell(const ShapeMapping& mapping, size_t when, MapCall* call);
  void NoteSpellings(MapCall* call);
  void LearnMissed(const Event& event, const ShapeMapping& mapping, MapCall* call);

  const std::shared_ptr<const Schema> schema;
  const Stream& stream;
  Store& store;
  SeenFields seen_fields;
  std::deque<MappedTable> tables;

  std::shared_mutex mutex;
  // Those of interned shapes.
  std::unordered_map<const Shape*, std::unique_ptr<const ShapeMapping>> mappings;
};

Mapper::Mapper(std::shared_ptr<const Schema> schema, const Stream& stream, Store& store)
    : impl_(std::make_unique<Impl>(std::move(schema), stream, store)) {}
Mapper::~Mapper() = default;

MapOutcome Mapper::Map(const EventBatch& events, TimeUs arrival, Batch* batch,
                       HeldCounters* counters, const RowSampling& sampling) {
  impl_->seen_fields.Refresh(arrival);
  MapOutcome outcome;
  outcome.row_bytes = RowBytes(sampling);
  MapCall call(counters, arrival);
  call.expires_by = std::min(arrival, impl_->store.RetentionNow());
  call.batch = batch;
  call.outcome = &outcome;
  const Shape* shape = nullptr;
  const ShapeMapping* mapping = nullptr;
  std::unique_ptr<ShapeMapping> own_mapping;  // Of a shape that does not recur.
  for (size_t i = 0; i < events.size(); ++i) {
    const Event event = events.event(i);
    if (event.shape != shape) {
      shape = event.shape;
      if (shape->interned) {
        mapping = &impl_->MappingOf(*shape);
      } else {
        own_mapping = impl_->Compile(*shape, nullptr);
        mapping = own_mapping.get();
        call.learned_of = nullptr;
        own_mapping->of_one_event = true;
        call.spelled_by = nullptr;
        call.missed_of = nullptr;
      }
    }
    impl_->MapEvent(event, *mapping, &call);
  }
  impl_->NoteSpellings(&call);
  call.late.PutMarks(batch);
  outcome.rows = call.counts.rows();
  outcome.cells = call.counts.cells();
  outcome.held = call.held.events();
  outcome.increments = call.held.Take();
  outcome.errors = events.errors();
  outcome.errors.Merge(call.errors);
  return outcome;
}

const ShapeMapping& Mapper::Impl::MappingOf(const Shape& shape) {
  {
    std::shared_lock lock(mutex);
    if (const auto found = mappings.find(&shape); found != mappings.end()) return *found->second;
  }
  // Interning columns may wait for the disk: not under the lock. Two threads may do it twice.
  std::unique_ptr<const ShapeMapping> mapping = Compile(shape, &store);
  std::unique_lock lock(mutex);
  return *mappings.try_emplace(&shape, std::move(mapping)).first->second;
}

std::unique_ptr<ShapeMapping> Mapper::Impl::Compile(const Shape& shape, Store* interner) const {
  auto mapping = std::make_unique<ShapeMapping>();
  std::vector<TableMapping> all;
  for (const MappedTable& table : tables) {
    all.push_back(CompileTableMapping(table, shape, interner));
    if (all.back().refused && !mapping->refused) mapping->refused = all.back().refused;
    AddMissed(all.back(), shape, &mapping->missed);
  }
  const bool nowhere =
      std::ranges::all_of(all, [](const TableMapping& t) { return !t.stays_out.empty(); });
  if (nowhere) mapping->refused = Refusal{{}, WhyNowhere(all)};
  std::erase_if(all, [](const TableMapping& t) { return !t.stays_out.empty(); });
  mapping->tables = std::move(all);
  mapping->known_types = std::make_unique<std::atomic<uint8_t>[]>(shape.fields.size());
  for (size_t i = 0; i < shape.fields.size(); ++i) {
    const bool compact = std::ranges::any_of(
        tables, [&](const auto& mapped) { return IsCompacted(mapped.table, shape.fields[i]); });
    if (compact) mapping->compact.emplace_back(CompactName(shape.fields[i]), shape.fields[i]);
  }
  return mapping;
}

std::string Mapper::Impl::WhyNowhere(const std::vector<TableMapping>& all) const {
  if (all.empty()) return fmt::format("stream {} has no tables", stream.name);
  std::string why = fmt::format("enters no table of stream {}", stream.name);
  for (size_t i = 0; i < all.size() && i < kMaxReasons; ++i) {
    why += fmt::format("{} {}: {}", i == 0 ? ":" : ";", all[i].table->name, all[i].stays_out);
  }
  if (all.size() > kMaxReasons) why += fmt::format("; and {} more", all.size() - kMaxReasons);
  return why;
}

void Mapper::Impl::MapEvent(const Event& event, const ShapeMapping& mapping, MapCall* call) {
  if (mapping.refused) {
    call->errors.Add(event.index, *mapping.refused);
    return;
  }
  bool new_types = false;
  size_t expired = 0;
  if (!CheckValues(event, mapping, call, &new_types)) return;
  if (!RenderTables(event, mapping, call, &expired)) return;
  if (!PutRows(event.index, call)) return;
  if (!call->renderer.rows().empty()) {
    if (new_types) LearnTypes(event, mapping, call);
    if (!mapping.compact.empty() && call->spelled_by != &mapping) {
      call->spelled_by = &mapping;
      const size_t when = ++call->times_spelled;
      if (mapping.of_one_event) {
        Spell(mapping, when, call);
      } else {
        call->spelling_mappings[&mapping] = when;
      }
    }
    if (!mapping.missed.empty()) LearnMissed(event, mapping, call);
  }
  ++call->outcome->events;
  if (expired > 0) ++call->outcome->expired;
}

// One pass over the values: is one too large, and has one a type that is new to the stream?
bool Mapper::Impl::CheckValues(const Event& event, const ShapeMapping& mapping, MapCall* call,
                               bool* new_types) {
  call->text_bytes = 0;
  size_t large = 0;
  for (size_t i = 0; i < event.values.size(); ++i) {
    const Value& value = event.values[i];
    const uint8_t known = mapping.known_types[i].load(std::memory_order_relaxed);
    if ((TypeBitsOf(value, known) & ~known) != 0) *new_types = true;
    if (value.type() < ValueType::kString) continue;
    call->text_bytes += value.AsView().size();
    if (IsLarge(value)) ++large;
    if (value.AsView().size() > kMaxValueBytes) {
      const std::string& field = event.shape->fields[i];
      call->errors.Add(
          event.index,
          {field, fmt::format("field \"{}\": its {} bytes are more than the {} that are stored",
                              field, value.AsView().size(), kMaxValueBytes)});
      return false;
    }
  }
  call->outcome->large_values += large;
  return true;
}

bool Mapper::Impl::RenderTables(const Event& event, const ShapeMapping& mapping, MapCall* call,
                                size_t* expired) {
  call->renderer.Begin();
  TimeUs given = -1;  // The time of arrival, once a table asked for it.
  for (const TableMapping& table : mapping.tables) {
    TableTime time{0, stream.unit};
    if (!table.time_value) {
      if (given < 0) given = std::min(call->next_arrival++, kMaxTimeUs);
      time.t = given;
    } else {
      const Value& value = event.values[*table.time_value];
      const Result<TimeUs> own = ParseEventTime(value, stream.unit);
      if (!own) {
        const std::string& field = table.table->time_field;
        call->errors.Add(event.index,
                         {field, fmt::format("field \"{}\": {}", field, own.error().message())});
        return false;
      }
      time.t = *own;
    }
    if (call->held.Holds(table)) time.t = call->held.TimeOf(table, time.t);
    switch (call->renderer.Render(table, event, time, call->expires_by)) {
      case RowRenderer::Outcome::kRendered:
        break;
      case RowRenderer::Outcome::kExpired:
        ++*expired;
        break;
      case RowRenderer::Outcome::kRefused:
        call->errors.Add(event.index, call->renderer.refusal());
        return false;
    }
  }
  return true;
}

// All of them or none.
bool Mapper::Impl::PutRows(size_t event, MapCall* call) {
  const RowRenderer& renderer = call->renderer;
  if (const std::optional<Refusal> refusal = call->held.Check(renderer)) {
    call->errors.Add(event, *refusal);
    return false;
  }
  call->held.Add(renderer);
  for (const PendingRow& row : renderer.rows()) {
    call->late.Note(*row.mapping->table, row.time);
    if (call->held.Holds(*row.mapping)) continue;
    const TableInfo& table = *row.mapping->info;
    const std::span<const Value> values = renderer.values(row);
    call->outcome->stems.Add(table.id, row.key.substr(0, row.stem_size),
                             {row.time, row.stem_size == row.key.size(), 1});
    if (row.mapping->is_wide || call->text_bytes >= RowBytes::kSampleBytes) {
      call->outcome->row_bytes.Add(row.mapping->info, row.key, row.time, BytesOf(values));
    }
    if (row.set != nullptr) {
      call->batch->Put(table, row.key, row.time, *row.set, values);
      call->counts.Add(table, row.key, row.time, *row.set, values);
    } else {
      call->batch->Put(table, row.key, row.time, renderer.columns(row), values);
      call->counts.Add(table, row.key, row.time, renderer.columns(row), values);
    }
  }
  return true;
}

void Mapper::Impl::LearnMissed(const Event& event, const ShapeMapping& mapping, MapCall* call) {
  if (call->missed_of == &mapping || mapping.missed_is_known.load(std::memory_order_relaxed))
    return;
  call->missed_of = &mapping;
  bool all_known = true;
  for (const MissedByTable& missed : mapping.missed) {
    const std::string& field = event.shape->fields[missed.field];
    if (seen_fields.KnowsMissed(*missed.table, field, missed.how)) continue;
    call->batch->AddMissed(*missed.table, field, missed.how);
    all_known = false;
  }
  mapping.missed_is_known.store(all_known, std::memory_order_relaxed);
  if (!all_known) seen_fields.NoteMissing();
}

void Mapper::Impl::LearnTypes(const Event& event, const ShapeMapping& mapping, MapCall* call) {
  if (call->learned_of != &mapping) {
    call->learned_of = &mapping;
    call->learned.assign(event.values.size(), 0);
  }
  for (size_t i = 0; i < event.values.size(); ++i) {
    const auto known = static_cast<uint8_t>(mapping.known_types[i].load(std::memory_order_relaxed) |
                                            call->learned[i]);
    const uint8_t types = TypeBitsOf(event.values[i], known);
    if ((types & ~known) == 0) continue;
    const uint8_t stored = seen_fields.KnownTypes(event.shape->fields[i]);
    mapping.known_types[i].fetch_or(stored, std::memory_order_relaxed);
    if ((types & ~stored) == 0) continue;
    call->learned[i] |= types;
    call->batch->AddField(stream.name, event.shape->fields[i], types);
    seen_fields.NoteMissing();
  }
}

void Mapper::Impl::Spell(const ShapeMapping& mapping, size_t when, MapCall* call) {
  for (const auto& [compact, field] : mapping.compact) {
    auto& [last, spelling] = call->spellings[compact];
    if (last < when) std::tie(last, spelling) = std::tie(when, field);
  }
}

void Mapper::Impl::NoteSpellings(MapCall* call) {
  for (const auto& [mapping, when] : call->spelling_mappings) Spell(*mapping, when, call);
  for (const auto& [compact, last] : call->spellings) {
    const std::string& field = last.second;
    if (seen_fields.IsLastSpelling(compact, field)) continue;
    call->batch->NoteSpelling(stream.name, field);
    seen_fields.NoteSpelling(compact, field);
  }
}

}  // namespace tallyd
