// Entries into blocks: what comes back is what went in, and a block is full before it is costly.
#include "storage/blocks/block_builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "storage/blocks/column_block.h"
#include "storage/bytes/coding.h"
#include "tests/storage/blocks/block_entries.h"

namespace tallyd {
namespace {

const ColumnSet kOneColumn{1, 1, {{0, "a"}}};

void AddOne(BlockBuilder* builder, const std::string& key, TimeUs time, const Value& value,
            uint64_t sequence = 7) {
  builder->Add({key, time, sequence}, kOneColumn, std::vector{value});
}

class BlockBuilderTest : public ::testing::TestWithParam<unsigned> {};

TEST_P(BlockBuilderTest, EntriesComeBackToTheBitAndTheType) {
  EntryMaker maker(GetParam());
  BlockBuilder builder;
  ColumnBlock block;
  for (int round = 0; round < 8; ++round) {
    const std::vector<BlockEntry> entries = maker.Entries();
    for (const BlockEntry& entry : entries) AddTo(&builder, entry);
    const BuiltBlock built = builder.Finish();
    ASSERT_TRUE(block.Open(built.bytes.substr(0, built.head_size)));
    ExpectEntries(&block, built.bytes, entries);
    EXPECT_TRUE(builder.empty());
  }
}

std::string Stored(std::span<const Value> values) {
  ByteBuffer stored;
  for (const Value& value : values) {
    stored.Finish(EncodeValue(stored.Reserve(MaxValueBytes(value)), value));
  }
  return std::string(stored.View(0, stored.size()));
}

TEST_P(BlockBuilderTest, StoredValuesMakeTheSameBlock) {
  EntryMaker maker(GetParam() + 3000);
  BlockBuilder from_values;
  BlockBuilder from_stored;
  for (int round = 0; round < 8; ++round) {
    std::vector<ColumnSet> sets;
    std::vector<uint64_t> kinds(12);
    for (uint64_t& kind : kinds) kind = maker.Random(11);
    for (uint32_t id = 1; id <= 3; ++id) {
      sets.push_back({1, id, {}});
      for (uint64_t i = maker.Random(3); i < kinds.size(); i += 1 + maker.Random(3)) {
        sets.back().columns.push_back({0, fmt::format("c{:02}", i)});
      }
    }
    TimeUs time = 1'000'000'000'000;
    for (int i = 0; i < 300; ++i) {
      const ColumnSet& set = sets[maker.Random(sets.size())];
      std::vector<Value> values;
      const bool is_whole = maker.Random(2) == 0;
      for (const Column& column : set.columns) {
        const size_t number = std::stoul(column.qualifier.substr(1));
        const bool is_there = is_whole || maker.Random(2) == 0;
        values.push_back(is_there ? maker.RandomValue(kinds[number]) : Value());
      }
      if (std::ranges::all_of(values, &Value::is_null)) continue;
      const std::string key = fmt::format("row#{:03}", i / 10);
      const EntryId id{key, --time, 7};
      from_values.Add(id, set, values);
      ASSERT_EQ(from_stored.AddStored(id, set, Stored(values), is_whole), StoredEntry::kAdded);
      EXPECT_EQ(from_stored.room(), from_values.room());
    }
    const BuiltBlock a = from_values.Finish();
    const BuiltBlock b = from_stored.Finish();
    EXPECT_EQ(a.entries, b.entries);
    EXPECT_GT(b.entries, 150u);
    EXPECT_EQ(a.cells, b.cells);
    EXPECT_TRUE(a.bytes == b.bytes);
  }
}

TEST_P(BlockBuilderTest, ABlockTellsWhatItHolds) {
  EntryMaker maker(GetParam() + 500);
  const std::vector<BlockEntry> entries = maker.Entries();
  BlockBuilder builder;
  for (const BlockEntry& entry : entries) AddTo(&builder, entry);
  const BuiltBlock built = builder.Finish();
  uint32_t rows = 1;
  uint64_t cells = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (i > 0 && entries[i].key != entries[i - 1].key) ++rows;
    cells += entries[i].cells.size();
  }
  const auto times = std::ranges::minmax(entries, {}, &BlockEntry::time);
  const auto sequences = std::ranges::minmax(entries, {}, &BlockEntry::sequence);
  EXPECT_EQ(built.entries, entries.size());
  EXPECT_EQ(built.rows, rows);
  EXPECT_EQ(built.cells, cells);
  EXPECT_EQ(built.first_key, entries.front().key);
  EXPECT_EQ(built.last_key, entries.back().key);
  EXPECT_EQ(built.min_time, times.min.time);
  EXPECT_EQ(built.max_time, times.max.time);
  EXPECT_EQ(built.min_sequence, sequences.min.sequence);
  EXPECT_EQ(built.max_sequence, sequences.max.sequence);
}

TEST_P(BlockBuilderTest, RunsOfAnotherBlockAreCopiedAsTheyAre) {
  EntryMaker maker(GetParam() + 1000);
  const std::vector<BlockEntry> entries = maker.Entries();
  ColumnBlock block;
  const std::string bytes = MakeBlock(entries, &block);
  const std::vector<ColumnData> columns = DecodeAll(&block, bytes);
  BlockBuilder builder;
  for (const KeyRun& run : block.runs()) {
    for (uint32_t begin = run.begin; begin < run.end;) {
      uint32_t end = begin + 1;
      while (end < run.end && block.shape_of(end) == block.shape_of(begin)) ++end;
      std::vector<BlockColumn> slices;
      for (const uint32_t number : block.schema()->shapes[block.shape_of(begin)]) {
        slices.push_back(ColumnOf(block, columns[number], number));
      }
      const size_t count = end - begin;
      builder.AddRun(run,
                     {begin, block.times().All().subspan(begin, count),
                      block.sequences().subspan(begin, count)},
                     slices);
      begin = end;
    }
  }
  const BuiltBlock built = builder.Finish();
  ColumnBlock copy;
  ASSERT_TRUE(copy.Open(built.bytes.substr(0, built.head_size)));
  ExpectEntries(&copy, built.bytes, entries);
}

TEST_P(BlockBuilderTest, EntriesOfAnotherBlockAreCopiedEachWithItsOwnColumns) {
  EntryMaker maker(GetParam() + 2000);
  const std::vector<BlockEntry> entries = maker.Entries();
  ColumnBlock block;
  const std::string bytes = MakeBlock(entries, &block);
  if (block.schema()->by_presence) return;
  const std::vector<ColumnData> columns = DecodeAll(&block, bytes);
  std::vector<std::vector<BlockColumn>> shapes;
  for (const std::vector<uint32_t>& shape : block.schema()->shapes) {
    shapes.emplace_back();
    for (const uint32_t number : shape) {
      shapes.back().push_back(ColumnOf(block, columns[number], number));
    }
  }
  BlockBuilder builder;
  for (const KeyRun& run : block.runs()) {
    std::vector<EntryColumns> each;
    for (uint32_t entry = run.begin; entry < run.end; ++entry) {
      const std::vector<BlockColumn>& shape = shapes[block.shape_of(entry)];
      each.push_back({&shape, shape});
    }
    for (uint32_t begin = run.begin; begin < run.end;) {
      const size_t count = run.end - begin;
      const RunEntries rest{begin, block.times().All().subspan(begin, count),
                            block.sequences().subspan(begin, count)};
      begin += static_cast<uint32_t>(
          builder.AddRun(run, rest, std::span(each).subspan(begin - run.begin)));
    }
  }
  const BuiltBlock built = builder.Finish();
  ColumnBlock copy;
  ASSERT_TRUE(copy.Open(built.bytes.substr(0, built.head_size)));
  ExpectEntries(&copy, built.bytes, entries);
}

INSTANTIATE_TEST_SUITE_P(Seeds, BlockBuilderTest, ::testing::Range(1u, 41u));

TEST(BlockBuilderFullTest, ManyEntriesFillABlockAndRoomCountsThemDown) {
  BlockBuilder builder;
  const size_t room = builder.room();
  for (size_t i = 0; i < room; ++i) {
    ASSERT_FALSE(builder.IsFull());
    ASSERT_EQ(builder.room(), room - i);
    AddOne(&builder, fmt::format("{:05}", i), 1000, Value::Int(1));
  }
  EXPECT_TRUE(builder.IsFull());
  EXPECT_EQ(builder.room(), 0u);
  EXPECT_LT(room, kMaxBlockEntries) << "a reader takes more than a writer makes";
  builder.Finish();
  EXPECT_EQ(builder.room(), room);
}

// Entries of so many machines one after the other, side by side, until the block is full.
size_t EntriesOfFull(size_t machines, int columns) {
  BlockBuilder builder;
  ColumnSet set{1, 1, {}};
  for (int c = 0; c < columns; ++c) set.columns.push_back({0, "c" + std::to_string(c)});
  const std::vector<Value> values(set.columns.size(), Value::Int(1));
  size_t entries = 0;
  for (; !builder.IsFull(); ++entries) {
    const auto time = static_cast<TimeUs>(1'735'689'600'000'000 + entries * 1'000'000);
    const std::string key = fmt::format("m{:05}#{}", entries * machines / 10'000, time / 1000);
    builder.Add({key, time, 7}, set, values);
  }
  return entries;
}

TEST(BlockBuilderFullTest, LongRunsOfFewColumnsTakeMoreEntries) {
  EXPECT_EQ(EntriesOfFull(1, 1), 4096u);
  EXPECT_EQ(EntriesOfFull(3, 10), 4096u);
  EXPECT_EQ(EntriesOfFull(1, 20), 3277u);
  EXPECT_EQ(EntriesOfFull(1, 100), 2048u);
  EXPECT_EQ(EntriesOfFull(5000, 1), 2048u) << "of few entries each";
}

TEST(BlockBuilderFullTest, OfEntriesWithColumnsOfTheirOwnAFullBlockTakesNoMore) {
  constexpr int kColumnsEach = 100;
  std::vector<BlockEntry> source;
  for (int i = 0; i < 100; ++i) {
    source.push_back({"row", 1000 - i, 1, {{Column{0, "c"}, Value::Int(i)}}});
  }
  ColumnBlock block;
  const std::string bytes = MakeBlock(source, &block);
  const std::vector<ColumnData> data = DecodeAll(&block, bytes);
  std::vector<std::string> names;
  for (size_t i = 0; i < source.size() * kColumnsEach; ++i)
    names.push_back("c" + std::to_string(i));
  std::vector<std::vector<BlockColumn>> columns(source.size());
  std::vector<EntryColumns> each;
  for (size_t i = 0; i < names.size(); ++i) {
    columns[i / kColumnsEach].push_back({{0, names[i]}, data.data(), nullptr});
  }
  for (const std::vector<BlockColumn>& of_entry : columns) each.push_back({&of_entry, of_entry});
  BlockBuilder builder;
  const RunEntries entries{0, block.times().All(), block.sequences()};
  const size_t count = builder.AddRun(block.runs().front(), entries, each);
  EXPECT_TRUE(builder.IsFull());
  EXPECT_EQ(count, 41u) << "of 4,096 columns";
  EXPECT_EQ(builder.Finish().entries, count);
}

TEST(BlockBuilderFullTest, ColumnsThatWouldBeTooManyAreNotTaken) {
  BlockBuilder builder;
  EXPECT_TRUE(builder.TakesColumns(4096));
  AddOne(&builder, "a", 1000, Value::Int(1));
  EXPECT_TRUE(builder.TakesColumns(4095));
  EXPECT_FALSE(builder.TakesColumns(4096));
}

TEST(BlockBuilderFullTest, LongTextFillsABlockEarly) {
  BlockBuilder builder;
  const std::string text(1u << 20, 'x');
  AddOne(&builder, "a", 1000, Value::String(text));
  EXPECT_TRUE(builder.IsFull());
  BlockBuilder from_stored;
  EXPECT_EQ(from_stored.AddStored({"a", 1000, 7}, kOneColumn,
                                  Stored(std::vector{Value::String(text)}), true),
            StoredEntry::kAdded);
  EXPECT_TRUE(from_stored.IsFull());
}

TEST(BlockBuilderStoredTest, ValuesThatEndTooSoonOrTooLateAreMalformed) {
  const ColumnSet set{1, 1, {{0, "a"}, {0, "b"}, {0, "c"}}};
  const Value number = Value::Decimal(-7'654'321, 2);
  for (const Value& second : {Value::String("abc"), Value::Int(-8)}) {
    const std::string stored = Stored(std::vector{Value::Int(123'456), second, number});
    for (size_t size = 0; size <= stored.size() + 1; ++size) {
      // Of its own allocation, so that a look behind the end is seen.
      std::vector<char> exact(stored.begin(), stored.end());
      exact.resize(size, '\x02');
      for (const bool is_whole : {true, false}) {
        BlockBuilder builder;
        const StoredEntry added =
            builder.AddStored({"row", 5, 7}, set, {exact.data(), exact.size()}, is_whole);
        EXPECT_EQ(added == StoredEntry::kAdded, size == stored.size()) << size;
        EXPECT_NE(added, StoredEntry::kNothing) << size;
      }
    }
  }
}

TEST(BlockBuilderStoredTest, AnAbsentValueOfAWholeEntryIsMalformed) {
  const ColumnSet set{1, 1, {{0, "a"}, {0, "b"}}};
  for (const auto& values : {std::vector{Value::Int(1), Value()}, std::vector{Value(), Value()}}) {
    BlockBuilder builder;
    EXPECT_EQ(builder.AddStored({"row", 5, 7}, set, Stored(values), true), StoredEntry::kMalformed);
  }
}

// Around as many as are told at once, with and without a text among them.
TEST(BlockBuilderStoredTest, SomeOfManyValuesMakeTheSameBlock) {
  EntryMaker maker(20261126);
  for (const size_t columns : {63u, 64u, 65u, 130u}) {
    ColumnSet set{1, 1, {}};
    for (size_t i = 0; i < columns; ++i) set.columns.push_back({0, fmt::format("c{:03}", i)});
    BlockBuilder from_values;
    BlockBuilder from_stored;
    for (TimeUs time = 200; time > 0; --time) {
      std::vector<Value> values(columns);
      for (Value& value : values) {
        if (maker.Random(2) == 0) value = Value::Int(static_cast<int64_t>(maker.Random(100'000)));
      }
      if (maker.Random(4) == 0) values[maker.Random(columns)] = Value::String("text");
      if (std::ranges::all_of(values, &Value::is_null)) continue;
      const EntryId id{"row", time, 7};
      from_values.Add(id, set, values);
      ASSERT_EQ(from_stored.AddStored(id, set, Stored(values), false), StoredEntry::kAdded);
      std::string damaged = Stored(values);
      damaged.pop_back();
      BlockBuilder broken;
      ASSERT_EQ(broken.AddStored(id, set, damaged, false), StoredEntry::kMalformed);
    }
    const BuiltBlock a = from_values.Finish();
    const BuiltBlock b = from_stored.Finish();
    EXPECT_GT(b.entries, 100u);
    EXPECT_TRUE(a.bytes == b.bytes);
  }
}

TEST(BlockBuilderStoredTest, AnEntryWithoutAnyValueIsNothing) {
  const ColumnSet set{1, 1, {{0, "a"}, {0, "b"}}};
  BlockBuilder builder;
  EXPECT_EQ(builder.AddStored({"row", 5, 7}, set, Stored(std::vector{Value(), Value()}), false),
            StoredEntry::kNothing);
  EXPECT_TRUE(builder.empty());
}

TEST(BlockBuilderStoredTest, ANumberThatNoDecimalHasIsMalformed) {
  const ColumnSet set{1, 1, {{0, "a"}, {0, "b"}}};
  char bytes[kMaxVarintBytes];
  const uint64_t mantissa = ZigZag(Value::kMaxMantissa + 1);
  const std::string beyond(bytes, EncodeVarint(bytes, mantissa << kKindBits | kKindDecimal));
  for (const bool is_whole : {true, false}) {
    BlockBuilder builder;
    const std::string stored = Stored(std::vector{Value::Int(1)}) + beyond;
    EXPECT_EQ(builder.AddStored({"row", 5, 7}, set, stored, is_whole), StoredEntry::kMalformed);
  }
}

TEST(BlockBuilderFullTest, LongKeysFillABlockEarly) {
  BlockBuilder builder;
  int keys = 0;
  while (!builder.IsFull()) {
    AddOne(&builder, fmt::format("{:05}", keys++) + std::string(4000, 'k'), 1, Value::Int(1));
  }
  EXPECT_LT(keys, 300);
}

TEST(BlockBuilderFullTest, ShapesThatAllDifferFillABlockEarly) {
  BlockBuilder builder;
  int entries = 0;
  while (!builder.IsFull()) {
    const std::string name = "c" + std::to_string(entries);
    const ColumnRef column{0, name};
    const std::string key = fmt::format("{:05}", entries++);
    builder.Add({key, 1, 7}, {&column, 1}, std::vector{Value::Int(1)}, nullptr);
  }
  EXPECT_LE(entries, 256);
}

TEST(BlockBuilderFullTest, AFullBlockStillTakesWhatContinuesItsLastEntry) {
  BlockBuilder builder;
  uint64_t sequence = 1'000'000;
  while (!builder.IsFull()) AddOne(&builder, "row", 1000, Value::Int(1), sequence--);
  EXPECT_TRUE(builder.ContinuesLast("row", 1000));
  EXPECT_FALSE(builder.ContinuesLast("row", 999));
  EXPECT_FALSE(builder.ContinuesLast("rox", 1000));
  // Up to what a reader takes.
  while (builder.TakesMore(1)) {
    AddOne(&builder, "row", 1000, Value::Int(2), sequence--);
  }
  const BuiltBlock built = builder.Finish();
  EXPECT_EQ(built.entries, kMaxBlockEntries);
  ColumnBlock block;
  ASSERT_TRUE(block.Open(built.bytes.substr(0, built.head_size)));
  EXPECT_TRUE(block.has_rewrites());
}

TEST(BlockBuilderFullTest, AnEmptyBlockContinuesNothing) {
  BlockBuilder builder;
  EXPECT_FALSE(builder.ContinuesLast("", 0));
  AddOne(&builder, "a", 1, Value::Int(1));
  builder.Finish();
  EXPECT_FALSE(builder.ContinuesLast("a", 1));
}

TEST(BlockBuilderIdentityTest, OneIdentityStandsForItsColumnsUntilFinish) {
  const int identity = 0;
  const ColumnRef a{0, "a"};
  const ColumnRef b{0, "b"};
  BlockBuilder builder;
  ColumnBlock block;
  for (const ColumnRef& column : {a, b}) {
    builder.Add({"1", 1, 7}, {&column, 1}, std::vector{Value::Int(1)}, &identity);
    builder.Add({"2", 1, 7}, {&column, 1}, std::vector{Value::Int(2)}, &identity);
    const BuiltBlock built = builder.Finish();
    ASSERT_TRUE(block.Open(built.bytes.substr(0, built.head_size)));
    ASSERT_EQ(block.schema()->columns.size(), 1u);
    EXPECT_EQ(block.schema()->columns[0].ref(), column);
  }
}

TEST(BlockBuilderIdentityTest, NullsAreAbsentCells) {
  const ColumnSet set{1, 1, {{0, "a"}, {0, "b"}}};
  BlockBuilder builder;
  builder.Add({"1", 1, 7}, set, std::vector{Value::Int(1), Value()});
  builder.Add({"2", 1, 7}, set, std::vector{Value(), Value::Int(2)});
  builder.Add({"3", 1, 7}, set, std::vector{Value::Int(3), Value::Int(4)});
  const BuiltBlock built = builder.Finish();
  EXPECT_EQ(built.cells, 4u);
  ColumnBlock block;
  ASSERT_TRUE(block.Open(built.bytes.substr(0, built.head_size)));
  const std::vector<BlockEntry> entries = {
      {"1", 1, 7, {{{0, "a"}, Value::Int(1)}}},
      {"2", 1, 7, {{{0, "b"}, Value::Int(2)}}},
      {"3", 1, 7, {{{0, "a"}, Value::Int(3)}, {{0, "b"}, Value::Int(4)}}}};
  ExpectEntries(&block, built.bytes, entries);
}

TEST(BlockSizeTest, AFleetsSamplesTakeAboutAByte) {
  constexpr int kMachines = 8;
  constexpr int kEntries = 256;
  constexpr int kColumns = 20;
  std::mt19937_64 random(1);
  ColumnSet set;
  for (int c = 0; c < kColumns; ++c) set.columns.push_back({0, "metric" + std::to_string(c)});
  BlockBuilder builder;
  for (int machine = 0; machine < kMachines; ++machine) {
    std::vector<int64_t> numbers;
    for (int c = 0; c < kColumns; ++c) numbers.push_back(static_cast<int64_t>(random() % 9000));
    for (int i = 0; i < kEntries; ++i) {
      std::vector<Value> values;
      for (int c = 0; c < kColumns; ++c) {
        int64_t& number = numbers[static_cast<size_t>(c)];
        number += static_cast<int64_t>(random() % (c % 2 == 0 ? 101 : 200)) - (c % 2 == 0 ? 50 : 0);
        values.push_back(c % 2 == 0 ? Value::Decimal(number, 2) : Value::Int(number));
      }
      const TimeUs time = 1'735'689'600'000'000 + machine * 5000 + i * 5'000'000;
      const std::string key = "m" + std::to_string(machine) + "#" + std::to_string(time / 1000);
      builder.Add({key, time, 7}, set, values);
    }
  }
  const BuiltBlock built = builder.Finish();
  EXPECT_LT(static_cast<double>(built.bytes.size()), 1.05 * static_cast<double>(built.cells));
}

std::string HexOf(std::string_view bytes) {
  std::string hex;
  for (const char c : bytes) fmt::format_to(std::back_inserter(hex), "{:02x}", c & 0xff);
  return hex;
}

TEST(BlockFormatTest, TheBytesOfASmallBlock) {
  const ColumnSet set{1, 1, {{0, "a"}, {0, "b"}}};
  BlockBuilder builder;
  builder.Add({"m#0000000001000", 1'000'000, 9}, set,
              std::vector{Value::Int(1), Value::Decimal(25, 1)});
  builder.Add({"m#0000000002000", 2'000'000, 9}, set,
              std::vector{Value::Int(3), Value::Decimal(24, 1)});
  const BuiltBlock built = builder.Finish();
  EXPECT_EQ(HexOf(built.bytes),
            "020202010b0c070002090a"    // version, entries, columns, shapes, sizes
            "0909000161000162020000"    // schema: columns a and b, one shape of both
            "010505020102000202026d23"  // a run of two: ms at 2, stem "m#"
            "c0843d00010202"            // in seconds, plain: 1 and 2
            "0109"                      // one sequence, 9
            "62553a31"                  // checksum of the head
            "5fb80fde0000020208"        // a: ints 1 and 3
            "e289af7d010100013001");    // b: decimals of one digit, 25 and 24
  EXPECT_EQ(built.head_size, 47u);
}

TEST(BlockFormatTest, TheBytesOfASmallBlockByPresence) {
  const ColumnSet set{1, 1, {{0, "b"}, {0, "a"}, {0, "c"}}};
  BlockBuilder builder;
  TimeUs time = 0;
  for (const unsigned has : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 7u}) {
    std::vector<Value> values(3);
    for (size_t c = 0; c < 3; ++c) {
      if ((has >> c & 1) != 0) values[c] = Value::Int(1);
    }
    time += 1'000'000;
    builder.Add({fmt::format("m#{:013}", time / 1000), time, 9}, set, values);
  }
  const BuiltBlock built = builder.Finish();
  EXPECT_EQ(HexOf(built.bytes),
            "030803000b0c0600020b0b0b"  // version, entries, columns, no shapes, sizes
            "0909000161000162000163"    // schema: columns a, b and c
            "010505080102000202026d23"  // a run of eight: ms at 2, stem "m#"
            "c0843d010002"              // in seconds, differences: 1 each
            "0109"                      // one sequence, 9
            "3212925f"                  // checksum of the head
            "c7e608190101e600000002"    // a: 11100110, the last entry first; ints 1
            "405f64770101d500000002"    // b: 11010101
            "7c861fcd0101f800000002");  // c: 11111000
  EXPECT_EQ(built.cells, 15u);
}

}  // namespace
}  // namespace tallyd
