// A block file's entries, moved about; runs of them; and what becomes of a damaged file.
#include "storage/leveldb/read/block_source.h"

#include <fmt/format.h>

#include <fstream>
#include <functional>

#include "tests/storage/leveldb/block_maker.h"
#include "tests/storage/leveldb/read/source_model.h"

namespace tallyd {
namespace {

constexpr TimeRange kAllTimes{};

class BlockSourceTest : public ::testing::Test {
 protected:
  // Blocks of at most that many entries.
  BlockFilePtr MakeFile(const std::vector<SourceEntry>& entries, size_t of_block) {
    const auto writer = blocks_.NewWriter(++number_);
    for (size_t begin = 0; begin < entries.size();) {
      size_t end = std::min(begin + of_block, entries.size());
      while (end < entries.size() && entries[end].row == entries[end - 1].row &&
             entries[end].time == entries[end - 1].time) {
        ++end;
      }
      AddBlock(writer.get(), {entries.begin() + static_cast<std::ptrdiff_t>(begin),
                              entries.begin() + static_cast<std::ptrdiff_t>(end)});
      begin = end;
    }
    return BlockMaker::Finish(writer.get());
  }
  void AddBlock(BlockFileWriter* writer, const std::vector<SourceEntry>& entries) {
    BlockBuilder builder;
    for (const SourceEntry& entry : entries) {
      builder.Add({entry.row, entry.time, entry.sequence}, blocks_.set(),
                  std::vector{Value::Int(entry.value)});
    }
    AddBlock(writer, &builder);
  }
  void AddBlock(BlockFileWriter* writer, BlockBuilder* builder) {
    const BuiltBlock built = builder->Finish();
    BlockPlace place;
    place.size = static_cast<uint32_t>(built.bytes.size());
    place.head_size = built.head_size;
    place.entries = built.entries;
    place.rows = built.rows;
    place.min_time = built.min_time;
    place.max_time = built.max_time;
    place.first_key = built.first_key;
    place.last_key = built.last_key;
    ASSERT_TRUE(writer->AddBlock(place, built.bytes, built.min_sequence, built.max_sequence));
  }
  // "m1#1000000000000" and so on, a second apart.
  std::vector<SourceEntry> Series(int count) {
    std::vector<SourceEntry> entries;
    for (int i = 0; i < count; ++i) {
      const TimeUs ms = 1'000'000'000'000 + i * 1000;
      entries.push_back({fmt::format("m1#{}", ms), ms * 1000, 7, i});
    }
    return entries;
  }

  // Of these columns F:0 and so on each entry has those that it is asked for; their values are its
  // own.
  using Wants = std::function<bool(int entry, int column)>;
  BlockFilePtr MakeOptional(const std::vector<SourceEntry>& entries, int columns,
                            const Wants& wants) {
    std::vector<std::string> names;
    for (int c = 0; c < columns; ++c) names.push_back(fmt::format("{:03}", c));
    BlockBuilder builder;
    for (const SourceEntry& entry : entries) {
      std::vector<ColumnRef> refs;
      std::vector<Value> values;
      for (int c = 0; c < columns; ++c) {
        if (!wants(static_cast<int>(entry.value), c)) continue;
        refs.push_back({0, names[static_cast<size_t>(c)]});
        values.push_back(Value::Int(entry.value * 1000 + c));
      }
      builder.Add({entry.row, entry.time, entry.sequence}, refs, values, nullptr);
    }
    const auto writer = blocks_.NewWriter(++number_);
    AddBlock(writer.get(), &builder);
    return BlockMaker::Finish(writer.get());
  }
  // All of them as one run, column by column, and one by one.
  void ExpectOptional(const BlockFilePtr& file, int entries, int columns, const Wants& wants) {
    BlockSource source(file, &plan_, kAllTimes);
    ASSERT_TRUE(source.SeekRow(""));
    ASSERT_EQ(source.RunLength("", kAllTimes), static_cast<uint32_t>(entries));
    const Result<const ShapeCells*> run = source.RunCells();
    ASSERT_TRUE(run);
    ASSERT_EQ((*run)->columns.size(), static_cast<size_t>(columns));
    for (int c = 0; c < columns; ++c) {
      const BlockColumn& column = (*run)->columns[static_cast<size_t>(c)].cells;
      for (int i = 0; i < entries; ++i) {
        const auto entry = static_cast<uint32_t>(i);
        ASSERT_EQ(column.Has(entry), wants(i, c));
        if (!column.Has(entry)) continue;
        ASSERT_EQ(column.data->At(column.PlaceOf(entry)), Value::Int(i * 1000 + c));
      }
    }
    WholeEntry whole;
    for (int i = 0; i < entries; ++i) {
      ASSERT_TRUE(source.Read(&whole));
      std::vector<Value> expected;
      for (int c = 0; c < columns; ++c) {
        if (wants(i, c)) expected.push_back(Value::Int(i * 1000 + c));
      }
      ASSERT_EQ(whole.values, expected);
      ASSERT_EQ(whole.columns.size(), expected.size());
      ASSERT_TRUE(source.Next());
    }
  }

