// RowFormat: rows in one format of output, a class each; MakeRowFormat knows them all.
//
//   format->Begin(&text);
//   format->Add(row, &text);          // For each row.
//   format->End(next_cursor, &text);  // Empty where no page follows.
//
// Not thread-safe.
#ifndef TALLYD_API_ROWS_ROW_FORMAT_H_
#define TALLYD_API_ROWS_ROW_FORMAT_H_

#include <memory>
#include <string>
#include <string_view>

#include "api/answer_format.h"
#include "service/rows/row_query.h"

namespace tallyd {

class RowFormat {
 public:
  virtual ~RowFormat() = default;
  // Whether an answer is one page in any case, and tells the cursor of the next one itself.
  virtual bool is_page() const { return false; }
  virtual void Begin(std::string*) {}
  virtual void Add(const Row& row, std::string* out) = 0;
  virtual void End(std::string_view /*next*/, std::string*) {}
  // Instead of all that: an answer that is this row.
  virtual void AddAlone(const Row& row, std::string* out) {
    Begin(out);
    Add(row, out);
  }
};

// `query` outlives the format. `raw`: serialized cells are written as the bytes that they are.
std::unique_ptr<RowFormat> MakeRowFormat(const RowQuery& query, AnswerFormat format, bool raw);

}  // namespace tallyd

#endif  // TALLYD_API_ROWS_ROW_FORMAT_H_
