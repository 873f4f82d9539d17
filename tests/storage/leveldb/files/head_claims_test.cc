// What a head says of itself and of base's tables is true of where it lies, or contradicts it.
#include "storage/leveldb/files/head_claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/bytes/coding.h"
#include "storage/catalogue/record_codec.h"
#include "storage/leveldb/codec/entry_codec.h"

namespace tallyd {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TableInfo TableOf(const std::string& row_key, size_t families) {
  TableInfo table;
  table.name = "T";
  table.stream = "s";
  table.row_key = row_key;
  for (size_t i = 0; i < families; ++i) {
    table.families.emplace_back().name = std::string(1, static_cast<char>('A' + i));
  }
  return table;
}

std::string Copied(const std::string& key) {
  return std::string(1, static_cast<char>(KeySpace::kCopies)) + key;
}

class HeadClaimsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string next;
    PutU32(&next, 4);
    base_[MetaKey(MetaKind::kNextTable)] = next;
    base_[TableKey(3)] = EncodeTable(TableOf("{a}", 2));
    base_[ColumnSetKey(3, 1)] = EncodeColumnSet({{0, "x"}});
  }

  void Take(const std::string& key, const std::string& value) {
    ASSERT_TRUE(claims_.Take(key, value));
  }
  void Begin(uint64_t number, uint64_t after) {
    Take(MetaKey(MetaKind::kHeadOrigin), EncodeHeadOrigin({number, after}));
  }
  Contradiction JudgeTables() {
    const Result<Contradiction> found =
        JudgeCopies(claims_, [this](const std::string& key) -> Result<std::string> {
          const auto record = base_.find(key);
          if (record == base_.end()) return Error(ErrorCode::kNotFound, "absent");
          return record->second;
        });
    EXPECT_TRUE(found);
    return found ? *found : Contradiction();
  }

  std::map<std::string, std::string> base_;
  HeadClaims claims_;
};

TEST_F(HeadClaimsTest, WhatAnOlderTallydBeganSaysNothing) {
  EXPECT_THAT(claims_.JudgePlace(5, {100, true}), IsEmpty());
}

TEST_F(HeadClaimsTest, AHeadUnderAnotherNumberIsACopy) {
  Begin(5, 100);
  EXPECT_THAT(claims_.JudgePlace(5, {100, true}), IsEmpty());
  EXPECT_THAT(claims_.JudgePlace(6, {100, true}), HasSubstr("it is a copy of head 5"));
}

TEST_F(HeadClaimsTest, WhatBeganBeforeItsForerunnerEndsMayHoldTheSame) {
  Begin(5, 100);
  EXPECT_THAT(claims_.JudgePlace(5, {101, false}), HasSubstr("both may hold the same"));
}

// Base may end before, as that of a salvage.
TEST_F(HeadClaimsTest, WhatBeganBehindTheEndOfTheHeadBeforeHasAnOlderCopyBeforeIt) {
  Begin(5, 100);
  EXPECT_THAT(claims_.JudgePlace(5, {99, true}), HasSubstr("that one is an older copy"));
  EXPECT_THAT(claims_.JudgePlace(5, {99, false}), IsEmpty());
}

TEST_F(HeadClaimsTest, AnOriginThatCannotBeReadIsAnError) {
  EXPECT_FALSE(claims_.Take(MetaKey(MetaKind::kHeadOrigin), "damaged"));
}

TEST_F(HeadClaimsTest, WhatBaseSaysAsWellOrMoreContradictsNothing) {
  Take(Copied(TableKey(3)), EncodeTable(TableOf("{a}", 1)));
  Take(Copied(ColumnSetKey(3, 1)), EncodeColumnSet({{0, "x"}}));
  Take(Copied(TableKey(2)), EncodeTable(TableOf("{gone}", 1)));
  Take(Copied(ColumnSetKey(2, 7)), EncodeColumnSet({{0, "y"}}));
  EXPECT_THAT(JudgeTables(), IsEmpty()) << "table 2 was dropped";
}

TEST_F(HeadClaimsTest, ATableUnderANumberThatBaseHasNotGivenContradicts) {
  Take(Copied(TableKey(4)), EncodeTable(TableOf("{a}", 1)));
  EXPECT_THAT(JudgeTables(), HasSubstr("has entries of table 4 (T), and base, which is older"));
}

TEST_F(HeadClaimsTest, AnotherTableUnderItsNumberContradicts) {
  Take(Copied(TableKey(3)), EncodeTable(TableOf("{b}", 1)));
  EXPECT_THAT(JudgeTables(), HasSubstr("its row_key is another one"));
}

TEST_F(HeadClaimsTest, AFamilyThatBaseDoesNotKnowContradicts) {
  Take(Copied(TableKey(3)), EncodeTable(TableOf("{a}", 3)));
  EXPECT_THAT(JudgeTables(), HasSubstr("that base, which is older, does not know"));
}

TEST_F(HeadClaimsTest, ASetThatBaseHasNotOrHasAsAnotherContradicts) {
  Take(Copied(ColumnSetKey(3, 1)), EncodeColumnSet({{0, "z"}}));
  EXPECT_THAT(JudgeTables(), HasSubstr("set 1 of the columns of table 3 is another one"));
  base_.erase(ColumnSetKey(3, 1));
  EXPECT_THAT(JudgeTables(), HasSubstr("which is older, has no such set"));
}

}  // namespace
}  // namespace tallyd
