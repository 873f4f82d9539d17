// The columns that occur in a block, and what its entries have of them (storage/FORMAT.md, Blocks).
#ifndef TALLYD_STORAGE_BLOCKS_BLOCK_SCHEMA_H_
#define TALLYD_STORAGE_BLOCKS_BLOCK_SCHEMA_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "storage/blocks/block_limits.h"
#include "storage/table_info.h"

namespace tallyd {

// Blocks that follow each other mostly share one: compare the pointers.
struct BlockSchema {
  std::vector<Column> columns;  // In order of first occurrence; by presence as ComesBefore says.
  // Each a list of columns, as the entries' order was. By presence there is one, of all columns, of
  // which an entry may lack some.
  std::vector<std::vector<uint32_t>> shapes;
  bool by_presence = false;
};

// The order of columns in a block by presence. (Read order has families by name, which are not
// known here.)
inline bool ComesBefore(const Column& a, const Column& b) {
  return a.family != b.family ? a.family < b.family : a.qualifier < b.qualifier;
}

// The section of a block's head that holds it, where the head tells of so many columns and shapes;
// no shapes: by presence. Null if it is malformed.
std::shared_ptr<const BlockSchema> ReadSchema(std::string_view section, uint32_t columns,
                                              uint32_t shapes);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BLOCKS_BLOCK_SCHEMA_H_
