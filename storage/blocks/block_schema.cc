#include "storage/blocks/block_schema.h"

#include <limits>
#include <numeric>

#include "storage/batch.h"
#include "storage/blocks/column_codec.h"
#include "storage/bytes/coding.h"

namespace tallyd {
namespace {

// A shape's columns must differ: an entry has one value of each.
bool ReadShape(ByteReader* in, size_t columns, std::vector<uint32_t>* seen_in, uint32_t number,
               std::vector<uint32_t>* shape) {
  uint64_t count = 0;
  if (!in->GetVarint(&count) || count == 0 || count > columns) return false;
  int64_t next = 0;
  for (; count > 0; --count) {
    uint64_t step = 0;
    if (!in->GetNumber(&step, uint64_t{2} * kMaxBlockColumns)) return false;
    const int64_t column = next + UnZigZag(step);
    if (column < 0 || static_cast<uint64_t>(column) >= columns) return false;
    uint32_t& seen = (*seen_in)[static_cast<size_t>(column)];
    if (seen == number + 1) return false;
    seen = number + 1;
    shape->push_back(static_cast<uint32_t>(column));
    next = column + 1;
  }
  return true;
}

// False where the columns are out of order.
bool SetByPresence(BlockSchema* schema) {
  for (size_t i = 1; i < schema->columns.size(); ++i) {
    if (!ComesBefore(schema->columns[i - 1], schema->columns[i])) return false;
  }
  schema->by_presence = true;
  std::vector<uint32_t>& all = schema->shapes.emplace_back(schema->columns.size());
  std::iota(all.begin(), all.end(), uint32_t{0});
  return true;
}

}  // namespace

std::shared_ptr<const BlockSchema> ReadSchema(std::string_view section, uint32_t columns,
                                              uint32_t shapes) {
  const bool by_presence = shapes == 0;
  std::string text;
  ByteReader packed(section);
  if (!ReadText(&packed, &text) || !packed.done()) return nullptr;
  auto schema = std::make_shared<BlockSchema>();
  ByteReader in(text);
  for (uint32_t i = 0; i < columns; ++i) {
    Column column;
    std::string_view qualifier;
    if (!in.GetNumber(&column.family, std::numeric_limits<FamilyId>::max()) ||
        !in.GetString(&qualifier) || qualifier.size() > kMaxQualifierBytes) {
      return nullptr;
    }
    column.qualifier = qualifier;
    schema->columns.push_back(std::move(column));
  }
  if (by_presence) return in.done() && SetByPresence(schema.get()) ? schema : nullptr;
  std::vector<uint32_t> seen_in(columns, 0);
  for (uint32_t i = 0; i < shapes; ++i) {
    std::vector<uint32_t> shape;
    if (!ReadShape(&in, columns, &seen_in, i, &shape)) return nullptr;
    schema->shapes.push_back(std::move(shape));
  }
  return in.done() ? schema : nullptr;
}

}  // namespace tallyd
