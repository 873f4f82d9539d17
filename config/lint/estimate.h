// What tables would be written and hold, from the file and four numbers: how many entities report,
// how often, how many fields each. Arithmetic alone, in a steady state without GC; text of varying
// width counts as 16 bytes, a cell as 9, as in the rules of lint. Pure.
#ifndef TALLYD_CONFIG_LINT_ESTIMATE_H_
#define TALLYD_CONFIG_LINT_ESTIMATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/schema/schema.h"

namespace tallyd {

struct EstimateInput {
  uint64_t entities = 1;
  std::optional<int64_t> every_us;  // None: what each stream declares.
  uint64_t fields = 1;              // Measured fields of an event.
};

struct TableEstimate {
  std::string table;
  std::string stream;
  std::string pattern;
  int64_t every_us = 0;
  double rows_per_s = 0;    // Writes to rows.
  double cells_per_s = 0;   // Writes to cells.
  double rows_per_day = 0;  // New rows; none where rows are written again and again.
  // Where each event adds columns to its row: those that the events of one row add, and beside them
  // those that are the same for all; else the columns of an event.
  double columns_per_row = 0;
  double fixed_columns_per_row = 0;
  // None where nothing bounds them.
  std::optional<double> cells_per_column;  // Of one of those columns, when the row is complete.
  std::optional<double> cells_per_row;
  std::optional<double> bytes_per_row;
  double bytes_per_day = 0;  // What is added.
};

// In the file's order. kInvalid names a stream that neither the file nor the input gives an
// interval.
Result<std::vector<TableEstimate>> EstimateTables(const Schema& schema, const EstimateInput& input);

}  // namespace tallyd

#endif  // TALLYD_CONFIG_LINT_ESTIMATE_H_
