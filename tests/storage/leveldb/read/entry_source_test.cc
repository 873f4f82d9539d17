#include "storage/leveldb/read/entry_source.h"

#include <gtest/gtest.h>
#include <leveldb/db.h>
#include <leveldb/env.h>
#include <leveldb/helpers/memenv.h>

#include <algorithm>
#include <random>
#include <tuple>

#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/env/status.h"
#include "tests/storage/leveldb/read/source_model.h"

namespace tallyd {
namespace {

using Place = std::tuple<std::string, TimeUs, uint64_t>;

bool Before(const Place& a, const Place& b) {
  if (std::get<0>(a) != std::get<0>(b)) return std::get<0>(a) < std::get<0>(b);
  if (std::get<1>(a) != std::get<1>(b)) return std::get<1>(a) > std::get<1>(b);
  return std::get<2>(a) > std::get<2>(b);
}

class PlaceSource final : public EntrySource {
 public:
  explicit PlaceSource(std::vector<Place> places) : places_(std::move(places)) {
    std::sort(places_.begin(), places_.end(), Before);
    Load();
  }
  Status SeekRow(std::string_view) override { return {}; }
  Status SeekRowBefore(std::string_view) override { return {}; }
  Status Next() override {
    ++at_;
    Load();
    return {};
  }
  Status SkipNewer(TimeUs) override { return {}; }
  Status AddTo(RowAssembler*) override { return {}; }
  Status Read(WholeEntry*) override { return {}; }

