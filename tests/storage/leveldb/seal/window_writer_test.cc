// Whatever a window writer is given, a reader takes what it makes of it: no block is beyond a
// reader's bounds, and each cell comes back.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <tuple>

#include "storage/leveldb/read/block_source.h"
#include "storage/leveldb/seal/rewrite_parts.h"
#include "tests/storage/leveldb/block_maker.h"

namespace tallyd {
namespace {

// By row, time descending and sequence descending, then by column.
using EntryKey = std::tuple<std::string, TimeUs, uint64_t>;
using Content = std::map<EntryKey, std::map<std::string, std::string>>;

class WrittenWindowTest : public ::testing::Test {
 protected:
  std::unique_ptr<WindowWriter> NewWriter(const BlockBounds& bounds) {
    bounds_ = bounds;
    return std::make_unique<WindowWriter>(WindowWriter::Options{
        &blocks_.shelf(), blocks_.table(), 0, kUsPerDay, &next_file_, bounds});
  }
  static EntryKey KeyOf(const EntryId& id) {
    return {std::string(id.row_key), -id.time, ~id.sequence};
  }
  // Cells by name, of one entry.
  void Add(WindowWriter* writer, const EntryId& id, const std::vector<std::string>& names,
           const std::vector<Value>& values) {
    StoredCells cells;
    for (const std::string& name : names) cells.columns.push_back({0, name});
    cells.values = values;
    const Status added = writer->Add(id, cells);
    ASSERT_TRUE(added) << added.error().message();
    for (size_t i = 0; i < names.size(); ++i) {
      if (!values[i].is_null()) content_[KeyOf(id)][names[i]] = ToText(values[i]);
    }
  }
  // What was written is one file, which a reader takes and of which it reads all that was added.
  BlockFilePtr Finish(WindowWriter* writer) {
    auto written = writer->Complete();
    EXPECT_TRUE(written);
    EXPECT_EQ(written->size(), 1u);
    EXPECT_TRUE(written->front()->Sync());
    BlockFilePtr file = written->front()->Finish();
    const Status checked = file->CheckWritten([] { return Status(); });
    EXPECT_TRUE(checked) << checked.error().message();
    return file;
  }
  void ExpectContent(const BlockFilePtr& file) {
    ColumnPlan plan(blocks_.table(), blocks_.sets(), 0);
    BlockSource source(file, &plan, TimeRange{0, kMaxTimeUs + 1});
    ASSERT_TRUE(source.SeekRow({}));
    Content read;
    WholeEntry entry;
    while (source.valid()) {
      ASSERT_TRUE(source.Read(&entry));
      auto& cells = read[KeyOf({entry.row_key, entry.time, entry.sequence})];
      for (size_t i = 0; i < entry.values.size(); ++i) {
        if (entry.values[i].is_null()) continue;
        const std::string name(entry.column(i).qualifier);
        EXPECT_TRUE(cells.emplace(name, ToText(entry.values[i])).second) << name;
      }
      ASSERT_TRUE(source.Next());
    }
    EXPECT_EQ(read, content_);
  }
  // Blocks within the bounds; those in which a row and time goes on say so.
  void ExpectBlocks(const BlockFilePtr& file, size_t* parts) {
    std::string bytes;
    std::string last_row;
    TimeUs last_time = -1;
    bool was_part = false;
    const BlockIndexPtr index = file->Index().value();
    for (const BlockPlace& place : index->blocks()) {
      ColumnBlock block;
      ASSERT_TRUE(file->Read(place, 0, place.head_size, &bytes));
      ASSERT_TRUE(block.Open(bytes));
      EXPECT_LE(block.schema()->columns.size(), bounds_.columns);
      EXPECT_LE(block.entries(), std::max<size_t>(bounds_.entries, kMostEntries));
      std::string row;
      block.GetKey(0, &row);
      const bool goes_on = row == last_row && block.times().At(0) == last_time;
      EXPECT_TRUE(!goes_on || (was_part && block.is_part()));
      EXPECT_EQ(block.is_part() && !goes_on && place.first_key == place.last_key &&
                    index->blocks().size() == 1,
                false);
      *parts += block.is_part() ? 1 : 0;
      block.GetKey(block.entries() - 1, &last_row);
      last_time = block.times().At(block.entries() - 1);
      was_part = block.is_part();
    }
  }

