#include "service/nightly/nightly_record.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

NightlyRecord Some() {
  NightlyRecord record;
  record.name = "SENSOR_20170726";
  record.source = "SENSOR";
  record.day = 17'373 * kUsPerDay;
  record.is_built = true;
  record.lives_from = record.day + kUsPerDay;
  record.built_at = record.lives_from + 1;
  record.took_us = 42;
  record.rows = 10'000'000;
  record.cells = 970'000'000;
  record.table = 7;
  record.staged = 8;
  return record;
}

TEST(NightlyRecordTest, ComesBackAsItWas) {
  NightlyRecord record = Some();
  EXPECT_EQ(DecodeNightly(NightlyKey(record.name), EncodeNightly(record)), record);
  record.is_built = false;
  record.is_behind = true;
  EXPECT_EQ(DecodeNightly(NightlyKey(record.name), EncodeNightly(record)), record);
}

TEST(NightlyRecordTest, HasAKeyForItsTable) {
  EXPECT_EQ(NightlyKey("SENSOR_20170726"), "nightly/SENSOR_20170726");
}

TEST(NightlyRecordTest, IsStoredAsWords) {
  EXPECT_EQ(EncodeNightly(Some()),
            "1 SENSOR 1501027200000000 1 1501113600000000 1501113600000001 42 10000000 970000000 "
            "7 8");
}

TEST(NightlyRecordTest, OlderOnesNameNoTable) {
  const auto record = DecodeNightly(NightlyKey("T"), "1 S 1 1 1 1 1 1 1");
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->table, 0u);
  EXPECT_EQ(record->staged, 0u);
}

TEST(NightlyRecordTest, OtherBytesAreNoRecord) {
  const std::string whole = EncodeNightly(Some());
  const std::string key = NightlyKey("T");
  EXPECT_FALSE(DecodeNightly("other/T", whole).has_value());
  for (const char* value :
       {"", "1", "1 S", "1 S 1 1 1 1 1 1", "1 S 1 1 1 1 1 1 1 1", "2 S 1 1 1 1 1 1 1",
        "1 S 1 1 1 1 1 1 1 1 4294967296", "1 S 1 1 1 1 1 1 1 1 1 1", "1 S 1 4 1 1 1 1 1",
        "1 S -1 1 1 1 1 1 1", "1 S 01 1 1 1 1 1 1", "1 S 99999999999999999 1 1 1 1 1 1",
        "1 S x 1 1 1 1 1 1"}) {
    EXPECT_FALSE(DecodeNightly(key, value).has_value()) << value;
  }
  EXPECT_TRUE(DecodeNightly(key, "1 S 1 1 1 1 1 1 1 1 1").has_value());
}

}  // namespace
}  // namespace tallyd
