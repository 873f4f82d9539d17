#include "ingest/map/table_mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "config/escape/labels.h"
#include "config/schema/placeholder.h"
#include "config/schema/table_rules.h"
#include "ingest/map/read_back.h"
#include "ingest/map/timed_rows.h"

namespace tallyd {
namespace {

constexpr size_t kPlainKeyBytesMax = 2048;

size_t PlainRoomOf(const LabelsPart& part) {
  size_t room = 1;  // Of none, too.
  for (const LabelsPart::OfField& label : part.labels) {
    room += label.head.size() + kPlainLabelBytes + 1;
  }
  return room;
}

// RowMapping::plain_key_room.
uint32_t PlainRoomOf(std::span<const TextPart> key) {
  size_t room = 0;
  for (const TextPart& part : key) {
    size_t of_part = 0;
    if (const auto* text = std::get_if<std::string>(&part)) {
      of_part = text->size();
    } else if (const auto* field = std::get_if<FieldPart>(&part)) {
      of_part = PlainRoom(*field->segment);
    } else if (const auto* time = std::get_if<TimePart>(&part)) {
      const Spec& spec = time->segment->spec;
      const bool recurs = !spec.info().is_calendar || TextStep(spec) >= kUsPerSecond;
      of_part = time->segment->is_time && recurs ? FixedWidth(spec) : 0;
    } else if (const auto* labels = std::get_if<LabelsPart>(&part)) {
      of_part = PlainRoomOf(*labels);
    }
    if (of_part == 0) return 0;
    room += of_part;
  }
  return room <= kPlainKeyBytesMax ? static_cast<uint32_t>(room) : 0;
}

// The measured field, by its place in the shape; none in rules that run per event.
using Measured = std::optional<uint32_t>;

class Compiler {
 public:
  Compiler(const MappedTable& mapped, const Shape& shape, const LabelPlaces& labels, Store* store)
      : mapped_(mapped),
        table_(mapped.table),
        claims_(mapped.claims),
        shape_(shape),
        labels_(labels),
        store_(store) {
    mapping_.table = &mapped.table;
    mapping_.info = mapped.info;
    mapping_.is_wide = !KeepsNewest(mapped.table) && !mapped.table.row_key.has_full_time();
    mapping_.merges_inputs = MergesInputs(mapped.table);
    if (store != nullptr) mapping_.most_added = store->capabilities().most_added;
  }

  TableMapping Run() && {
    CompileRows();
    return std::move(mapping_);
  }

 private:
  void CompileRows();
  void CompileRow(Measured measured);
  bool CompileRule(const ColumnRule& rule, Measured measured,
                   std::vector<CellMapping>* cells) const;
  std::optional<CellMapping> CompileCell(const ColumnRule& rule, Measured measured) const;
  std::optional<CellMapping> CompileBlob(const ColumnRule& rule, Measured measured) const;
  std::optional<TextMapping> CompileText(const std::vector<Segment>& segments, Measured measured,
                                         std::string_view field_name) const;
  std::optional<TextMapping> CompileName(const ColumnRule& rule, Measured measured) const;
  bool IsInKeyAsLabel(uint32_t field) const;
  bool Takes(const ColumnRule& rule, uint32_t field) const;
  LabelsPart CompileLabels(const Segment& segment) const;
  bool CompileKey(Measured measured, RowMapping* row);
  bool CheckNames(std::vector<CellMapping>* cells);
  bool CheckTaken(CellMapping* cell);
  void FindMisread(RowMapping* row) const;
  void CollectMaxAges();
  void Refuse(std::string_view field, std::string why);

