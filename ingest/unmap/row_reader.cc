#include "ingest/unmap/row_reader.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "config/schema/table_rules.h"
#include "config/values/glob.h"
#include "ingest/blob/blob.h"
#include "ingest/unmap/column_reader.h"
#include "ingest/unmap/fragment_builder.h"

namespace tallyd {
namespace {

using Measured = ColumnMeaning::Measured;

// Entities compare as the keys do that they are read from: shorter values come first, zeros count.
// A zero byte is followed by 255, the end of a value by 1, which keeps values apart.
void AppendEntityText(std::string_view text, std::string* out) {
  for (const char c : text) {
    out->push_back(c);
    if (c == '\0') out->push_back('\xff');
  }
}

void AppendEntityPart(const Segment& segment, const Value& value, std::string* out) {
  const std::string text = ToText(value);
  const bool has_zeros = segment.spec.info().padding == Padding::kZerosBefore;
  if (has_zeros && text.size() < segment.spec.n) {
    out->append(segment.spec.n - text.size(), '0');
  }
  AppendEntityText(text, out);
  out->append("\0\1", 2);
}

// Labels stand in the key in order of their names. `raw` holds no '='.
void AppendLabelPart(const KeyField& part, std::string* out) {
  AppendEntityText(part.label, out);
  out->push_back('=');
  out->append(part.raw).append("\0\1", 2);
}

}  // namespace

uint32_t FieldTable::Add(std::string_view name) {
  if (const auto found = ids_.find(name); found != ids_.end()) return found->second;
  const auto id = static_cast<uint32_t>(names_.size());
  names_.emplace_back(name);
  ids_.emplace(std::string(name), id);
  return id;
}

int FieldTable::Find(std::string_view name) const {
  const auto found = ids_.find(name);
  return found == ids_.end() ? -1 : static_cast<int>(found->second);
}

// Values of one type are spelt alike only if they are equal.
bool SaysOtherwise(const Value& a, const Value& b) {
  return a != b && (a.type() == b.type() || ToText(a) != ToText(b));
}

struct RowReader::Impl {
  Impl(const Table& table_in, TablePtr stored, const std::vector<std::string>& stream_fields,
       FieldTable* fields_in)
      : table(table_in),
        fields(fields_in),
        columns(table_in, std::move(stored), stream_fields, fields_in),
        builder(*fields_in) {
    for (const Segment& segment : table.row_key.segments()) {
      const bool holds = KeyHolds(table, segment.field) && GivesBackInKey(segment);
      key_ids.push_back(holds ? static_cast<int32_t>(fields->Add(segment.field)) : -1);
    }
    runs_are_safe = std::ranges::none_of(table.row_key.segments(), [](const Segment& segment) {
      return std::ranges::any_of(segment.literal, [](char c) { return c >= '0' && c <= '9'; });
    });
  }

  bool ReadKey(std::string_view key);
  uint32_t LabelField(std::string_view name, size_t label);
  void ReadCell(const ReadColumn& column, const CellView& cell);
  void ReadTemplate(const ReadColumn& column, const Value& value);
  void ReadBlob(const ColumnRule& rule, const Value& value);
  void AddPiece(uint32_t field, const Value& value, bool typed);
  bool IsPlain(const ReadSet& set);
  void ReadPlainPart(std::span<const CellView> cells, const ReadSet& set);

  const Table& table;
  FieldTable* const fields;
  ColumnReader columns;
  FragmentBuilder builder;
  bool runs_are_safe = false;  // No digit of a time in a key can be taken for a literal.
  std::string run_entity;
  bool bare_events = true;  // A part that tells nothing but its key is an event, too.

  std::vector<int32_t> key_ids;  // Per segment of the key: its field, -1 if it holds none.
  std::string key_scratch;
  std::vector<KeyField> key_parts;
  std::vector<EventField> key_fields;
  LabelSpan labels;  // Of key_fields.
  // Of the labels of the last key, in their order: keys that follow mostly have the same.
  std::vector<std::pair<std::string, uint32_t>> label_fields;
  std::string entity;
  bool measured_selected = false;  // Whether the field that {field} in the key says is ...
  uint32_t measured_field = 0;     // ... and which it is.

