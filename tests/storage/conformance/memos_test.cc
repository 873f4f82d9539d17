// Memos: small facts of the layers above, by key.
#include "storage/batch.h"
#include "tests/storage/conformance/conformance.h"

namespace tallyd {
namespace {

using Found = std::optional<std::string>;

class MemoVerbs {
 public:
  explicit MemoVerbs(StoreVerbs* verbs) : verbs_(*verbs) {}

  void Put(std::string_view key, std::string_view value) {
    auto batch = verbs_.NewBatch();
    batch->PutMemo(key, value, NoteOrder::kBefore);
    ASSERT_TRUE(verbs_.Commit(std::move(batch)));
  }
  void Drop(std::string_view key) {
    auto batch = verbs_.NewBatch();
    batch->DropMemo(key);
    ASSERT_TRUE(verbs_.Commit(std::move(batch)));
  }
  Found Find(std::string_view key) {
    const Result<Found> found = verbs_.store().FindMemo(key);
    EXPECT_TRUE(found) << found.error().message();
    return found ? *found : Found();
  }
  std::vector<Memo> List(std::string_view prefix, size_t limit = 100, std::string_view after = {}) {
    const Result<std::vector<Memo>> memos = verbs_.store().Memos(prefix, limit, after);
    EXPECT_TRUE(memos) << memos.error().message();
    return memos ? *memos : std::vector<Memo>();
  }

 private:
  StoreVerbs& verbs_;
};

TEST_P(Conformance, AMemoStaysUntilItIsDropped) {
  MemoVerbs memos(this);
  const std::string zeroes("\0k\0", 3);
  EXPECT_EQ(memos.Find("k"), Found());
  memos.Put("k", "one");
  memos.Put(zeroes, "");
  EXPECT_EQ(memos.Find("k"), "one");
  Reopen();
  EXPECT_EQ(memos.Find("k"), "one");
  EXPECT_EQ(memos.Find(zeroes), "");
  Settle();
  EXPECT_EQ(memos.Find("k"), "one");
  memos.Drop("k");
  EXPECT_EQ(memos.Find("k"), Found());
  EXPECT_EQ(memos.List("k"), std::vector<Memo>());
  Settle();
  Reopen();
  EXPECT_EQ(memos.Find("k"), Found());
  EXPECT_EQ(memos.Find(zeroes), "") << "others stay";
}

TEST_P(Conformance, OfAMemoTheLastChangeCounts) {
  MemoVerbs memos(this);
  memos.Put("k", "old");
  Settle();
  auto batch = NewBatch();
  batch->DropMemo("k");
  batch->PutMemo("k", "new", NoteOrder::kBefore);
  batch->PutMemo("gone", "1", NoteOrder::kBefore);
  batch->DropMemo("gone");
  ASSERT_TRUE(Commit(std::move(batch)));
  for (int look = 0; look < 2; ++look) {
    EXPECT_EQ(memos.Find("k"), "new");
    EXPECT_EQ(memos.List(""), (std::vector<Memo>{{"k", "new"}}));
    Settle();
  }
}

TEST_P(Conformance, AMemoIsCommittedWithItsBatch) {
  auto batch = NewBatch();
  Put(batch.get(), "H", "a", 5, {{"A", "x", Value::Int(1)}});
  batch->PutMemo("k", "v", NoteOrder::kAfter);
  EXPECT_FALSE(batch->empty());
  ASSERT_TRUE(Commit(std::move(batch)));
  Reopen();
  EXPECT_EQ(MemoVerbs(this).Find("k"), "v");
  EXPECT_EQ(Read("H").size(), 1u);
}

TEST_P(Conformance, AMemoThatComesAroundItsBatchIsThere) {
  auto batch = NewBatch();
  Put(batch.get(), "H", "a", 5, {{"A", "x", Value::Int(1)}});
  batch->PutMemo("k", "v", NoteOrder::kAround);
  ASSERT_TRUE(Commit(std::move(batch)));
  EXPECT_EQ(MemoVerbs(this).Find("k"), "v");
  EXPECT_EQ(Read("H").size(), 1u);
}

TEST_P(Conformance, MemosAreListedInKeyOrderInPages) {
  MemoVerbs memos(this);
  for (const char* key : {"b/2", "a/1", "b/3", "c/1"}) memos.Put(key, key);
  Settle();
  memos.Put("b/1", "b/1");
  memos.Put("b/2", "again");
  memos.Drop("b/3");
  memos.Put("b/4", "b/4");
  EXPECT_EQ(memos.List("b/"),
            (std::vector<Memo>{{"b/1", "b/1"}, {"b/2", "again"}, {"b/4", "b/4"}}));
  EXPECT_EQ(memos.List("b/", 1), (std::vector<Memo>{{"b/1", "b/1"}}));
  EXPECT_EQ(memos.List("b/", 1, "b/1"), (std::vector<Memo>{{"b/2", "again"}}));
  EXPECT_EQ(memos.List("b/", 9, "b/2"), (std::vector<Memo>{{"b/4", "b/4"}}));
  EXPECT_EQ(memos.List("b/", 9, "b/4"), std::vector<Memo>());
  EXPECT_EQ(memos.List("").size(), 5u);
}

TEST_P(Conformance, AMemoOfTheLargestSizeComesBack) {
  MemoVerbs memos(this);
  const std::string key(kMaxMemoKeyBytes, 'k');
  const std::string value(kMaxMemoValueBytes, 'v');
  memos.Put(key, value);
  Settle();
  EXPECT_EQ(memos.Find(key), value);
}

}  // namespace
}  // namespace tallyd
