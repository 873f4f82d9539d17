#include "ingest/nightly/nightly_record.h"

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

TEST(NightlyRecordTest, DamagedBytesAreNoRecord) {
  const std::string whole = EncodeNightly(Some());
  const std::string key = NightlyKey("T");
  EXPECT_FALSE(DecodeNightly("other/T", whole).has_value());
  EXPECT_FALSE(DecodeNightly(key, whole + "x").has_value());
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(DecodeNightly(key, whole.substr(0, size)).has_value()) << size;
  }
  std::string other_version = whole;
  other_version[0] = 2;
  EXPECT_FALSE(DecodeNightly(key, other_version).has_value());
}

}  // namespace
}  // namespace tallyd
