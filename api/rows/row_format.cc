#include "api/rows/row_format.h"

#include <utility>

#include "api/answer.h"
#include "api/cell_json.h"
#include "api/row_cells.h"

namespace tallyd {
namespace {

// {"rows": [...], "next": ...}: what comes next stands at the end, so pages of any size stream.
class JsonRows final : public RowFormat {
 public:
  explicit JsonRows(const RowQuery& query) : query_(query) {}

  bool is_page() const override { return true; }
  void Begin(std::string* out) override { out->append("{\"rows\":["); }
  void Add(const Row& row, std::string* out) override {
    if (std::exchange(any_, true)) out->push_back(',');
    AppendRow(row, out);
  }
  void End(std::string_view next, std::string* out) override {
    out->append("],\"next\":");
    if (next.empty()) {
      out->append("null");
    } else {
      AppendJsonString(next, out);
    }
    out->append("}\n");
  }
  void AddAlone(const Row& row, std::string* out) override {
    AppendRow(row, out);
    out->push_back('\n');
  }

 private:
  void AppendRow(const Row& row, std::string* out) const {
    AppendRowJson(*query_.stored, row, {query_.table, query_.raw}, out);
  }

  const RowQuery& query_;
  bool any_ = false;
};

class NdjsonRows final : public RowFormat {
 public:
  explicit NdjsonRows(const RowQuery& query) : query_(query) {}

  void Add(const Row& row, std::string* out) override {
    AppendRowJson(*query_.stored, row, {query_.table, query_.raw}, out);
    out->push_back('\n');
  }

 private:
  const RowQuery& query_;
};

// A record for each cell.
class CsvRows final : public RowFormat {
 public:
  explicit CsvRows(const RowQuery& query) : query_(query) {}

  void Begin(std::string* out) override { out->append("key,family,qualifier,ts,value\r\n"); }
  void Add(const Row& row, std::string* out) override {
    const TableInfo& table = *query_.stored;
    for (const RowCell& cell : CellsInReadOrder(table, row)) {
      const ColumnRef& column = cell.view->column;
      AppendCsvText(row.key, out);
      out->push_back(',');
      AppendCsvText(table.families[column.family].name, out);
      out->push_back(',');
      AppendCsvText(column.qualifier, out);
      out->push_back(',');
      AppendJsonTime(cell.time, out);
      out->push_back(',');
      AppendCsvText(TextOf(cell), out);
      out->append("\r\n");
    }
  }

 private:
  std::string TextOf(const RowCell& cell) const {
    const Value& value = cell.view->value;
    std::string text;
    if (!query_.raw && IsSerialized(*query_.stored, cell.view->column, query_.table)) {
      AppendCellValueJson(*query_.stored, cell, {query_.table, false}, &text);
      return text;
    }
    AppendText(value, &text);
    return value.type() == ValueType::kBytes ? EncodeBase64(text) : text;
  }

  const RowQuery& query_;
};

}  // namespace

std::unique_ptr<RowFormat> MakeRowFormat(const RowQuery& query) {
  switch (query.format) {
    case AnswerFormat::kJson:
      return std::make_unique<JsonRows>(query);
    case AnswerFormat::kNdjson:
      return std::make_unique<NdjsonRows>(query);
    case AnswerFormat::kCsv:
      return std::make_unique<CsvRows>(query);
  }
  return nullptr;
}

}  // namespace tallyd
