#include "api/query/answer/event_format.h"

#include <algorithm>
#include <limits>
#include <optional>
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
  void SetHint(std::string hint) override { hint_ = std::move(hint); }

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
    Json members = {{"plan", std::move(plan)}, {"next", next.empty() ? Json() : Json(next)}};
    if (!hint_.empty()) members["hint"] = JsonOfText(hint_);
    AppendMembers(members, out);
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
  std::string hint_;
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

// RecordLines: a header line, then a line for each event.
class RecordLines {
 public:
  RecordLines(const RecordSyntax& syntax, std::vector<EventColumn> columns)
      : syntax_(syntax), columns_(std::move(columns)), record_(columns_.size()) {
    for (size_t i = 0; i < columns_.size(); ++i) {
      const uint32_t field = columns_[i].field;
      if (field >= column_of_.size()) column_of_.resize(field + 1, -1);
      column_of_[field] = static_cast<int>(i);
    }
  }

  size_t columns() const { return columns_.size(); }
  bool HasColumn(uint32_t field) const {
    return field < column_of_.size() && column_of_[field] >= 0;
  }

  void AppendHead(std::string* out) const {
    out->append("ts");
    for (const EventColumn& column : columns_) {
      out->push_back(syntax_.separator);
      syntax_.append_text(column.label, out);
    }
    out->append(syntax_.line_end);
  }

  void Append(const EventView& event, std::string* out) {
    std::fill(record_.begin(), record_.end(), nullptr);
    for (const EventField& field : event.fields) {
      if (HasColumn(field.field)) {
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

// The header line has every field that the table is known to hold: rows follow it before all of
// them are read.
class RecordEvents final : public EventFormat {
 public:
  RecordEvents(const RecordSyntax& syntax, std::vector<EventColumn> columns)
      : lines_(syntax, std::move(columns)) {}

  void Begin(std::string* out) override { lines_.AppendHead(out); }
  void Add(const EventView& event, std::string* out) override { lines_.Append(event, out); }

 private:
  RecordLines lines_;
};

// The header line has the fields that the query's rows had when they were asked for it. An event
// that brings another one came later: the answer fails, since its line has no place for the value.
class MetRecordEvents final : public EventFormat {
 public:
  MetRecordEvents(EventRun* run, const RecordSyntax& syntax, std::vector<bool> met)
      : run_(run), met_(std::move(met)), lines_(syntax, ColumnsOfPage(run, met_)) {}

  void Begin(std::string* out) override { lines_.AppendHead(out); }

  void Add(const EventView& event, std::string* out) override {
    for (const EventField& field : event.fields) {
      if (!lines_.HasColumn(field.field) && !field.value.is_null()) Meet(field.field);
    }
    lines_.Append(event, out);
  }

  const Error* failure() const override { return failure_ ? &*failure_ : nullptr; }

 private:
  // A field that is not asked for, or is the time, has no column however often it is met.
  void Meet(uint32_t field) {
    if (failure_ || !run_->IsAnswered(field)) return;
    if (field >= met_.size()) met_.resize(field + 1);
    if (met_[field]) return;
    met_[field] = true;
    if (ColumnsOfPage(run_, met_).size() == lines_.columns()) return;
    failure_.emplace(ErrorCode::kUnavailable,
                     "the header line has no column for field '" + run_->fields().name(field) +
                         "', which came while the events were read; ask again, for a time that "
                         "has ended, or name the fields by fields=, or ask for format=ndjson");
  }

  EventRun* const run_;
  std::vector<bool> met_;  // By field.
  RecordLines lines_;
  std::optional<Error> failure_;
};

// One page that is kept until it is known which fields its own events have.
class RecordPage final : public EventFormat {
 public:
  RecordPage(EventRun* run, const RecordSyntax& syntax)
      : run_(run),
        syntax_(syntax),
        page_([run](uint32_t field) { return run->IsAnswered(field); }) {}

  void Add(const EventView& event, std::string*) override { page_.Add(event); }
  size_t held_bytes() const override { return page_.bytes(); }

  bool End(std::string_view, std::string* out) override {
    if (!lines_) {
      lines_.emplace(syntax_, ColumnsOfPage(run_, page_.met()));
      lines_->AppendHead(out);
    }
    const size_t full = out->size() + kChunkBytes;
    for (; next_row_ < page_.size() && out->size() < full; ++next_row_) {
      const std::span<const uint32_t> fields = page_.FieldsOf(page_.ShapeOf(next_row_));
      const Value* values = page_.ValuesOf(next_row_);
      event_.clear();
      for (size_t i = 0; i < fields.size(); ++i) event_.push_back({fields[i], values[i]});
      lines_->Append({page_.TimeOf(next_row_), event_}, out);
    }
    return next_row_ < page_.size();
  }

 private:
  EventRun* const run_;
  const RecordSyntax& syntax_;
  EventPage page_;
  std::optional<RecordLines> lines_;
  size_t next_row_ = 0;
  std::vector<EventField> event_;
};

Result<std::unique_ptr<EventFormat>> MakeRecords(EventRun* run, const RecordSyntax& syntax) {
  std::unique_ptr<EventFormat> format;
  if (auto columns = ColumnsOfTable(run)) {
    format = std::make_unique<RecordEvents>(syntax, std::move(*columns));
  } else if (run->query().limit) {
    format = std::make_unique<RecordPage>(run, syntax);
  } else {
    Result<std::vector<bool>> met = run->MeetFields();
    if (!met) return met.error();
    format = std::make_unique<MetRecordEvents>(run, syntax, std::move(*met));
  }
  return format;
}

}  // namespace

Result<std::unique_ptr<EventFormat>> MakeEventFormat(EventRun* run, AnswerFormat format) {
  if (const RecordSyntax* records = InfoOf(format).records) return MakeRecords(run, *records);
  std::unique_ptr<EventFormat> lines;
  if (format == AnswerFormat::kNdjson) {
    lines = std::make_unique<NdjsonEvents>(run);
  } else {
    lines = std::make_unique<JsonEvents>(run);
  }
  return lines;
}

}  // namespace tallyd
