#include "ingest/lines/line_protocol.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "ingest/decode/body_decoder.h"

namespace tallyd {
namespace {

using Kind = FieldOrder::Kind;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kNameEnds = ",= ";
constexpr std::string_view kMeasurementEnds = ", ";

// Beyond so many, or so much, all is learned anew: what recurs is learned at once. New ones of one
// body beyond so many are no measurements that recur, and share what is learned.
constexpr size_t kMaxMeasurements = 1024;
constexpr size_t kMaxLearnedBytes = 8u << 20;

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

bool EndsValue(const char* at, const char* end) {
  return at == end || *at == ',' || IsBlank(*at);
}

// To the next line that is neither blank nor a comment. False: there is none.
bool FindLine(const char** at, const char* end) {
  while (*at < end) {
    if (**at == '#') {
      *at = std::find(*at, end, '\n');
    } else if (IsBlank(**at)) {
      ++*at;
    } else {
      return true;
    }
  }
  return false;
}

std::string_view TextTo(const char* begin, const char* end) {
  return {begin, static_cast<size_t>(end - begin)};
}

// What follows the token in memory may be digits, too.
bool ReadTimeToken(std::string_view token, int64_t* time) {
  std::array<char, 32> padded = {};
  if (token.size() >= padded.size()) return false;
  token.copy(padded.data(), token.size());
  return ReadLineDigits(padded.data(), time) == padded.data() + token.size();
}

std::string FaultOf(LineFault fault, std::string_view token) {
  switch (fault) {
    case LineFault::kIntegerTooBig:
      return fmt::format("integer {} does not fit into 64 bits", Shown(token));
    case LineFault::kUnsignedTooBig:
      return fmt::format("unsigned integer {} is beyond 9223372036854775807, the greatest that is "
                         "stored",
                         Shown(token));
    case LineFault::kFloatTooBig:
      return fmt::format("number {} is beyond the range of float64", Shown(token));
    case LineFault::kNone:
    case LineFault::kNoNumber:
      break;
  }
  if (token.empty()) return "missing field value";
  return fmt::format("'{}' is no number, boolean, or string in quotes", Shown(token));
}

}  // namespace

void LineProtocol::Decode(std::string_view body, const LineForm& form, const FindStream& find,
                          RequestEvents* request) {
  form_ = form;
  find_ = &find;
  request_ = request;
  malformed_ = 0;
  new_in_body_ = 0;
  ++bodies_;
  names_left_ = MostNameBytes(body.size());
  end_ = body.data() + body.size();
  const char* at = body.data();
  if (body.starts_with(kByteOrderMark)) at += kByteOrderMark.size();
  while (FindLine(&at, end_)) {
    const char* const behind = ReadKnown(at);
    at = behind != nullptr ? behind : ReadLine(at);
  }
}

const char* LineProtocol::ReadKnown(const char* at) {
  const char* const name_end = PlainLineTextEnd(at, end_);
  if (name_end == nullptr || name_end == at || name_end > end_) return nullptr;
  const std::string_view name = TextTo(at, name_end);
  if (of_ == nullptr || !IsSameName(of_->name, name)) {
    const auto found = measurements_.find(name);
    if (found == measurements_.end()) return nullptr;
    of_ = found->second.get();
  }
  if (of_->body != bodies_ && !TakeUp(of_)) return nullptr;
  FieldOrder& order = of_->order;
  batch_ = of_->stream->events;
  batch_->BeginEvent();
  order.Begin();
  if (!form_.measurement_field.empty()) {
    order.Member(form_.measurement_field, /*raw=*/false, Kind::kValue);
    batch_->AddValue(Value::String(name));
  }
  at = name_end;
  while (order.FollowText(&at, end_)) {
    if (order.kind() == Kind::kEnd) {
      batch_->EndEvent(order.shape());
      return at;
    }
    if (order.kind() == Kind::kLabel) {
      const char* const behind = PlainLineTextEnd(at, end_);
      if (behind == nullptr || behind == at) break;
      batch_->AddValue(Value::String(TextTo(at, behind)));
      at = behind;
    } else if (at[-1] == '=') {
      Value* const value = batch_->NewValue();
      const char* const behind = ReadPlainLineScalar(at, end_, value);
      at = behind != nullptr && EndsValue(behind, end_) ? behind : ReadOtherScalar(at, value);
      if (at == nullptr) break;
    } else {  // A space leads to the time.
      int64_t time = 0;
      at = ReadLineDigits(at, &time);
      if (at == nullptr || !AddTime(time, *of_->stream)) break;
    }
  }
  batch_->ForgetEvent();
  return nullptr;
}

const char* LineProtocol::ReadOtherScalar(const char* at, Value* value) {
  if (at < end_ && *at == '"') {
    const char* const close = std::find(at + 1, end_, '"');
    const std::string_view text = TextTo(at + 1, close);
    if (close == end_ || text.find('\\') != text.npos) return nullptr;
    if (!simdjson::validate_utf8(text.data(), text.size())) return nullptr;
    *value = Value::String(text);
    return close + 1;
  }
  const char* behind = at;
  while (!EndsValue(behind, end_)) ++behind;
  const std::string_view token = TextTo(at, behind);
  if (ReadLineValue(token, value) != LineFault::kNone) return nullptr;
  if (value->type() == ValueType::kFloat64 && !value->is_decimal()) {
    const std::optional<Value> as_json = ParseNumber(token);
    if (as_json && as_json->type() == ValueType::kFloat64) batch_->NoteDigits(token);
  }
  return behind;
}

const char* LineProtocol::ReadLine(const char* begin) {
  at_ = begin;
  batch_ = nullptr;
  std::string measurement;
  if (ReadMeasurement(&measurement)) {
    const LineStream* const stream = (*find_)(measurement);
    if (stream == nullptr) {
      Refuse(measurement, "it is a measurement for which there is no stream");
    } else {
      const bool is_good = ReadEvent(measurement, *stream) && EndLine(begin);
      names_left_ = of_->order.names_left();
      learned_bytes_ += of_->order.bytes() - order_bytes_;
      if (is_good) return at_;
    }
  }
  if (batch_ != nullptr) {
    batch_->DropEvent(std::move(refusal_));
  } else {
    request_->DropEvent(std::move(refusal_));
  }
  const std::string_view rest = TextTo(begin, end_);
  return begin + std::min(FindLineEnd(rest, 0) + 1, rest.size());
}

bool LineProtocol::ReadMeasurement(std::string* name) {
  *name = TakeText(kMeasurementEnds);
  return !name->empty() || Malformed({}, "missing measurement");
}

bool LineProtocol::IsOf(const Measurement& known, const LineStream& stream) const {
  return known.shapes == stream.shapes && known.time_field == stream.time_field &&
         known.measurement_field == form_.measurement_field;
}

bool LineProtocol::TakeUp(Measurement* known) {
  const LineStream* const stream = (*find_)(known->name);
  if (stream == nullptr || !IsOf(*known, *stream)) return false;
  BeOf(*known, *stream);
  return true;
}

LineProtocol::Measurement& LineProtocol::Learned(std::string_view name, const LineStream& stream) {
  auto known = measurements_.find(name);
  if (known != measurements_.end() && !IsOf(*known->second, stream)) {
    measurements_.erase(known);
    known = measurements_.end();
  }
  if (known == measurements_.end()) {
    const bool is_one_of_many = ++new_in_body_ > kMaxMeasurements;
    const bool has_others = others_ != nullptr && IsOf(*others_, stream);
    if (is_one_of_many && has_others) return BeOf(*others_, stream);
    if (measurements_.size() >= kMaxMeasurements || learned_bytes_ > kMaxLearnedBytes) {
      measurements_.clear();
      others_.reset();
      learned_bytes_ = 0;
    }
    auto added = std::make_unique<Measurement>();
    added->order.MarkLabels();
    added->shapes = stream.shapes;
    added->time_field = stream.time_field;
    added->measurement_field = form_.measurement_field;
    learned_bytes_ += sizeof(Measurement) + name.size() + added->order.bytes();
    if (is_one_of_many) {
      others_ = std::move(added);
      return BeOf(*others_, stream);
    }
    added->name = name;
    const std::string_view key = added->name;
    known = measurements_.emplace(key, std::move(added)).first;
  }
  return BeOf(*known->second, stream);
}

LineProtocol::Measurement& LineProtocol::BeOf(Measurement& known, const LineStream& stream) const {
  known.body = bodies_;
  known.stream = &stream;
  return known;
}

bool LineProtocol::ReadEvent(std::string_view measurement, const LineStream& stream) {
  of_ = &Learned(measurement, stream);
  order_bytes_ = of_->order.bytes();
  batch_ = stream.events;
  batch_->BeginEvent();
  of_->order.AllowNames(names_left_);
  of_->order.Begin();
  behind_ = at_;
  if (!form_.measurement_field.empty()) {
    of_->order.Member(form_.measurement_field, /*raw=*/false, Kind::kValue);
    batch_->AddValue(Value::String(batch_->Copy(measurement)));
  }
  return ReadTags() && ReadFields() && ReadTime();
}

bool LineProtocol::ReadTags() {
  while (at_ < end_ && *at_ == ',') {
    ++at_;
    const std::string_view name = TakeText(kNameEnds);
    if (name.empty()) return Malformed({}, "missing tag key");
    if (at_ == end_ || *at_ != '=') return Malformed(name, "missing tag value");
    if (!Member(Kind::kLabel, name)) return false;
    ++at_;
    NoteLead(Kind::kLabel);
    const std::string_view value = TakeText(kNameEnds);
    if (value.empty()) return Malformed({}, "missing tag value");
    if (at_ < end_ && *at_ == '=') return Malformed({}, "invalid tag format");
    batch_->AddValue(Value::String(Kept(value)));
    behind_ = at_;
  }
  return (at_ < end_ && *at_ == ' ') || Malformed({}, "missing fields");
}

bool LineProtocol::ReadFields() {
  while (at_ < end_ && *at_ == ' ') ++at_;
  if (at_ == end_ || IsBlank(*at_)) return Malformed({}, "missing fields");
  while (ReadField()) {
    if (at_ == end_ || *at_ != ',') return true;
    ++at_;
  }
  return false;
}

bool LineProtocol::ReadField() {
  const std::string_view name = TakeText(kNameEnds);
  if (name.empty()) return Malformed({}, "missing field key");
  if (at_ == end_ || *at_ != '=') return Malformed(name, "missing field value");
  if (!Member(Kind::kValue, name)) return false;
  ++at_;
  NoteLead(Kind::kValue);
  if (!ReadFieldValue(name)) return false;
  behind_ = at_;
  return true;
}

bool LineProtocol::ReadFieldValue(std::string_view name) {
  if (at_ < end_ && *at_ == '"') return ReadString(name);
  const char* const behind = ReadOtherScalar(at_, batch_->NewValue());
  if (behind != nullptr) {
    at_ = behind;
    return true;
  }
  const char* token_end = at_;
  while (!EndsValue(token_end, end_)) ++token_end;
  const std::string_view token = TextTo(at_, token_end);
  Value ignored;
  const LineFault fault = ReadLineValue(token, &ignored);
  const bool can_be_read = fault != LineFault::kNoNumber;
  std::string reason = FaultOf(fault, token);
  return can_be_read ? Refuse(name, std::move(reason)) : Malformed(name, std::move(reason));
}

bool LineProtocol::ReadString(std::string_view name) {
  const char* const begin = at_ + 1;
  const char* close = begin;
  bool has_escapes = false;
  while (close < end_ && *close != '"') {
    has_escapes |= *close == '\\';
    close += *close == '\\' ? 2 : 1;
  }
  if (close >= end_) return Malformed(name, "unbalanced quotes: none closes the string");
  const std::string_view raw = TextTo(begin, close);
  at_ = close + 1;
  if (!EndsValue(at_, end_)) return Malformed(name, "more than its value follows a closing quote");
  if (has_escapes) UnescapeLineString(raw, &scratch_);
  batch_->AddValue(Value::String(has_escapes ? batch_->Copy(scratch_) : raw));
  return true;
}

bool LineProtocol::ReadTime() {
  while (at_ < end_ && *at_ == ' ') ++at_;
  if (at_ == end_ || IsBlank(*at_)) return true;
  const char* const begin = at_;
  const std::string& field = of_->stream->time_field;
  of_->order.Member(field, /*raw=*/false, Kind::kValue);
  NoteLead(Kind::kValue);
  while (!EndsValue(at_, end_)) ++at_;
  const bool is_negative = *begin == '-';
  int64_t time = 0;
  if (!ReadTimeToken(TextTo(begin + (is_negative ? 1 : 0), at_), &time)) {
    return Malformed({}, fmt::format("bad timestamp '{}'", Shown(TextTo(begin, at_))));
  }
  if (is_negative || !AddTime(time, *of_->stream)) {
    return Refuse({}, fmt::format("its time {} is before 1970 or beyond 2286 in this precision",
                                  Shown(TextTo(begin, at_))));
  }
  behind_ = at_;
  return true;
}

bool LineProtocol::AddTime(int64_t time, const LineStream& stream) {
  const std::optional<TimeUs> us = LineTimeUs(time, form_.precision);
  if (!us) return false;
  if (stream.unit == TimeUnit::kMilliseconds && *us % kUsPerMs == 0) [[likely]] {
    batch_->AddValue(Value::Int(*us / kUsPerMs));
    return true;
  }
  if (stream.unit == TimeUnit::kMicroseconds) {
    batch_->AddValue(Value::Int(*us));
    return true;
  }
  // A number of more digits than a double has goes by its text.
  std::array<char, kMaxTimeText> text;
  const char* const text_end = WriteTime(*us, stream.unit, text.data());
  const std::string_view digits = batch_->Copy(TextTo(text.data(), text_end));
  const std::optional<Value> number = ParseNumber(digits);
  if (!number) return false;  // Nanoseconds beyond 2262.
  batch_->AddValue(*number);
  if (number->type() == ValueType::kFloat64 && !number->is_decimal()) batch_->NoteDigits(digits);
  return true;
}

bool LineProtocol::EndLine(const char* begin) {
  while (at_ < end_ && IsBlank(*at_) && *at_ != '\n') ++at_;
  if (at_ < end_ && *at_ != '\n') return Malformed({}, "more follows its time");
  const std::string_view line = TextTo(begin, at_);
  if (!simdjson::validate_utf8(line.data(), line.size())) {
    return Malformed({}, "its text is no UTF-8");
  }
  FieldOrder& order = of_->order;
  std::unique_ptr<const Shape> owned;
  const Shape* const shape = order.End(*of_->stream->shapes, &owned);
  const bool has_newline = at_ < end_;
  at_ += has_newline ? 1 : 0;
  if (shape != nullptr) {
    if (has_newline) NoteLead(Kind::kEnd);
    batch_->EndEvent(shape);
    return true;
  }
  if (!owned) return Refuse({}, "the names of all tags and fields of the request take too much");
  batch_->EndEvent(std::move(owned));
  return true;
}

std::string_view LineProtocol::TakeText(std::string_view ends) {
  const char* const begin = at_;
  bool has_backslash = false;
  for (; at_ < end_ && *at_ != '\n'; ++at_) {
    has_backslash |= *at_ == '\\';
    const bool ends_here = ends.find(*at_) != ends.npos;
    if (ends_here && (at_ == begin || at_[-1] != '\\')) break;
  }
  const std::string_view raw = TextTo(begin, at_);
  if (!has_backslash) return raw;
  UnescapeLineName(raw, ends, &scratch_);
  return scratch_;
}

std::string_view LineProtocol::Kept(std::string_view text) {
  return text.data() == scratch_.data() ? batch_->Copy(text) : text;
}

bool LineProtocol::Member(Kind kind, std::string_view name) {
  if (name == of_->stream->time_field) {
    return Refuse(name, "it is the name of the field that holds the time");
  }
  if (name == form_.measurement_field) {
    return Refuse(name, "it is the name of the field that holds the measurement's name");
  }
  switch (of_->order.Member(name, /*raw=*/false, kind)) {
    case FieldOrder::Step::kOk:
      return true;
    case FieldOrder::Step::kDuplicate:
      return Refuse(name, "tags and fields of one line have this name twice");
    case FieldOrder::Step::kTooLong:
      return Refuse(name, fmt::format("its name is longer than {} bytes", kMaxFieldNameBytes));
    case FieldOrder::Step::kTooManyNames:
    case FieldOrder::Step::kEmptyName:
    case FieldOrder::Step::kEscaped:
      break;
  }
  return Refuse({}, "the names of all tags and fields of the request take too much");
}

bool LineProtocol::Malformed(std::string_view field, std::string reason) {
  ++malformed_;
  return Refuse(field, std::move(reason));
}

bool LineProtocol::Refuse(std::string_view field, std::string reason) {
  refusal_ = {Shown(field), std::move(reason)};
  if (!field.empty()) refusal_.detail = fmt::format("\"{}\": {}", refusal_.field, refusal_.detail);
  return false;
}

std::vector<LinePlace> FindLines(std::string_view body, std::span<const size_t> indexes) {
  std::vector<LinePlace> places;
  const char* at = body.data();
  const char* const end = at + body.size();
  if (body.starts_with(kByteOrderMark)) at += kByteOrderMark.size();
  const char* counted = at;
  size_t number = 1;
  size_t index = 0;
  for (; places.size() < indexes.size() && FindLine(&at, end); ++index) {
    const std::string_view rest = TextTo(at, end);
    std::string_view line = rest.substr(0, FindLineEnd(rest, 0));
    if (index == indexes[places.size()]) {
      number += static_cast<size_t>(std::count(counted, at, '\n'));
      counted = at;
      if (line.ends_with('\r')) line.remove_suffix(1);
      places.push_back({number, line});
    }
    at += line.size();
  }
  return places;
}

}  // namespace tallyd
