#include "api/query/answer/event_format.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "api/answer.h"
#include "api/query/answer/event_columns.h"
#include "api/query/answer/event_page.h"
#include "api/query/answer/plan_json.h"
#include "api/response.h"
#include "config/values/number_text.h"
#include "config/values/time.h"
#include "ingest/text/json.h"
#include "ingest/text/json_text.h"

namespace tallyd {
namespace {

// {"columns": [...], "rows": [[...], ...], "plan": {...}, "next": ...}
class JsonEvents final : public EventFormat {
 public:
  explicit JsonEvents(EventRun* run)
      : run_(run), page_([run](uint32_t field) { return run->IsAnswered(field); }) {}

  bool is_page() const override { return true; }
  void Add(const EventView& event, std::string*) override { page_.Add(event); }
  size_t held_bytes() const override { return page_.bytes(); }

  bool End(std::string_view next, std::string* out) override {
    if (!std::exchange(begun_, true)) AppendHead(out);
    const size_t full = out->size() + kChunkBytes;
    for (; next_row_ < page_.size() && out->size() < full; ++next_row_) {
      if (next_row_ > 0) *to_++ = ',';
      WriteRow(next_row_, out);
      if (RoomInPiece() < row_bytes_) AppendPiece(out);
    }
    AppendPiece(out);
    if (next_row_ < page_.size()) return true;
    AppendTail(next, out);
    return false;
  }

 private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  static constexpr size_t kPieceBytes = 4u << 10;

  // Only now is it known which columns the page has.
  void AppendHead(std::string* out) {
    columns_ = ColumnsOfPage(run_, page_.met());
    column_of_.assign(run_->fields().size(), -1);
    for (size_t i = 0; i < columns_.size(); ++i) {
      column_of_[columns_[i].field] = static_cast<int>(i);
    }
    // A comma, both brackets, the time, and each number behind its comma.
    row_bytes_ = 3 + kMaxTimeText + columns_.size() * (1 + kMaxNumberText);
    piece_.resize(kPieceBytes + row_bytes_);
    to_ = piece_.data();
    out->reserve(std::min(kChunkBytes + piece_.size(), page_.size() * row_bytes_));
    out->append("{\"columns\":[\"ts\"");
    for (const EventColumn& column : columns_) {
      out->push_back(',');
      AppendJsonString(column.label, out);
    }
    out->append("],\"rows\":[");
  }

  // By column: the place of its value in events of the shape; kNone where they have none.
  const std::vector<uint32_t>& OrderOf(size_t shape) {
    if (shape == ordered_shape_) return order_;
    ordered_shape_ = shape;
    order_.assign(columns_.size(), kNone);
    const std::span<const uint32_t> fields = page_.FieldsOf(shape);
    for (size_t place = 0; place < fields.size(); ++place) {
      const int column = column_of_[fields[place]];
      if (column >= 0) order_[static_cast<size_t>(column)] = static_cast<uint32_t>(place);
    }
    return order_;
  }

  size_t RoomInPiece() const { return static_cast<size_t>(piece_.data() + piece_.size() - to_); }
  void AppendPiece(std::string* out) {
    out->append(piece_.data(), to_);
    to_ = piece_.data();
  }

  // To the piece, which is appended before what is no number, and else when it is full. REQUIRES:
  // it has room for a row.
  void WriteRow(size_t event, std::string* out) {
    const Value* values = page_.ValuesOf(event);
    char* to = to_;
    *to++ = '[';
    to = WriteTime(page_.TimeOf(event), kAnswerTimeUnit, to);
    for (const uint32_t place : OrderOf(page_.ShapeOf(event))) {
      *to++ = ',';
      if (place != kNone && values[place].is_number()) {
        to = WriteNumber(values[place], to);
        continue;
      }
      to_ = to;
      AppendPiece(out);
      to = to_;
      AppendJsonValue(place == kNone ? Value() : values[place], out);
    }
    *to++ = ']';
    to_ = to;
  }

  void AppendTail(std::string_view next, std::string* out) const {
    Json plan = JsonOfPlan(run_->plan());
    plan["rows_read"] = run_->rows_read();
    out->push_back(']');
    AppendMembers({{"plan", std::move(plan)}, {"next", next.empty() ? Json() : Json(next)}}, out);
    out->append("}\n");
  }