  BlockMaker blocks_;
  ColumnPlan plan_{blocks_.table(), blocks_.sets(), 0};
  uint64_t number_ = 0;
};

TEST_F(BlockSourceTest, ItMovesAsItsEntriesAreInOrder) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 60 && !HasFatalFailure(); ++round) {
    const std::vector<SourceEntry> entries = RandomSourceEntries(random, 120);
    const BlockFilePtr file = MakeFile(entries, 1 + random() % 40);
    BlockSource source(file, &plan_, kAllTimes);
    ExpectMovesAsModel(random, entries, &source);
  }
}

TEST_F(BlockSourceTest, BlocksOfOtherTimesArePassedOver) {
  std::vector<SourceEntry> entries;
  for (int i = 0; i < 30; ++i) entries.push_back({fmt::format("{:02}", i), 1000 + i, 7, i});
  const BlockFilePtr file = MakeFile(entries, 10);
  BlockSource source(file, &plan_, {1012, 1015});
  ASSERT_TRUE(source.SeekRow(""));
  EXPECT_EQ(source.row_key(), "10") << "its whole block may come";
  ASSERT_TRUE(source.SeekRow("20"));
  EXPECT_FALSE(source.valid());
  ASSERT_TRUE(source.SeekRowBefore(""));
  EXPECT_EQ(source.row_key(), "19");
  ASSERT_TRUE(source.SeekRowBefore("10"));
  EXPECT_FALSE(source.valid());
}

TEST_F(BlockSourceTest, ARunHasOneKeyAndRangeAndEndsWithItsBlock) {
  const std::vector<SourceEntry> entries = Series(30);
  const BlockFilePtr file = MakeFile(entries, 20);
  BlockSource source(file, &plan_, kAllTimes);
  ASSERT_TRUE(source.SeekRow(""));
  EXPECT_EQ(source.RunLength("", kAllTimes), 20u);
  EXPECT_EQ(source.RunLength(entries[5].row, kAllTimes), 5u) << "rows before the end";
  EXPECT_EQ(source.RunLength("", {0, entries[3].time}), 3u) << "times within the range";
  EXPECT_EQ(source.LengthOutside("", {entries[4].time, kMaxTimeUs}), 4u);
  EXPECT_EQ(source.LengthOutside(entries[2].row, {entries[4].time, kMaxTimeUs}), 2u);
  ASSERT_TRUE(source.Skip(20));
  EXPECT_TRUE(source.at_block_begin());
  EXPECT_EQ(source.RunLength("", kAllTimes), 10u);
  ASSERT_TRUE(source.Skip(10));
  EXPECT_FALSE(source.valid());
}

TEST_F(BlockSourceTest, ARunGoesOnThroughEntriesOfOtherColumns) {
  const Wants some = [](int i, int c) {
    return c == i % 8 || (static_cast<unsigned>(i) * 2654435761u >> (c + 8) & 1) != 0;
  };
  const BlockFilePtr by_presence = MakeOptional(Series(100), 8, some);
  ExpectOptional(by_presence, 100, 8, some);
  const Wants either = [](int i, int c) { return (i * i / 3) % 2 == c / 10; };
  const BlockFilePtr by_shapes = MakeOptional(Series(100), 20, either);
  ExpectOptional(by_shapes, 100, 20, either);
  uint8_t versions[2] = {};
  std::string bytes;
  for (const BlockFilePtr& file : {by_presence, by_shapes}) {
    BlockSource source(file, &plan_, kAllTimes);
    ASSERT_TRUE(source.SeekRow(""));
    ASSERT_TRUE(source.ReadBlock(&bytes));
    versions[file == by_shapes ? 1 : 0] = static_cast<uint8_t>(bytes[0]);
  }
  EXPECT_EQ(versions[0], kPresenceVersion);
  EXPECT_EQ(versions[1], kShapesVersion);
}

TEST_F(BlockSourceTest, WhereEntriesHaveFewOfVeryManyColumnsARunHasOneShape) {
  const Wants own = [](int i, int c) { return i / 5 == c; };
  const BlockFilePtr file = MakeOptional(Series(200), 40, own);
  BlockSource source(file, &plan_, kAllTimes);
  ASSERT_TRUE(source.SeekRow(""));
  EXPECT_EQ(source.RunLength("", kAllTimes), 5u);
  const Result<const ShapeCells*> cells = source.RunCells();
  ASSERT_TRUE(cells);
  EXPECT_EQ((*cells)->columns.size(), 1u);
  ScanSpec spec;
  spec.columns = {{"F", "003"}};
  ColumnPlan of_one(blocks_.table(), spec, blocks_.sets());
  BlockSource one(file, &of_one, kAllTimes);
  ASSERT_TRUE(one.SeekRow(""));
  EXPECT_EQ(one.RunLength("", kAllTimes), 200u) << "of one column all entries are looked at";
}

