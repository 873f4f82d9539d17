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

// Quotes and escapes a text; bytes that are no UTF-8 become {"base64": "..."}.
void AppendJsonString(std::string_view text, std::string* out);
// The name of a member, which cannot be an object: "base64:..." where it is no text.
void AppendJsonName(std::string_view name, std::string* out);
// Bytes become {"base64": "..."}, null is null.
void AppendJsonValue(const Value& value, std::string* out);
// How answers tell times, with decimals where needed.
inline constexpr TimeUnit kAnswerTimeUnit = TimeUnit::kMilliseconds;
void AppendJsonTime(TimeUs t, std::string* out);
std::string EncodeBase64(std::string_view bytes);
// With its padding, and nothing else; false where it is not that. *bytes is replaced.
bool DecodeBase64(std::string_view text, std::string* bytes);

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
