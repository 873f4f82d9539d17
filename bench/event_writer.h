#ifndef TALLYD_BENCH_EVENT_WRITER_H_
#define TALLYD_BENCH_EVENT_WRITER_H_

// EventWriter spells one event after another into a request body, either as tallyd's native JSON
// array or as Influx line protocol. Names and values are spelled with the same characters in both,
// so that a comparison of servers compares servers and not data.
//
// Use, per event: BeginEvent(ts_ms), Tag()..., Hundredths() and Integer()..., EndEvent(); and per
// request BeginBody(), the events, EndBody(). Tags come before values. One thread; the string
// outlives the writer.

#include <cstdint>
#include <string>
#include <string_view>

namespace tallyd::bench {

enum class Format { kNative, kInfluxLine };

class EventWriter {
 public:
  // `stream` is the measurement of a line; `time_field` is the member of a JSON event that holds
  // its time.
  EventWriter(Format format, std::string_view stream, std::string_view time_field);

  void BeginBody(std::string* out);
  void EndBody();

  void BeginEvent(std::int64_t ts_ms);
  void Tag(std::string_view name, std::string_view text);
  // A tag that JSON carries as a number.
  void NumberTag(std::string_view name, std::int64_t value);
  // A value in hundredths, always with two decimals: 2 is spelled 0.02.
  void Hundredths(std::string_view name, std::int64_t value);
  void Integer(std::string_view name, std::int64_t value);
  void EndEvent();

 private:
  void BeginTag(std::string_view name);
  void BeginValue(std::string_view name);

  const Format format_;
  const std::string stream_;
  const std::string time_field_;
  std::string* out_ = nullptr;
  std::int64_t ts_ms_ = 0;
  bool first_event_ = true;
  bool first_value_ = true;
};

}  // namespace tallyd::bench

#endif  // TALLYD_BENCH_EVENT_WRITER_H_
