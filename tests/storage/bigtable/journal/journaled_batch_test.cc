#include "storage/bigtable/journal/journaled_batch.h"

#include <gtest/gtest.h>

#include "tests/storage/bigtable/service.h"

namespace tallyd {
namespace {

class JournaledBatchTest : public ::testing::Test {
 protected:
  JournaledBatchTest() {
    table_.id = 7;
    table_.name = "T";
    table_.families.resize(2);
    table_.families[0].name = "A";
    table_.families[1].name = "S";
    table_.families[1].rules.aggregate = Aggregate::kSum;
    table_.family_rank = {0, 1};
  }
  void Put(FamilyId family, const std::string& row, TimeUs time, int64_t value) {
    const ColumnRef column{family, "x"};
    const Value put = Value::Int(value);
    batch_.Put(table_, row, time, {&column, 1}, {&put, 1});
  }

  const BigtableService service_;
  const std::unique_ptr<BigtableClient> client_ = service_.Connect();
  WireTables tables_{*client_};
  TableInfo table_;
  BigtableBatch batch_{&tables_, 1, 1};
};

// DO NOT CHANGE: storage/FORMAT.md has these bytes.
TEST_F(JournaledBatchTest, HasTheBytesOfTheFormat) {
  Put(0, "r", 1000, 5);
  batch_.PutMemo("k", "v", NoteOrder::kAfter);
  constexpr std::string_view kBytes(
      "\x01\0\0\0\0\0\0\0\x01\0"
      "\x01\x07\x01T"
      "\x01\0\0\xd0\x0f\x13"
      "\x0a\x01r\x12\x0e\x0a\x0c\x0a\x01"
      "A\x12\x01x\x18\xe8\x07\"\x01"
      "5"
      "\x01\x01\x01k\x01v",
      45);
  EXPECT_EQ(EncodeJournaled(batch_, 1), kBytes);
}

TEST_F(JournaledBatchTest, ComesBackAsItWas) {
  Put(0, "r", 1000, 5);
  Put(1, "s", 2000, 6);
  batch_.PutMemo("before", "1", NoteOrder::kBefore);
  batch_.PutMemo("behind", "2", NoteOrder::kAfter);
  batch_.PutMemo("around", "3", NoteOrder::kAround);
  batch_.DropMemo("dropped");
  batch_.CountUnder("claim", "owner");
  const Result<JournaledBatch> read = DecodeJournaled(EncodeJournaled(batch_, 9));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->written, 9);
  EXPECT_EQ(read->claim, "claim");
  ASSERT_EQ(read->tables.size(), 1u);
  EXPECT_EQ(read->tables[0].id, 7u);
  ASSERT_EQ(read->rows.size(), 2u);
  EXPECT_FALSE(read->rows[0].folds);
  EXPECT_TRUE(read->rows[1].folds);
  EXPECT_TRUE(read->rows[1].counts);
  EXPECT_EQ(read->rows[1].time, 2000);
  EXPECT_EQ(read->rows[1].entry.row_key(), "s");
  EXPECT_EQ(read->memos, (std::map<std::string, std::optional<std::string>>{
                             {"around", "3"}, {"behind", "2"}, {"dropped", std::nullopt}}));
  EXPECT_EQ(read->around, std::set<std::string>{"around"});
}

TEST_F(JournaledBatchTest, AnythingCutOrOfANewerVersionIsRefused) {
  Put(0, "r", 1000, 5);
  batch_.PutMemo("k", "v", NoteOrder::kAfter);
  std::string bytes = EncodeJournaled(batch_, 1);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeJournaled(bytes.substr(0, size))) << size;
  }
  EXPECT_FALSE(DecodeJournaled(bytes + "x"));
  bytes[0] = 2;
  const Result<JournaledBatch> newer = DecodeJournaled(bytes);
  ASSERT_FALSE(newer);
  EXPECT_NE(newer.error().message().find("newer"), std::string::npos);
  EXPECT_EQ(WrittenOfJournaled(bytes), 1) << "which every version has in the same place";
}

}  // namespace
}  // namespace tallyd
