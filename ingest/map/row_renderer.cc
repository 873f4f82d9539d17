#include "ingest/map/row_renderer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <ranges>

#include "config/escape/key_escape.h"
#include "ingest/map/read_back.h"
#include "ingest/map/timed_rows.h"
#include "storage/batch.h"

namespace tallyd {
namespace {

// Up to so many columns are compared one with another; more are sorted.
constexpr size_t kFewColumns = 16;

// Where to remember what was made of this for the number.
size_t PlaceOf(const void* of, int64_t number, size_t places) {
  constexpr uint64_t kSpread = 0x9e3779b97f4a7c15;
  const auto mixed = reinterpret_cast<uintptr_t>(of) * kSpread + static_cast<uint64_t>(number);
  return (mixed ^ mixed >> 32) % places;
}

// Of a part of a key that WriteKey makes; null: it is a text.
const Segment* SegmentOf(const TextPart& part) {
  if (const auto* field = std::get_if<FieldPart>(&part)) return field->segment;
  const auto* const time = std::get_if<TimePart>(&part);
  return time == nullptr ? nullptr : time->segment;
}

}  // namespace

void RowRenderer::Begin() {
  rows_.clear();
  values_.clear();
  columns_.clear();
  arena_.Reset();
  written_.number = WrittenKey::kNone;
}

RowRenderer::Outcome RowRenderer::Render(const TableMapping& mapping, const Event& event,
                                         const TableTime& time, TimeUs expires_by) {
  expired_.clear();
  for (const auto& [family, max_age] : mapping.max_ages) {
    const Family& rules = mapping.info->families[family].rules;
    if (CellTime(rules, time.t) < expires_by - max_age) expired_.push_back(family);
  }
  Outcome outcome = Outcome::kExpired;
  for (const RowMapping& row : mapping.rows) {
    switch (RenderRow(mapping, row, event, time)) {
      case Outcome::kRendered:
        outcome = Outcome::kRendered;
        break;
      case Outcome::kExpired:
        break;
      case Outcome::kRefused:
        return Outcome::kRefused;
    }
  }
  return outcome;
}

RowRenderer::Outcome RowRenderer::RenderRow(const TableMapping& mapping, const RowMapping& keyed,
                                            const Event& event, const TableTime& time) {
  std::string_view key;
  if (!WriteKey(keyed, event, time.t, &key)) {
    if (!RenderKey(mapping, keyed, event, time)) return Outcome::kRefused;
    key = arena_.Copy(text_);
  }
  const RowMapping& row = NamedRow(keyed, time.t);
  // Where it stays: a copy would wait for what was just written. Nobody looks at refused ones.
  PendingRow& pending = rows_.emplace_back();
  pending.mapping = &mapping;
  pending.key = key;
  pending.time = time.t;
  pending.set = row.set;
  pending.first_value = values_.size();
  pending.first_column = columns_.size();
  pending.stem_size = stem_size_;
  pending.is_misread = keyed.is_misread;
  if (!row.gather.empty()) {
    const auto at = [&](uint32_t field) -> const Value& { return event.values[field]; };
    const auto gathered = row.gather | std::views::transform(at);
    values_.insert(values_.end(), gathered.begin(), gathered.end());
  } else {
    for (const CellMapping& cell : row.cells) {
      if (!RenderCell(mapping, cell, event, time)) return Outcome::kRefused;
      if (cell.is_doubtful && !ReadsBack(*mapping.table, *mapping.info,
                                         {cell, event.shape->fields, event.values,
                                          columns_.back().qualifier, &values_.back()})) {
        pending.is_misread = true;
      }
    }
  }
  pending.value_count = values_.size() - pending.first_value;
  if (!expired_.empty() && !DropExpired(&pending)) {
    values_.resize(pending.first_value);
    columns_.resize(pending.first_column);
    rows_.pop_back();
    return Outcome::kExpired;
  }
  if (row.names_vary && !CheckDistinct(mapping, row, pending)) return Outcome::kRefused;
  if (mapping.merges_inputs) {
    if (!MakeStates(row, event, pending)) return Outcome::kRefused;
    const PendingRow whole = pending;
    rows_.pop_back();
    AddByCellTime(row, whole);
  }
  return Outcome::kRendered;
}

// Of an aggregate table: the values are inputs, and become states.
bool RowRenderer::MakeStates(const RowMapping& row, const Event& event, const PendingRow& pending) {
  for (size_t i = 0; i < pending.value_count; ++i) {
    Value* const value = &values_[pending.first_value + i];
    if (value->is_null()) continue;
    if (!MakeState(row.cells[i], event, *pending.mapping, value)) return false;
  }
  return true;
}

bool RowRenderer::MakeState(const CellMapping& cell, const Event& event,
                            const TableMapping& mapping, Value* value) {
  const Family& family = mapping.info->families[cell.family].rules;
  Result<Value> state = StateOfInput(*family.aggregate, *value, &text_, mapping.most_added);
  if (!state) {
    const std::string_view field = cell.kind == CellMapping::Kind::kField
                                       ? std::string_view(event.shape->fields[cell.field])
                                       : cell.by.field;
    return Refuse(field, fmt::format("{}family {} of {}: {}",
                                     field.empty() ? "" : fmt::format("field \"{}\": ", field),
                                     family.name, mapping.table->name, state.error().message()));
  }
  *value = state->type() == ValueType::kBytes ? Value::Bytes(arena_.Copy(state->AsView())) : *state;
  return true;
}

// A row for each of the times that the families' buckets give the cells.
void RowRenderer::AddByCellTime(const RowMapping& row, const PendingRow& pending) {
  const auto time_of = [&](const CellMapping& cell) {
    return CellTime(pending.mapping->info->families[cell.family].rules, pending.time);
  };
  times_.clear();
  for (const CellMapping& cell : row.cells) {
    const TimeUs time = time_of(cell);
    if (std::ranges::count(times_, time) == 0) times_.push_back(time);
  }
  for (const TimeUs time : times_) {
    PendingRow part = pending;
    part.time = time;
    part.first_value = values_.size();
    bool any = false;
    for (size_t i = 0; i < row.cells.size(); ++i) {
      const Value value = values_[pending.first_value + i];
      values_.push_back(time_of(row.cells[i]) == time ? value : Value());
      any = any || !values_.back().is_null();
    }
    if (any) rows_.push_back(part);
  }
}

// Straight to where it stays, as most keys can be. False: RenderKey is to be asked.
bool RowRenderer::WriteKey(const RowMapping& row, const Event& event, TimeUs time,
                           std::string_view* key) {
  if (row.plain_key_room == 0) return false;
  char* const begin = arena_.Reserve(row.plain_key_room);
  char* to = begin;
  size_t stem_size = std::string::npos;
  const size_t shared = SharedParts(row, time);
  if (shared > 0) {
    const size_t size = written_.ends[shared - 1];
    std::memcpy(to, written_.text, size);
    to += size;
    if (written_.stem_size < size) stem_size = written_.stem_size;
  }
  written_.number = WrittenKey::kNone;
  for (size_t i = shared; i < row.key.size(); ++i) {
    const Segment* const segment = SegmentOf(row.key[i]);
    if (segment != nullptr && segment->ends_stem()) {
      stem_size = std::min(stem_size, static_cast<size_t>(to - begin));
    }
    to = WritePart(row.key[i], event, time, to);
    if (to == nullptr) return false;
    if (i < kMaxSharedParts) written_.ends[i] = static_cast<uint32_t>(to - begin);
  }
  written_.number = row.number;
  written_.time = time;
  written_.text = begin;
  written_.stem_size = stem_size;
  if (to == begin) return false;
  *key = arena_.Keep(to);
  stem_size_ = std::min(stem_size, key->size());
  return true;
}

// Returns the end of the labels' text; null: one is not written as it is, or is long.
char* RowRenderer::WriteLabels(const LabelsPart& part, const Event& event, char* to) {
  const LabelStops stops{part.segment->stop};
  const char* const begin = to;
  for (const LabelsPart::OfField& label : part.labels) {
    const Value& value = event.values[label.field];
    if (value.is_null()) continue;
    if (value.type() != ValueType::kString) return nullptr;
    const std::string_view text = value.AsView();
    if (text.size() > kPlainLabelBytes || NeedsEscape(text, stops)) return nullptr;
    if (to != begin) *to++ = ',';
    std::memcpy(to, label.head.data(), label.head.size());
    to += label.head.size();
    if (!text.empty()) std::memcpy(to, text.data(), text.size());
    to += text.size();
  }
  return to;
}

void RowRenderer::AppendLabelsOf(const LabelsPart& part, const Event& event) {
  const size_t begin = text_.size();
  for (const LabelsPart::OfField& label : part.labels) {
    const Value& value = event.values[label.field];
    if (value.is_null()) continue;
    if (text_.size() != begin) text_.push_back(',');
    text_ += label.head;
    const size_t start = text_.size();
    AppendText(value, &text_);
    EscapeTail(start, LabelStops{part.segment->stop}, &text_);
  }
}

// Returns the end of the part's text; null: RenderKey is to be asked.
char* RowRenderer::WritePart(const TextPart& part, const Event& event, TimeUs time, char* to) {
  if (const auto* text = std::get_if<std::string>(&part)) {
    for (const char c : *text) *to++ = c;
    return to;
  }
  if (const auto* field = std::get_if<FieldPart>(&part)) {
    return WritePlain(*field->segment, event.values[field->field], TemplateUse::kKey, to);
  }
  if (const auto* labels = std::get_if<LabelsPart>(&part)) return WriteLabels(*labels, event, to);
  const Segment& segment = *std::get<TimePart>(part).segment;
  if (const std::string* known = FindTimeText(segment, time)) {
    return std::ranges::copy(*known, to).out;
  }
  if (segment.spec.info().is_calendar) return nullptr;
  WriteTimeDigits(segment.spec, time, to);
  return to + FixedWidth(segment.spec);
}

// How many first parts of the key the one that was written last begins with.
size_t RowRenderer::SharedParts(const RowMapping& row, TimeUs time) const {
  if (written_.number + 1 != row.number) return 0;
  return time == written_.time ? row.shared.parts_at_one_time : row.shared.parts;
}

// Leaves the key in text_, and the size of its stem in stem_size_.
bool RowRenderer::RenderKey(const TableMapping& mapping, const RowMapping& row, const Event& event,
                            const TableTime& time) {
  stem_size_ = std::string::npos;
  if (!RenderText(row.key, TemplateUse::kKey, event, time)) return false;
  stem_size_ = std::min(stem_size_, text_.size());
  if (text_.empty()) {
    return Refuse({}, fmt::format("its row key in {} would be empty: it has no label, and "
                                  "{{labels}} is all of the key",
                                  mapping.table->name));
  }
  if (text_.size() > kMaxRowKeyBytes) {
    return Refuse({}, fmt::format("its row key in {} would have {} bytes; at most {} are stored",
                                  mapping.table->name, text_.size(), kMaxRowKeyBytes));
  }
  return true;
}

bool RowRenderer::RenderCell(const TableMapping& mapping, const CellMapping& cell,
                             const Event& event, const TableTime& time) {
  switch (cell.kind) {
    case CellMapping::Kind::kField:
      values_.push_back(event.values[cell.field]);
      break;
    case CellMapping::Kind::kText:
      if (!RenderText(cell.text.parts, TemplateUse::kValue, event, time)) return false;
      values_.push_back(Value::String(arena_.Copy(text_)));
      break;
    case CellMapping::Kind::kBlob:
      RenderBlob(cell, event);
      break;
  }
  const Value& value = values_.back();
  if (value.type() >= ValueType::kString && value.AsView().size() > kMaxValueBytes) {
    return Refuse({}, fmt::format("a value in {} would have {} bytes; at most {} are stored",
                                  mapping.table->name, value.AsView().size(), kMaxValueBytes));
  }
  if (cell.name.is_constant()) {
    columns_.push_back({cell.family, cell.name.constant()});
    return true;
  }
  if (!RenderText(cell.name.parts, TemplateUse::kValue, event, time)) return false;
  if (text_.size() > kMaxQualifierBytes) {
    return Refuse({},
                  fmt::format("a column's name in {} would have {} bytes; at most {} are stored",
                              mapping.table->name, text_.size(), kMaxQualifierBytes));
  }
  for (const auto& [qualifier, owner] : cell.taken) {
    if (qualifier != text_) continue;
    return Refuse(cell.by.field,
                  OneColumn(owner, cell.by, *mapping.info, {cell.family, qualifier}));
  }
  columns_.push_back({cell.family, arena_.Copy(text_)});
  return true;
}

// Leaves the text in text_.
bool RowRenderer::RenderText(std::span<const TextPart> parts, TemplateUse use, const Event& event,
                             const TableTime& time) {
  text_.clear();
  for (const TextPart& part : parts) {
    const Segment* segment = nullptr;
    Value value;
    if (const auto* text = std::get_if<std::string>(&part)) {
      text_ += *text;
      continue;
    }
    if (const auto* labels = std::get_if<LabelsPart>(&part)) {
      AppendLabelsOf(*labels, event);
      continue;
    }
    if (const auto* field = std::get_if<FieldPart>(&part)) {
      segment = field->segment;
      value = event.values[field->field];
    } else if (const auto* name = std::get_if<NamePart>(&part)) {
      segment = name->segment;
      value = Value::String(name->name);
    } else {
      segment = std::get<TimePart>(part).segment;
    }
    if (segment->ends_stem()) stem_size_ = std::min(stem_size_, text_.size());
    if (segment->is_time) {
      AppendTimeText(*segment, time.t);
      continue;
    }
    const Status status = AppendPlaceholder(*segment, value, time, use, &text_);
    if (!status) return Refuse(segment->field, status.error().message());
  }
  return true;
}

void RowRenderer::AppendTimeText(const Segment& segment, TimeUs time) {
  const std::string* const known = FindTimeText(segment, time);
  if (known == nullptr) return AppendTimeSpec(segment.spec, time, &text_);
  text_ += *known;
}

// Null where the text hardly comes again.
const std::string* RowRenderer::FindTimeText(const Segment& segment, TimeUs time) {
  TimeText& known = time_texts_[PlaceOf(&segment, 0, kRemembered)];
  if (known.segment != &segment) {
    known.segment = &segment;
    known.step = TextStep(segment.spec);
    known.from = -1;
  }
  if (known.step < kUsPerSecond) return nullptr;
  if (known.from < 0 || time < known.from || time - known.from >= known.step) {
    known.from = time - time % known.step;
    known.text.clear();
    AppendTimeSpec(segment.spec, time, &known.text);
  }
  return &known.text;
}

// The row with constant names, where they hold the time alone and recur.
const RowMapping& RowRenderer::NamedRow(const RowMapping& row, TimeUs time) {
  if (row.timed == nullptr) return row;
  const int64_t period = time / row.timed->step();
  TimedRow& known = timed_rows_[PlaceOf(row.timed.get(), period, kRemembered)];
  if (known.rows != row.timed || known.period != period || known.row == nullptr) {
    known = {row.timed, period, row.timed->Find(time)};
  }
  return known.row == nullptr ? row : *known.row;
}

void RowRenderer::RenderBlob(const CellMapping& cell, const Event& event) {
  blob_.clear();
  for (const uint32_t field : cell.blob_fields) {
    blob_.push_back({event.shape->fields[field], event.values[field]});
  }
  text_.clear();
  EncodeBlob(cell.how, blob_, &text_);
  const std::string_view bytes = arena_.Copy(text_);
  values_.push_back(cell.how == Serialization::kJson ? Value::String(bytes) : Value::Bytes(bytes));
}

// Makes the cells of expired families absent. False: nothing is left.
bool RowRenderer::DropExpired(PendingRow* row) {
  bool any = false;
  for (size_t i = 0; i < row->value_count; ++i) {
    const FamilyId family =
        row->set != nullptr ? row->set->columns[i].family : columns_[row->first_column + i].family;
    if (std::ranges::count(expired_, family) > 0) {
      values_[row->first_value + i] = Value();
    }
    any = any || !values_[row->first_value + i].is_null();
  }
  return any;
}

// Names that hold values may turn out alike.
bool RowRenderer::CheckDistinct(const TableMapping& mapping, const RowMapping& row,
                                const PendingRow& pending) {
  const auto columns = std::span(columns_).subspan(pending.first_column, pending.value_count);
  const auto refuse = [&](size_t a, size_t b) {
    const ColumnWriter& by = row.cells[b].by;
    return Refuse(by.field, OneColumn(row.cells[a].by, by, *mapping.info, columns[a]));
  };
  if (columns.size() <= kFewColumns) {
    for (size_t i = 0; i < columns.size(); ++i) {
      for (size_t k = i + 1; k < columns.size(); ++k) {
        if (columns[i] == columns[k]) return refuse(i, k);
      }
    }
    return true;
  }
  order_.resize(columns.size());
  for (size_t i = 0; i < order_.size(); ++i) order_[i] = i;
  std::ranges::sort(order_, [&](size_t a, size_t b) {
    return std::tie(columns[a].family, columns[a].qualifier, a) <
           std::tie(columns[b].family, columns[b].qualifier, b);
  });
  for (size_t k = 0; k + 1 < order_.size(); ++k) {
    if (columns[order_[k]] == columns[order_[k + 1]]) return refuse(order_[k], order_[k + 1]);
  }
  return true;
}

bool RowRenderer::Refuse(std::string_view field, std::string detail) {
  refusal_ = {std::string(field), std::move(detail)};
  return false;
}

}  // namespace tallyd
