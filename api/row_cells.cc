#include "api/row_cells.h"

#include <algorithm>

#include "ingest/blob/blob.h"
#include "ingest/text/json_text.h"
#include "service/rows/aggregate_text.h"

namespace tallyd {
namespace {

Serialization SerializationOf(const TableInfo& table, const ColumnRef& column,
                              const Table* schema_table) {
  if (schema_table == nullptr) return Serialization::kNone;
  const std::string& family = table.families[column.family].name;
  for (const ColumnRule& rule : schema_table->columns) {
    const bool serializes = rule.serialize != Serialization::kNone && rule.family == family;
    if (serializes && rule.name.text() == column.qualifier) return rule.serialize;
  }
  return Serialization::kNone;
}

void AppendBytesObject(std::string_view bytes, std::string* out) {
  AppendJsonValue(Value::Bytes(bytes), out);
}

}  // namespace

std::vector<RowCell> CellsInReadOrder(const TableInfo& table, const Row& row) {
  std::vector<RowCell> cells;
  cells.reserve(row.cells.size());
  for (const RowPart& part : row.parts) {
    for (const CellView& cell : row.CellsOf(part)) {
      const bool shown = table.orphaned || table.families[cell.column.family].configured;
      if (shown) cells.push_back({&cell, part.time});
    }
  }
  if (row.parts.size() < 2) return cells;  // A part's cells are in read order.
  std::stable_sort(cells.begin(), cells.end(), [&](const RowCell& a, const RowCell& b) {
    const uint16_t rank_a = table.family_rank[a.view->column.family];
    const uint16_t rank_b = table.family_rank[b.view->column.family];
    if (rank_a != rank_b) return rank_a < rank_b;
    return a.view->column.qualifier < b.view->column.qualifier;
  });
  return cells;
}

std::optional<std::string> ShownAggregate(const TableInfo& table, const CellView& cell, bool raw) {
  const std::optional<Aggregate> kind = table.families[cell.column.family].rules.aggregate;
  const bool is_estimate = kind && !InfoOf(*kind).is_numeric;
  return raw && is_estimate ? std::nullopt : AggregateText(table, cell);
}

void AppendCellValueJson(const TableInfo& table, const RowCell& cell, const RowJsonOptions& options,
                         std::string* out) {
  const Value& value = cell.view->value;
  if (const auto number = ShownAggregate(table, *cell.view, options.raw)) {
    out->append(*number);
    return;
  }
  const Serialization how = SerializationOf(table, cell.view->column, options.schema_table);
  const bool has_bytes = value.type() == ValueType::kBytes || value.type() == ValueType::kString;
  if (how == Serialization::kNone || !has_bytes) return AppendJsonValue(value, out);
  if (options.raw) return AppendBytesObject(value.AsView(), out);
  std::string scratch;
  std::vector<BlobField> fields;
  if (!DecodeBlob(how, value.AsView(), &scratch, &fields)) {
    return AppendBytesObject(value.AsView(), out);
  }
  out->push_back('{');
  for (const BlobField& field : fields) {
    if (&field != &fields.front()) out->push_back(',');
    AppendJsonName(field.name, out);
    out->push_back(':');
    AppendJsonValue(field.value, out);
  }
  out->push_back('}');
}

bool IsSerialized(const TableInfo& table, const ColumnRef& column, const Table* schema_table) {
  return SerializationOf(table, column, schema_table) != Serialization::kNone;
}

}  // namespace tallyd
