// Blocks of entries that have another choice of their columns each: what comes back is what went
// in, whichever form the block takes, and damage is an error.
#include <fmt/format.h>

#include <algorithm>

#include "storage/bytes/coding.h"
#include "tests/storage/blocks/block_entries.h"

namespace tallyd {
namespace {

class PresenceBlockTest : public ::testing::TestWithParam<size_t> {
 protected:
  void MakeColumns(uint64_t count) {
    set_.columns.clear();
    for (uint64_t c = 0; c < count; ++c) {
      set_.columns.push_back({static_cast<FamilyId>(c * 3 / count), fmt::format("c{:02}", c)});
    }
  }
  // One in so many columns is absent; 1: all but one.
  void MakeEntries(size_t count, uint64_t one_in) {
    entries_.clear();
    for (size_t i = 0; i < count; ++i) {
      BlockEntry entry{fmt::format("m{}#{}", i / 100, 1'000'000'000'000 + i),
                       static_cast<TimeUs>((1'000'000'000'000 + i) * 1000),
                       7,
                       {}};
      for (size_t c = 0; c < set_.columns.size(); ++c) {
        if (maker_.Random(one_in) == 0) continue;
        entry.cells.push_back({set_.columns[c], maker_.RandomValue(c % 9)});
      }
      if (entry.cells.empty()) {
        entry.cells.push_back({set_.columns[maker_.Random(set_.columns.size())], Value::Int(1)});
      }
      entries_.push_back(std::move(entry));
    }
  }
  void AddBySet(BlockBuilder* builder, const BlockEntry& entry) const {
    std::vector<Value> values(set_.columns.size());
    for (const BlockCell& cell : entry.cells) {
      const auto place = std::ranges::find(set_.columns, cell.column);
      values[static_cast<size_t>(place - set_.columns.begin())] = cell.value;
    }
    builder->Add({entry.key, entry.time, entry.sequence}, set_, values);
  }
  std::string Build(bool by_set) {
    for (const BlockEntry& entry : entries_) {
      by_set ? AddBySet(&builder_, entry) : AddTo(&builder_, entry);
    }
    const BuiltBlock built = builder_.Finish();
    head_size_ = built.head_size;
    cells_ = built.cells;
    return std::string(built.bytes);
  }
  std::string_view HeadOf(std::string_view bytes) const { return bytes.substr(0, head_size_); }

  EntryMaker maker_{static_cast<unsigned>(GetParam())};
  ColumnSet set_{1, 1, {}};
  std::vector<BlockEntry> entries_;
  BlockBuilder builder_;
  uint32_t head_size_ = 0;
  uint64_t cells_ = 0;
};

TEST_P(PresenceBlockTest, EntriesComeBackWhateverTheyHaveOfTheColumns) {
  ColumnBlock block;
  const int rounds = GetParam() > 1000 ? 4 : 30;
  for (int round = 0; round < rounds && !HasFatalFailure(); ++round) {
    MakeColumns(1 + maker_.Random(60));
    MakeEntries(GetParam(), 1 + maker_.Random(5));
    uint64_t cells = 0;
    for (const BlockEntry& entry : entries_) cells += entry.cells.size();
    for (const bool by_set : {false, true}) {
      const std::string bytes = Build(by_set);
      EXPECT_EQ(cells_, cells);
      ASSERT_TRUE(block.Open(HeadOf(bytes)));
      ExpectEntries(&block, bytes, entries_);
    }
  }
}

TEST_P(PresenceBlockTest, RunsAreCopiedFromWhereverTheyBegin) {
  MakeColumns(20);
  MakeEntries(GetParam(), 2);
  const std::string bytes = Build(true);
  ColumnBlock block;
  ASSERT_TRUE(block.Open(HeadOf(bytes)));
  const std::vector<ColumnData> data = DecodeAll(&block, bytes);
  std::vector<BlockColumn> columns;
  for (uint32_t c = 0; c < data.size(); ++c) columns.push_back(ColumnOf(block, data[c], c));
  std::ranges::sort(
      columns, {}, [](const BlockColumn& c) { return std::pair(c.name.family, c.name.qualifier); });
  for (const KeyRun& run : block.runs()) {
    for (uint32_t begin = run.begin; begin < run.end;) {
      const auto count = static_cast<uint32_t>(1 + maker_.Random(run.end - begin));
      builder_.AddRun(run,
                      {begin, block.times().All().subspan(begin, count),
                       block.sequences().subspan(begin, count)},
                      columns);
      begin += count;
    }
  }
  const BuiltBlock built = builder_.Finish();
  ColumnBlock copy;
  ASSERT_TRUE(copy.Open(built.bytes.substr(0, built.head_size)));
  ExpectEntries(&copy, built.bytes, entries_);
}

INSTANTIATE_TEST_SUITE_P(Sizes, PresenceBlockTest, ::testing::Values(1, 7, 8, 9, 63, 64, 65, 2048));

class PresenceDamageTest : public PresenceBlockTest {
 protected:
  void SetUp() override {
    MakeColumns(6);
    MakeEntries(GetParam(), 2);
    bytes_ = Build(true);
    ASSERT_TRUE(block_.Open(HeadOf(bytes_)));
    ASSERT_TRUE(block_.schema()->by_presence);
  }
  // Whatever decodes must be safe to read.
  static void ReadAll(ColumnBlock* block, uint32_t column, const ColumnData& data) {
    const Presence* presence = block->PresenceOf(column);
    for (uint32_t i = 0; i < block->entries(); ++i) {
      if (presence != nullptr && !presence->Has(i)) continue;
      const size_t place = presence != nullptr ? presence->PlaceOf(i) : i;
      ASSERT_LT(place, data.size());
      ToText(data.At(place));
    }
  }