  const MappedTable& mapped_;
  const Table& table_;
  const ColumnClaims& claims_;
  const Shape& shape_;
  const LabelPlaces& labels_;
  Store* const store_;
  TableMapping mapping_;
};

template <class Parts>
void AppendConstant(std::string_view text, Parts* parts) {
  std::string* const before = parts->empty() ? nullptr : std::get_if<std::string>(&parts->back());
  if (before != nullptr) {
    *before += text;
  } else {
    parts->emplace_back(std::string(text));
  }
}

void Compiler::CompileRows() {
  for (const std::string& field : table_.when) {
    if (!shape_.Find(field)) {
      mapping_.stays_out = fmt::format("it needs field \"{}\"", field);
      return;
    }
  }
  mapping_.time_value = shape_.Find(table_.time_field);
  if (table_.row_key.names_measured_field()) {
    for (uint32_t i = 0; i < shape_.fields.size(); ++i) CompileRow(i);
  } else {
    CompileRow({});
  }
  if (mapping_.rows.empty() && !mapping_.refused) {
    mapping_.stays_out = "no column rule finds a value";
  }
  CollectMaxAges();
}

// `measured`: the field of the row, where the row key names {field}.
void Compiler::CompileRow(Measured measured) {
  RowMapping row;
  bool found = false;
  for (const ColumnRule& rule : table_.columns) found |= CompileRule(rule, measured, &row.cells);
  if (!found) return;
  if (!CompileKey(measured, &row) || !CheckNames(&row.cells)) return;
  if (!mapped_.doubtful_rules.empty()) FindMisread(&row);
  row.plain_key_room = PlainRoomOf(row.key);
  row.names_vary =
      std::ranges::any_of(row.cells, [](const CellMapping& c) { return !c.name.is_constant(); });
  if (row.names_vary) {
    // Of the rows by time nobody looks at one cell after the other.
    const bool is_doubtful = std::ranges::any_of(row.cells, &CellMapping::is_doubtful);
    if (store_ != nullptr && !is_doubtful) row.timed = TimedRows::Make(mapped_, row, store_);
  } else if (store_ != nullptr) {
    InternColumns(*mapping_.info, mapping_.merges_inputs, store_, &row);
  }
  mapping_.rows.push_back(std::move(row));
}

// Where the fields alone tell, it is told once for all events of the shape.
void Compiler::FindMisread(RowMapping* row) const {
  for (CellMapping& cell : row->cells) {
    if (!mapped_.doubtful_rules.contains(cell.by.rule)) continue;
    const bool is_told = cell.name.is_constant() && cell.kind == CellMapping::Kind::kField;
    if (!is_told) {
      cell.is_doubtful = true;
    } else if (!ReadsBack(table_, *mapping_.info,
                          {cell, shape_.fields, {}, cell.name.constant(), nullptr})) {
      row->is_misread = true;
    }
  }
}

// Whether the rule found something to store.
bool Compiler::CompileRule(const ColumnRule& rule, Measured measured,
                           std::vector<CellMapping>* cells) const {
  const size_t before = cells->size();
  auto add = [&](std::optional<CellMapping> cell, std::string_view field = {}) {
    if (!cell) return;
    cell->by = {static_cast<size_t>(&rule - table_.columns.data()), field};
    cells->push_back(std::move(*cell));
  };
  if (rule.serialize != Serialization::kNone) {
    add(CompileBlob(rule, measured));
  } else if (!rule.per_field) {
    add(CompileCell(rule, {}));
  } else {
    const uint32_t begin = measured.value_or(0);
    const auto end = measured ? *measured + 1 : static_cast<uint32_t>(shape_.fields.size());
    for (uint32_t i = begin; i < end; ++i) {
      if (Takes(rule, i)) add(CompileCell(rule, i), shape_.fields[i]);
    }
  }
  return cells->size() > before;
}

// Empty if the rule names a field that the event lacks.
std::optional<CellMapping> Compiler::CompileCell(const ColumnRule& rule, Measured measured) const {
  CellMapping cell;
  cell.family = *mapping_.info->FindFamily(rule.family);
  std::optional<TextMapping> name = CompileName(rule, measured);
  const std::string_view field_name =
      measured ? std::string_view(shape_.fields[*measured]) : std::string_view();
  std::optional<TextMapping> text = CompileText(rule.value.segments(), measured, field_name);
  if (!name || !text) return std::nullopt;
  cell.name = std::move(*name);
  const FieldPart* const only =
      text->parts.size() == 1 ? std::get_if<FieldPart>(&text->parts[0]) : nullptr;
  if (only != nullptr && only->segment->spec.info().is_as_is) {
    cell.kind = CellMapping::Kind::kField;
    cell.field = only->field;
  } else {
    cell.kind = CellMapping::Kind::kText;
    cell.text = std::move(*text);
  }
  return cell;
}

std::optional<CellMapping> Compiler::CompileBlob(const ColumnRule& rule, Measured measured) const {
  CellMapping cell;
  cell.family = *mapping_.info->FindFamily(rule.family);
  cell.kind = CellMapping::Kind::kBlob;
  cell.how = rule.serialize;
  AppendConstant(rule.name.text(), &cell.name.parts);
  for (uint32_t i = 0; i < shape_.fields.size(); ++i) {
    const bool here = !measured || *measured == i;
    if (here && Takes(rule, i)) cell.blob_fields.push_back(i);
  }
  if (cell.blob_fields.empty()) return std::nullopt;
  return cell;
}

std::optional<TextMapping> Compiler::CompileName(const ColumnRule& rule, Measured measured) const {
  if (!measured) return CompileText(rule.name.segments(), measured, {});
  const std::string& field = shape_.fields[*measured];
  if (const std::string* renamed = RenamedTo(rule, field)) return TextMapping{{*renamed}};
  return CompileText(rule.name.segments(), measured, NameInRule(rule, field));
}

std::optional<TextMapping> Compiler::CompileText(const std::vector<Segment>& segments,
                                                 Measured measured,
                                                 std::string_view field_name) const {
  TextMapping mapping;
  for (const Segment& segment : segments) {
    const bool is_measured = measured && segment.field == kValuePlaceholder;
    if (segment.is_literal()) {
      AppendConstant(segment.literal, &mapping.parts);
    } else if (measured && segment.field == kFieldPlaceholder) {
      if (segment.spec.info().is_as_is) {
        AppendConstant(field_name, &mapping.parts);
      } else {
        mapping.parts.emplace_back(NamePart{&segment, std::string(field_name)});
      }
    } else if (segment.is_time || (segment.of_time_field && segment.is_salt())) {
      mapping.parts.emplace_back(TimePart{&segment});
    } else if (const Measured field = is_measured ? measured : shape_.Find(segment.field)) {
      mapping.parts.emplace_back(FieldPart{&segment, *field});
    } else {
      return std::nullopt;
    }
  }
  return mapping;
}

// Whether the event has the field as a label that stands in {labels}.
bool Compiler::IsInKeyAsLabel(uint32_t field) const {
  return std::ranges::binary_search(labels_, field) &&
         table_.row_key.HoldsAsLabel(shape_.fields[field]);
}

bool Compiler::Takes(const ColumnRule& rule, uint32_t field) const {
  const std::string& name = shape_.fields[field];
  return IsInKeyAsLabel(field) ? RuleTakesByName(rule, name) : RuleTakes(table_, rule, name);
}

LabelsPart Compiler::CompileLabels(const Segment& segment) const {
  LabelsPart part{&segment, {}};
  LabelPlaces places;
  for (const uint32_t field : labels_) {
    if (IsInKeyAsLabel(field)) places.push_back(field);
  }
  const auto name_of = [&](uint32_t field) { return std::string_view(shape_.fields[field]); };
  std::ranges::sort(places, {}, name_of);
  for (const uint32_t field : places) {
    part.labels.push_back({LabelHead(shape_.fields[field], segment.stop), field});
  }
  return part;
}

bool Compiler::CompileKey(Measured measured, RowMapping* row) {
  auto* const parts = &row->key;
  for (const Segment& segment : table_.row_key.segments()) {
    const Measured field = shape_.Find(segment.field);
    if (segment.is_literal()) {
      AppendConstant(segment.literal, parts);
    } else if (segment.is_labels) {
      parts->emplace_back(CompileLabels(segment));
    } else if (measured && segment.field == kFieldPlaceholder) {
      parts->emplace_back(NamePart{&segment, shape_.fields[*measured]});
    } else if (segment.of_time_field && (segment.is_time || segment.is_salt() || !field)) {
      parts->emplace_back(TimePart{&segment});
    } else if (field) {
      parts->emplace_back(FieldPart{&segment, *field});
    } else {
      Refuse(segment.field, fmt::format("field \"{}\": missing, and the row key of {} needs it",
                                        segment.field, table_.name));
      return false;
    }
  }
  return true;
}

// One of two cells for one column would be lost, and so would be a cell in another field's column:
// it would come back as that field.
bool Compiler::CheckNames(std::vector<CellMapping>* cells) {
  std::map<std::pair<FamilyId, std::string_view>, ColumnWriter> writers;
  for (CellMapping& cell : *cells) {
    if (!CheckTaken(&cell)) return false;
    if (!cell.name.is_constant()) continue;
    const ColumnRef column{cell.family, cell.name.constant()};
    if (column.qualifier.size() > kMaxQualifierBytes) {
      Refuse({}, fmt::format("its column in {} would have a name longer than {} bytes", table_.name,
                             kMaxQualifierBytes));
      return false;
    }
    const auto [first, added] = writers.try_emplace({column.family, column.qualifier}, cell.by);
    if (added) continue;
    Refuse(cell.by.field, OneColumn(first->second, cell.by, *mapping_.info, column));
    return false;
  }
  return true;
}

bool Compiler::CheckTaken(CellMapping* cell) {
  const std::string& family = mapping_.info->families[cell->family].name;
  if (!cell->name.is_constant()) {
    std::vector<KeyField> parts;
    for (const auto& [qualifier, owner] : claims_.ColumnsOf(family)) {
      const ColumnRule& rule = table_.columns[cell->by.rule];
      if (claims_.Allows(family, qualifier, cell->by)) continue;
      if (rule.name.Match(qualifier, &parts)) cell->taken.emplace_back(qualifier, owner);
    }
    return true;
  }
  const std::string_view qualifier = cell->name.constant();
  if (claims_.Allows(family, qualifier, cell->by)) return true;
  const ColumnWriter& owner = *claims_.Find(family, qualifier);
  Refuse(cell->by.field, OneColumn(owner, cell->by, *mapping_.info, {cell->family, qualifier}));
  return false;
}

void Compiler::Refuse(std::string_view field, std::string why) {
  if (!mapping_.refused) mapping_.refused = Refusal{std::string(field), std::move(why)};
}

void Compiler::CollectMaxAges() {
  for (FamilyId id = 0; id < mapping_.info->families.size(); ++id) {
    const Family* family = table_.FindFamily(mapping_.info->families[id].name);
    const auto age = family == nullptr ? std::nullopt : AgeAlone(*family);
    if (age) mapping_.max_ages.emplace_back(id, *age);
  }
}

}  // namespace

std::string OneColumn(const ColumnWriter& a, const ColumnWriter& b, const TableInfo& table,
                      const ColumnRef& column) {
  return fmt::format("{} fall on one column, {}:{} of {}", BothOf(a, b),
                     table.families[column.family].name, column.qualifier, table.name);
}

void InternColumns(const TableInfo& table, bool merges_inputs, Store* store, RowMapping* row) {
  std::vector<ColumnRef> columns;
  for (const CellMapping& cell : row->cells) {
    columns.push_back({cell.family, cell.name.constant()});
  }
  row->set = store->InternColumns(table, columns);
  if (row->set == nullptr) return;
  std::map<std::pair<FamilyId, std::string_view>, CellMapping*> by_column;
  for (CellMapping& cell : row->cells) by_column[{cell.family, cell.name.constant()}] = &cell;
  std::vector<CellMapping> ordered;
  bool all_fields = true;
  for (const Column& column : row->set->columns) {
    CellMapping& cell = *by_column.at({column.family, column.qualifier});
    all_fields &= cell.kind == CellMapping::Kind::kField;
    ordered.push_back(std::move(cell));
  }
  row->cells = std::move(ordered);
  // Inputs of aggregates are looked at one by one.
  if (!all_fields || merges_inputs) return;
  for (const CellMapping& cell : row->cells) row->gather.push_back(cell.field);
  row->cells = {};
}

// By field of the shape: whether its value is part of what the table stores.
std::vector<bool> KeptFields(const TableMapping& mapping, size_t fields) {
  std::vector<bool> kept(fields);
  const auto add = [&](size_t field) {
    if (field < fields) kept[field] = true;
  };
  const auto add_text = [&](std::span<const TextPart> parts) {
    for (const TextPart& part : parts) {
      if (const auto* value = std::get_if<FieldPart>(&part)) add(value->field);
      if (const auto* labels = std::get_if<LabelsPart>(&part)) {
        for (const LabelsPart::OfField& label : labels->labels) add(label.field);
      }
    }
  };
  const auto add_all = [&](const auto& numbers) {
    for (const auto number : numbers) add(number);
  };
  for (const RowMapping& row : mapping.rows) {
    add_text(row.key);
    add_all(row.gather);
    for (const CellMapping& cell : row.cells) {
      add_text(cell.name.parts);
      if (cell.kind == CellMapping::Kind::kField) add(cell.field);
      if (cell.kind == CellMapping::Kind::kText) add_text(cell.text.parts);
      add_all(cell.blob_fields);
    }
  }
  return kept;
}

TableMapping CompileTableMapping(const MappedTable& table, const Shape& shape,
                                 const LabelPlaces& labels, Store* store) {
  return Compiler(table, shape, labels, store).Run();
}

}  // namespace tallyd
