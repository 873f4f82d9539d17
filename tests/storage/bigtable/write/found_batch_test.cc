#include "storage/bigtable/write/found_batch.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "storage/bigtable/journal/journaled_batch.h"
#include "storage/bigtable/write/joined_rows.h"
#include "tests/storage/bigtable/whole_batches.h"

namespace tallyd {
namespace {

SteadyTime Soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(10); }

// A batch that another daemon made and left under the key "k".
class FoundBatchTest : public WholeBatchesTest {
 protected:
  void SetUp() override {
    WholeBatchesTest::SetUp();
    client_ = service_.Connect();
    catalogue_ = std::make_unique<BigtableCatalogue>(client_.get(), &clock_, 1, MayDropTable());
    journal_ = std::make_unique<Journal>(client_.get(), &clock_);
    tables_ = std::make_unique<WireTables>(*client_);
    ASSERT_TRUE(catalogue_->Open());
    ASSERT_TRUE(journal_->Open());
    Adopt(HistoryLatestAndSums());
  }
  void Adopt(const Schema& schema) {
    const Status adopted =
        catalogue_->Adopt(schema, [](const TablePtr&) { return Result<bool>(false); });
    ASSERT_TRUE(adopted) << adopted.error().message();
  }
  void Leave(bool with_tokens) {
    BigtableBatch batch(tables_.get(), 1, 1);
    const ColumnRef column{0, "x"};
    const Value value = Value::Int(1);
    for (const char* table : {"H", "L", "C"}) {
      batch.Put(*catalogue_->Find(table), "r", 5, {&column, 1}, {&value, 1});
    }
    for (BigtableBatch::Entry& row : batch.steps().front().rows) {
      if (with_tokens && row.folds) GiveToken("token of it", 1, &row.entry);
    }
    Write(EncodeJournaled(batch, clock_.Now()));
  }
  void Write(const std::string& bytes) {
    std::vector<Journal::NewRow> rows{{"k", bytes}};
    journal_->Write(&rows, Soon());
    const std::string key = "k";
    journal_->LetGo({&key, 1});
  }
  Result<std::optional<FoundBatch>> Find() {
    BatchFinder finder(journal_.get(), catalogue_.get(), tables_.get(), &clock_, 1);
    return finder.Find("k", Soon());
  }

  ManualClock clock_;
  std::unique_ptr<BigtableClient> client_;
  std::unique_ptr<BigtableCatalogue> catalogue_;
  std::unique_ptr<Journal> journal_;
  std::unique_ptr<WireTables> tables_;
};

TEST_F(FoundBatchTest, HasTheRowsThatWereLeft) {
  Leave(true);
  const Result<std::optional<FoundBatch>> found = Find();
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->batch->rows(), 3u);
  EXPECT_TRUE((*found)->batch->folds());
  EXPECT_FALSE((*found)->lacks);
}

TEST_F(FoundBatchTest, LeavesOutRowsOfATableThatIsNoMore) {
  Leave(true);
  Schema schema = HistoryLatestAndSums();
  schema.tables.erase(schema.tables.begin());
  Adopt(schema);
  (void)catalogue_->Drop("H");
  EXPECT_EQ((**Find()).batch->rows(), 2u);
  Adopt(HistoryLatestAndSums());
  EXPECT_EQ((**Find()).batch->rows(), 2u) << "it is another table by now";
}

TEST_F(FoundBatchTest, KnowsATableThatWasAddedSinceThisDaemonLooked) {
  BigtableCatalogue early(client_.get(), &clock_, 1, MayDropTable());
  ASSERT_TRUE(early.Load());
  Schema schema = HistoryLatestAndSums();
  schema.tables.push_back(MakeTable("N"));
  Adopt(schema);
  BigtableBatch batch(tables_.get(), 1, 1);
  const ColumnRef column{0, "x"};
  const Value value = Value::Int(1);
  batch.Put(*catalogue_->Find("N"), "r", 5, {&column, 1}, {&value, 1});
  Write(EncodeJournaled(batch, clock_.Now()));
  BatchFinder finder(journal_.get(), &early, tables_.get(), &clock_, 1);
  const Result<std::optional<FoundBatch>> found = finder.Find("k", Soon());
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->batch->rows(), 1u);
}

TEST_F(FoundBatchTest, WithholdsWhatAddsUpOnceItIsTooOld) {
  Leave(true);
  clock_.now += Journal::kGivenUpUs - 1;
  EXPECT_EQ((**Find()).batch->rows(), 3u);
  clock_.now += 1;
  const Result<std::optional<FoundBatch>> found = Find();
  EXPECT_EQ((*found)->batch->rows(), 2u);
  EXPECT_TRUE((*found)->lacks);
  EXPECT_TRUE((*found)->may_be_given_up());
}

TEST_F(FoundBatchTest, WithholdsWhatAddsUpOnceItWasSentWithoutTokens) {
  Leave(false);
  EXPECT_FALSE((**Find()).lacks);
  ASSERT_TRUE(*journal_->BeginCounting("k", Soon()));
  EXPECT_TRUE((**Find()).lacks);
}

TEST_F(FoundBatchTest, LeavesOneOfANewerVersionToOthersUntilItIsTooOld) {
  Write("\x02" + std::string("\0\0\0\0\0\0\0\x01", 8) + "what this one does not know");
  const Result<std::optional<FoundBatch>> found = Find();
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->batch, nullptr);
  EXPECT_NE((*found)->lacks->message().find("newer"), std::string::npos);
}

TEST_F(FoundBatchTest, OfOneThatIsGoneOrAnothersThereIsNothing) {
  EXPECT_FALSE(*Find());
  Leave(true);
  Journal another(client_.get(), &clock_);
  const Journal::Mark mark = (**journal_->Read("k", Soon())).mark;
  ASSERT_TRUE(another.Take({&mark, 1}, Soon())->front());
  EXPECT_FALSE(*Find());
}

}  // namespace
}  // namespace tallyd
