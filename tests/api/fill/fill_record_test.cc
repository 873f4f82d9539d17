#include "service/fill/fill_record.h"

#include <gtest/gtest.h>

#include "tests/api/api_world.h"

namespace tallyd {
namespace {

FillRecord Example() {
  FillRecord record;
  record.table = "METRIC2";
  record.source = "METRIC";
  record.of = 0x0123456789abcdef;
  record.from = 1;
  record.before = kNeverWhole;
  record.through = 300;
  record.slice_end = 400;
  record.row = std::string("a \0b", 4);
  record.line = 7;
  record.events = 8;
  record.passed = 9;
  record.compared = 10;
  record.tries = 1;
  record.began_at = 11;
  record.ended_at = 12;
  return record;
}

TEST(FillRecordTest, ComesBackAsItWas) {
  EXPECT_EQ(DecodeFill(FillKey("METRIC2"), EncodeFill(Example())), Example());
}

TEST(FillRecordTest, HasBytesThatStay) {
  FillRecord record;
  record.source = "S";
  record.row = "r";
  record.of = 1;
  record.is_done = true;
  record.before = 2;
  const std::string bytes = "1 S 1 1 0 2 0 0 0 0 0 0 0 0 0 r";
  EXPECT_EQ(EncodeFill(record), bytes);
}

TEST(FillRecordTest, WhatIsCutOrOfAnotherVersionIsNone) {
  const std::string value = EncodeFill(Example());
  for (size_t size = 0; size < value.size() - Example().row.size(); ++size) {
    EXPECT_FALSE(DecodeFill(FillKey("T"), value.substr(0, size))) << size;
  }
  EXPECT_FALSE(DecodeFill(FillKey("T"), "2" + value.substr(1)));
  EXPECT_FALSE(DecodeFill("other/T", value));
}

TEST(FillRecordTest, ThoseOfTheStoreComeByTable) {
  ApiWorld world("[tables.T]\npattern = \"latest\"\nrow_key = \"{a}\"\nfamilies.F = {}\n");
  Store& store = world.context().store;
  auto batch = store.NewBatch();
  batch->PutMemo(FillKey("B"), EncodeFill(Example()), NoteOrder::kAfter);
  batch->PutMemo(FillKey("A"), EncodeFill(Example()), NoteOrder::kAfter);
  batch->PutMemo(FillKey("C"), "what is this", NoteOrder::kAfter);
  ASSERT_TRUE(store.Commit(std::move(batch)));
  const Result<std::vector<FillRecord>> records = ReadFillRecords(store);
  ASSERT_TRUE(records);
  ASSERT_EQ(records->size(), 2u);
  EXPECT_EQ((*records)[0].table, "A");
  EXPECT_EQ((*records)[1].table, "B");
}

}  // namespace
}  // namespace tallyd
