// For maps of columns by name, which a ColumnRef is looked up in, without a copy of the name.
#ifndef TALLYD_STORAGE_COLUMN_NAME_H_
#define TALLYD_STORAGE_COLUMN_NAME_H_

#include <cstddef>
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

}  // namespace tallyd

#endif  // TALLYD_STORAGE_COLUMN_NAME_H_
