// JSON -> data points: the body of OpenTSDB's /api/put, a point or an array of points:
//
//   {"metric": "sys.cpu.user", "timestamp": 1356998400, "value": 42.5, "tags": {"host": "web01"}}
//
// A value may be a number's text in quotes, a timestamp, too; a tag's value is text, and numbers
// and booleans become their text. Members of other names are not looked at. What is wrong with a
// point refuses that point alone, by OpenTSDB's own words where it has some. Not thread-safe.
#ifndef TALLYD_INGEST_POINTS_POINT_READER_H_
#define TALLYD_INGEST_POINTS_POINT_READER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/values/result.h"
#include "ingest/decode/json_tokens.h"
#include "ingest/points/data_points.h"

namespace tallyd {

class PointReader : private JsonCursor {
 public:
  // `body` has kBodyPadding readable bytes behind it, and outlives the points. kInvalid: it is not
  // JSON, or other than points, and none of it may be taken.
  Status Read(std::string_view body, DataPoints* points);
  // About how much memory stays from body to body.
  size_t bytes() const { return tokens_.bytes() + JsonCursor::bytes(); }

 private:
  enum class Part : uint8_t { kMissing, kBad, kGood };

  // What was read of a point.
  struct Draft {
    std::string_view metric;
    Part time_part = Part::kMissing;
    TimeUs time = 0;
    Part value_part = Part::kMissing;
    Value value;
    Part tags_part = Part::kMissing;
    uint32_t tags = 0;
    unsigned given = 0;  // A bit for each member that came.
    std::string fault;   // Of another kind; the first.
  };

  bool ReadBody();
  bool ReadPoint();
  void TakePoint(std::string_view source);
  bool ReadMember();
  bool ReadMetric();
  bool ReadTime();
  bool ReadValue();
  bool ReadTags();
  bool ReadTag();
  // The tags as spelled, where they are known or flat; empty: they are neither.
  std::string_view SpelledTags() const;
  // A string; nothing in *text where it holds no character, which is a fault.
  bool TakeText(std::optional<std::string_view>* text);
  void Fault(std::string fault) {
    if (draft_.fault.empty()) draft_.fault = std::move(fault);
  }

  JsonTokens tokens_;
  DataPoints* points_ = nullptr;
  Draft draft_;
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_POINTS_POINT_READER_H_