  EventRun* const run_;
  EventPage page_;
  std::vector<EventColumn> columns_;
  std::vector<int> column_of_;  // By field; -1: not in the answer.
  size_t ordered_shape_ = kNone;
  std::vector<uint32_t> order_;  // Of that shape.
  std::vector<char> piece_;      // Of some rows.
  char* to_ = nullptr;           // Where it goes on.
  size_t row_bytes_ = 0;         // Of a row of numbers, at most.
  bool begun_ = false;
  size_t next_row_ = 0;
};

// Objects that can be sent again, one a line.
class NdjsonEvents final : public EventFormat {
 public:
  explicit NdjsonEvents(EventRun* run) : run_(run) {
    AppendJsonString(run->plan().table->time_field, &time_member_);
    time_member_.push_back(':');
  }

  // The time comes under its own name; a column of that name would say it twice.
  void Add(const EventView& event, std::string* out) override {
    out->push_back('{');
    out->append(time_member_);
    AppendTime(event.time, run_->query().stream->unit, out);
    for (const EventField& field : event.fields) {
      if (field.value.is_null() || !run_->IsAnswered(field.field)) continue;
      const std::string& member = MemberOf(field.field);
      if (std::string_view(member).substr(1) == time_member_) continue;
      out->append(member);
      AppendJsonValue(field.value, out);
    }
    out->append("}\n");
  }

 private:
  const std::string& MemberOf(uint32_t field) {
    if (field >= members_.size()) members_.resize(field + 1);
    std::string& member = members_[field];
    if (member.empty()) {
      member.push_back(',');
      AppendJsonString(run_->fields().name(field), &member);
      member.push_back(':');
    }
    return member;
  }

  EventRun* const run_;
  std::string time_member_;           // "\"ts\":", in the stream's spelling.
  std::vector<std::string> members_;  // By field: ",\"name\":" or empty while unknown.
};

// The header line has every field that the table is known to hold: rows follow it before all of
// them are read.
class RecordEvents final : public EventFormat {
 public:
  RecordEvents(EventRun* run, const RecordSyntax& syntax)
      : syntax_(syntax), columns_(ColumnsOfTable(run)), record_(columns_.size()) {
    for (size_t i = 0; i < columns_.size(); ++i) {
      const uint32_t field = columns_[i].field;
      if (field >= column_of_.size()) column_of_.resize(field + 1, -1);
      column_of_[field] = static_cast<int>(i);
    }
  }

  void Begin(std::string* out) override {
    out->append("ts");
    for (const EventColumn& column : columns_) {
      out->push_back(syntax_.separator);
      syntax_.append_text(column.label, out);
    }
    out->append(syntax_.line_end);
  }

  void Add(const EventView& event, std::string* out) override {
    std::fill(record_.begin(), record_.end(), nullptr);
    for (const EventField& field : event.fields) {
      if (field.field < column_of_.size() && column_of_[field.field] >= 0) {
        record_[static_cast<size_t>(column_of_[field.field])] = &field.value;
      }
    }
    AppendJsonTime(event.time, out);
    for (const Value* value : record_) {
      out->push_back(syntax_.separator);
      AppendCell(value == nullptr ? Value() : *value, out);
    }
    out->append(syntax_.line_end);
  }

 private:
  void AppendCell(const Value& value, std::string* out) {
    switch (value.type()) {
      case ValueType::kNull:
        out->append(syntax_.absent);
        return;
      case ValueType::kString:
        syntax_.append_text(value.AsView(), out);
        return;
      case ValueType::kBytes:
        out->append(EncodeBase64(value.AsView()));
        return;
      default:
        scratch_.clear();
        AppendText(value, &scratch_);
        out->append(scratch_);
    }
  }

  const RecordSyntax& syntax_;
  std::vector<EventColumn> columns_;
  std::vector<int> column_of_;  // By field; -1: none.
  std::vector<const Value*> record_;
  std::string scratch_;
};

}  // namespace

std::unique_ptr<EventFormat> MakeEventFormat(EventRun* run, AnswerFormat format) {
  if (const RecordSyntax* records = InfoOf(format).records) {
    return std::make_unique<RecordEvents>(run, *records);
  }
  if (format == AnswerFormat::kNdjson) return std::make_unique<NdjsonEvents>(run);
  return std::make_unique<JsonEvents>(run);
}

}  // namespace tallyd