  const ReadSet* plain_set = nullptr;  // The last that was found to be plain.
  ReadColumn unremembered;
  std::vector<Piece> pieces;  // Of one cell.
  std::vector<KeyField> matched;
  std::vector<BlobField> blob;
  std::vector<std::pair<std::string, int32_t>> blob_names;  // Of the last blob; -1: not selected.
  std::deque<std::string> blob_scratch;                     // Of the row.
};

bool RowReader::Impl::ReadKey(std::string_view key) {
  blob_scratch.clear();
  if (!table.row_key.ReadBack(key, &key_scratch, &key_parts)) return false;
  key_fields.clear();
  entity.clear();
  labels = {};
  for (const KeyField& part : key_parts) {
    const Segment& segment = table.row_key.segments()[part.segment];
    if (!part.label.empty()) {
      if (labels.count == 0) labels.first = key_fields.size();
      key_fields.push_back({LabelField(part.label, labels.count++), part.value});
      AppendLabelPart(part, &entity);
      continue;
    }
    if (segment.field == kFieldPlaceholder) {
      if (part.value.is_null()) continue;
      const std::string name = ToText(part.value);
      measured_selected = columns.Selected(name);
      if (measured_selected) measured_field = fields->Add(name);
      continue;
    }
    const int32_t id = key_ids[part.segment];
    if (id < 0 || part.value.is_null()) continue;
    const auto field = static_cast<uint32_t>(id);
    if (std::ranges::count(key_fields, field, &EventField::field) > 0) continue;
    key_fields.push_back({field, part.value});
    AppendEntityPart(segment, part.value, &entity);
  }
  return true;
}

uint32_t RowReader::Impl::LabelField(std::string_view name, size_t label) {
  if (label == label_fields.size()) label_fields.emplace_back();
  auto& [known, field] = label_fields[label];
  if (known != name) {
    known = name;
    field = fields->Add(name);
    plain_set = nullptr;
  }
  return field;
}

// Whether no field of the set is the key's, either.
bool RowReader::Impl::IsPlain(const ReadSet& set) {
  if (!set.is_plain) return false;
  if (&set == plain_set) return true;
  const bool in_key = std::ranges::any_of(set.direct, [&](int32_t field) {
    if (field < 0) return false;
    const auto is_it = [field](const auto& label) {
      return label.second == static_cast<uint32_t>(field);
    };
    return std::ranges::count(key_ids, field) > 0 || std::ranges::any_of(label_fields, is_it);
  });
  if (!in_key) plain_set = &set;
  return !in_key;
}

void RowReader::Impl::ReadPlainPart(std::span<const CellView> cells, const ReadSet& set) {
  std::vector<EventField>& fields_of_event = builder.AddFragment();
  const size_t key_size = fields_of_event.size();
  fields_of_event.resize(key_size + cells.size());
  EventField* to = fields_of_event.data() + key_size;
  bool told = false;
  for (const CellView& cell : cells) {
    const int32_t field = set.direct[cell.set_index];
    if (field < 0) {
      told = told || set.columns[cell.set_index].rule != nullptr;
      continue;
    }
    to->field = static_cast<uint32_t>(field);
    to->value = cell.value;
    ++to;
  }
  const auto size = static_cast<size_t>(to - fields_of_event.data());
  fields_of_event.resize(size);
  if (size == key_size && !(told && bare_events)) builder.DropFragment();
}

void RowReader::Impl::AddPiece(uint32_t field, const Value& value, bool typed) {
  for (Piece& piece : pieces) {
    if (piece.field != field) continue;
    if (typed) piece = {field, value, typed};
    return;
  }
  pieces.push_back({field, value, typed});
}

void RowReader::Impl::ReadCell(const ReadColumn& column, const CellView& cell) {
  const Value& value = cell.value;
  pieces.clear();
  for (const EventField& named : column.named) AddPiece(named.field, named.value, false);
  const bool from_key = column.measured == Measured::kFromKey;
  const bool selected = from_key ? measured_selected : column.measured_selected;
  const uint32_t field = from_key ? measured_field : column.measured_field;
  if (column.value_in_name && selected) AddPiece(field, column.name_value, false);
  switch (column.as) {
    case ReadColumn::As::kNothing:
      break;
    case ReadColumn::As::kMeasured:
      if (selected) AddPiece(field, value, true);
      break;
    case ReadColumn::As::kField:
      if (column.whole_selected) AddPiece(column.whole_field, value, true);
      break;
    case ReadColumn::As::kTemplate:
      ReadTemplate(column, value);
      break;
    case ReadColumn::As::kBlob:
      ReadBlob(*column.rule, value);
      break;
  }
  if (pieces.empty()) return;
  if (column.is_event) return builder.AddEvent(cell.column, pieces);
  builder.Add(pieces);
}

void RowReader::Impl::ReadTemplate(const ReadColumn& column, const Value& value) {
  const ColumnRule& rule = *column.rule;
  if (value.type() != ValueType::kString || !rule.value.Match(value.AsView(), &matched)) return;
  const bool from_key = column.measured == Measured::kFromKey;
  bool selected = from_key ? measured_selected : column.measured_selected;
  uint32_t field = from_key ? measured_field : column.measured_field;
  const KeyField* measured = nullptr;
  for (const KeyField& part : matched) {
    const std::string& name = rule.value.segments()[part.segment].field;
    if (part.value.is_null()) continue;
    if (rule.per_field && name == kValuePlaceholder) {
      measured = &part;
    } else if (rule.per_field && name == kFieldPlaceholder) {
      if (column.measured != Measured::kFromValue) continue;
      const std::string told = ToText(part.value);
      selected = columns.Selected(told);
      if (selected) field = fields->Add(told);
    } else if (columns.Selected(name)) {
      AddPiece(fields->Add(name), part.value, false);
    }
  }
  if (!selected) return;
  if (measured != nullptr) AddPiece(field, measured->value, false);
  if (column.value_in_name && column.measured == Measured::kFromValue) {
    AddPiece(field, column.name_value, false);
  }
}

void RowReader::Impl::ReadBlob(const ColumnRule& rule, const Value& value) {
  if (value.type() != ValueType::kString && value.type() != ValueType::kBytes) return;
  blob.clear();
  if (!DecodeBlob(rule.serialize, value.AsView(), &blob_scratch.emplace_back(), &blob)) return;
  if (blob_names.size() < blob.size()) blob_names.resize(blob.size(), {std::string(), -1});
  for (size_t i = 0; i < blob.size(); ++i) {
    auto& [name, id] = blob_names[i];  // Blobs of one stream mostly repeat their names.
    if (name != blob[i].name) {
      name = blob[i].name;
      id = columns.Selected(name) ? static_cast<int32_t>(fields->Add(name)) : -1;
    }
    if (id >= 0 && !blob[i].value.is_null()) {
      pieces.push_back({static_cast<uint32_t>(id), blob[i].value, true});
    }
  }
}

RowReader::RowReader(const Table& table, TablePtr stored,
                     const std::vector<std::string>& stream_fields, FieldTable* fields)
    : impl_(std::make_unique<Impl>(table, std::move(stored), stream_fields, fields)) {}
RowReader::~RowReader() = default;

void RowReader::SelectFields(const std::vector<std::string>& globs, bool wants_labels) {
  Impl& impl = *impl_;
  impl.columns.Select(globs);
  impl.plain_set = nullptr;
  impl.blob_names.clear();
  auto asked_for = [&globs](const std::string& field) {
    return std::ranges::any_of(
        globs, [&field](const std::string& glob) { return GlobMatches(glob, field); });
  };
  impl.bare_events =
      globs.empty() || wants_labels ||
      std::ranges::any_of(impl.table.row_key.entity_fields(), asked_for);
}

std::vector<ColumnPattern> RowReader::Columns() const {
  if (impl_->bare_events) return {};
  return PatternsOf(impl_->table, impl_->columns.stream_fields(), impl_->columns.globs());
}

std::vector<ColumnPattern> RowReader::MeasuredColumns() const {
  if (impl_->columns.globs().empty()) return {};
  return PatternsOf(impl_->table, impl_->columns.stream_fields(), impl_->columns.globs());
}

bool RowReader::BeginRow(const Row& row) {
  if (!impl_->ReadKey(row.key)) {
    ++unreadable_rows_;
    return false;
  }
  impl_->builder.BeginRow(row.key, impl_->key_fields, impl_->labels, impl_->entity);
  return true;
}

// The keys between have the first one's bytes but for the digits of their time, which come in
// order: where the first and the last tell the same, all do.
bool RowReader::BeginRun(const ColumnRun& run) {
  Impl& impl = *impl_;
  if (!impl.runs_are_safe || impl.table.row_key.names_measured_field()) return false;
  if (!impl.ReadKey(run.last_key)) return false;
  impl.run_entity = impl.entity;
  return impl.ReadKey(run.first_key) && impl.entity == impl.run_entity;
}

const std::vector<EventField>& RowReader::key_fields() const { return impl_->key_fields; }

int32_t RowReader::FieldOf(const ColumnRef& column) {
  static_assert(kNoField == ReadSet::kSkip && kNotPlain == ReadSet::kGeneral);
  return ColumnReader::Direct(impl_->columns.Find(column, &impl_->unremembered));
}

void RowReader::ReadPart(const Row& row, const RowPart& part, std::vector<EventFragment>* out,
                         size_t* count) {
  Impl& impl = *impl_;
  const ReadSet* set = part.set == nullptr ? nullptr : &impl.columns.Find(*part.set);
  impl.builder.BeginPart(part.time, out, count);
  if (set != nullptr && impl.IsPlain(*set)) return impl.ReadPlainPart(row.CellsOf(part), *set);
  bool told = false;  // Whether a rule made one of the cells.
  for (const CellView& cell : row.CellsOf(part)) {
    if (set != nullptr) {
      const int32_t direct = set->direct[cell.set_index];
      if (direct >= 0) [[likely]] {
        impl.builder.AddField(static_cast<uint32_t>(direct), cell.value);
        continue;
      }
      const ReadColumn& column = set->columns[cell.set_index];
      told |= column.rule != nullptr;
      if (direct == ReadSet::kGeneral) impl.ReadCell(column, cell);
    } else {
      const ReadColumn& column = impl.columns.Find(cell.column, &impl.unremembered);
      told |= column.rule != nullptr;
      if (column.rule != nullptr) impl.ReadCell(column, cell);
    }
  }
  if (told && impl.bare_events) impl.builder.AddBare();
}

}  // namespace tallyd
