#include "ingest/table_mapping.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "config/table_rules.h"

namespace tallyd {
namespace {

class Compiler {
 public:
  Compiler(const MappedTable& mapped, const Shape& shape, Store* store)
      : table_(mapped.table), claims_(mapped.claims), shape_(shape), store_(store) {
    plan_.table = &mapped.table;
    plan_.info = mapped.info;
  }

  TableMapping Run() && {
    CompileRows();
    return std::move(plan_);
  }

 private:
  void CompileRows();
  void CompileRow(int measured);
  bool CompileRule(const ColumnRule& rule, int measured, std::vector<CellPlan>* cells) const;
  std::optional<CellPlan> CompileCell(const ColumnRule& rule, int measured) const;
  std::optional<CellPlan> CompileBlob(const ColumnRule& rule, int measured) const;
  std::optional<TextPlan> CompileText(const std::vector<Segment>& segments, int measured,
                                      std::string_view field_name) const;
  std::optional<TextPlan> CompileName(const ColumnRule& rule, int measured) const;
  bool CompileKey(int measured, std::vector<TextPart>* parts);
  bool CheckNames(std::vector<CellPlan>* cells);
  bool CheckTaken(CellPlan* cell);
  void InternColumns(RowPlan* row);
  void CollectMaxAges();
  void Refuse(std::string_view field, std::string why);

