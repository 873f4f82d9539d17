#include "storage/leveldb/env/torn_tail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/storage/fault_env.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

class TornTailTest : public ::testing::Test {
 protected:
  TornTailTest() {
    std::ofstream(log_) << "records"
                        << "torn" << std::string(100, '\0');
  }

  std::string Load(const std::string& name) {
    std::string bytes;
    EXPECT_TRUE(leveldb::ReadFileToString(&env_, name, &bytes).ok());
    return bytes;
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(dir_.path())) {
      names.push_back(file.path().filename());
    }
    return names;
  }

  TempDir dir_;
  const std::string log_ = dir_.path() + "/000003.log";
  FaultEnv env_;
};

TEST_F(TornTailTest, IsKeptWithoutTheZerosBehindIt) {
  ASSERT_TRUE(CutTails(&env_, {{{log_, 7, 4, true}}}));
  EXPECT_EQ(Load(log_), "records");
  EXPECT_EQ(Load(log_ + ".torn-1"), "torn");
}

TEST_F(TornTailTest, StaysWhereLevelDbTakesItForTheEnd) {
  ASSERT_TRUE(CutTails(&env_, {{{log_, 7, 4, false}}}));
  EXPECT_EQ(Load(log_).size(), 111u);
}

TEST_F(TornTailTest, IsLeftAloneWhereTheFileIsAnother) {
  EXPECT_FALSE(CutTails(&env_, {{{log_, 7, 3, true}}}));
  EXPECT_EQ(Load(log_).size(), 111u);
}

TEST_F(TornTailTest, WithoutSpaceNothingIsLeftBeside) {
  const std::string other = dir_.path() + "/elsewhere/000003.log";
  std::filesystem::create_directory(dir_.path() + "/elsewhere");
  std::filesystem::copy_file(log_, other);
  ASSERT_TRUE(CutTails(&env_, {{{other, 7, 4, true}}}));
  std::filesystem::remove_all(dir_.path() + "/elsewhere");
  const uint64_t calls = env_.calls();
  ASSERT_GT(calls, 5u);
  // The last one renames, which takes no space.
  for (uint64_t call = 1; call < calls; ++call) {
    env_.FailAt(env_.calls() + call, Fault::kNoSpace, false);
    EXPECT_FALSE(CutTails(&env_, {{{log_, 7, 4, true}}}));
    env_.Heal();
    ASSERT_EQ(Load(log_).size(), 111u) << call;
    ASSERT_THAT(Names(), ::testing::ElementsAre("000003.log")) << call;
  }
}

}  // namespace
}  // namespace tallyd