  BlockMaker blocks_;
  std::atomic<uint64_t> next_file_ = 1;
  BlockBounds bounds_;
  Content content_;
};

class WindowWriterRandomTest : public WrittenWindowTest,
                               public ::testing::WithParamInterface<unsigned> {};

// Of rows with few columns, with as many as a block takes, and with many more; of one time written
// by few and by very many.
TEST_P(WindowWriterRandomTest, WhatItMakesAReaderTakes) {
  std::mt19937_64 random(GetParam());
  const auto one_of = [&](uint64_t n) { return random() % n; };
  const auto writer =
      NewWriter({.entries = 4 + one_of(8), .columns = 4 + one_of(12), .text_bytes = 2048});
  const std::string text(300, 't');
  for (int row = 0; row < 60; ++row) {
    const std::string key = fmt::format("row{:03}", row);
    TimeUs time = 1'000'000;
    for (uint64_t times = 1 + one_of(4); times > 0; --times) {
      time -= static_cast<TimeUs>(1 + one_of(3));
      const uint64_t most = one_of(4) == 0 ? 40 : 3;
      uint64_t sequence = 1'000;
      for (uint64_t writes = one_of(3) == 0 ? 1 + one_of(30) : 1; writes > 0; --writes) {
        std::vector<std::string> names;
        std::vector<Value> values;
        for (uint64_t column = 0; column < most; ++column) {
          if (one_of(3) == 0) continue;
          names.push_back(fmt::format("c{:02}{}", column, one_of(20) == 0 ? text : ""));
          const auto number = static_cast<int64_t>(one_of(100));
          values.push_back(one_of(10) == 0 ? Value::String(text) : Value::Int(number));
          if (one_of(10) == 0 && names.size() > 1) values.back() = Value();
        }
        if (names.empty()) continue;
        if (values.front().is_null()) continue;
        ASSERT_NO_FATAL_FAILURE(Add(writer.get(), {key, time, sequence--}, names, values));
      }
    }
  }
  const BlockFilePtr file = Finish(writer.get());
  size_t parts = 0;
  ASSERT_NO_FATAL_FAILURE(ExpectBlocks(file, &parts));
  EXPECT_GT(parts, 5u);
  ExpectContent(file);
}

INSTANTIATE_TEST_SUITE_P(Seeds, WindowWriterRandomTest, ::testing::Range(1u, 31u));

// As blocks really are.
TEST_F(WrittenWindowTest, AnEntryMayHaveAnyNumberOfColumns) {
  for (const size_t columns : {size_t{kMaxBlockColumns / 2}, size_t{kMaxBlockColumns} / 2 + 1,
                               size_t{kMaxBlockColumns} + 1}) {
    SCOPED_TRACE(columns);
    content_.clear();
    const auto writer = NewWriter({});
    // Neighbours that fill a block nearly.
    std::vector<std::string> names;
    for (size_t i = 0; i < kFullColumns - 1; ++i) names.push_back(fmt::format("a{:05}", i));
    Add(writer.get(), {"a", 9, 7}, names, std::vector(names.size(), Value::Int(1)));
    names.clear();
    for (size_t i = 0; i < columns; ++i) names.push_back(fmt::format("b{:05}", i));
    Add(writer.get(), {"b", 9, 7}, names, std::vector(names.size(), Value::Int(2)));
    Add(writer.get(), {"c", 9, 7}, {"x"}, {Value::Int(3)});
    const BlockFilePtr file = Finish(writer.get());
    size_t parts = 0;
    ASSERT_NO_FATAL_FAILURE(ExpectBlocks(file, &parts));
    EXPECT_EQ(parts > 0, columns > kMaxBlockColumns / 2);
    ExpectContent(file);
  }
}

TEST_F(WrittenWindowTest, WhatManyCommitsWroteToOneRowAndTimeMayHaveAnyNumberOfColumns) {
  const auto writer = NewWriter({});
  constexpr size_t kOfCommit = 5000;
  for (uint64_t commit = 30; commit > 0; --commit) {
    std::vector<std::string> names;
    for (size_t i = 0; i < kOfCommit; ++i) {
      names.push_back(fmt::format("c{:06}", commit * (kOfCommit - 1000) + i));
    }
    const std::vector<Value> values(names.size(), Value::Int(static_cast<int64_t>(commit)));
    Add(writer.get(), {"row", 9, commit}, names, values);
  }
  const BlockFilePtr file = Finish(writer.get());
  size_t parts = 0;
  ASSERT_NO_FATAL_FAILURE(ExpectBlocks(file, &parts));
  EXPECT_GE(parts, 2u);
  ExpectContent(file);
}

// The key holds one of the row's times and not the others: its entries make more runs than rows.
TEST_F(WrittenWindowTest, ARowMayHaveMoreRunsThanOne) {
  const auto writer = NewWriter({});
  constexpr TimeUs kTime = 1'426'535'612'045'000;
  next_file_ = 1;
  Add(writer.get(), {"host#1426535612045", kTime, 7}, {"x"}, {Value::Int(1)});
  Add(writer.get(), {"host#1426535612045", kTime - 1'000'000, 7}, {"x"}, {Value::Int(2)});
  const BlockFilePtr file = Finish(writer.get());
  const BlockIndexPtr index = file->Index().value();
  EXPECT_EQ(index->blocks()[0].rows, 1u);
  EXPECT_EQ(index->blocks()[0].runs, 2u);
  ExpectContent(file);
}

TEST_F(WrittenWindowTest, AFileThatIsNotWhatWasWrittenIsNoticed) {
  const auto writer = NewWriter({});
  for (int i = 0; i < 3000; ++i) {
    Add(writer.get(), {fmt::format("r{:05}", i), 9, 7}, {"x", "y"}, {Value::Int(i), Value::Int(1)});
  }
  const BlockFilePtr file = Finish(writer.get());
  std::string sound;
  {
    std::ifstream in(file->path(), std::ios::binary);
    sound.assign(std::istreambuf_iterator<char>(in), {});
  }
  for (size_t at = 0; at < sound.size(); at += 1 + sound.size() / 200) {
    std::string damaged = sound;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    std::ofstream(file->path(), std::ios::binary | std::ios::in) << damaged;
    const Status checked = file->CheckWritten([] { return Status(); });
    EXPECT_FALSE(checked) << at;
    EXPECT_FALSE(file->is_damaged()) << "nobody has it yet";
  }
}

}  // namespace
}  // namespace tallyd
