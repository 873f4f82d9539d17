// What a head's table files hold is read as it was written, or not at all.
#include "storage/leveldb/files/head.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

namespace fs = std::filesystem;

class HeadTest : public ::testing::Test, public StoreHarness {
 protected:
  void SetUp() override {
    Open();
    ASSERT_TRUE(Adopt(MakeSchema({MakeTable("H"), MakeTable("L", Pattern::kLatest)})));
    for (const char* row : {"a", "b", "c"}) {
      ASSERT_TRUE(Write("H", row, 5, {{"A", "x", Value::String("text")}}));
      ASSERT_TRUE(Write("L", row, 5, {{"A", "x", Value::String("text")}}));
    }
    Reopen();  // The head's log becomes a table file.
    history_ = Read("H");
    latest_ = Read("L");
    Close();
    for (const auto& file : fs::recursive_directory_iterator(config().path + "/heads")) {
      if (file.path().extension() == ".ldb") table_file_ = file.path();
    }
    ASSERT_FALSE(table_file_.empty());
  }

  void Flip(uint64_t at) {
    std::fstream bytes(table_file_, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekg(static_cast<std::streamoff>(at));
    const auto flipped = static_cast<char>(bytes.get() ^ 4);
    bytes.seekp(static_cast<std::streamoff>(at));
    bytes.put(flipped);
  }

  // A copy is opened: who opens a store writes to it.
  void ExpectNoWrongValue() {
    StoreHarness copy;
    fs::copy(config().path, copy.config().path, fs::copy_options::recursive);
    if (!copy.TryOpen()) return;
    ASSERT_TRUE(copy.Adopt(MakeSchema({MakeTable("H"), MakeTable("L", Pattern::kLatest)})));
    const Result<Rows> history = copy.TryRead("H");
    if (history) {
      EXPECT_EQ(*history, history_);
    }
    const Result<Rows> latest = copy.TryRead("L");
    if (latest) {
      EXPECT_EQ(*latest, latest_);
    }
  }

  fs::path table_file_;
  Rows history_;
  Rows latest_;
};

TEST_F(HeadTest, AFlippedBitGivesNoWrongValue) {
  const uint64_t size = fs::file_size(table_file_);
  for (uint64_t at = 0; at < size && !HasFailure(); at += 3) {
    SCOPED_TRACE(at);
    Flip(at);
    ExpectNoWrongValue();
    Flip(at);
  }
}

}  // namespace
}  // namespace tallyd
