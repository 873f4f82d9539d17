#include "ingest/decode/superset_learner.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace tallyd {
namespace {

using ::testing::ElementsAre;
using Events = std::vector<std::vector<std::string>>;

class LearnerTest : public ::testing::Test {
 protected:
  void Send(const std::vector<std::string>& fields) {
    const std::vector<std::string_view> views(fields.begin(), fields.end());
    if (auto made = learner_.Count(views, last())) made_.push_back(std::move(made));
  }
  // Events that have each of `of` fields every other time, in their order.
  void SendSome(size_t events, size_t of, const std::string& prefix = "f") {
    for (size_t i = 0; i < events; ++i) {
      std::vector<std::string> fields = {"k"};
      for (size_t f = 0; f < of; ++f) {
        if (random_() % 2 == 0) fields.push_back(fmt::format("{}{:02}", prefix, f));
      }
      Send(fields);
    }
  }
  const Superset* last() const { return made_.empty() ? nullptr : made_.back().get(); }

  std::mt19937_64 random_{7};
  SupersetLearner learner_;
  std::vector<std::unique_ptr<const Superset>> made_;
};

TEST_F(LearnerTest, FieldsThatComeAgainAreASupersetInTheirOrder) {
  SendSome(SupersetLearner::kFirstEvents - 1, 4);
  EXPECT_EQ(last(), nullptr);
  SendSome(1, 4);
  ASSERT_NE(last(), nullptr);
  EXPECT_THAT(last()->shape().fields, ElementsAre("k", "f00", "f01", "f02", "f03"));
  EXPECT_TRUE(last()->shape().interned);
}

TEST_F(LearnerTest, NamesThatHoldIdsDoNotJoin) {
  for (size_t i = 0; i < SupersetLearner::kFirstEvents; ++i) {
    Send({"k", fmt::format("id{}", i), i % 2 == 0 ? "a" : "b"});
  }
  ASSERT_NE(last(), nullptr);
  EXPECT_EQ(last()->shape().fields.size(), 3u);
  EXPECT_EQ(last()->PlaceOf("id7"), Superset::kNoPlace);
}

TEST_F(LearnerTest, FieldsThatComeLaterJoinThoseThatWereThere) {
  SendSome(SupersetLearner::kFirstEvents, 6);
  SendSome(2 * SupersetLearner::kFirstEvents, 6, "g");
  ASSERT_EQ(made_.size(), 2u);
  EXPECT_EQ(last()->shape().fields.size(), 13u);
  SendSome(100 * SupersetLearner::kFirstEvents, 6, "g");
  EXPECT_EQ(made_.size(), 2u) << "nothing is new";
}

TEST_F(LearnerTest, FieldsOfARefusedSupersetAreNotInherited) {
  SendSome(SupersetLearner::kFirstEvents, 6);
  ASSERT_NE(last(), nullptr);
  last()->shape().terms->Refuse();
  SendSome(2 * SupersetLearner::kFirstEvents, 6, "g");
  ASSERT_EQ(made_.size(), 2u);
  EXPECT_EQ(last()->shape().fields.size(), 7u);
  EXPECT_EQ(last()->PlaceOf("f00"), Superset::kNoPlace);
}

TEST_F(LearnerTest, ASupersetHasAFewTimesTheFieldsOfAnEvent) {
  for (size_t i = 0; i < SupersetLearner::kFirstEvents; ++i) {
    Send({"k", "ts", fmt::format("v{}", i % 60), fmt::format("w{}", i % 60)});
  }
  ASSERT_NE(last(), nullptr);
  EXPECT_EQ(last()->shape().fields.size(), 24u);
}

TEST_F(LearnerTest, IsBoundedWhateverComes) {
  const std::string long_name(Superset::kMaxNameBytes + 1, 'x');
  for (size_t i = 0; i < 100'000; ++i) {
    const size_t period = i / 512;
    Send({"k", fmt::format("{}", i), fmt::format("p{}", period), long_name,
          fmt::format("a\"{}", i % 2)});
  }
  EXPECT_LE(made_.size(), SupersetLearner::kMaxSupersets);
  for (const auto& made : made_) {
    for (const std::string& field : made->shape().fields) EXPECT_LT(field.size(), 10u);
  }
}

}  // namespace
}  // namespace tallyd
