#include "bench/event_writer.h"

#include <charconv>

namespace tallyd::bench {
namespace {

void AppendInteger(std::int64_t value, std::string* out) {
  char text[24];
  const auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  out->append(text, end);
}

void AppendHundredths(std::int64_t value, std::string* out) {
  if (value < 0) {
    out->push_back('-');
    value = -value;
  }
  AppendInteger(value / 100, out);
  out->push_back('.');
  out->push_back(static_cast<char>('0' + value % 100 / 10));
  out->push_back(static_cast<char>('0' + value % 10));
}

}  // namespace

EventWriter::EventWriter(Format format, std::string_view stream, std::string_view time_field)
    : format_(format), stream_(stream), time_field_(time_field) {}

void EventWriter::BeginBody(std::string* out) {
  out_ = out;
  first_event_ = true;
  if (format_ == Format::kNative) out_->push_back('[');
}

void EventWriter::EndBody() {
  if (format_ == Format::kNative) out_->push_back(']');
}

void EventWriter::BeginEvent(std::int64_t ts_ms) {
  ts_ms_ = ts_ms;
  first_value_ = true;
  if (format_ == Format::kNative) {
    out_->append(first_event_ ? "{\"" : ",{\"").append(time_field_).append("\":");
    AppendInteger(ts_ms, out_);
  } else {
    out_->append(stream_);
  }
  first_event_ = false;
}

void EventWriter::Tag(std::string_view name, std::string_view text) {
  BeginTag(name);
  if (format_ == Format::kNative) {
    out_->append("\"").append(text).append("\"");
  } else {
    out_->append(text);
  }
}

void EventWriter::NumberTag(std::string_view name, std::int64_t value) {
  BeginTag(name);
  AppendInteger(value, out_);
}

void EventWriter::Hundredths(std::string_view name, std::int64_t value) {
  BeginValue(name);
  AppendHundredths(value, out_);
}

void EventWriter::Integer(std::string_view name, std::int64_t value) {
  BeginValue(name);
  AppendInteger(value, out_);
}

void EventWriter::EndEvent() {
  if (format_ == Format::kNative) {
    out_->push_back('}');
  } else {
    out_->push_back(' ');
    AppendInteger(ts_ms_, out_);
    out_->push_back('\n');
  }
}

void EventWriter::BeginTag(std::string_view name) {
  if (format_ == Format::kNative) {
    out_->append(",\"").append(name).append("\":");
  } else {
    out_->append(",").append(name).append("=");
  }
}

void EventWriter::BeginValue(std::string_view name) {
  if (format_ == Format::kNative) {
    out_->append(",\"").append(name).append("\":");
  } else {
    out_->append(first_value_ ? " " : ",").append(name).append("=");
  }
  first_value_ = false;
}

}  // namespace tallyd::bench
