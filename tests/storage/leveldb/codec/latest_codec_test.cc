// Rows of latest tables as stored: layers newest first, changes in one record, twins.
#include "storage/leveldb/codec/latest_codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "tests/storage/bytes/hostile_bytes.h"

namespace tallyd {
namespace {

std::string Encode(const std::vector<Layer>& layers) {
  std::string record;
  EncodeLatest(layers, &record);
  return record;
}

TEST(LatestCodecTest, LayersComeBackInTheirOrder) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::string> entries(1 + random() % 5);
    std::vector<Layer> layers;
    for (std::string& entry : entries) {
      entry = RandomBytes(random, 300);
      layers.push_back({static_cast<TimeUs>(random() % 3), random(), entry});
    }
    std::sort(layers.begin(), layers.end(),
              [](const Layer& a, const Layer& b) { return a.IsNewerThan(b); });
    const std::string record = Encode(layers);
    std::vector<Layer> read;
    ASSERT_TRUE(DecodeLatest(record, &read));
    ASSERT_EQ(read.size(), layers.size());
    for (size_t i = 0; i < read.size(); ++i) {
      EXPECT_EQ(read[i].time, layers[i].time);
      EXPECT_EQ(read[i].sequence, layers[i].sequence);
      EXPECT_EQ(read[i].entry, layers[i].entry);
    }
  }
}

TEST(LatestCodecTest, TheLaterTimeHasTheSayAndThenTheLaterCommit) {
  EXPECT_TRUE((Layer{2, 1, {}}.IsNewerThan({1, 9, {}})));
  EXPECT_TRUE((Layer{2, 9, {}}.IsNewerThan({2, 1, {}})));
  EXPECT_FALSE((Layer{2, 1, {}}.IsNewerThan({2, 1, {}})));
}

TEST(LatestCodecTest, AnEncodedRowReplacesWhatWasInTheString) {
  std::string record = "before";
  EncodeLatest(std::vector<Layer>{{1, 1, "e"}}, &record);
  EXPECT_EQ(record, Encode({{1, 1, "e"}}));
}

TEST(LatestCodecTest, ChangesOfManyTablesShareARecord) {
  std::string record;
  AppendLatestChange({1, "kept", "row"}, &record);
  AppendLatestChange({std::numeric_limits<TableId>::max(), "", ""}, &record);
  ByteReader in(record);
  LatestChangeRecord change;
  ASSERT_TRUE(ReadLatestChange(&in, &change));
  EXPECT_EQ(change.table, 1u);
  EXPECT_EQ(change.key, "kept");
  EXPECT_EQ(change.row, "row");
  ASSERT_TRUE(ReadLatestChange(&in, &change));
  EXPECT_EQ(change.table, std::numeric_limits<TableId>::max());
  EXPECT_EQ(change.row, "") << "it is gone";
  EXPECT_TRUE(in.done());
}

TEST(LatestCodecTest, AChangeToOneLayerIsWrittenLikeAnyOther) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 500; ++round) {
    const std::string entry = RandomBytes(random, 300);
    const std::string key = RandomBytes(random, 20);
    const Layer layer{static_cast<TimeUs>(random() >> random() % 64 >> 12),
                      random() >> random() % 64, entry};
    const std::string row = Encode({layer});
    ASSERT_EQ(LatestSize(layer), row.size());
    Layer newest;
    bool alone = false;
    ASSERT_TRUE(GetNewestLayer(row, &newest, &alone));
    EXPECT_TRUE(alone);
    EXPECT_EQ(newest.entry, entry);
    const LatestTwin twin{layer.time, layer.sequence, random() >> random() % 64, 7};
    std::string reference;
    EncodeLatestTwin(twin, &reference);
    std::string expected;
    AppendLatestChange({3, key, row}, &expected);
    AppendLatestChange({4, key, reference}, &expected);
    ByteBuffer record;
    AppendLayerChange(3, key, layer, &record);
    AppendTwinChange(4, key, twin, &record);
    ASSERT_EQ(record.View(0, record.size()), expected);
  }
}

TEST(LatestCodecTest, ATwinIsToldFromARowOfLayers) {
  const LatestTwin twin{5, 9, 8, 2};
  std::string record;
  EncodeLatestTwin(twin, &record);
  EXPECT_TRUE(IsLatestTwin(record));
  EXPECT_FALSE(IsLatestTwin(Encode({{1, 1, "e"}})));
  EXPECT_FALSE(IsLatestTwin(""));
  LatestTwin read;
  ASSERT_TRUE(DecodeLatestTwin(record, &read));
  EXPECT_EQ(read.time, 5);
  EXPECT_EQ(read.sequence, 9u);
  EXPECT_EQ(read.entry, 8u);
  EXPECT_EQ(read.set, 2u);
  std::vector<Layer> layers;
  EXPECT_FALSE(DecodeLatest(record, &layers)) << "nor is a twin a row";
}

TEST(LatestCodecDamageTest, LayersThatAreNotNewestFirstAreMalformed) {
  std::vector<Layer> read;
  EXPECT_FALSE(DecodeLatest(Encode({{1, 1, "a"}, {2, 1, "b"}}), &read));
  EXPECT_FALSE(DecodeLatest(Encode({{1, 1, "a"}, {1, 2, "b"}}), &read));
  EXPECT_FALSE(DecodeLatest(Encode({{1, 1, "a"}, {1, 1, "b"}}), &read)) << "one twice";
  EXPECT_FALSE(DecodeLatest(Encode({}), &read)) << "a row of nothing";
}

