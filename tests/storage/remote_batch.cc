#include "tests/storage/remote_batch.h"

#include "tests/storage/model_table.h"

namespace tallyd {

std::shared_ptr<const TableInfo> RemoteBatch::Keep(const TableInfo& table) {
  std::shared_ptr<const TableInfo>& kept = tables_[table.id];
  if (!kept) kept = std::make_shared<const TableInfo>(table);
  return kept;
}

void RemoteBatch::Put(const TableInfo& table, std::string_view row_key, TimeUs time,
                      const ColumnSet& set, std::span<const Value> values) {
  std::vector<ColumnRef> columns;
  for (const Column& column : set.columns) columns.push_back(column.ref());
  Put(table, row_key, time, columns, values);
}

void RemoteBatch::Put(const TableInfo& table, std::string_view row_key, TimeUs time,
                      std::span<const ColumnRef> columns, std::span<const Value> values) {
  std::vector<Column> kept_columns;
  std::vector<OwnedValue> kept_values;
  for (size_t i = 0; i < columns.size(); ++i) {
    kept_columns.push_back({columns[i].family, std::string(columns[i].qualifier)});
    kept_values.emplace_back(values[i]);
  }
  const auto [row, is_new] = rows_.try_emplace({table.id, std::string(row_key)}, entries_.size());
  if (is_new) entries_.push_back({Keep(table), std::string(row_key), false, {}});
  Entry& entry = entries_[row->second];
  entry.changes.push_back([info = entry.table, row = entry.row_key, time,
                           kept_columns = std::move(kept_columns),
                           kept_values = std::move(kept_values)](Batch* batch) {
    std::vector<ColumnRef> refs;
    std::vector<Value> views;
    for (const Column& column : kept_columns) refs.push_back(column.ref());
    for (const OwnedValue& value : kept_values) views.push_back(value.value());
    batch->Put(*info, row, time, refs, views);
  });
}

void RemoteBatch::Delete(const TableInfo& table, const DeleteSpec& what) {
  rows_.clear();
  entries_.push_back({Keep(table), what.rows.start, true, {}});
  entries_.back().changes.push_back(
      [info = entries_.back().table, what](Batch* batch) { batch->Delete(*info, what); });
}

void RemoteBatch::AddField(std::string_view stream, std::string_view field, uint8_t type_bits) {
  fields_.push_back([of = std::string(stream), name = std::string(field), type_bits](Batch* batch) {
    batch->AddField(of, name, type_bits);
  });
}

void RemoteBatch::NoteSpelling(std::string_view stream, std::string_view field) {
  fields_.push_back([of = std::string(stream), name = std::string(field)](Batch* batch) {
    batch->NoteSpelling(of, name);
  });
}

void RemoteBatch::PutMemo(std::string_view key, std::string_view value, NoteOrder order) {
  memos_[std::string(key)] = {order, [of = std::string(key), memo = std::string(value),
                                      order](Batch* batch) { batch->PutMemo(of, memo, order); }};
}

void RemoteBatch::DropMemo(std::string_view key) {
  memos_[std::string(key)] = {NoteOrder::kAfter,
                              [of = std::string(key)](Batch* batch) { batch->DropMemo(of); }};
}

std::vector<RemoteBatch::Change> RemoteBatch::First() const {
  std::vector<Change> notes = fields_;
  for (const auto& [key, memo] : memos_) {
    if (GoesBeforeRows(memo.order)) notes.push_back(memo.change);
  }
  return notes;
}

std::vector<RemoteBatch::Change> RemoteBatch::Behind() const {
  std::vector<Change> notes;
  for (const auto& [key, memo] : memos_) {
    if (GoesBehindRows(memo.order)) notes.push_back(memo.change);
  }
  return notes;
}

}  // namespace tallyd
