// Rows as JSON text, appended directly: no document is built. Shared by every answer that shows
// rows, the dry run included.
#ifndef TALLYD_API_CELL_JSON_H_
#define TALLYD_API_CELL_JSON_H_

#include <string>

#include "storage/scan.h"
#include "storage/table_info.h"

namespace tallyd {

// {"key": ..., "cells": {"FAMILY": {"qualifier": [{"value": ..., "ts": ...}]}}}: families in name
// order, columns in byte order, cells newest first. `schema_table` tells which cells are
// serialized: they come decoded unless `raw`. Null: raw.
struct RowJsonOptions {
  const Table* schema_table = nullptr;
  bool raw = false;
};
void AppendRowJson(const TableInfo& table, const Row& row, const RowJsonOptions& options,
                   std::string* out);

}  // namespace tallyd

#endif  // TALLYD_API_CELL_JSON_H_
