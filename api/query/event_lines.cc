#include "api/query/event_lines.h"

#include <algorithm>

#include "api/cell_json.h"

namespace tallyd {
namespace {

void AppendCsvValue(const Value& value, std::string* scratch, std::string* out) {
  switch (value.type()) {
    case ValueType::kString:
      AppendCsvText(value.AsView(), out);
      return;
    case ValueType::kBytes:
      out->append(EncodeBase64(value.AsView()));
      return;
    default:
      scratch->clear();
      AppendText(value, scratch);
      out->append(*scratch);
  }
}

}  // namespace

EventLines::EventLines(EventRun* run) : run_(run), csv_(run->query().format == AnswerFormat::kCsv) {
  AppendJsonString(run->plan().table->time_field, &time_member_);
  time_member_.push_back(':');
  if (!csv_) return;
  columns_ = ColumnsOfTable(run);
  for (size_t i = 0; i < columns_.size(); ++i) {
    const uint32_t field = columns_[i].field;
    if (field >= column_of_.size()) column_of_.resize(field + 1, -1);
    column_of_[field] = static_cast<int>(i);
  }
  record_.resize(columns_.size());
}

void EventLines::AppendHeader(std::string* out) const {
  if (!csv_) return;
  out->append("ts");
  for (const EventColumn& column : columns_) {
    out->push_back(',');
    AppendCsvText(column.label, out);
  }
  out->append("\r\n");
}

void EventLines::Append(const EventView& event, std::string* out) {
  if (csv_) {
    AppendRecord(event, out);
  } else {
    AppendObject(event, out);
  }
}

const std::string& EventLines::MemberOf(uint32_t field) {
  if (field >= members_.size()) members_.resize(field + 1);
  std::string& member = members_[field];
  if (member.empty()) {
    member.push_back(',');
    AppendJsonString(run_->fields().name(field), &member);
    member.push_back(':');
  }
  return member;
}

// The time comes under its own name, so that the line can be sent again; a column of that name
// would say it twice.
void EventLines::AppendObject(const EventView& event, std::string* out) {
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

void EventLines::AppendRecord(const EventView& event, std::string* out) {
  std::fill(record_.begin(), record_.end(), nullptr);
  for (const EventField& field : event.fields) {
    if (field.field < column_of_.size() && column_of_[field.field] >= 0) {
      record_[static_cast<size_t>(column_of_[field.field])] = &field.value;
    }
  }
  AppendJsonTime(event.time, out);
  for (const Value* value : record_) {
    out->push_back(',');
    if (value != nullptr) AppendCsvValue(*value, &scratch_, out);
  }
  out->append("\r\n");
}

}  // namespace tallyd
