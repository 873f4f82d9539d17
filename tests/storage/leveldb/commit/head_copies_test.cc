// A head has what its entries build on, once.
#include <gtest/gtest.h>

#include <set>

#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/commit/group_writer.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

class KeysOf final : public leveldb::WriteBatch::Handler {
 public:
  explicit KeysOf(const leveldb::WriteBatch& batch) { EXPECT_TRUE(batch.Iterate(this).ok()); }
  void Put(const leveldb::Slice& key, const leveldb::Slice&) override {
    keys.insert(key.ToString().substr(1));
  }
  void Delete(const leveldb::Slice&) override {}
  std::set<std::string> keys;
};

class EmptyPast final : public StoredPast {
 public:
  uint64_t sequence() const override { return 0; }
  TimeUs now() const override { return 0; }
  bool EverTook(std::string_view) override { return false; }
  bool IsEmpty(const TableInfo&) override { return true; }
  TimeUs EndOf(const TableInfo&) override { return 0; }
  bool TookSince(const TableInfo&, uint64_t) override { return false; }
};

class HeadCopiesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    EmptyPast past;
    Result<Catalogue::Plan> plan = catalogue_.PlanAdopt(MakeSchema({MakeTable("T")}), &past);
    ASSERT_TRUE(plan);
    catalogue_.Publish(std::move(*plan));
    table_ = catalogue_.Find("T");
    for (const char* name : {"a", "b"}) {
      const ColumnRef column{0, name};
      ASSERT_NE(sets_.Intern(*table_, {&column, 1}), nullptr);
    }
  }

  void Use(uint32_t set) { copies_.Use(table_->id, std::string{1, static_cast<char>(set), 0x20}); }
  std::set<std::string> Put(uint64_t head) {
    leveldb::WriteBatch batch;
    copies_.Put(head, &batch);
    return KeysOf(batch).keys;
  }
  std::string Set(uint32_t set) const { return ColumnSetKey(table_->id, set); }

  Catalogue catalogue_;
  ColumnRegistry sets_;
  TablePtr table_;
  HeadCopies copies_{&catalogue_, &sets_};
};

TEST_F(HeadCopiesTest, EachIsCopiedOnceToAHead) {
  Use(1);
  Use(1);
  EXPECT_EQ(Put(7), (std::set<std::string>{StreamKey("s"), TableKey(table_->id), Set(1)}));
  Use(1);
  Use(2);
  EXPECT_EQ(Put(7), std::set<std::string>{Set(2)});
  Use(2);
  EXPECT_TRUE(Put(7).empty());
}

TEST_F(HeadCopiesTest, ANewHeadGetsWhatIsUsedInIt) {
  Use(1);
  Use(2);
  Put(7);
  Use(2);
  EXPECT_EQ(Put(8), (std::set<std::string>{StreamKey("s"), TableKey(table_->id), Set(2)}));
}

TEST_F(HeadCopiesTest, AfterAFailureAllIsCopiedAgain) {
  Use(1);
  Put(7);
  copies_.Forget();
  Use(1);
  EXPECT_EQ(Put(7).size(), 3u);
}

// Columns by name have no set.
TEST_F(HeadCopiesTest, AnEntryByNameNeedsItsTable) {
  copies_.Use(table_->id, std::string("\x02\x01\x00\x01\x61\x20", 6));
  EXPECT_EQ(Put(7), (std::set<std::string>{StreamKey("s"), TableKey(table_->id)}));
}

}  // namespace
}  // namespace tallyd
