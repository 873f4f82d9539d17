#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "storage/bytes/coding.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/env/durable_env.h"
#include "storage/leveldb/seal/sealer.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

class BaseCompactionTest : public ::testing::Test {
 protected:
  static constexpr int kRows = 1000;
  static constexpr size_t kRowBytes = 10'000;

  void SetUp() override {
    config_.path = dir_.path();
    database_ = std::make_unique<Database>(config_, &env_);
    ASSERT_TRUE(database_->Open(1u << 20));
    database_->AdmitReaders({}, {});
  }

  Status Write(const Records& records) {
    leveldb::WriteBatch batch;
    for (const auto& [key, value] : records) batch.Put(key, value);
    return database_->WriteBase(&batch);
  }

  // Each row anew, with bytes that do not compress.
  void WriteRows() {
    std::mt19937_64 random(1);
    for (int i = 0; i < kRows; ++i) {
      std::string value;
      while (value.size() < kRowBytes) PutU64(&value, random());
      ASSERT_TRUE(Write({{RowPrefix(KeySpace::kLatest, 1, fmt::format("{:06}", i)), value}}));
    }
  }

  uint64_t TableBytes() const {
    uint64_t bytes = 0;
    for (const auto& file : std::filesystem::directory_iterator(dir_.path())) {
      if (file.path().extension() == ".ldb") bytes += file.file_size();
    }
    return bytes;
  }

  Status Compact(const std::function<bool()>& stopping) {
    return CompactBase(
        database_.get(), [this](const Records& records) { return Write(records); }, stopping);
  }

  TempDir dir_;
  DurableEnv env_{{[](double) {}, [] {}}};
  StorageConfig config_;
  std::unique_ptr<Database> database_;
};

TEST_F(BaseCompactionTest, EachRowIsKeptOnce) {
  for (int i = 0; i < 3; ++i) WriteRows();
  ASSERT_TRUE(Compact([] { return false; }));
  EXPECT_LT(TableBytes(), kRows * kRowBytes * 11 / 10);
  EXPECT_GT(TableBytes(), kRows * kRowBytes);
}

TEST_F(BaseCompactionTest, ItStopsBetweenRanges) {
  WriteRows();
  int asked = 0;
  const Status stopped = Compact([&] { return ++asked == 2; });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code(), ErrorCode::kCancelled);
}

TEST_F(BaseCompactionTest, AfterAReopenItGivesUp) {
  WriteRows();
  const Status revoked = Compact([&] {
    database_->Close();
    EXPECT_TRUE(database_->Open(1u << 20));
    database_->AdmitReaders({}, {});
    return false;
  });
  ASSERT_FALSE(revoked);
  EXPECT_EQ(revoked.error().code(), ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace tallyd
