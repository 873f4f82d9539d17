#include "service/limits/query_memory.h"

#include <gtest/gtest.h>

#include <memory>

namespace tallyd {
namespace {

constexpr uint64_t kMiB = 1u << 20;

class QueryMemoryTest : public testing::Test {
 protected:
  ReadMemoryPtr NewRead() { return std::make_shared<ReadMemory>(all_); }

  QueryMemory all_{16 * kMiB};
};

TEST_F(QueryMemoryTest, WhatIsChargedIsHeldUntilItsHolderGoes) {
  {
    MemoryCharge charge(NewRead());
    EXPECT_TRUE(charge.Covers(1));
    EXPECT_GE(all_.held(), 1u);
    EXPECT_TRUE(charge.Covers(3 * kMiB));
    EXPECT_EQ(all_.held(), 3 * kMiB);
    EXPECT_TRUE(charge.Covers(kMiB)) << "less than it has";
    charge.Clear();
    EXPECT_EQ(all_.held(), 0u);
    EXPECT_TRUE(charge.Covers(2 * kMiB));
  }
  EXPECT_EQ(all_.held(), 0u);
}

TEST_F(QueryMemoryTest, WhatIsOfNoReadIsCoveredAlways) {
  EXPECT_TRUE(MemoryCharge().Covers(1'000'000 * kMiB));
}

TEST_F(QueryMemoryTest, WhatAloneCannotFitIsUnprocessableAndSaysWhatWouldHelp) {
  const ReadMemoryPtr read = NewRead();
  MemoryCharge charge(read);
  EXPECT_TRUE(charge.Covers(16 * kMiB));
  EXPECT_FALSE(charge.Covers(17 * kMiB));
  EXPECT_EQ(charge.refusal().code(), ErrorCode::kUnprocessable);
  EXPECT_NE(charge.refusal().message().find("shorter time"), std::string::npos);
  EXPECT_FALSE(read->lacks_room()) << "there is nothing to wait for";
}

TEST_F(QueryMemoryTest, WhoHasNoRoomLetsGoAndRunsAgainWithTwiceAsMuch) {
  auto other = std::make_unique<MemoryCharge>(NewRead());
  EXPECT_TRUE(other->Covers(12 * kMiB));
  const ReadMemoryPtr read = NewRead();
  {
    MemoryCharge charge(read);
    EXPECT_TRUE(charge.Covers(3 * kMiB));
    EXPECT_FALSE(charge.Covers(5 * kMiB));
    EXPECT_EQ(charge.refusal().code(), ErrorCode::kOverloaded);
    EXPECT_TRUE(read->lacks_room());
  }
  EXPECT_EQ(all_.held(), 12 * kMiB);
  EXPECT_FALSE(read->Admit());
  EXPECT_EQ(all_.waiting(), 1u);
  other.reset();
  EXPECT_TRUE(read->Admit());
  EXPECT_FALSE(read->lacks_room());
  EXPECT_EQ(all_.held(), 10 * kMiB);
  MemoryCharge charge(read);
  EXPECT_TRUE(charge.Covers(5 * kMiB));
  EXPECT_EQ(all_.held(), 10 * kMiB);
  read->Trim();
  EXPECT_EQ(all_.held(), 5 * kMiB);
}

TEST_F(QueryMemoryTest, WhoIsAdmittedTakesWhatThereIsUpToTwiceWhatItLacked) {
  MemoryCharge stays(NewRead());
  EXPECT_TRUE(stays.Covers(6 * kMiB));
  auto goes = std::make_unique<MemoryCharge>(NewRead());
  EXPECT_TRUE(goes->Covers(4 * kMiB));
  const ReadMemoryPtr read = NewRead();
  EXPECT_FALSE(MemoryCharge(read).Covers(8 * kMiB));
  EXPECT_FALSE(read->Admit());
  goes.reset();
  EXPECT_TRUE(read->Admit()) << "a reader that stays leaves enough";
  EXPECT_EQ(all_.held(), 16 * kMiB);
  read->Trim();
  EXPECT_EQ(all_.held(), 6 * kMiB);
}

TEST_F(QueryMemoryTest, ARefusalIsThatOfItsHolder) {
  MemoryCharge other(NewRead());
  EXPECT_TRUE(other.Covers(12 * kMiB));
  const ReadMemoryPtr read = NewRead();
  MemoryCharge too_much(read);
  MemoryCharge crowded(read);
  EXPECT_FALSE(too_much.Covers(17 * kMiB));
  EXPECT_FALSE(crowded.Covers(5 * kMiB));
  EXPECT_EQ(too_much.refusal().code(), ErrorCode::kUnprocessable);
  EXPECT_EQ(crowded.refusal().code(), ErrorCode::kOverloaded);
  EXPECT_TRUE(read->lacks_room());
}

TEST_F(QueryMemoryTest, RoomIsGivenInTheOrderInWhichReadsCame) {
  auto running = std::make_unique<MemoryCharge>(NewRead());
  EXPECT_TRUE(running->Covers(12 * kMiB));
  const ReadMemoryPtr large = NewRead();
  EXPECT_FALSE(MemoryCharge(large).Covers(6 * kMiB));
  EXPECT_FALSE(large->Admit());
  const ReadMemoryPtr small = NewRead();
  EXPECT_FALSE(MemoryCharge(small).Covers(kMiB)) << "others wait already";
  EXPECT_FALSE(small->Admit());
  EXPECT_TRUE(running->Covers(13 * kMiB)) << "who runs goes on";
  running.reset();
  EXPECT_FALSE(small->Admit());
  EXPECT_TRUE(large->Admit());
  EXPECT_TRUE(small->Admit());
}

TEST_F(QueryMemoryTest, WhoGivesUpHoldsNobodyUp) {
  auto running = std::make_unique<MemoryCharge>(NewRead());
  EXPECT_TRUE(running->Covers(12 * kMiB));
  ReadMemoryPtr large = NewRead();
  EXPECT_FALSE(MemoryCharge(large).Covers(8 * kMiB));
  EXPECT_FALSE(large->Admit());
  large.reset();
  EXPECT_EQ(all_.waiting(), 0u);
  EXPECT_TRUE(MemoryCharge(NewRead()).Covers(kMiB));
}

TEST_F(QueryMemoryTest, OfSeveralPrincipalsNoneHoldsMoreThanHalf) {
  all_.SetPrincipals(2);
  const auto a = std::make_shared<ReadMemory>(all_, "a");
  const auto b = std::make_shared<ReadMemory>(all_, "b");
  MemoryCharge of_a(a);
  EXPECT_EQ(a->limit(), 8 * kMiB);
  EXPECT_TRUE(of_a.Covers(8 * kMiB));
  EXPECT_FALSE(of_a.Covers(9 * kMiB));
  EXPECT_EQ(of_a.refusal().code(), ErrorCode::kUnprocessable);
  EXPECT_NE(of_a.refusal().message().find("half of server.query_memory"), std::string::npos);
  EXPECT_TRUE(MemoryCharge(b).Covers(8 * kMiB));
}

TEST_F(QueryMemoryTest, WhoWaitsForItsOwnHalfKeepsNobodyElseWaiting) {
  all_.SetPrincipals(2);
  MemoryCharge holder(std::make_shared<ReadMemory>(all_, "a"));
  EXPECT_TRUE(holder.Covers(8 * kMiB));
  const auto waits = std::make_shared<ReadMemory>(all_, "a");
  EXPECT_FALSE(MemoryCharge(waits).Covers(kMiB));
  EXPECT_FALSE(waits->Admit());
  EXPECT_EQ(all_.waiting(), 1u);
  const auto other = std::make_shared<ReadMemory>(all_, "b");
  EXPECT_TRUE(MemoryCharge(other).Covers(kMiB));
  EXPECT_FALSE(MemoryCharge(std::make_shared<ReadMemory>(all_, "a")).Covers(kMiB))
      << "its own turn comes behind who waits";
  holder.Clear();
  EXPECT_TRUE(waits->Admit());
}

}  // namespace
}  // namespace tallyd
