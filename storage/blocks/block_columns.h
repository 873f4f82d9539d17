// BlockColumns: the columns of a block that is being made, by name and by number, and their values.
// Its buffers are kept from block to block. Not thread-safe.
#ifndef TALLYD_STORAGE_BLOCKS_BLOCK_COLUMNS_H_
#define TALLYD_STORAGE_BLOCKS_BLOCK_COLUMNS_H_

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <vector>

#include "storage/blocks/column_codec.h"
#include "storage/table_info.h"

namespace tallyd {

class BlockColumns {
 public:
  struct OfColumn {
    Column name;
    ColumnBuffer values;
  };

  uint32_t size() const { return count_; }
  size_t name_bytes() const { return name_bytes_; }  // Of all columns.
  OfColumn& operator[](uint32_t number) { return columns_[number]; }
  const OfColumn& operator[](uint32_t number) const { return columns_[number]; }

  // The column's number: of one that is new, the next.
  uint32_t NumberOf(const ColumnRef& name);
  // All numbers: as the columns came, or by their names.
  std::vector<uint32_t> Order(bool by_name) const;
  void Clear();

 private:
  std::vector<OfColumn> columns_;  // The first count_ are in use.
  uint32_t count_ = 0;
  size_t name_bytes_ = 0;
  boost::unordered_flat_map<Column, uint32_t, ColumnNameHash, ColumnNameEqual> numbers_;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BLOCKS_BLOCK_COLUMNS_H_
