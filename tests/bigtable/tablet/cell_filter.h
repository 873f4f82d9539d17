// CellFilter: a RowFilter, checked and made ready to run over the cells of one row.
#ifndef TALLYD_TESTS_BIGTABLE_TABLET_CELL_FILTER_H_
#define TALLYD_TESTS_BIGTABLE_TABLET_CELL_FILTER_H_

#include <grpcpp/support/status.h>

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/bigtable/tablet/stored_table.h"
#include "tests/bigtable/tablet/wire.h"

namespace tallyd::tablet {

// A cell on its way through the filters. What it points to is the table's.
struct FilteredCell {
  int family = 0;  // Its serial.
  std::string_view family_name;
  std::string_view qualifier;
  int64_t time_us = 0;
  std::string_view value;
  std::vector<std::string> labels = {};
};
using FilteredCells = std::vector<FilteredCell>;

struct FilteredRow {
  std::string_view key;
  FilteredCells sunk;  // What goes past all later filters.
  std::mt19937* random;
};
// What is let through of these cells of the row.
using CellFilter = std::function<FilteredCells(FilteredRow* row, FilteredCells cells)>;

// INVALID_ARGUMENT of what the service refuses for a table of this granularity. A filter in which
// nothing is set passes all.
grpc::Status CompileFilter(const v2::RowFilter& filter, int64_t granularity_us,
                           CellFilter* compiled);

// All cells of a row, in the order in which they are read.
FilteredCells CellsOf(const StoredTable& table, const StoredRow& row);
// Those that the filter lets through. REQUIRES: a compiled filter.
FilteredCells Filter(const CellFilter& filter, std::string_view key, FilteredCells cells,
                     std::mt19937* random);

}  // namespace tallyd::tablet

#endif  // TALLYD_TESTS_BIGTABLE_TABLET_CELL_FILTER_H_
