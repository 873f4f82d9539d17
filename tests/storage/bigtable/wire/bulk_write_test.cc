#include "storage/bigtable/wire/bulk_write.h"

#include <gtest/gtest.h>

#include "tests/storage/bigtable/service.h"

namespace tallyd {
namespace {

class BulkWrite : public ::testing::Test {
 protected:
  // Rows of T, one cell each.
  std::vector<BulkRow> Rows(size_t count, const char* family = "A") {
    entries_.resize(count);
    std::vector<BulkRow> rows;
    for (size_t i = 0; i < count; ++i) {
      entries_[i].set_row_key(std::to_string(100'000 + i));
      auto* const cell = entries_[i].add_mutations()->mutable_set_cell();
      cell->set_family_name(family);
      rows.push_back({.table = &table_, .entry = &entries_[i]});
    }
    return rows;
  }
  static SteadyTime In(std::chrono::milliseconds time) {
    return std::chrono::steady_clock::now() + time;
  }

  BigtableService service_;
  const std::unique_ptr<BigtableClient> client_ = service_.Connect();
  const std::string table_ = MakeRows(client_.get(), {});
  std::vector<data_api::MutateRowsRequest::Entry> entries_;
};

TEST_F(BulkWrite, WritesManyRowsInFewCalls) {
  std::vector<BulkRow> rows = Rows(5000);
  service_.server.faults().Forget();
  WriteRows(client_.get(), &rows, In(std::chrono::seconds(20)));
  for (const BulkRow& row : rows) ASSERT_TRUE(row.ended.ok()) << row.ended.message;
  EXPECT_EQ(service_.server.RowsOf(table_), 5000u);
  EXPECT_EQ(service_.server.faults().Count("MutateRows"), 3u);
}

TEST_F(BulkWrite, SendsAgainWhatFailedAndNothingElse) {
  std::vector<BulkRow> rows = Rows(100);
  std::map<std::string, int> sent;
  service_.server.faults().Script([&](const tablet::Call& call) -> tablet::Verdict {
    if (call.method != "Entry") return {};
    const int time = ++sent[std::string(call.row_key)];
    const bool fails = call.row_key.ends_with("7") && time == 1;
    if (!fails) return {};
    return {tablet::Outcome::kRefused, {grpc::StatusCode::UNAVAILABLE, "later"}};
  });
  WriteRows(client_.get(), &rows, In(std::chrono::seconds(20)));
  for (const BulkRow& row : rows) EXPECT_TRUE(row.ended.ok());
  for (const auto& [key, times] : sent) EXPECT_EQ(times, key.ends_with("7") ? 2 : 1) << key;
}

TEST_F(BulkWrite, GivesUpAtOnceWhatWillNeverBeTaken) {
  std::vector<BulkRow> rows = Rows(1, "NONE");
  WriteRows(client_.get(), &rows, In(std::chrono::seconds(20)));
  EXPECT_EQ(rows[0].ended.code, RpcCode::kNotFound);
}

TEST_F(BulkWrite, EndsWithItsDeadline) {
  service_.server.faults().Script([](const tablet::Call&) -> tablet::Verdict {
    return {tablet::Outcome::kRefused, {grpc::StatusCode::UNAVAILABLE, "away"}};
  });
  std::vector<BulkRow> rows = Rows(3);
  WriteRows(client_.get(), &rows, In(std::chrono::milliseconds(150)));
  for (const BulkRow& row : rows) EXPECT_FALSE(row.ended.ok());
}

TEST_F(BulkWrite, AnEndKeepsNobodyWaitingForTheServicesPace) {
  SlowDown(client_.get());
  client_->EndBy(SteadyTime());
  std::vector<BulkRow> rows = Rows(3);
  WriteRows(client_.get(), &rows, In(std::chrono::hours(2)));
  for (const BulkRow& row : rows) EXPECT_TRUE(row.ended.given_up);
}

}  // namespace
}  // namespace tallyd