TEST_F(BlockSourceTest, WhereACellMayBeWrittenTwiceThereAreNoRuns) {
  std::vector<SourceEntry> entries = Series(10);
  entries.push_back(entries.back());
  entries.back().sequence = 6;
  const BlockFilePtr file = MakeFile(entries, 100);
  BlockSource source(file, &plan_, kAllTimes);
  ASSERT_TRUE(source.SeekRow(""));
  EXPECT_EQ(source.RunLength("", kAllTimes), 0u);
}

TEST_F(BlockSourceTest, OnlyColumnsThatAreSelectedAreDecoded) {
  const BlockFilePtr file = MakeFile(Series(3), 100);
  ScanSpec spec;
  spec.columns = {{"*", "other"}};
  ColumnPlan other(blocks_.table(), spec, blocks_.sets());
  BlockSource source(file, &other, kAllTimes);
  ASSERT_TRUE(source.SeekRow(""));
  const Result<const ShapeCells*> cells = source.Cells();
  ASSERT_TRUE(cells);
  EXPECT_TRUE((*cells)->columns.empty());
}

TEST_F(BlockSourceTest, AnEntryIsReadWithItsSetAndOwnsItsBytes) {
  const BlockFilePtr file = MakeFile(Series(3), 100);
  WholeEntry whole;
  {
    BlockSource source(file, &plan_, kAllTimes);
    ASSERT_TRUE(source.SeekRow(""));
    ASSERT_TRUE(source.Read(&whole));
  }
  EXPECT_EQ(whole.set, &blocks_.set());
  EXPECT_EQ(whole.row_key, "m1#1000000000000");
  EXPECT_EQ(whole.sequence, 7u);
}

TEST_F(BlockSourceTest, ABlockCanBePassedOver) {
  const BlockFilePtr file = MakeFile(Series(30), 20);
  BlockSource source(file, &plan_, kAllTimes);
  ASSERT_TRUE(source.SeekRow(""));
  std::string bytes;
  ASSERT_TRUE(source.ReadBlock(&bytes));
  EXPECT_EQ(bytes.size(), source.place().size);
  ASSERT_TRUE(source.SkipBlock());
  EXPECT_EQ(source.place().entries, 10u);
  ASSERT_TRUE(source.SkipBlock());
  EXPECT_FALSE(source.valid());
}

class DamagedBlockTest : public BlockSourceTest {
 protected:
  static void Flip(const BlockFile& file, uint64_t at) {
    std::fstream bytes(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekg(static_cast<std::streamoff>(at));
    const auto byte = static_cast<char>(bytes.get() ^ 0x10);
    bytes.seekp(static_cast<std::streamoff>(at));
    bytes.put(byte).flush();
  }
  // To the end, or to what cannot be read.
  Status ReadAll(const BlockFilePtr& file, const std::vector<SourceEntry>& entries,
                 BlockReads reads) {
    BlockSource source(file, &plan_, kAllTimes, reads);
    Status went = source.SeekRow("");
    WholeEntry whole;
    for (size_t i = 0; went && source.valid(); ++i) {
      went = source.Read(&whole);
      if (!went) break;
      EXPECT_EQ(whole.values[0], Value::Int(entries[i].value));
      went = source.Next();
    }
    return went;
  }
};

// Every byte of the blocks, one after the other: the entries that come are right or an error does.
TEST_F(DamagedBlockTest, AFlippedBitIsAnErrorThatNamesTheFile) {
  const std::vector<SourceEntry> entries = Series(4);
  const BlockFilePtr made = MakeFile(entries, 2);
  const uint64_t end = (*made->Index())->end();
  for (uint64_t at = 0; at < end && !HasFailure(); ++at) {
    Flip(*made, at);
    const Status went = ReadAll(made, entries, BlockReads::kOnce);
    ASSERT_FALSE(went) << at;
    EXPECT_EQ(went.error().code(), ErrorCode::kCorruption);
    EXPECT_NE(went.error().message().find(made->path()), std::string::npos);
    Flip(*made, at);
  }
}

// As a disk may answer wrong once.
TEST_F(DamagedBlockTest, WhatWasReadWrongIsNotKept) {
  const std::vector<SourceEntry> entries = Series(4);
  const BlockFilePtr made = MakeFile(entries, 2);
  const uint64_t end = (*made->Index())->end();
  for (uint64_t at = 0; at < end && !HasFailure(); ++at) {
    BlockFileShelf fresh(blocks_.env(), blocks_.shelf().directory(),
                         {.indexes = 1u << 20, .parts = 1u << 20});
    const auto file = std::make_shared<const BlockFile>(&fresh, made->info());
    Flip(*made, at);
    EXPECT_FALSE(ReadAll(file, entries, BlockReads::kCached)) << at;
    Flip(*made, at);
    EXPECT_TRUE(ReadAll(file, entries, BlockReads::kCached)) << at;
    Flip(*made, at);
    EXPECT_TRUE(ReadAll(file, entries, BlockReads::kCached)) << at << ": the cache has it";
    Flip(*made, at);
  }
}

}  // namespace
}  // namespace tallyd
