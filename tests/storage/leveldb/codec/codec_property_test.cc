// Whatever is stored, damaged: it is refused or read, by every decoder.
#include <gtest/gtest.h>

#include <random>

#include "storage/catalogue/record_codec.h"
#include "storage/leveldb/codec/latest_codec.h"
#include "storage/leveldb/codec/meta_codec.h"
#include "storage/leveldb/latest/latest_merge.h"

namespace tallyd {
namespace {

constexpr unsigned kSeed = 20261121;

std::string EntryKeyOf(TableId table, std::string_view row, TimeUs time, uint64_t sequence) {
  std::string key(MaxEntryKeyBytes(row.size()), '\0');
  key.resize(static_cast<size_t>(EncodeEntryKey(key.data(), table, row, time) - key.data()));
  PatchSequence(key.data(), key.size(), sequence);
  return key;
}

class DamageTest : public ::testing::Test {
 protected:
  DamageTest() {
    table_.id = 1;
    table_.families.resize(2);
    table_.family_rank = {0, 1};
    const std::vector<ColumnRef> columns = {{0, "a"}, {1, "b"}, {1, "c"}};
    set_ = sets_.Intern(table_, columns);
    ByteBuffer by_set, by_name;
    AppendEntry(*set_, std::vector{Value::Int(300), Value::String("text"), Value::Double(1.5)},
                &by_set);
    AppendEntry(columns, std::vector{Value::Int(1), Value::Bytes("b"), Value::Bool(true)},
                &by_name);
    by_set_.assign(by_set.data(), by_set.size());
    by_name_.assign(by_name.data(), by_name.size());
  }

  TableInfo table_;
  ColumnRegistry sets_;
  const ColumnSet* set_;
  std::string by_set_, by_name_;
};

TEST_F(DamageTest, EveryTruncationOfAnEntryIsRefused) {
  EntryCells cells;
  for (const std::string& entry : {by_set_, by_name_}) {
    EXPECT_TRUE(DecodeEntry(sets_, 1, entry, &cells));
    for (size_t cut = 0; cut < entry.size(); ++cut) {
      EXPECT_FALSE(DecodeEntry(sets_, 1, entry.substr(0, cut), &cells)) << cut;
    }
    EXPECT_FALSE(DecodeEntry(sets_, 1, entry + "x", &cells));
  }
}

TEST_F(DamageTest, DamagedBytesNeverCrash) {
  std::mt19937_64 random(kSeed);
  const Layer layers[] = {{9, 4, by_set_}, {9, 3, by_name_}, {1, 7, by_set_}};
  TableInfo table;
  table.name = "T";
  table.when = {"w"};
  table.rules = {{"rule", 5, 6, 7, 0}};
  table.families.push_back({"F", true, {}, {}, 0});
  DeleteSpec what;
  what.family = FamilyId{1};
  what.qualifier = "q";
  std::string row;
  EncodeLatest(layers, &row);
  std::string changes;
  AppendLatestChange({1, "key", row}, &changes);
  AppendLatestChange({2, "gone", ""}, &changes);
  const std::vector<std::string> records = {by_set_,
                                            by_name_,
                                            row,
                                            changes,
                                            EncodeTable(table),
                                            EncodeColumnSet(set_->columns),
                                            EncodeDelete(what, 7),
                                            EntryKeyOf(1, "row", 5, 6)};
  for (int i = 0; i < 100'000; ++i) {
    std::string bytes = records[random() % records.size()];
    for (uint64_t flips = 1 + random() % 4; flips > 0; --flips) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    // On the heap and of the exact size, so that a sanitizer sees a read beyond the end.
    const std::vector<char> exact(bytes.begin(), bytes.end());
    const std::string_view view(exact.data(), exact.size());
    EntryCells cells;
    std::vector<Layer> read;
    EntryKey entry;
    std::string row_key;
    (void)DecodeEntry(sets_, 1, view, &cells);
    (void)DecodeLatest(view, &read);
    ByteReader in(view);
    LatestChangeRecord change;
    while (!in.done() && ReadLatestChange(&in, &change)) {
    }
    (void)DecodeTable(view);
    (void)DecodeColumnSet(view);
    TimeUs at = 0;
    (void)DecodeDelete(view, &at);
    (void)DecodeStream(view);
    (void)DecodeField(view);
    (void)DecodeFormat(view);
    if (ParseEntryKey(view, &entry)) (void)DecodeRowPrefix(entry.row_prefix, &row_key);
  }
}

}  // namespace
}  // namespace tallyd
