// Column blocks that are read back: where rows begin and end, what neighbours share, and damage.
#include "storage/blocks/column_block.h"

#include <algorithm>

#include "storage/bytes/coding.h"
#include "tests/storage/blocks/block_entries.h"

namespace tallyd {
namespace {

std::string_view HeadOf(const ColumnBlock& block, std::string_view bytes) {
  return bytes.substr(0, block.StreamOf(0).offset);
}

BlockEntry EntryOf(const std::string& key, TimeUs time, uint64_t sequence = 7) {
  return {key, time, sequence, {{{0, "a"}, Value::Int(time)}}};
}

class ColumnBlockTest : public ::testing::TestWithParam<unsigned> {
 protected:
  void MakeFrom(unsigned seed) {
    EntryMaker maker(seed);
    entries_ = maker.Entries();
    bytes_ = MakeBlock(entries_, &block_);
  }

  std::vector<BlockEntry> entries_;
  ColumnBlock block_;
  std::string bytes_;
};

TEST_P(ColumnBlockTest, ARowBeginsAndEndsWhereItsKeyDoes) {
  MakeFrom(GetParam());
  uint32_t begin = 0;
  for (uint32_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].key != entries_[begin].key) begin = i;
    uint32_t end = i + 1;
    while (end < entries_.size() && entries_[end].key == entries_[i].key) ++end;
    ASSERT_EQ(block_.RowBegin(i), begin);
    ASSERT_EQ(block_.RowEnd(i), end);
    ASSERT_EQ(block_.LowerBound(entries_[i].key), begin);
    ASSERT_EQ(block_.LowerBound(entries_[i].key + std::string(1, '\0')), end);
  }
  EXPECT_EQ(block_.LowerBound(""), 0u);
  EXPECT_EQ(block_.LowerBound("\xff"), block_.entries());
}

TEST_P(ColumnBlockTest, RunsCoverAllEntriesInOrder) {
  MakeFrom(GetParam() + 500);
  uint32_t next = 0;
  for (const KeyRun& run : block_.runs()) {
    ASSERT_EQ(run.begin, next);
    ASSERT_GT(run.end, run.begin);
    EXPECT_EQ(&block_.RunOf(run.begin), &block_.RunOf(run.end - 1));
    next = run.end;
  }
  EXPECT_EQ(next, block_.entries());
}

TEST_P(ColumnBlockTest, ItTellsWhetherACellMayOccurTwice) {
  MakeFrom(GetParam() + 1000);
  const auto twice = std::ranges::adjacent_find(
      entries_, [](const auto& a, const auto& b) { return a.key == b.key && a.time == b.time; });
  EXPECT_EQ(block_.has_rewrites(), twice != entries_.end());
}

TEST_P(ColumnBlockTest, ItTellsWhetherTheTimesOfRunsAscend) {
  MakeFrom(GetParam() + 1500);
  bool ascend = true;
  for (const KeyRun& run : block_.runs()) {
    for (uint32_t i = run.begin + 1; i < run.end; ++i) {
      ascend = ascend && entries_[i - 1].time < entries_[i].time;
    }
  }
  EXPECT_EQ(block_.times().runs_ascend(), ascend);
}

TEST(ColumnBlockTimesTest, RunsAscendWhereEachOfThemDoes) {
  ColumnBlock block;
  const std::vector<BlockEntry> of_three_rows = {EntryOf("a", 9), EntryOf("b", 5), EntryOf("c", 4)};
  MakeBlock(of_three_rows, &block);
  EXPECT_TRUE(block.times().runs_ascend());
  const std::vector<BlockEntry> of_one_row = {EntryOf("a", 9), EntryOf("a", 5)};
  MakeBlock(of_one_row, &block);
  EXPECT_FALSE(block.times().runs_ascend());
}

// With its checksums made right again, damage reaches the decoders. Whatever they make of it, it
// must be an error or entries that can be read.
TEST_P(ColumnBlockTest, DamagedHeadsAreErrorsOrCanBeRead) {
  EntryMaker maker(GetParam() + 2000);
  std::vector<BlockEntry> entries = maker.Entries();
  entries.resize(std::min<size_t>(entries.size(), 60));
  ColumnBlock whole;
  const std::string bytes = MakeBlock(entries, &whole);
  for (int round = 0; round < 400; ++round) {
    std::string head(HeadOf(whole, bytes));
    for (uint64_t flips = 1 + maker.Random(3); flips > 0; --flips) {
      head[maker.Random(head.size() - 4)] ^= static_cast<char>(1 + maker.Random(255));
    }
    ColumnBlock block;
    const Status refused = block.Open(head);
    ASSERT_FALSE(refused) << "the checksum tells";
    ASSERT_EQ(refused.error().code(), ErrorCode::kCorruption);
    if (maker.Random(4) == 0) head.resize(4 + maker.Random(head.size() - 4));
    if (head.size() <= 4) continue;
    SetChecksum(head.data() + head.size() - 4, std::string_view(head).substr(0, head.size() - 4));
    if (!block.Open(head)) continue;
    std::string key;
    for (uint32_t i = 0; i < block.entries(); ++i) {
      block.GetKey(i, &key);
      ASSERT_LE(block.RowBegin(i), i);
      ASSERT_GT(block.RowEnd(i), i);
      ASSERT_LE(block.LowerBound(key), block.entries());
    }
    for (uint32_t i = 0; i < block.schema()->columns.size(); ++i) block.PresenceOf(i);
  }
}

