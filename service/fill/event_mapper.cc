#include "service/fill/event_mapper.h"

#include <utility>

#include "config/schema/table_rules.h"

namespace tallyd {
namespace {

// Beyond so many lists of fields they do not recur.
constexpr size_t kMaxMapped = 4096;
constexpr size_t kCellBytes = 16;  // Of a cell beside its text, about.

}  // namespace

EventMapper::EventMapper(const Source& source, const Table& table, TablePtr stored, TimeUs now,
                         Store* store)
    : table_(table, std::move(stored)),
      source_(source),
      tells_labels_(MayTellLabels(source.schema, source.stream)),
      store_(*store),
      now_(now),
      late_(std::in_place, now) {}

EventMapper::~EventMapper() = default;

bool EventMapper::Map(const EventFragment& event, TimeUs expires_by, Batch* batch) {
  const Mapped& mapped = MappedOf(event);
  if (!mapped.mapping.stays_out.empty()) {
    Miss(mapped, batch);
    return false;
  }
  values_.clear();
  for (const EventField& field : event.fields) {
    if (!field.value.is_null()) values_.push_back(field.value);
  }
  renderer_.Begin();
  const Event shaped{0, &mapped.shape, values_, {}};
  const bool refused = mapped.mapping.refused ||
                       renderer_.Render(mapped.mapping, shaped, {event.time, source_.stream.unit},
                                        expires_by) == RowRenderer::Outcome::kRefused;
  if (refused) {
    for (const std::string& field : mapped.shape.fields) {
      if (TableHolds(table_.table, field)) batch->AddMissed(*table_.info, field, kMissedOutside);
    }
    return false;
  }
  for (const PendingRow& row : renderer_.rows()) {
    const std::span<const Value> values = renderer_.values(row);
    late_->Note(table_.table, row.time);
    stems_.AddRead(table_.info->id, row.key.substr(0, row.stem_size), {});
    if (row.set != nullptr) {
      batch->Put(*table_.info, row.key, row.time, *row.set, values);
    } else {
      batch->Put(*table_.info, row.key, row.time, renderer_.columns(row), values);
    }
    bytes_ += row.key.size() + values.size() * kCellBytes;
    for (const Value& value : values) {
      if (value.type() >= ValueType::kString) bytes_ += value.AsView().size();
    }
  }
  if (!mapped.missed.empty()) Miss(mapped, batch);
  return !renderer_.rows().empty();
}

LateDays EventMapper::TakeLateDays() {
  LateDays late = std::move(*late_);
  late_.emplace(now_);
  return late;
}

size_t EventMapper::TakeBytes() { return std::exchange(bytes_, 0); }

void EventMapper::Miss(const Mapped& mapped, Batch* batch) {
  for (const MissedByTable& missed : mapped.missed) {
    batch->AddMissed(*missed.table, mapped.shape.fields[missed.field], missed.how);
  }
}

// By the key that it was read from, where that has {labels}; else by what is known of the field.
bool EventMapper::IsLabel(const EventFragment& event, size_t field) {
  if (!table_.table.row_key.holds_labels()) return false;
  if (event.labels.Has(field)) return true;
  const auto& [number, value] = event.fields[field];
  if (!IsLabelText(value)) return false;
  if (number >= text_is_label_.size()) text_is_label_.resize(number + 1);
  std::optional<bool>& known = text_is_label_[number];
  if (!known) {
    const std::string& name = source_.fields.name(number);
    known = !source_.table.row_key.HoldsAsLabel(name) &&
            (tells_labels_ ? source_.known.IsLabelAsText(name)
                           : ListsAsLabel(source_.stream, name));
  }
  return *known;
}

const EventMapper::Mapped& EventMapper::MappedOf(const EventFragment& event) {
  key_.clear();
  for (size_t i = 0; i < event.fields.size(); ++i) {
    const EventField& field = event.fields[i];
    if (!field.value.is_null()) key_.push_back(field.field * 2 + (IsLabel(event, i) ? 1 : 0));
  }
  if (last_ != nullptr && key_ == last_fields_) return *last_;
  if (mapped_.size() > kMaxMapped) mapped_.clear();
  std::unique_ptr<Mapped>& found = mapped_[key_];
  if (!found) {
    found = std::make_unique<Mapped>();
    LabelPlaces labels;
    for (const uint32_t field : key_) {
      if (field % 2 == 1) labels.push_back(static_cast<uint32_t>(found->shape.fields.size()));
      found->shape.fields.push_back(source_.fields.name(field / 2));
    }
    found->mapping = CompileTableMapping(table_, found->shape, labels, &store_);
    AddMissed(found->mapping, found->shape, labels, &found->missed);
  }
  last_ = found.get();
  last_fields_ = key_;
  return *last_;
}

}  // namespace tallyd
