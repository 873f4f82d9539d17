#include "service/write/row_change.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ingest/map/seen_fields.h"
#include "ingest/unmap/rule_inverse.h"

namespace tallyd {
namespace {

// The field whose values a column of this meaning holds; empty: none alone.
std::string_view FieldOf(const ColumnMeaning& meaning) {
  if (meaning.measured == ColumnMeaning::Measured::kFixed) return meaning.field;
  if (meaning.rule == nullptr || meaning.rule->per_field) return {};
  const ValueTemplate& value = meaning.rule->value;
  return value.is_one_placeholder() ? std::string_view(value.segments()[0].field)
                                    : std::string_view();
}

}  // namespace

void RowChange::Add(const Mutation& mutation) {
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

WrittenRows RowChange::Finish() {
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

void RowChange::Delete(const Mutation& mutation) {
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

void RowChange::Put(TimeUs time, const std::vector<ColumnRef>& columns,
                    const std::vector<Value>& values) {
  batch_.Put(*row_.stored, row_.key, time, columns, values);
  counts_.Add(*row_.stored, row_.key, time, columns, values);
  bytes_.Add(row_.stored, row_.key, time, BytesOf(values));
  large_values_ += static_cast<size_t>(std::ranges::count_if(values, IsLarge));
  newest_ = std::max(newest_.value_or(time), time);
}

void RowChange::PutWhatIsSet() {
  for (const auto& [time, cells] : set_) Put(time, cells.columns, cells.values);
  set_.clear();
}

namespace {

void LearnLabels(const RowChange::Row& row, Batch* batch) {
  const RowKeyTemplate& row_key = row.table.row_key;
  std::string scratch;
  std::vector<KeyField> fields;
  if (!row_key.holds_labels() || !row_key.ReadBack(row.key, &scratch, &fields)) return;
  for (const KeyField& field : fields) {
    if (field.label.empty()) continue;
    batch->AddField(row.table.stream, field.label, TypeBitsOf(field.value, 0, kLabelBit));
  }
}

}  // namespace

void LearnFields(std::span<const Mutation> mutations, const RowChange::Row& row, Batch* batch) {
  const std::vector<std::string> spellings;
  const RuleInverse inverse(row.table, *row.stored, spellings);
  bool writes = false;
  for (const Mutation& mutation : mutations) {
    if (mutation.kind == Mutation::Kind::kDelete) continue;
    writes = true;
    const ColumnMeaning meaning = inverse.Read({*mutation.family, *mutation.qualifier});
    const std::string_view field = FieldOf(meaning);
    if (field.empty()) continue;
    // An aggregate cell is read as a number.
    const Value& value = mutation.kind == Mutation::Kind::kSet ? mutation.value : Value::Int(0);
    batch->AddField(row.table.stream, field, TypeBitsOf(value, 0));
  }
  if (writes) LearnLabels(row, batch);
}

}  // namespace tallyd
