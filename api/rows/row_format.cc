#include "api/rows/row_format.h"

#include <utility>

#include "api/answer.h"
#include "api/cell_json.h"
#include "api/row_cells.h"
#include "ingest/text/json_text.h"

namespace tallyd {
namespace {

// {"rows": [...], "next": ...}: what comes next stands at the end, so pages of any size stream.
class JsonRows final : public RowFormat {
 public:
  JsonRows(const RowQuery& query, bool raw) : query_(query), raw_(raw) {}

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
    AppendRowJson(*query_.stored, row, {query_.table, raw_}, out);
  }

  const RowQuery& query_;
  const bool raw_;
  bool any_ = false;
};

class NdjsonRows final : public RowFormat {
 public:
  NdjsonRows(const RowQuery& query, bool raw) : query_(query), raw_(raw) {}

  void Add(const Row& row, std::string* out) override {
    AppendRowJson(*query_.stored, row, {query_.table, raw_}, out);
    out->push_back('\n');
  }

 private:
  const RowQuery& query_;
  const bool raw_;
};

// A record for each cell.
class RecordRows final : public RowFormat {
 public:
  RecordRows(const RowQuery& query, bool raw, const RecordSyntax& syntax)
      : query_(query), raw_(raw), syntax_(syntax) {}

  void Begin(std::string* out) override {
    for (const std::string_view name : {"key", "family", "qualifier", "ts"}) {
      out->append(name).push_back(syntax_.separator);
    }
    out->append("value").append(syntax_.line_end);
  }
  void Add(const Row& row, std::string* out) override {
    const TableInfo& table = *query_.stored;
    for (const RowCell& cell : CellsInReadOrder(table, row)) {
      const ColumnRef& column = cell.view->column;
      for (const std::string_view text :
           {std::string_view(row.key), std::string_view(table.families[column.family].name),
            std::string_view(column.qualifier)}) {
        syntax_.append_text(text, out);
        out->push_back(syntax_.separator);
      }
      AppendJsonTime(cell.time, out);
      out->push_back(syntax_.separator);
      AppendCell(cell, out);
      out->append(syntax_.line_end);
    }
  }

 private:
  void AppendCell(const RowCell& cell, std::string* out) const {
    const Value& value = cell.view->value;
    std::string text;
    if (!raw_ && IsSerialized(*query_.stored, cell.view->column, query_.table)) {
      AppendCellValueJson(*query_.stored, cell, {query_.table, false}, &text);
      syntax_.append_text(text, out);
      return;
    }
    if (const auto number = ShownAggregate(*query_.stored, *cell.view, raw_)) {
      out->append(*number);
      return;
    }
    AppendText(value, &text);
    if (value.type() == ValueType::kString) {
      syntax_.append_text(text, out);
    } else {
      out->append(value.type() == ValueType::kBytes ? EncodeBase64(text) : text);
    }
  }

  const RowQuery& query_;
  const bool raw_;
  const RecordSyntax& syntax_;
};

}  // namespace

std::unique_ptr<RowFormat> MakeRowFormat(const RowQuery& query, AnswerFormat format, bool raw) {
  if (const RecordSyntax* records = InfoOf(format).records) {
    return std::make_unique<RecordRows>(query, raw, *records);
  }
  if (format == AnswerFormat::kNdjson) return std::make_unique<NdjsonRows>(query, raw);
  return std::make_unique<JsonRows>(query, raw);
}

}  // namespace tallyd
