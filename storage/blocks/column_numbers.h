// ColumnNumbers: the columns of a block being built, by name, looked up without a copy of it.
#ifndef TALLYD_STORAGE_BLOCKS_COLUMN_NUMBERS_H_
#define TALLYD_STORAGE_BLOCKS_COLUMN_NUMBERS_H_

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "storage/table_info.h"

namespace tallyd {

struct ColumnNameHash {
  using is_transparent = void;
  size_t operator()(const ColumnRef& c) const {
    return std::hash<std::string_view>()(c.qualifier) * 31 + c.family;
  }
  size_t operator()(const Column& c) const { return (*this)(c.ref()); }
};
struct ColumnNameEqual {
  using is_transparent = void;
  bool operator()(const Column& a, const Column& b) const { return a == b; }
  bool operator()(const ColumnRef& a, const Column& b) const { return a == b.ref(); }
  bool operator()(const Column& a, const ColumnRef& b) const { return a.ref() == b; }
};

using ColumnNumbers = boost::unordered_flat_map<Column, uint32_t, ColumnNameHash, ColumnNameEqual>;

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BLOCKS_COLUMN_NUMBERS_H_
