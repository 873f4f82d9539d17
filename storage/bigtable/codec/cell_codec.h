// CellCodec: how one table's cells are written to Bigtable and read from it. A rule that serializes
// an event's fields has a cell of its own, which holds those bytes and nothing else; every other
// cell holds the text of its value (value_text.h). Those of aggregate families the service writes:
// 8 bytes, the highest first. Immutable; any thread.
#ifndef TALLYD_STORAGE_BIGTABLE_CODEC_CELL_CODEC_H_
#define TALLYD_STORAGE_BIGTABLE_CODEC_CELL_CODEC_H_

#include <string>
#include <string_view>
#include <vector>

#include "config/values/value.h"
#include "storage/batch.h"
#include "storage/table_info.h"

namespace tallyd {

class CellCodec {
 public:
  explicit CellCodec(const TableInfo& table);

  void Append(const ColumnRef& column, const Value& value, std::string* out) const;
  // Views `bytes`, or the arena.
  Value Read(const ColumnRef& column, std::string_view bytes, Arena* arena) const;

 private:
  struct Serialized {
    Column column;
    ValueType type = ValueType::kBytes;
  };
  const Serialized* Find(const ColumnRef& column) const;

  std::vector<Serialized> serialized_;
  std::vector<bool> is_folded_;  // By FamilyId.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_CODEC_CELL_CODEC_H_