  ColumnBlock block_;
  std::string bytes_;
};

TEST_P(PresenceDamageTest, EveryFlippedByteIsAnError) {
  ColumnBlock block;
  ColumnData data;
  for (size_t i = 0; i < bytes_.size(); ++i) {
    std::string bytes = bytes_;
    bytes[i] ^= static_cast<char>(1 + maker_.Random(255));
    Status read = block.Open(HeadOf(bytes));
    for (uint32_t column = 0; read && column < block_.schema()->columns.size(); ++column) {
      const ColumnBlock::Stream stream = block_.StreamOf(column);
      read = block.Decode(column, bytes.substr(stream.offset, stream.size), &data);
    }
    ASSERT_FALSE(read) << i;
    ASSERT_EQ(read.error().code(), ErrorCode::kCorruption);
  }
}

TEST_P(PresenceDamageTest, DamageBehindRightChecksumsIsAnErrorOrCanBeRead) {
  ColumnData data;
  for (size_t i = 0; i + 4 < head_size_; ++i) {
    std::string head(HeadOf(bytes_));
    head[i] ^= static_cast<char>(1 + maker_.Random(255));
    SetChecksum(head.data() + head.size() - 4, std::string_view(head).substr(0, head.size() - 4));
    ColumnBlock block;
    if (!block.Open(head)) continue;
    for (uint32_t c = 0; c < block.schema()->columns.size(); ++c) block.PresenceOf(c);
  }
  for (uint32_t column = 0; column < block_.schema()->columns.size(); ++column) {
    const ColumnBlock::Stream place = block_.StreamOf(column);
    for (uint32_t i = 4; i < place.size; ++i) {
      std::string stream = bytes_.substr(place.offset, place.size);
      stream[i] ^= static_cast<char>(1 + maker_.Random(255));
      SetChecksum(stream.data(), std::string_view(stream).substr(4));
      if (block_.Decode(column, stream, &data)) ReadAll(&block_, column, data);
    }
  }
}

TEST_P(PresenceDamageTest, EveryTruncationIsAnError) {
  ColumnBlock block;
  for (size_t size = 4; size < head_size_; ++size) {
    std::string cut(bytes_.substr(0, size));
    ASSERT_FALSE(block.Open(cut)) << size;
    SetChecksum(cut.data() + size - 4, std::string_view(cut).substr(0, size - 4));
    ASSERT_FALSE(block.Open(cut)) << size;
  }
  ColumnData data;
  for (uint32_t column = 0; column < block_.schema()->columns.size(); ++column) {
    const ColumnBlock::Stream place = block_.StreamOf(column);
    for (size_t size = 0; size < place.size; ++size) {
      std::string cut = bytes_.substr(place.offset, size);
      ASSERT_FALSE(block_.Decode(column, cut, &data)) << size;
      if (size < 4) continue;
      SetChecksum(cut.data(), std::string_view(cut).substr(4));
      ASSERT_FALSE(block_.Decode(column, cut, &data)) << size;
    }
  }
}

// Its checksums are right, and each stream by itself: only all together tell.
TEST_P(PresenceDamageTest, AnEntryWithoutACellIsDamage) {
  ColumnData data;
  for (uint32_t column = 0; column < block_.schema()->columns.size(); ++column) {
    Presence only_first;
    only_first.Reset(block_.entries());
    only_first.Set(0);
    only_first.Count();
    std::string stream(4, '\0');
    AppendPresence(only_first, &stream);
    // An int64, plain, in a group of no bits above its least value, 1.
    stream += std::string("\x00\x00\x00\x02", 4);
    SetChecksum(stream.data(), std::string_view(stream).substr(4));
    ASSERT_TRUE(block_.Decode(column, stream, &data));
    EXPECT_EQ(data.At(0), Value::Int(1));
  }
  const Status checked = block_.CheckEntriesHaveCells();
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code(), ErrorCode::kCorruption);
}

INSTANTIATE_TEST_SUITE_P(Sizes, PresenceDamageTest, ::testing::Values(24, 64, 65));

TEST(PresenceSizeTest, OptionalFieldsTakeLittleMoreThanTheChoiceItself) {
  constexpr int kEntries = 2048;
  constexpr int kColumns = 30;
  const auto bytes_per_value = [](bool choose) {
    std::mt19937_64 random(1);
    ColumnSet set{1, 1, {}};
    const int columns = choose ? kColumns : kColumns / 2;
    for (int c = 0; c < columns; ++c) set.columns.push_back({0, "c" + std::to_string(c)});
    std::vector<int> order(static_cast<size_t>(columns));
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    BlockBuilder builder;
    for (int i = 0; i < kEntries; ++i) {
      std::shuffle(order.begin(), order.end(), random);
      std::vector<Value> values(set.columns.size());
      for (int k = 0; k < kColumns / 2; ++k) {
        values[static_cast<size_t>(order[static_cast<size_t>(k)])] =
            Value::Int(static_cast<int64_t>(random() % 256));
      }
      const TimeUs time = 1'735'689'600'000'000 + TimeUs{i} * 5'000'000;
      builder.Add({"m#" + std::to_string(time / 1000), time, 7}, set, values);
    }
    EXPECT_FALSE(builder.IsFull()) << "choices do not fill it";
    const BuiltBlock built = builder.Finish();
    return static_cast<double>(built.bytes.size()) / static_cast<double>(built.cells);
  };
  EXPECT_LT(bytes_per_value(true) - bytes_per_value(false), 0.27)
      << "two bits a value, and a little";
}

}  // namespace
}  // namespace tallyd
