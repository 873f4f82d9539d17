// A request's parameters -> what it asks of a table's rows, and how it wants the answer.
#ifndef TALLYD_API_ROWS_READ_ROW_QUERY_H_
#define TALLYD_API_ROWS_READ_ROW_QUERY_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "api/answer_format.h"
#include "api/context.h"
#include "api/request.h"
#include "config/values/result.h"
#include "service/rows/row_query.h"

namespace tallyd {

struct RowRequest {
  RowQuery query;
  AnswerFormat format = AnswerFormat::kJson;
  bool raw = false;   // Serialized cells as the bytes that they are.
  uint64_t hash = 0;  // Of what was asked, for its cursors.
};

// Many rows: {table}. One row: {table} {key}, without the parameters that choose rows.
enum class RowCount : uint8_t { kMany, kOne };
Result<RowRequest> ReadRowRequest(const Request& request, ApiContext& context, RowCount count);

// The cursor of a page that ends with the row of that key.
std::string RowCursor(std::string_view last_key, uint64_t query_hash);

// `from` and `to` of cell times.
Result<TimeRange> ParseCellTimes(const Params& params, TimeUs now);

}  // namespace tallyd

#endif  // TALLYD_API_ROWS_READ_ROW_QUERY_H_