TEST_P(ColumnBlockTest, DamagedStreamsAreErrorsOrCanBeRead) {
  EntryMaker maker(GetParam() + 3000);
  const std::vector<BlockEntry> entries = maker.Entries();
  ColumnBlock block;
  const std::string bytes = MakeBlock(entries, &block);
  ColumnData data;
  for (int round = 0; round < 200; ++round) {
    const auto column = static_cast<uint32_t>(maker.Random(block.schema()->columns.size()));
    const ColumnBlock::Stream place = block.StreamOf(column);
    std::string stream = bytes.substr(place.offset, place.size);
    stream[maker.Random(stream.size())] ^= static_cast<char>(1 + maker.Random(255));
    const Status refused = block.Decode(column, stream, &data);
    ASSERT_FALSE(refused) << "the checksum tells";
    ASSERT_EQ(refused.error().code(), ErrorCode::kCorruption);
    SetChecksum(stream.data(), std::string_view(stream).substr(4));
    if (!block.Decode(column, stream, &data)) continue;
    for (size_t v = 0; v < data.size(); ++v) ToText(data.At(v));
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ColumnBlockTest, ::testing::Range(1u, 41u));

TEST(ColumnBlockCutTest, EveryTruncationIsAnError) {
  ColumnBlock whole;
  const std::string bytes = MakeBlock(std::vector{EntryOf("a", 1), EntryOf("b", 2)}, &whole);
  const std::string_view head = HeadOf(whole, bytes);
  for (size_t size = 0; size < head.size(); ++size) {
    ColumnBlock block;
    ASSERT_FALSE(block.Open(head.substr(0, size))) << size;
    if (size < 4) continue;
    std::string cut(head.substr(0, size));
    SetChecksum(cut.data() + size - 4, std::string_view(cut).substr(0, size - 4));
    ASSERT_FALSE(block.Open(cut)) << size;
  }
  const ColumnBlock::Stream place = whole.StreamOf(0);
  ColumnData data;
  for (size_t size = 0; size < place.size; ++size) {
    std::string cut = bytes.substr(place.offset, size);
    ASSERT_FALSE(whole.Decode(0, cut, &data)) << size;
    if (size < 4) continue;
    SetChecksum(cut.data(), std::string_view(cut).substr(4));
    ASSERT_FALSE(whole.Decode(0, cut, &data)) << size;
  }
}

TEST(ColumnBlockCutTest, ABlockThatFailedToOpenHoldsNothing) {
  ColumnBlock block;
  const std::string bytes = MakeBlock(std::vector{EntryOf("a", 1)}, &block);
  const std::string head(HeadOf(block, bytes));
  for (const std::string& bad : {std::string(), std::string("x"), head.substr(1)}) {
    ASSERT_TRUE(block.Open(head));
    ASSERT_FALSE(block.Open(bad));
    EXPECT_EQ(block.entries(), 0u) << bad.size();
  }
  ASSERT_TRUE(block.Open(head)) << "it can be used again";
  EXPECT_EQ(block.entries(), 1u);
}

// A head of a few bytes whose numbers promise very much.
TEST(ColumnBlockCutTest, CountsBeyondTheLimitsAreRefused) {
  for (size_t place = 0; place < 3; ++place) {
    uint64_t counts[] = {1, 1, 1};
    for (const uint64_t count : {uint64_t{0}, uint64_t{kMaxBlockEntries} + 1, ~uint64_t{0}}) {
      counts[place] = count;
      std::string head(1, static_cast<char>(kShapesVersion));
      for (const uint64_t number : counts) PutVarint(&head, number);
      for (int section = 0; section < 5; ++section) PutVarint(&head, ~uint64_t{0});
      PutVarint(&head, 4);
      PutU32(&head, BlockChecksum(head));
      ColumnBlock block;
      EXPECT_FALSE(block.Open(head));
    }
  }
}

TEST(ColumnBlockSchemaTest, AColumnsValuesAreThoseOfTheEntriesThatHaveIt) {
  ColumnBlock block;
  const std::vector<BlockEntry> entries = {
      {"1", 1, 7, {{{0, "a"}, Value::Int(1)}}},
      {"2", 2, 7, {{{0, "b"}, Value::Int(2)}}},
      {"3", 3, 7, {{{0, "a"}, Value::Int(3)}, {{0, "b"}, Value::Int(4)}}}};
  const std::string bytes = MakeBlock(entries, &block);
  DecodeAll(&block, bytes);
  const Presence* a = block.PresenceOf(0);
  const Presence* b = block.PresenceOf(1);
  ASSERT_NE(a, nullptr);
  ASSERT_NE(b, nullptr);
  EXPECT_TRUE(a->Has(0) && !a->Has(1) && a->Has(2));
  EXPECT_TRUE(!b->Has(0) && b->Has(1) && b->Has(2));
  EXPECT_EQ(a->PlaceOf(2), 1u);
  EXPECT_EQ(b->PlaceOf(3), 2u);
}

// The keys of one row can be in several runs: "...1000" holds the time of some entries only.
TEST(ColumnBlockSchemaTest, ARowThatSpansRunsIsOneRow) {
  const std::string key = "m#0000000001000";
  ColumnBlock block;
  MakeBlock(std::vector{EntryOf(key, 1'000'000), EntryOf(key, 1'000'000, 6), EntryOf(key, 500'000)},
            &block);
  ASSERT_GT(block.runs().size(), 1u);
  for (uint32_t i = 0; i < block.entries(); ++i) {
    EXPECT_EQ(block.RowBegin(i), 0u);
    EXPECT_EQ(block.RowEnd(i), 3u);
  }
  EXPECT_TRUE(block.has_rewrites());
}

}  // namespace
}  // namespace tallyd
