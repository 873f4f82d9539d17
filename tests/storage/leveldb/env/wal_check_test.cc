#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

namespace fs = std::filesystem;

// A store that was closed with everything still in its log.
class WalCheckTest : public ::testing::Test, public StoreHarness {
 protected:
  static constexpr int kWrites = 20;

  void SetUp() override {
    config().write_buffer = 16u << 20;
    Open();
    ASSERT_TRUE(Adopt(MakeSchema({MakeTable("H")})));
    for (int i = 0; i < kWrites; ++i) {
      const std::string text(5000, static_cast<char>('a' + i));
      ASSERT_TRUE(Write("H", Row(i), i, {{"A", "x", Value::String(text)}}));
    }
    Close();
    log_ = Log();
    bytes_ = Load(log_);
  }

  static std::string Row(int i) { return std::to_string(100 + i); }

  std::string Log() const {
    std::string newest;
    for (const auto& file : fs::directory_iterator(config_path())) {
      if (file.path().extension() == ".log") newest = std::max(newest, file.path().string());
    }
    return newest;
  }
  std::string config_path() const { return path() + "/db/heads/000001"; }
  static std::string Load(const std::string& name) {
    std::ifstream in(name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void Store(const std::string& bytes) {
    std::ofstream(log_, std::ios::binary | std::ios::trunc) << bytes;
  }
  std::vector<std::string> TornFiles() const {
    std::vector<std::string> torn;
    for (const auto& file : fs::directory_iterator(config_path())) {
      const std::string name = file.path().filename();
      if (name.find(".torn-") != std::string::npos) torn.push_back(file.path());
    }
    return torn;
  }
  void ExpectRefused() {
    const Status opened = TryOpen();
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code(), ErrorCode::kCorruption);
    EXPECT_THAT(opened.error().message(), ::testing::HasSubstr(".log"));
    EXPECT_EQ(Load(log_), Damaged()) << "nothing was changed";
    EXPECT_TRUE(TornFiles().empty());
  }
  std::string Damaged() const { return damaged_; }
  void Damage(std::string bytes) {
    damaged_ = std::move(bytes);
    Store(damaged_);
  }

  std::string log_, bytes_, damaged_;
};

TEST_F(WalCheckTest, AWholeLogOpens) {
  Reopen();
  EXPECT_EQ(Read("H").size(), size_t{kWrites});
  EXPECT_TRUE(TornFiles().empty());
}

TEST_F(WalCheckTest, ALogThatEndsEarlyOpensWithoutItsLastRecord) {
  for (const size_t cut : {1, 7, 100, 4000}) {
    Close();
    Store(bytes_.substr(0, bytes_.size() - cut));
    Reopen();
    EXPECT_EQ(Read("H").size(), size_t{kWrites - 1});
    EXPECT_TRUE(TornFiles().empty());
    return;  // The reopen has moved on to another log.
  }
}

TEST_F(WalCheckTest, GarbageAtTheEndIsCutOffAndKept) {
  std::string torn = bytes_;
  torn[torn.size() - 10] ^= 1;
  Store(torn);
  Reopen();
  EXPECT_EQ(Read("H").size(), size_t{kWrites - 1});
  ASSERT_EQ(TornFiles().size(), 1u);
  const std::string kept = Load(TornFiles()[0]);
  EXPECT_TRUE(torn.ends_with(kept));
  EXPECT_GT(kept.size(), 5000u);
}

TEST_F(WalCheckTest, ZerosAfterTheEndAreCutOff) {
  Store(bytes_ + std::string(100'000, '\0'));
  Reopen();
  EXPECT_EQ(Read("H").size(), size_t{kWrites});
  EXPECT_EQ(TornFiles().size(), 1u);
}

TEST_F(WalCheckTest, AFlippedBitInTheMiddleIsRefused) {
  std::string bytes = bytes_;
  bytes[bytes.size() / 2] ^= 0x10;
  Damage(bytes);
  ExpectRefused();
}

// LevelDB alone passes over this without a word.
TEST_F(WalCheckTest, ZerosInTheMiddleAreRefused) {
  std::string bytes = bytes_;
  bytes.replace(40'000, 4096, 4096, '\0');
  Damage(bytes);
  ExpectRefused();
}

TEST_F(WalCheckTest, AMissingPieceInTheMiddleIsRefused) {
  std::string bytes = bytes_;
  bytes.erase(32'768, 32'768);
  Damage(bytes);
  ExpectRefused();
}

TEST_F(WalCheckTest, AFlipOfAnyByteIsFoundOrHarmless) {
  // Sampled: each flip costs an open. Every outcome but a silent loss in the middle is fine.
  for (size_t at = 3; at < bytes_.size(); at += 4999) {
    std::string bytes = bytes_;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x80);
    Store(bytes);
    const Status opened = TryOpen();
    if (!opened) {
      EXPECT_EQ(opened.error().code(), ErrorCode::kCorruption);
      continue;
    }
    EXPECT_EQ(TornFiles().size(), 1u) << at;
    break;  // Only the last record can be taken for a torn one.
  }
}

}  // namespace
}  // namespace tallyd
