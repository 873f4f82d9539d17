#include "service/series/series_index.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace tallyd {
namespace {

class SeriesIndexTest : public testing::Test {
 protected:
  SeriesIndexTest()
      : index_(std::make_shared<TableInfo>(),
               *SeriesKey::Of(*RowKeyTemplate::Parse("{labels}#{ts:ms}", "ts"), "ts")) {
    for (const char* series : {"host=a,rack=r1#", "host=b,rack=r1#", "host=c#", "rack=r2#"}) {
      index_.AddFound(series);
    }
    index_.SetComplete();
  }

  std::vector<std::string> Match(const std::vector<SeriesFilter>& filters, size_t limit = 100) {
    const KeyRange all;
    return index_.Match(std::span(&all, 1), filters, limit)->series;
  }

  SeriesIndex index_;
};

using Series = std::vector<std::string>;

SeriesFilter Beginning(const std::string& field, const std::string& with) {
  return {.field = field,
          .wants = [with](std::string_view text) { return text.starts_with(with); }};
}

TEST_F(SeriesIndexTest, FindsSeriesByTheirValues) {
  EXPECT_EQ(Match({{"rack", {"r1", "r2"}}}), (Series{"host=a,rack=r1#", "host=b,rack=r1#",
                                                     "rack=r2#"}));
  EXPECT_EQ(Match({{"rack", {"r1"}}, {"host", {"b", "c"}}}), (Series{"host=b,rack=r1#"}));
}

TEST_F(SeriesIndexTest, FindsSeriesByWhatSomebodyWantsOfAValueWhichTheyMustHave) {
  EXPECT_EQ(Match({Beginning("rack", "r")}),
            (Series{"host=a,rack=r1#", "host=b,rack=r1#", "rack=r2#"}));
  EXPECT_EQ(Match({{"rack", {"r1"}}, Beginning("host", "a")}), (Series{"host=a,rack=r1#"}));
  EXPECT_EQ(Match({Beginning("none", "")}), Series());
}

TEST_F(SeriesIndexTest, FindsSeriesWithoutAFieldBesideThoseWithItsValue) {
  const SeriesFilter host{.field = "host", .values = {"a"}, .or_without = true};
  EXPECT_EQ(Match({host}), (Series{"host=a,rack=r1#", "rack=r2#"}));
  EXPECT_EQ(Match({host, {"rack", {"r2"}}}), (Series{"rack=r2#"}));
}

TEST_F(SeriesIndexTest, LooksAtEachOfManySeriesAndSaysWhereMoreMatchThanAskedFor) {
  for (int i = 0; i < 10'000; ++i) index_.AddFound("host=many" + std::to_string(i) + "#");
  EXPECT_EQ(Match({Beginning("host", "many")}, 20'000).size(), 10'000u);
  const KeyRange all;
  const std::vector<SeriesFilter> filters = {Beginning("host", "many")};
  EXPECT_FALSE(index_.Match(std::span(&all, 1), filters, 9'999)->are_all);
}

}  // namespace
}  // namespace tallyd
