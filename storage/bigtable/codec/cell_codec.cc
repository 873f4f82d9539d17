#include "storage/bigtable/codec/cell_codec.h"

#include <optional>

#include "config/schema/gone_rule.h"
#include "storage/bigtable/codec/value_text.h"

namespace tallyd {
namespace {

constexpr size_t kStateBytes = 8;

}  // namespace

CellCodec::CellCodec(const TableInfo& table) {
  for (const StoredFamily& family : table.families) {
    is_folded_.push_back(family.rules.aggregate.has_value());
  }
  for (const RuleMark& mark : table.rules) {
    if (mark.rule.empty()) continue;
    const std::optional<ColumnRule> rule = FromCanonicalText(mark.rule, table.time_field);
    if (!rule || rule->serialize == Serialization::kNone) continue;
    const std::optional<FamilyId> family = table.FindFamily(rule->family);
    if (!family || Find({*family, rule->name.text()}) != nullptr) continue;
    const bool is_text = rule->serialize == Serialization::kJson;
    serialized_.push_back(
        {{*family, rule->name.text()}, is_text ? ValueType::kString : ValueType::kBytes});
  }
}

const CellCodec::Serialized* CellCodec::Find(const ColumnRef& column) const {
  for (const Serialized& known : serialized_) {
    if (known.column.ref() == column) return &known;
  }
  return nullptr;
}

void CellCodec::Append(const ColumnRef& column, const Value& value, std::string* out) const {
  const Serialized* const known = Find(column);
  if (known != nullptr && known->type == value.type()) {
    out->append(value.AsView());
    return;
  }
  AppendCellText(value, out);
}

Value CellCodec::Read(const ColumnRef& column, std::string_view bytes, Arena* arena) const {
  if (is_folded_[column.family]) {
    if (bytes.size() != kStateBytes) return Value::Bytes(bytes);  // None of the service's.
    uint64_t state = 0;
    for (const char byte : bytes) state = state << 8 | static_cast<unsigned char>(byte);
    return Value::Int(static_cast<int64_t>(state));
  }
  const Serialized* const known = Find(column);
  if (known == nullptr) return ValueOfCellText(bytes, arena);
  return known->type == ValueType::kString ? Value::String(bytes) : Value::Bytes(bytes);
}

}  // namespace tallyd
