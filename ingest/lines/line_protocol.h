// InfluxDB's line protocol -> events, a line each: the measurement's name, tags, which are labels,
// fields, and the time, which may be absent.
//
// What stands between the values of a line (",host=", " usage=") is learned by measurement, as
// FieldOrder learns it of JSON: a line like one before costs a comparison for each value, and no
// look for commas. Escapes, other spellings of numbers and texts that are not ASCII take the longer
// way, which is also the one that tells what is wrong.
//
// A bad line is an error of its event, and the others are read; nothing makes the whole body bad.
// Keeps what it learned from body to body, bounded; one thread's at a time.
#ifndef TALLYD_INGEST_LINES_LINE_PROTOCOL_H_
#define TALLYD_INGEST_LINES_LINE_PROTOCOL_H_

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/time.h"
#include "ingest/decode/event_batch.h"
#include "ingest/decode/field_name.h"
#include "ingest/decode/field_order.h"
#include "ingest/lines/line_text.h"
#include "ingest/decode/shape.h"

namespace tallyd {

// The stream that the lines of a measurement go to.
struct LineStream {
  EventBatch* events = nullptr;
  ShapeRegistry* shapes = nullptr;
  std::string time_field;  // Holds a line's time, and is the name of no tag or field.
  TimeUnit unit = TimeUnit::kMilliseconds;
};

struct LineForm {
  LinePrecision precision = LinePrecision::kNanoseconds;
  // The field of the event that has the measurement's name, and so of no line; empty: none has.
  std::string_view measurement_field;
};

class LineProtocol {
 public:
  // Null: there is no such stream. What it points to stays until the body is decoded.
  using FindStream = std::function<const LineStream*(std::string_view measurement)>;

  // Adds the body's events to what `find` gives, and the errors of lines without a stream to
  // `request`. `body` has kBodyPadding readable bytes behind it and outlives the events.
  void Decode(std::string_view body, const LineForm& form, const FindStream& find,
              RequestEvents* request);
  // Of the last body: lines that InfluxDB could not read either. Other bad lines say what cannot be
  // stored.
  size_t malformed() const { return malformed_; }

  // About how much memory stays from body to body.
  size_t bytes() const { return learned_bytes_ + scratch_.capacity(); }

 private:
  // What was learned of a measurement's lines.
  struct Measurement {
    std::string name;
    FieldOrder order;
    const ShapeRegistry* shapes = nullptr;  // Whose shapes it is of.
    std::string time_field;
    std::string measurement_field;
    uint64_t body = 0;                   // The number of the one that `stream` is of.
    const LineStream* stream = nullptr;  // Not null in that body.
  };

  // Both return the place behind the line that begins there; ReadKnown null where the line is not
  // like one before, or wrong: then nothing was added.
  const char* ReadKnown(const char* at);
  // Null: it takes the longer way. `value`: the one that came last.
  const char* ReadOtherScalar(const char* at, Value* value);
  const char* ReadLine(const char* at);
  // These move on, and are false where they refused the line.
  bool ReadMeasurement(std::string* name);
  bool ReadEvent(std::string_view measurement, const LineStream& stream);
  bool ReadTags();
  bool ReadFields();
  bool ReadField();
  bool ReadFieldValue(std::string_view name);
  bool ReadString(std::string_view name);
  bool ReadTime();
  bool EndLine(const char* begin);
  // A tag's or a field's name, or a tag's value, to the unescaped byte that ends it; good until the
  // next one.
  std::string_view TakeText(std::string_view ends);
  std::string_view Kept(std::string_view text);  // For the events.
  bool Member(FieldOrder::Kind kind, std::string_view name);
  void NoteLead(FieldOrder::Kind kind) {
    of_->order.NoteLead(kind, {behind_, static_cast<size_t>(at_ - behind_)});
  }
  bool AddTime(int64_t time, const LineStream& stream);

  bool IsOf(const Measurement& known, const LineStream& stream) const;
  // Of a body before, for this one. False: it is of another stream now.
  bool TakeUp(Measurement* known);
  Measurement& Learned(std::string_view name, const LineStream& stream);
  Measurement& BeOf(Measurement& known, const LineStream& stream) const;
  // Both refuse the line, and are always false.
  bool Malformed(std::string_view field, std::string reason);
  bool Refuse(std::string_view field, std::string reason);

  const char* end_ = nullptr;  // Of the body.
  LineForm form_;
  const FindStream* find_ = nullptr;
  RequestEvents* request_ = nullptr;
  uint64_t bodies_ = 0;
  size_t malformed_ = 0;
  size_t names_left_ = 0;  // Of what the names of the body may take.

  boost::unordered_flat_map<std::string_view, std::unique_ptr<Measurement>, FieldNameHash>
      measurements_;  // By their names.
  std::unique_ptr<Measurement> others_;  // Without a name: of many that do not recur.
  size_t new_in_body_ = 0;
  size_t learned_bytes_ = 0;
  size_t order_bytes_ = 0;  // Of them, those of the line's measurement before it.
  Measurement* of_ = nullptr;  // Of the line, or of the one before.

  EventBatch* batch_ = nullptr;  // Of the line; null: it has no stream.
  const char* at_ = nullptr;
  const char* behind_ = nullptr;  // The value read last.
  Refusal refusal_;
  std::string scratch_;  // What stands behind escapes.
};

// Lines that hold an event, by their place among these: what the errors of a request name.
struct LinePlace {
  size_t number = 0;  // Of the first line of text, from 1.
  std::string_view text;
};
// `indexes` ascend; those beyond the last line are left out.
std::vector<LinePlace> FindLines(std::string_view body, std::span<const size_t> indexes);

}  // namespace tallyd

#endif  // TALLYD_INGEST_LINES_LINE_PROTOCOL_H_