  const Table& table_;
  const ColumnClaims& claims_;
  const Shape& shape_;
  Store* const store_;
  TableMapping plan_;
};

void Append(TextPart part, std::vector<TextPart>* parts) {
  if (part.segment == nullptr && !parts->empty() && parts->back().segment == nullptr) {
    parts->back().text += part.text;
  } else {
    parts->push_back(std::move(part));
  }
}

void Compiler::CompileRows() {
  for (const std::string& field : table_.when) {
    if (shape_.Find(field) < 0) {
      plan_.stays_out = fmt::format("it needs field \"{}\"", field);
      return;
    }
  }
  plan_.time_value = shape_.Find(table_.time_field);
  if (table_.row_key.names_measured_field()) {
    for (int i = 0; i < static_cast<int>(shape_.fields.size()); ++i) CompileRow(i);
  } else {
    CompileRow(-1);
  }
  if (plan_.rows.empty() && !plan_.refused) plan_.stays_out = "no column rule finds a value";
  CollectMaxAges();
}

// `measured`: the field of the row, where the row key names {field}; else -1.
void Compiler::CompileRow(int measured) {
  RowPlan row;
  bool found = false;
  for (const ColumnRule& rule : table_.columns) found |= CompileRule(rule, measured, &row.cells);
  if (!found) return;
  if (!CompileKey(measured, &row.key) || !CheckNames(&row.cells)) return;
  row.names_vary =
      std::ranges::any_of(row.cells, [](const CellPlan& c) { return !c.name.is_constant(); });
  InternColumns(&row);
  plan_.rows.push_back(std::move(row));
}

// Whether the rule found something to store.
bool Compiler::CompileRule(const ColumnRule& rule, int measured,
                           std::vector<CellPlan>* cells) const {
  const size_t before = cells->size();
  auto add = [&](std::optional<CellPlan> cell, std::string_view field = {}) {
    if (!cell) return;
    cell->by = {static_cast<size_t>(&rule - table_.columns.data()), field};
    cells->push_back(std::move(*cell));
  };
  if (rule.serialize != Serialization::kNone) {
    add(CompileBlob(rule, measured));
  } else if (!rule.per_field) {
    add(CompileCell(rule, -1));
  } else {
    const int count = static_cast<int>(shape_.fields.size());
    const int begin = measured < 0 ? 0 : measured;
    const int end = measured < 0 ? count : measured + 1;
    for (int i = begin; i < end; ++i) {
      const std::string& field = shape_.fields[static_cast<size_t>(i)];
      if (RuleTakes(table_, rule, field)) add(CompileCell(rule, i), field);
    }
  }
  return cells->size() > before;
}

// `measured`: the field in a per-field rule, else -1. Empty if the rule names a field that the
// event lacks.
std::optional<CellPlan> Compiler::CompileCell(const ColumnRule& rule, int measured) const {
  CellPlan cell;
  cell.family = *plan_.info->FindFamily(rule.family);
  std::optional<TextPlan> name = CompileName(rule, measured);
  const std::string_view field_name =
      measured < 0 ? std::string_view() : shape_.fields[static_cast<size_t>(measured)];
  std::optional<TextPlan> text = CompileText(rule.value.segments(), measured, field_name);
  if (!name || !text) return std::nullopt;
  cell.name = std::move(*name);
  const bool is_field = rule.value.is_one_placeholder() && text->parts.size() == 1 &&
                        text->parts[0].segment != nullptr && text->parts[0].value >= 0 &&
                        text->parts[0].segment->spec.kind == SpecKind::kText;
  if (is_field) {
    cell.kind = CellPlan::Kind::kField;
    cell.field = static_cast<uint32_t>(text->parts[0].value);
  } else {
    cell.kind = CellPlan::Kind::kText;
    cell.text = std::move(*text);
  }
  return cell;
}

std::optional<CellPlan> Compiler::CompileBlob(const ColumnRule& rule, int measured) const {
  CellPlan cell;
  cell.family = *plan_.info->FindFamily(rule.family);
  cell.kind = CellPlan::Kind::kBlob;
  cell.how = rule.serialize;
  cell.name.parts.push_back({nullptr, rule.name.text(), -1});
  for (uint32_t i = 0; i < shape_.fields.size(); ++i) {
    const bool here = measured < 0 || static_cast<uint32_t>(measured) == i;
    if (here && RuleTakes(table_, rule, shape_.fields[i])) cell.blob_fields.push_back(i);
  }
  if (cell.blob_fields.empty()) return std::nullopt;
  return cell;
}

std::optional<TextPlan> Compiler::CompileName(const ColumnRule& rule, int measured) const {
  if (measured < 0) return CompileText(rule.name.segments(), measured, {});
  const std::string& field = shape_.fields[static_cast<size_t>(measured)];
  if (const std::string* renamed = RenamedTo(rule, field)) {
    return TextPlan{{{nullptr, *renamed, -1}}};
  }
  return CompileText(rule.name.segments(), measured, NameInRule(rule, field));
}

std::optional<TextPlan> Compiler::CompileText(const std::vector<Segment>& segments, int measured,
                                              std::string_view field_name) const {
  TextPlan plan;
  for (const Segment& segment : segments) {
    if (segment.is_literal()) {
      Append({nullptr, segment.literal, -1}, &plan.parts);
    } else if (measured >= 0 && segment.field == kFieldPlaceholder) {
      const bool plain = segment.spec.kind == SpecKind::kText;
      Append({plain ? nullptr : &segment, std::string(field_name), -1}, &plan.parts);
    } else {
      const bool is_measured = measured >= 0 && segment.field == kValuePlaceholder;
      const int value = is_measured ? measured : shape_.Find(segment.field);
      const bool from_time = segment.is_time || (segment.of_time_field && segment.is_salt());
      if (value < 0 && !from_time) return std::nullopt;
      plan.parts.push_back({&segment, {}, value});
    }
  }
  return plan;
}

bool Compiler::CompileKey(int measured, std::vector<TextPart>* parts) {
  for (const Segment& segment : table_.row_key.segments()) {
    if (segment.is_literal()) {
      Append({nullptr, segment.literal, -1}, parts);
      continue;
    }
    if (measured >= 0 && segment.field == kFieldPlaceholder) {
      parts->push_back({&segment, shape_.fields[static_cast<size_t>(measured)], -1});
      continue;
    }
    const int value = shape_.Find(segment.field);
    if (value < 0 && !segment.of_time_field) {
      Refuse(segment.field, fmt::format("field \"{}\": missing, and the row key of {} needs it",
                                        segment.field, table_.name));
      return false;
    }
    parts->push_back({&segment, {}, value});
  }
  return true;
}

// Of two cells for one column one would be lost, and so would be a cell in another field's column:
// it would come back as that field.
bool Compiler::CheckNames(std::vector<CellPlan>* cells) {
  std::map<std::pair<FamilyId, std::string_view>, ColumnWriter> writers;
  for (CellPlan& cell : *cells) {
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
    Refuse(cell.by.field, OneColumn(first->second, cell.by, *plan_.info, column));
    return false;
  }
  return true;
}

bool Compiler::CheckTaken(CellPlan* cell) {
  const std::string& family = plan_.info->families[cell->family].name;
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
  Refuse(cell->by.field, OneColumn(owner, cell->by, *plan_.info, {cell->family, qualifier}));
  return false;
}

void Compiler::Refuse(std::string_view field, std::string why) {
  if (!plan_.refused) plan_.refused.emplace(field, std::move(why));
}

void Compiler::InternColumns(RowPlan* row) {
  std::vector<ColumnRef> columns;
  for (const CellPlan& cell : row->cells) {
    if (!cell.name.is_constant()) return;
    columns.push_back({cell.family, cell.name.constant()});
  }
  if (store_ == nullptr) return;
  row->set = store_->InternColumns(*plan_.info, columns);
  if (row->set == nullptr) return;
  std::map<std::pair<FamilyId, std::string_view>, CellPlan*> by_column;
  for (CellPlan& cell : row->cells) by_column[{cell.family, cell.name.constant()}] = &cell;
  std::vector<CellPlan> ordered;
  bool all_fields = true;
  for (const Column& column : row->set->columns) {
    CellPlan& cell = *by_column.at({column.family, column.qualifier});
    all_fields &= cell.kind == CellPlan::Kind::kField;
    ordered.push_back(std::move(cell));
  }
  row->cells = std::move(ordered);
  if (!all_fields) return;
  for (const CellPlan& cell : row->cells) row->gather.push_back(cell.field);
  row->cells = {};
}

void Compiler::CollectMaxAges() {
  for (FamilyId id = 0; id < plan_.info->families.size(); ++id) {
    const Family* family = table_.FindFamily(plan_.info->families[id].name);
    if (family != nullptr && family->max_age_us && !family->expire_by_both) {
      plan_.max_ages.emplace_back(id, *family->max_age_us);
    }
  }
}

}  // namespace

std::string OneColumn(const ColumnWriter& a, const ColumnWriter& b, const TableInfo& table,
                      const ColumnRef& column) {
  return fmt::format("{} fall on one column, {}:{} of {}", BothOf(a, b),
                     table.families[column.family].name, column.qualifier, table.name);
}

TableMapping CompileTableMapping(const MappedTable& table, const Shape& shape, Store* store) {
  return Compiler(table, shape, store).Run();
}

}  // namespace tallyd
