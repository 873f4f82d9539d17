// The columns of blocks: what neighbours share, and what is refused.
#include "storage/blocks/block_schema.h"

#include "storage/blocks/column_codec.h"
#include "storage/bytes/coding.h"
#include "tests/storage/blocks/block_entries.h"

namespace tallyd {
namespace {

BlockEntry EntryOf(const std::string& key, TimeUs time) {
  return {key, time, 7, {{{0, "a"}, Value::Int(time)}}};
}

std::string SectionOf(const std::vector<Column>& columns, std::string_view shapes = {}) {
  std::string text;
  for (const Column& column : columns) {
    PutVarint(&text, column.family);
    PutString(&text, column.qualifier);
  }
  std::string section;
  AppendText(text.append(shapes), &section);
  return section;
}

TEST(BlockSchemaTest, NeighboursOfTheSameColumnsShareOneSchema) {
  ColumnBlock block;
  MakeBlock(std::vector{EntryOf("a", 1)}, &block);
  const auto first = block.schema();
  MakeBlock(std::vector{EntryOf("b", 2), EntryOf("c", 3)}, &block);
  EXPECT_EQ(block.schema(), first);
  MakeBlock(std::vector<BlockEntry>{{"d", 4, 7, {{{1, "a"}, Value::Int(1)}}}}, &block);
  EXPECT_NE(block.schema(), first);
  EXPECT_EQ(first->columns[0].family, 0u) << "whoever holds it keeps it";
}

TEST(BlockSchemaTest, ByPresenceThereIsOneListOfAllColumns) {
  const auto schema = ReadSchema(SectionOf({{0, "a"}, {0, "b"}, {1, "a"}}), 3, 0);
  ASSERT_NE(schema, nullptr);
  EXPECT_TRUE(schema->by_presence);
  EXPECT_EQ(schema->shapes, (std::vector<std::vector<uint32_t>>{{0, 1, 2}}));
  EXPECT_EQ(schema->columns[2], (Column{1, "a"}));
}

TEST(BlockSchemaTest, ByPresenceColumnsOutOfOrderOrTwiceAreRefused) {
  EXPECT_EQ(ReadSchema(SectionOf({{0, "b"}, {0, "a"}}), 2, 0), nullptr);
  EXPECT_EQ(ReadSchema(SectionOf({{1, "a"}, {0, "b"}}), 2, 0), nullptr);
  EXPECT_EQ(ReadSchema(SectionOf({{0, "a"}, {0, "a"}}), 2, 0), nullptr);
  EXPECT_EQ(ReadSchema(SectionOf({{0, "a"}, {0, "b"}}, "x"), 2, 0), nullptr) << "bytes left over";
  EXPECT_EQ(ReadSchema(SectionOf({{0, "a"}}), 2, 0), nullptr) << "a column is missing";
}

TEST(BlockSchemaTest, AShapeHasAColumnOnceAndOnlyThoseThereAre) {
  using namespace std::string_view_literals;
  const std::vector<Column> columns = {{0, "b"}, {0, "a"}};
  EXPECT_NE(ReadSchema(SectionOf(columns, "\x02\x00\x00"sv), 2, 1), nullptr) << "in any order";
  EXPECT_EQ(ReadSchema(SectionOf(columns, "\x02\x00\x01"sv), 2, 1), nullptr) << "one twice";
  EXPECT_EQ(ReadSchema(SectionOf(columns, "\x02\x00\x02"sv), 2, 1), nullptr) << "beyond the last";
  EXPECT_EQ(ReadSchema(SectionOf(columns, "\x00"sv), 2, 1), nullptr) << "none";
}

}  // namespace
}  // namespace tallyd