TEST(LatestCodecDamageTest, TimesThatCannotBeAreMalformed) {
  std::vector<Layer> read;
  EXPECT_TRUE(DecodeLatest(Encode({{kMaxTimeUs, 1, "a"}}), &read));
  EXPECT_FALSE(DecodeLatest(Encode({{kMaxTimeUs + 1, 1, "a"}}), &read));
  std::string record;
  LatestTwin twin;
  EncodeLatestTwin({kMaxTimeUs + 1, 1, 1, 1}, &record);
  EXPECT_FALSE(DecodeLatestTwin(record, &twin));
}

TEST(LatestCodecDamageTest, EveryTruncationIsMalformed) {
  const std::string row = Encode({{9, 4, "entry"}, {1, 7, "older"}});
  std::string record;
  EncodeLatestTwin({5, 9, 8, 2}, &record);
  std::string change;
  AppendLatestChange({4, "key", "row"}, &change);
  std::vector<Layer> layers;
  for (size_t cut = 0; cut < row.size(); ++cut) {
    EXPECT_FALSE(DecodeLatest(row.substr(0, cut), &layers)) << cut;
  }
  LatestTwin twin;
  for (size_t cut = 0; cut < record.size(); ++cut) {
    EXPECT_FALSE(DecodeLatestTwin(record.substr(0, cut), &twin)) << cut;
  }
  LatestChangeRecord read;
  for (size_t cut = 0; cut < change.size(); ++cut) {
    const std::string part = change.substr(0, cut);
    ByteReader in(part);
    EXPECT_FALSE(ReadLatestChange(&in, &read)) << cut;
  }
}

TEST(LatestCodecDamageTest, ACountThatPromisesTooMuchAllocatesNothing) {
  std::string record;
  PutVarint(&record, ~uint64_t{0});
  std::vector<Layer> layers;
  EXPECT_FALSE(DecodeLatest(record, &layers));
  EXPECT_LT(layers.capacity(), 100u);
}

TEST(LatestCodecDamageTest, DamagedRecordsAreRefusedOrRead) {
  std::string changes;
  AppendLatestChange({1, "key", Encode({{9, 4, "entry"}, {1, 7, "older"}})}, &changes);
  AppendLatestChange({2, "gone", ""}, &changes);
  DamageManyTimes(changes, [](std::string_view bytes) {
    ByteReader in(bytes);
    LatestChangeRecord change;
    std::vector<Layer> layers;
    LatestTwin twin;
    while (!in.done() && ReadLatestChange(&in, &change)) {
      DecodeLatest(change.row, &layers);
      DecodeLatestTwin(change.row, &twin);
    }
  });
}

TEST(LatestCodecTest, AnAdditionIsNeitherARowNorATwin) {
  std::string layers;
  AppendLayer({9, 4, "late"}, &layers);
  AppendLayer({5, 3, ""}, &layers);
  ByteBuffer record;
  AppendAddition(4, "key", layers, &record);
  ByteReader in(record.View(0, record.size()));
  LatestChangeRecord change;
  ASSERT_TRUE(ReadLatestChange(&in, &change));
  EXPECT_TRUE(in.done());
  EXPECT_EQ(change.key, "key");
  ASSERT_TRUE(IsLatestAddition(change.row));
  EXPECT_EQ(LayersOfAddition(change.row), layers);
  std::vector<Layer> read;
  EXPECT_FALSE(DecodeLatest(change.row, &read));
  EXPECT_FALSE(IsLatestTwin(change.row));
  EXPECT_FALSE(IsLatestAddition(""));
  EXPECT_FALSE(IsLatestAddition(Encode(std::vector<Layer>(128, Layer{1, 1, "e"}))));
  read.clear();
  ASSERT_TRUE(DecodeLayers(layers, &read));
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[1].sequence, 3u);
  EXPECT_FALSE(DecodeLayers(layers.substr(0, layers.size() - 1), &read));
}

TEST(LatestCodecTest, AnOpenRowHasTheLayersThatWereAddedBehind) {
  const std::string folded = Encode({{9, 4, "new"}, {5, 3, "old"}});
  std::string added;
  AppendLayer({7, 5, "added"}, &added);
  const OpenRow open{3, folded, {}};
  std::string held(OpenRowSize(open), '\0');
  EncodeOpenRow(held.data(), open);
  held += added;
  OpenRow read;
  ASSERT_TRUE(DecodeOpenRow(held, &read));
  EXPECT_EQ(read.mark, 3u);
  EXPECT_EQ(read.folded, folded);
  EXPECT_EQ(read.added, added);
  std::vector<Layer> layers;
  ASSERT_TRUE(DecodeHeld(held, &layers));
  EXPECT_EQ(layers.size(), 3u);
  ASSERT_TRUE(DecodeHeld(folded, &layers));
  EXPECT_EQ(layers.size(), 2u);
  EXPECT_FALSE(IsOpen(folded));
  EXPECT_FALSE(DecodeOpenRow(folded, &read));
  EXPECT_FALSE(DecodeOpenRow(held.substr(0, 12), &read));
}

}  // namespace
}  // namespace tallyd
