// A line -> a data point, as OpenTSDB's listener for telnet takes it behind the word "put":
//
//   put sys.cpu.user 1356998400 42.5 host=web01 cpu=0
#ifndef TALLYD_INGEST_POINTS_POINT_LINE_H_
#define TALLYD_INGEST_POINTS_POINT_LINE_H_

#include <string_view>

#include "ingest/points/data_points.h"

namespace tallyd {

// The line's first word, and what is left behind it; words are apart by spaces and tabs.
std::string_view TakeWord(std::string_view* line);

// `line` has no line end, and outlives the points; `rest` is what stands in it behind "put". One
// that is refused is among the points' errors, by what OpenTSDB says behind "put: ".
void ReadPointLine(std::string_view line, std::string_view rest, DataPoints* points);

}  // namespace tallyd

#endif  // TALLYD_INGEST_POINTS_POINT_LINE_H_
