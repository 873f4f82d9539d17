// Column blocks against the plain entries they were made of, and against damage.
#include <gtest/gtest.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "storage/blocks/block_builder.h"
#include "storage/blocks/column_block.h"
#include "storage/bytes/coding.h"

namespace tallyd {
namespace {

struct Cell {
  Column column;
  Value value;
};
struct Entry {
  std::string key;
  TimeUs time = 0;
  uint64_t sequence = 0;
  std::vector<Cell> cells;
};

class BlockMaker {
 public:
  explicit BlockMaker(unsigned seed) : random_(seed) {}

  uint64_t Random(uint64_t n) { return random_() % n; }

  Value RandomValue(uint64_t kind) {
    switch (kind % 10) {
      case 0:
        return Value::Int(static_cast<int64_t>(Random(200)));
      case 1:
        return Value::Int(static_cast<int64_t>(random_()));
      case 2:
        return Value::Decimal(static_cast<int64_t>(Random(20'000)) - 10'000, 2);
      case 3:
        return Value::Decimal(static_cast<int64_t>(Random(1000)), static_cast<uint8_t>(Random(23)));
      case 4: {
        const double odd[] = {-0.0, 5e-324, 1e300, -1.5, 0.1, std::numeric_limits<double>::max()};
        return Value::Double(odd[Random(std::size(odd))]);
      }
      case 5:
        return Value::Bool(Random(2) == 0);
      case 6:
        return Value::String(words_[Random(words_.size())]);
      case 7:
        texts_.push_back(std::make_unique<std::string>(Random(40), 'x'));
        for (char& c : *texts_.back()) c = static_cast<char>('a' + Random(26));
        return Value::String(*texts_.back());
      case 8:
        texts_.push_back(std::make_unique<std::string>(Random(20), '\0'));
        for (char& c : *texts_.back()) c = static_cast<char>(Random(256));
        return Value::Bytes(*texts_.back());
      default:
        return RandomValue(Random(9));
    }
  }

  std::string KeyOf(TimeUs time, uint64_t entity) {
    const std::string name = "m" + std::to_string(entity);
    switch (key_kind_) {
      case 0:
        return name + "#" + std::to_string(time / 1000);
      case 1:
        return name + "#" + std::to_string(time / 86'400'000'000);
      case 2:
        return std::to_string(time / 1000) + "#" + name;
      case 3:
        return name + "#" + std::to_string(std::numeric_limits<int64_t>::max() - time / 1000) +
               "#z";
      case 4:
        return name + std::string("\0\xff", 2) + std::to_string(time / 1'000'000);
      default:
        return name + "#" + std::to_string(time);
    }
  }

  // Sorted as a store has them, no two of one key, time and sequence.
  std::vector<Entry> Entries() {
    key_kind_ = Random(6);
    const uint64_t columns = 1 + Random(12);
    const uint64_t shapes = 1 + Random(4);
    const uint64_t heads = 1 + Random(3);
    const bool sparse = Random(3) == 0;
    std::vector<Entry> entries;
    const uint64_t count = 1 + Random(600);
    for (uint64_t i = 0; i < count; ++i) {
      Entry entry;
      entry.time = 1'500'000'000'000'000 + static_cast<TimeUs>(Random(500)) * 500'000 +
                   static_cast<TimeUs>(Random(4) == 0 ? Random(1000) : 0);
      entry.key = KeyOf(entry.time, Random(5));
      entry.sequence = 1000 + (Random(3) == 0 ? Random(heads) : 0) * 17;
      const uint64_t shape = Random(shapes);
      for (uint64_t c = 0; c < columns; ++c) {
        if ((c + shape) % shapes != 0 && shapes > 1) continue;
        if (sparse && Random(3) == 0) continue;
        const auto kind = Random(40) == 0 ? Random(10) : c;
        entry.cells.push_back(
            {{static_cast<FamilyId>(c % 3), "c" + std::to_string(c)}, RandomValue(kind)});
      }
      if (entry.cells.empty()) entry.cells.push_back({{0, "c0"}, Value::Int(1)});
      entries.push_back(std::move(entry));
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      if (a.key != b.key) return a.key < b.key;
      return a.time != b.time ? a.time > b.time : a.sequence > b.sequence;
    });
    entries.erase(std::unique(entries.begin(), entries.end(),
                              [](const Entry& a, const Entry& b) {
                                return a.key == b.key && a.time == b.time &&
                                       a.sequence == b.sequence;
                              }),
                  entries.end());
    return entries;
  }

 private:
  std::mt19937_64 random_;
  uint64_t key_kind_ = 0;
  const std::vector<std::string> words_ = {"up", "down", "", "degraded"};
  std::vector<std::unique_ptr<std::string>> texts_;
};

void AddTo(BlockBuilder* builder, const Entry& entry) {
  std::vector<ColumnRef> columns;
  std::vector<Value> values;
  for (const Cell& cell : entry.cells) {
    columns.push_back(cell.column.ref());
    values.push_back(cell.value);
  }
  builder->Add({entry.key, entry.time, entry.sequence}, columns, values, nullptr);
}

std::vector<ColumnData> DecodeAll(const ColumnBlock& block, std::string_view bytes) {
  std::vector<ColumnData> columns(block.schema()->columns.size());
  for (uint32_t i = 0; i < columns.size(); ++i) {
    const ColumnBlock::Stream stream = block.StreamOf(i);
    const Status decoded = block.Decode(i, bytes.substr(stream.offset, stream.size), &columns[i]);
    EXPECT_TRUE(decoded);
  }
  return columns;
}

void ExpectEntries(const ColumnBlock& block, std::string_view bytes,
                   std::span<const Entry> entries) {
  ASSERT_EQ(block.entries(), entries.size());
  const std::vector<ColumnData> columns = DecodeAll(block, bytes);
  std::string key;
  bool rewrites = false;
  for (uint32_t i = 1; i < entries.size(); ++i) {
    rewrites = rewrites ||
               (entries[i - 1].key == entries[i].key && entries[i - 1].time == entries[i].time);
  }
  EXPECT_EQ(block.has_rewrites(), rewrites);
  for (uint32_t i = 0; i < entries.size(); ++i) {
    block.GetKey(i, &key);
    ASSERT_EQ(key, entries[i].key);
    ASSERT_EQ(block.sequences()[i], entries[i].sequence);
    ASSERT_EQ(block.times()[i], entries[i].time);
    const auto& shape = block.schema()->shapes[block.shape_of(i)];
    ASSERT_EQ(shape.size(), entries[i].cells.size());
    for (size_t c = 0; c < shape.size(); ++c) {
      const uint32_t number = shape[c];
      ASSERT_EQ(block.schema()->columns[number], entries[i].cells[c].column);
      const size_t index = block.has_one_shape() ? i : block.IndexesOf(number)[i];
      ASSERT_EQ(columns[number].At(index), entries[i].cells[c].value);
    }
  }
}

class BlockTest : public ::testing::TestWithParam<unsigned> {};

TEST_P(BlockTest, EntriesComeBackToTheBitAndTheType) {
  BlockMaker maker(GetParam());
  BlockBuilder builder;
  ColumnBlock block;
  for (int round = 0; round < 8; ++round) {
    const std::vector<Entry> entries = maker.Entries();
    for (const Entry& entry : entries) AddTo(&builder, entry);
    const BuiltBlock built = builder.Finish();
    ASSERT_TRUE(block.Open(built.bytes.substr(0, built.head_size)));
    ExpectEntries(block, built.bytes, entries);
    EXPECT_EQ(built.first_key, entries.front().key);
    EXPECT_EQ(built.last_key, entries.back().key);
    uint32_t rows = 0;
    for (uint32_t i = 0; i < entries.size(); ++i) {
      const auto same = [&](const Entry& other) { return other.key == entries[i].key; };
      const auto first = std::find_if(entries.begin(), entries.end(), same);
      const auto begin = static_cast<uint32_t>(first - entries.begin());
      const auto end = begin + static_cast<uint32_t>(std::count_if(first, entries.end(), same));
      rows += i == begin ? 1 : 0;
      ASSERT_EQ(block.RowBegin(i), begin);
      ASSERT_EQ(block.RowEnd(i), end);
      ASSERT_EQ(block.LowerBound(entries[i].key), begin);
      ASSERT_EQ(block.LowerBound(entries[i].key + std::string(1, '\0')), end);
    }
    EXPECT_EQ(built.rows, rows);
  }
}

TEST_P(BlockTest, RunsOfAnotherBlockAreCopiedAsTheyAre) {
  BlockMaker maker(GetParam() + 1000);
  const std::vector<Entry> entries = maker.Entries();
  BlockBuilder builder;
  for (const Entry& entry : entries) AddTo(&builder, entry);
  const std::string bytes(builder.Finish().bytes);
  const BuiltBlock built = [&] {
    ColumnBlock block;
    BlockBuilder again;
    for (const Entry& entry : entries) AddTo(&again, entry);
    const BuiltBlock first = again.Finish();
    EXPECT_TRUE(block.Open(first.bytes.substr(0, first.head_size)));
    const std::vector<ColumnData> columns = DecodeAll(block, bytes);
    for (const KeyRun& run : block.runs()) {
      for (uint32_t begin = run.begin; begin < run.end;) {
        uint32_t end = begin + 1;
        while (end < run.end && block.shape_of(end) == block.shape_of(begin)) ++end;
        std::vector<RunColumn> slices;
        for (const uint32_t number : block.schema()->shapes[block.shape_of(begin)]) {
          const size_t index = block.has_one_shape() ? begin : block.IndexesOf(number)[begin];
          slices.push_back({block.schema()->columns[number].ref(), &columns[number],
                            static_cast<uint32_t>(index)});
        }
        builder.AddRun(run,
                       {block.times().subspan(begin, end - begin),
                        block.sequences().subspan(begin, end - begin)},
                       slices);
        begin = end;
      }
    }
    return builder.Finish();
  }();
  ColumnBlock copy;
  ASSERT_TRUE(copy.Open(built.bytes.substr(0, built.head_size)));
  ExpectEntries(copy, built.bytes, entries);
}

void SetChecksum(char* at, std::string_view bytes) {
  EncodeU32(at, static_cast<uint32_t>(XXH3_64bits(bytes.data(), bytes.size())));
}

// With its checksums made right again, damage reaches the decoders. Whatever they make of it, it
// must be an error or entries that can be read.
TEST_P(BlockTest, DamagedBytesAreErrorsAndNeverACrash) {
  BlockMaker maker(GetParam() + 2000);
  std::vector<Entry> entries = maker.Entries();
  entries.resize(std::min<size_t>(entries.size(), 60));
  BlockBuilder builder;
  for (const Entry& entry : entries) AddTo(&builder, entry);
  const BuiltBlock built = builder.Finish();
  const std::string bytes(built.bytes);
  const size_t head_size = built.head_size;
  ColumnBlock whole;
  ASSERT_TRUE(whole.Open(std::string_view(bytes).substr(0, head_size)));
  for (int round = 0; round < 400; ++round) {
    std::string damaged = bytes;
    std::string head = bytes.substr(0, head_size);
    for (uint64_t flips = 1 + maker.Random(3); flips > 0; --flips) {
      damaged[maker.Random(damaged.size())] ^= static_cast<char>(1 + maker.Random(255));
      head[maker.Random(head_size - 4)] ^= static_cast<char>(1 + maker.Random(255));
    }
    ColumnBlock block;
    ASSERT_FALSE(block.Open(head)) << "the checksum tells";
    if (maker.Random(4) == 0) head.resize(4 + maker.Random(head.size() - 4));
    if (head.size() <= 4) continue;
    SetChecksum(head.data() + head.size() - 4, std::string_view(head).substr(0, head.size() - 4));
    if (block.Open(head)) {
      std::string key;
      for (uint32_t i = 0; i < block.entries(); ++i) {
        block.GetKey(i, &key);
        ASSERT_LE(block.RowBegin(i), i);
        ASSERT_GT(block.RowEnd(i), i);
      }
      for (uint32_t i = 0; i < block.schema()->columns.size(); ++i) {
        if (!block.has_one_shape()) block.IndexesOf(i);
      }
    }
    ColumnData data;
    for (uint32_t i = 0; i < whole.schema()->columns.size(); ++i) {
      const ColumnBlock::Stream place = whole.StreamOf(i);
      std::string stream = damaged.substr(place.offset, place.size);
      const bool same = stream == bytes.substr(place.offset, place.size);
      EXPECT_EQ(bool(whole.Decode(i, stream, &data)), same) << "the checksum tells";
      if (stream.size() <= 4) continue;
      SetChecksum(stream.data(), std::string_view(stream).substr(4));
      if (!whole.Decode(i, stream, &data)) continue;
      for (size_t v = 0; v < data.size(); ++v) ToText(data.At(v));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, BlockTest, ::testing::Range(1u, 41u));

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

TEST(BlockFormatTest, TheBytesOfASmallBlock) {
  const ColumnSet set{1, 1, {{0, "a"}, {0, "b"}}};
  BlockBuilder builder;
  builder.Add({"m#0000000001000", 1'000'000, 9}, set,
              std::vector{Value::Int(1), Value::Decimal(25, 1)});
  builder.Add({"m#0000000002000", 2'000'000, 9}, set,
              std::vector{Value::Int(3), Value::Decimal(24, 1)});
  const BuiltBlock built = builder.Finish();
  std::string hex;
  for (const char c : built.bytes) fmt::format_to(std::back_inserter(hex), "{:02x}", c & 0xff);
  EXPECT_EQ(hex,
            "020202010b0c070002090a"  // version, entries, columns, shapes, sizes
            "0909000161000162020000"  // schema: columns a and b, one shape of both
            "010505020102000202026d23"  // a run of two: ms at 2, stem "m#"
            "c0843d00010202"            // in seconds, plain: 1 and 2
            "0109"                      // one sequence, 9
            "62553a31"                  // checksum of the head
            "5fb80fde0000020208"        // a: ints 1 and 3
            "e289af7d010100013001");    // b: decimals of one digit, 25 and 24
  EXPECT_EQ(built.head_size, 47u);
}

}  // namespace
}  // namespace tallyd
