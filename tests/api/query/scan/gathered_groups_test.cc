// Events of many entities in order of time, in slices of it.
#include "service/query/scan/gathered_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <compare>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "tests/api/query/query_fixture.h"

namespace tallyd {
namespace {

constexpr uint64_t kMiB = 1u << 20;

struct Place {
  int64_t ts;
  std::string host;
  friend auto operator<=>(const Place&, const Place&) = default;
};

class GatheredGroupsTest : public QueryTest {
 protected:
  // Events of many hosts with equal and different times, some of them far apart.
  void Fill(const char* table) {
    Begin(table);
    world().LimitMemory(2 * kMiB);
    for (int host = 0; host < 30; ++host) {
      json events = json::array();
      for (int i = 0; i < 200; ++i) {
        const int64_t ts = 1'600'000'000'000 + (i / 100) * 86'400'000LL * 200 + i * 1000 + host % 3;
        const std::string name = "h" + std::to_string(host);
        events.push_back({{"host", name}, {"ts", ts}, {"n", i}, {"text", std::string(100, 'x')}});
        expected_.push_back({ts, name});
      }
      Take(events.dump());
    }
    std::ranges::sort(expected_);
  }
  std::vector<Place> Lines(const std::string& query) {
    const Response response = world().Call(GetEvents, {"server"}, query + "&format=ndjson");
    EXPECT_EQ(response.status, 200u) << response.body;
    std::vector<Place> places;
    std::istringstream lines(response.body);
    for (std::string line; std::getline(lines, line);) places.push_back(PlaceIn(json::parse(line)));
    return places;
  }
  static Place PlaceIn(const json& event) { return {event["ts"], event["host"]}; }
  std::vector<Place> Reversed() const { return {expected_.rbegin(), expected_.rend()}; }

  std::vector<Place> expected_;
};

TEST_F(GatheredGroupsTest, SlicesJoinedAreTheWholeInBothOrders) {
  Fill(kMetric);
  EXPECT_EQ(Lines("scan=1"), expected_);
  EXPECT_EQ(Lines("scan=1&order=desc"), Reversed());
  EXPECT_EQ(world().memory().held(), 0u);
}

TEST_F(GatheredGroupsTest, PagesJoinedAreTheWholeToo) {
  Fill(kMetric);
  std::vector<Place> places;
  std::string cursor;
  do {
    const json page = Ask("scan=1&limit=777" + (cursor.empty() ? "" : "&cursor=" + cursor));
    for (const json& row : page["rows"]) places.push_back({row[0], row[1]});
    cursor = page["next"].is_string() ? page["next"].get<std::string>() : "";
  } while (!cursor.empty());
  EXPECT_EQ(places, expected_);
}

TEST_F(GatheredGroupsTest, BucketsOfADayComeInTheirCellsOrder) {
  Fill(kByDay);
  EXPECT_EQ(Lines("scan=1"), expected_);
  EXPECT_EQ(Lines("scan=1&order=desc"), Reversed());
}

TEST_F(GatheredGroupsTest, OfOneMomentThatIsLargerThanASliceNothingIsMissing) {
  Begin(kMetric);
  world().LimitMemory(2 * kMiB);
  json events = json::array();
  for (int host = 0; host < 1500; ++host) {
    events.push_back({{"host", "h" + std::to_string(10'000 + host)},
                      {"ts", 1'600'000'000'000},
                      {"text", std::string(400, 'x')}});
  }
  Take(events.dump());
  const std::vector<Place> places = Lines("scan=1");
  EXPECT_EQ(places.size(), 1500u);
  EXPECT_TRUE(std::ranges::is_sorted(places));
  EXPECT_TRUE(std::ranges::adjacent_find(places) == places.end());
}

TEST_F(GatheredGroupsTest, InTheOrderOfKeysEachComesOnce) {
  Fill(kMetric);
  std::vector<Place> places = Lines("scan=1&order=key");
  EXPECT_TRUE(std::ranges::is_sorted(
      places, {}, [](const Place& place) { return std::tuple(place.host + "#", place.ts); }));
  std::ranges::sort(places);
  EXPECT_EQ(places, expected_);
}

}  // namespace
}  // namespace tallyd
