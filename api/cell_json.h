// Values, times and rows as JSON text, appended directly: no document is built. Shared by every
// answer that shows cells, the dry run included.
#ifndef TALLYD_API_CELL_JSON_H_
#define TALLYD_API_CELL_JSON_H_

#include <string>
#include <string_view>

#include "config/values/time.h"
#include "config/values/value.h"
#include "storage/scan.h"
#include "storage/table_info.h"

namespace tallyd {

void AppendJsonString(
    std::string_view text,
    std::string* out);  // Quotes and escapes; text is UTF-8, else {"base64": ...}.
void AppendJsonValue(const Value& value,
                     std::string* out);           // Bytes as {"base64": "..."}; null as null.
void AppendJsonTime(TimeUs t, std::string* out);  // Milliseconds, with decimals where needed.
std::string EncodeBase64(std::string_view bytes);

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
