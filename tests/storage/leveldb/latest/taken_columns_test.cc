// Columns are taken by whole sets as they are one by one.
#include "storage/leveldb/latest/taken_columns.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

namespace tallyd {
namespace {

TEST(TakenColumnsTest, BitsOfASetAreItsColumnsOneByOne) {
  std::mt19937_64 random(20261126);
  for (int round = 0; round < 50; ++round) {
    std::vector<ColumnSet> sets;
    const unsigned columns = 1 + static_cast<unsigned>(random() % 300);
    TakenColumns taken;
    for (uint32_t id = 0; id < 20; ++id) {
      ColumnSet set{1, id, {}};
      auto next = static_cast<unsigned>(random() % columns);
      const auto step = static_cast<unsigned>(random() % 3 == 0 ? 1 + random() % 4 : 1);
      const size_t most = 1 + random() % (2 * TakenColumns::kWord);
      for (; next < columns && set.columns.size() < most; next += step) {
        set.columns.push_back({static_cast<FamilyId>(next % 2), std::to_string(next)});
      }
      sets.push_back(set);
    }
    for (const ColumnSet& set : sets) {
      EXPECT_EQ(taken.Find(set.id), nullptr);
      taken.Add(set);
    }
    for (int fold = 0; fold < 5; ++fold) {
      taken.Begin();
      std::set<std::string> expected;
      for (int i = 0; i < 30; ++i) {
        const ColumnSet& set = sets[random() % sets.size()];
        const TakenColumns::Set* const known = taken.Find(set.id);
        ASSERT_NE(known, nullptr);
        ASSERT_EQ(known->size(), set.columns.size());
        const uint64_t bits = known->is_word() ? taken.BitsOf(*known) : 0;
        size_t count = 0;
        for (size_t c = 0; c < known->size(); ++c) {
          const bool is_taken = expected.contains(set.columns[c].qualifier);
          count += is_taken ? 1 : 0;
          if (known->is_word()) {
            ASSERT_EQ(bits >> c & 1, is_taken ? 1u : 0u);
          }
          ASSERT_EQ(taken.Has(known->numbers[c]), is_taken);
        }
        using Cover = TakenColumns::Cover;
        const Cover some = count == 0 ? Cover::kNone : Cover::kSome;
        ASSERT_EQ(taken.CoverOf(*known), count == known->size() ? Cover::kAll : some);
        if (!known->is_word() || random() % 8 == 0) {
          taken.TakeAll(*known);
          for (const Column& column : set.columns) expected.insert(column.qualifier);
          continue;
        }
        ASSERT_EQ(bits & ~known->all(), 0u);
        const uint64_t takes = random() & random() & known->all();
        taken.TakeBits(*known, takes);
        for (size_t c = 0; c < known->size(); ++c) {
          if ((takes >> c & 1) != 0) expected.insert(set.columns[c].qualifier);
        }
      }
    }
  }
}

TEST(TakenColumnsTest, ASetThatComesLaterFindsWhatIsTaken) {
  TakenColumns taken;
  const ColumnSet first{1, 0, {{0, "a"}, {0, "b"}}};
  const ColumnSet second{1, 1, {{0, "b"}, {0, "c"}}};
  taken.Begin();
  taken.TakeBits(*taken.Add(first), 0b10);
  EXPECT_EQ(taken.BitsOf(*taken.Add(second)), 0b01u);
}

}  // namespace
}  // namespace tallyd
