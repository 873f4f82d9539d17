#include "storage/leveldb/latest/entry_cells.h"

#include "storage/leveldb/codec/entry_codec.h"

namespace tallyd {

bool DecodeEntry(const ColumnRegistry& sets, TableId table, std::string_view entry,
                 EntryCells* cells) {
  cells->set = nullptr;
  cells->columns.clear();
  cells->values.clear();
  ByteReader in(entry);
  EntryHead head;
  if (!GetEntryHead(&in, &head)) return false;
  Value value;
  if (head.tag == EntryTag::kByName) {
    for (uint32_t i = 0; i < head.number; ++i) {
      ColumnRef column;
      if (!GetColumn(&in, &column) || !DecodeValue(&in, &value) || value.is_null()) return false;
      cells->columns.push_back(column);
      cells->values.push_back(value);
    }
    return in.done();
  }
  cells->set = sets.Find(table, head.number);
  if (cells->set == nullptr) return false;
  for (const Column& column : cells->set->columns) {
    if (!DecodeValue(&in, &value)) return false;
    if (value.is_null() && head.tag != EntryTag::kBySetSparse) return false;
    cells->columns.push_back(column.ref());
    cells->values.push_back(value);
  }
  return in.done();
}

bool FilterEntry(EntryCells* cells, const std::function<bool(const ColumnRef&)>& drop,
                 std::string* out) {
  bool changed = false;
  for (size_t i = 0; i < cells->columns.size(); ++i) {
    if (cells->values[i].is_null() || !drop(cells->columns[i])) continue;
    cells->values[i] = Value();
    changed = true;
  }
  if (!changed) return false;
  ByteBuffer buffer;
  if (cells->set != nullptr) {
    AppendEntry(*cells->set, cells->values, &buffer);
  } else {
    AppendEntry(cells->columns, cells->values, &buffer);
  }
  out->assign(buffer.data(), buffer.size());
  return true;
}

}  // namespace tallyd
