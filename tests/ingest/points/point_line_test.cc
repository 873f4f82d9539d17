#include "ingest/points/point_line.h"

#include <gtest/gtest.h>

#include "tests/ingest/points/show_points.h"

namespace tallyd {
namespace {

// The event of the line, or what is wrong with it.
std::string Read(std::string_view line) {
  DataPoints points;
  points.Begin({}, line.size());
  std::string_view rest = line;
  EXPECT_EQ(TakeWord(&rest), "put");
  ReadPointLine(line, rest, &points);
  const std::string errors = ShowErrors(points);
  return errors.empty() ? ShowEventsOf(&points) : errors;
}

TEST(PointLine, IsAMetricATimeAValueAndTags) {
  EXPECT_EQ(Read("put sys.cpu.user 1356998400 42.5 host=web01 cpu=0"),
            "0{ts=int64:1356998400000 cpu=string:0 host=string:web01 "
            "sys.cpu.user=float64:42.5 }\n");
}

TEST(PointLine, HasWordsThatAreApartBySpacesAndTabs) {
  EXPECT_EQ(Read("  put  m\t1   2  a=b  c=d "),
            "0{ts=int64:1000 a=string:b c=string:d m=int64:2 }\n");
}

TEST(PointLine, MayHoldAnyText) {
  EXPECT_EQ(Read("put caf\u00e9/p,q% 1 2 gr\u00f6\u00dfe=\u20ac\"'\\"),
            "0{ts=int64:1000 gr\u00f6\u00dfe=string:\u20ac\"'\\ caf\u00e9/p,q%=int64:2 }\n");
}

TEST(PointLine, IsRefusedByWhatOpenTsdbSays) {
  const struct {
    const char* line;
    const char* error;
  } cases[] = {
      {"put", "illegal argument: not enough arguments (need least 4, got 0)"},
      {"put m", "illegal argument: not enough arguments (need least 4, got 1)"},
      {"put m 1", "illegal argument: not enough arguments (need least 4, got 2)"},
      {"put m 1 2", "illegal argument: not enough arguments (need least 4, got 3)"},
      {"put m 1 2  ", "illegal argument: not enough arguments (need least 4, got 3)"},
      {"put m 0 2 a=b", "illegal argument: invalid timestamp: 0"},
      {"put m -5 2 a=b", "illegal argument: invalid timestamp: -5"},
      {"put m now 2 a=b", "illegal argument: invalid timestamp: now"},
      {"put m 12345678901234 2 a=b", "illegal argument: invalid timestamp: 12345678901234"},
      {"put m 1 x a=b", "invalid value: x"},
      {"put m 1 nan a=b", "invalid value: nan"},
      {"put m 1 9223372036854775808 a=b", "invalid value: 9223372036854775808"},
      {"put m 1 2 a", "illegal argument: invalid tag: a"},
      {"put m 1 2 a=", "illegal argument: invalid tag: a="},
      {"put m 1 2 =b", "illegal argument: invalid tag: =b"},
      {"put m 1 2 =", "illegal argument: invalid tag: ="},
      {"put m 1 2 a=b=c", "illegal argument: invalid tag: a=b=c"},
      {"put m 1 2 a=b a=c", "illegal argument: duplicate tag: a"},
      {"put m 1 2 a=b a=b", "illegal argument: duplicate tag: a"},
      {"put m 1 2 m=b", "illegal argument: tag \"m\" has the name of the point's own metric"},
      {"put m 1 2 a=\x01", "illegal argument: a control character stands in it"},
      {"put m 1 2 a=b\r", "illegal argument: a control character stands in it"},
      {"put m 1 2 a=\xff", "illegal argument: it is no UTF-8"},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(Read(one.line), std::string("0: ") + one.error + "\n") << one.line;
  }
}

}  // namespace
}  // namespace tallyd