 private:
  void Load() {
    valid_ = at_ < places_.size();
    if (valid_) std::tie(row_key_, time_, sequence_) = places_[at_];
  }
  std::vector<Place> places_;
  size_t at_ = 0;
};

class SourceMergeTest : public ::testing::TestWithParam<unsigned> {};

TEST_P(SourceMergeTest, EntriesComeInTheOrderOfTheStore) {
  std::mt19937_64 random(GetParam());
  std::vector<std::unique_ptr<PlaceSource>> sources;
  std::vector<EntrySource*> all;
  std::vector<Place> expected;
  uint64_t sequence = 0;
  for (uint64_t n = random() % 9; n > 0; --n) {
    std::vector<Place> places;
    for (uint64_t i = random() % 30; i > 0; --i) {
      places.emplace_back(std::string(1, static_cast<char>('a' + random() % 6)),
                          static_cast<TimeUs>(random() % 4), ++sequence);
    }
    expected.insert(expected.end(), places.begin(), places.end());
    sources.push_back(std::make_unique<PlaceSource>(places));
    all.push_back(sources.back().get());
  }
  std::sort(expected.begin(), expected.end(), Before);
  SourceMerge merge;
  merge.Assign(all);
  for (const Place& place : expected) {
    ASSERT_NE(merge.top(), nullptr);
    ASSERT_EQ(Place(merge.top()->row_key(), merge.top()->time(), merge.top()->sequence()), place);
    const EntrySource* top = merge.top();
    std::optional<std::string_view> others;
    for (const EntrySource* source : all) {
      if (source == top || !source->valid()) continue;
      if (!others || source->row_key() < *others) others = source->row_key();
    }
    ASSERT_EQ(merge.NextRowOfOthers(), others);
    ASSERT_TRUE(merge.Next());
  }
  EXPECT_EQ(merge.top(), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Seeds, SourceMergeTest, ::testing::Range(1u, 41u));

// A head's entries of one table, moved about; and what it makes of damaged ones.

class HeadSourceTest : public ::testing::Test {
 protected:
  HeadSourceTest() : env_(leveldb::NewMemEnv(leveldb::Env::Default())) {
    info_.id = 3;
    info_.families.resize(1);
    info_.families[0].name = "F";
    info_.families[0].configured = true;
    info_.family_rank = {0};
    const ColumnRef column{0, "x"};
    set_ = sets_.Intern(info_, {&column, 1});
    Clear();
  }

  void Clear() {
    it_.reset();
    db_.reset();
    leveldb::Options options;
    options.env = env_.get();
    options.create_if_missing = true;
    leveldb::DestroyDB("/db", options);
    leveldb::DB* db = nullptr;
    ASSERT_TRUE(leveldb::DB::Open(options, "/db", &db).ok());
    db_.reset(db);
  }
  std::string KeyOf(TableId table, const SourceEntry& entry) {
    std::string key(MaxEntryKeyBytes(entry.row.size()), '\0');
    char* end = EncodeEntryKey(key.data(), table, entry.row, entry.time);
    key.resize(static_cast<size_t>(end - key.data()));
    PatchSequence(key.data(), key.size(), entry.sequence);
    return key;
  }
  void PutBytes(const std::string& key, const std::string& bytes) {
    ASSERT_TRUE(db_->Put({}, key, bytes).ok());
  }
  void Put(const SourceEntry& entry, TableId table = 3) {
    ByteBuffer out;
    AppendEntry(*set_, std::vector{Value::Int(entry.value)}, &out);
    PutBytes(KeyOf(table, entry), std::string(out.data(), out.size()));
  }
  HeadSource Source() {
    it_.reset(db_->NewIterator({}));
    HeadSource source(3, sets_);
    source.Use(it_.get());
    return source;
  }

  TableInfo info_;
  ColumnRegistry sets_;
  const ColumnSet* set_ = nullptr;
  std::unique_ptr<leveldb::Env> env_;
  std::unique_ptr<leveldb::DB> db_;
  std::unique_ptr<leveldb::Iterator> it_;
};

TEST_F(HeadSourceTest, ItMovesAsItsEntriesAreInOrder) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 60 && !HasFatalFailure(); ++round) {
    Clear();
    const std::vector<SourceEntry> entries = RandomSourceEntries(random, 120);
    for (const SourceEntry& entry : entries) Put(entry);
    // Tables before and after it, and other key spaces, are not its own.
    if (round % 2 == 0) {
      for (const TableId other : {2u, 4u}) Put({"a", 1000, 1, 1}, other);
      PutBytes(MetaKey(MetaKind::kFormat), "meta");
      PutBytes(DeleteKey(3, 7), "delete");
    }
    HeadSource source = Source();
    ExpectMovesAsModel(random, entries, &source);
  }
}

TEST_F(HeadSourceTest, OfATableWithoutEntriesThereIsNothing) {
  Put({"a", 1, 1, 1}, 2);
  Put({"a", 1, 1, 1}, 4);
  HeadSource source = Source();
  ASSERT_TRUE(source.SeekRow(""));
  EXPECT_FALSE(source.valid());
  ASSERT_TRUE(source.SeekRowBefore(""));
  EXPECT_FALSE(source.valid());
}

TEST_F(HeadSourceTest, AnotherIteratorGoesOnWhereASeekPutsIt) {
  Put({"a", 1, 1, 1});
  Put({"b", 1, 2, 2});
  HeadSource source = Source();
  ASSERT_TRUE(source.SeekRow("a"));
  const std::unique_ptr<leveldb::Iterator> other(db_->NewIterator({}));
  source.Use(other.get());
  ASSERT_TRUE(source.SeekRow("b"));
  EXPECT_EQ(source.row_key(), "b");
}

TEST_F(HeadSourceTest, EntriesByNameAreReadWithTheirColumns) {
  ByteBuffer out;
  const std::vector<ColumnRef> columns = {{0, "a"}, {0, "b"}};
  AppendEntry(columns, std::vector{Value::String("one"), Value::Bytes("two")}, &out);
  PutBytes(KeyOf(3, {"row", 5, 6, 0}), std::string(out.data(), out.size()));
  WholeEntry whole;
  {
    HeadSource source = Source();
    ASSERT_TRUE(source.SeekRow(""));
    ASSERT_TRUE(source.Read(&whole));
  }
  const WholeEntry moved = std::move(whole);
  EXPECT_EQ(moved.set, nullptr);
  EXPECT_EQ(moved.column(1), columns[1]);
  EXPECT_EQ(moved.values[0], Value::String("one")) << "an entry owns its bytes";
}

TEST_F(HeadSourceTest, AMalformedEntryIsAnErrorThatNamesItsRow) {
  for (const char* bytes : {"", "\x04", "\x01\x63", "\x01\x01", "\x01\x01\x20\x20", "\x02\x01"}) {
    Clear();
    PutBytes(KeyOf(3, {"the row", 5, 6, 0}), bytes);
    HeadSource source = Source();
    ASSERT_TRUE(source.SeekRow(""));
    WholeEntry whole;
    const Status read = source.Read(&whole);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code(), ErrorCode::kCorruption);
    EXPECT_NE(read.error().message().find("the row"), std::string::npos);
  }
}

TEST_F(HeadSourceTest, AMalformedKeyIsAnError) {
  const std::string table = TablePrefix(KeySpace::kRows, 3);
  const std::string keys[] = {
      table + "short",
      table + std::string("a\0\x02", 3) + std::string("\0\x01", 2) + std::string(16, 'x'),
      table + std::string("a\0\x02\0\x01", 5) + std::string(16, '\xff')};
  for (const std::string& key : keys) {
    Clear();
    PutBytes(key, "x");
    HeadSource source = Source();
    const Status moved = source.SeekRow("");
    ASSERT_FALSE(moved);
    EXPECT_EQ(moved.error().code(), ErrorCode::kCorruption);
    EXPECT_FALSE(source.valid());
  }
}

}  // namespace
}  // namespace tallyd
