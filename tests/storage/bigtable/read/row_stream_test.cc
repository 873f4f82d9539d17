#include "storage/bigtable/read/row_stream.h"

#include <gtest/gtest.h>

#include "tests/storage/bigtable/service.h"

namespace tallyd {
namespace {

class RowStreamTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int i = 1000; i < 1300; ++i) keys_.push_back(std::to_string(i));
    table_ = MakeRows(client_.get(), keys_);
    service_.server.faults().Forget();
  }
  RowsQuery Everything() const {
    RowsQuery query;
    query.table = table_;
    query.ranges = {KeyRange{}};
    return query;
  }
  static std::vector<std::string> KeysOf(RowStream* stream) {
    std::vector<std::string> keys;
    while (true) {
      const Result<bool> more = stream->Next();
      EXPECT_TRUE(more) << more.error().message();
      if (!more || !*more) return keys;
      keys.push_back(stream->row().key);
    }
  }
  std::vector<std::string> Read(RowsQuery query) {
    RowStream stream(client_.get(), std::move(query));
    return KeysOf(&stream);
  }

  BigtableService service_;
  const std::unique_ptr<BigtableClient> client_ = service_.Connect();
  std::vector<std::string> keys_;
  std::string table_;
};

TEST_F(RowStreamTest, GoesOnBehindTheLastRowWhenAStreamBreaks) {
  tablet::FaultRates rates;
  rates.broken_streams = 0.02;
  rates.odd_chunks = 0.1;
  service_.server.faults().Set(rates);
  EXPECT_EQ(Read(Everything()), keys_);
  RowsQuery back = Everything();
  back.reverse = true;
  EXPECT_EQ(Read(back), std::vector<std::string>(keys_.rbegin(), keys_.rend()));
  EXPECT_GT(service_.server.faults().Count("ReadRows"), 2u);
}

TEST_F(RowStreamTest, AsksForMoreRowsThanWereExpectedWhenTheyAreWanted) {
  RowsQuery query = Everything();
  query.expected = 3;
  EXPECT_EQ(Read(query), keys_);
}

TEST_F(RowStreamTest, CutsARequestThatWouldBeTooLong) {
  RowsQuery query = Everything();
  query.ranges.clear();
  std::vector<std::string> expected;
  for (const std::string& key : keys_) {
    query.ranges.push_back({key, key + std::string(3000, 'x')});
  }
  EXPECT_EQ(Read(query), keys_);
  EXPECT_EQ(service_.server.faults().Count("ReadRows"), 3u);
  query.reverse = true;
  EXPECT_EQ(Read(query), std::vector<std::string>(keys_.rbegin(), keys_.rend()));
}

TEST_F(RowStreamTest, SkipsForward) {
  RowStream stream(client_.get(), Everything());
  ASSERT_TRUE(*stream.Next());
  stream.SkipTo("1250");
  ASSERT_TRUE(*stream.Next());
  EXPECT_EQ(stream.row().key, "1250");
}

TEST_F(RowStreamTest, EndsWithTheDeadlineOfWhoeverAsks) {
  tablet::FaultRates rates;
  rates.latency = std::chrono::seconds(2);
  service_.server.faults().Set(rates);
  RowsQuery query = Everything();
  query.limits.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  RowStream stream(client_.get(), query);
  const Result<bool> more = stream.Next();
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code(), ErrorCode::kUnavailable);
}

TEST_F(RowStreamTest, EndsWhenNobodyWaitsAnyMore) {
  const std::atomic<bool> cancelled = true;
  RowsQuery query = Everything();
  query.limits.cancelled = &cancelled;
  RowStream stream(client_.get(), query);
  const Result<bool> more = stream.Next();
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code(), ErrorCode::kCancelled);
}

TEST_F(RowStreamTest, TellsThatATableIsNotThere) {
  RowsQuery query = Everything();
  query.table = client_->TableName("NONE");
  RowStream stream(client_.get(), query);
  const Result<bool> more = stream.Next();
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace tallyd
