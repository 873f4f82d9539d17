// Records come back as they were written, or the file is refused.
#include "storage/leveldb/tools/record_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "storage/leveldb/env/durable_env.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

using RecordList = std::vector<std::pair<std::string, std::string>>;

class RecordFileTest : public ::testing::Test {
 protected:
  void Write(const RecordList& records) {
    auto writer = RecordFileWriter::Create(&env_, path_);
    ASSERT_TRUE(writer);
    for (const auto& [key, value] : records) ASSERT_TRUE((*writer)->Add(key, value));
    ASSERT_TRUE((*writer)->Finish());
    bytes_ = (*writer)->bytes();
    checksum_ = (*writer)->checksum();
  }
  Status Read(RecordList* records) {
    return ReadRecordFile(&env_, path_, bytes_, checksum_,
                          [&](std::string_view key, std::string_view value) {
                            records->emplace_back(key, value);
                            return Status();
                          });
  }

  TempDir dir_;
  const std::string path_ = dir_.path() + "/records";
  DurableEnv env_{{[](double) {}, [] {}}};
  uint64_t bytes_ = 0;
  uint64_t checksum_ = 0;
};

TEST_F(RecordFileTest, RecordsComeBack) {
  const RecordList written{
      {std::string("\0\1", 2), ""}, {"b", std::string(700'000, 'x')}, {"c", "3"}};
  Write(written);
  EXPECT_EQ(std::filesystem::file_size(path_), bytes_);
  RecordList read;
  ASSERT_TRUE(Read(&read));
  EXPECT_EQ(read, written);
}

TEST_F(RecordFileTest, NoRecordsAreAFileToo) {
  Write({});
  RecordList read;
  EXPECT_TRUE(Read(&read));
  EXPECT_TRUE(read.empty());
}

TEST_F(RecordFileTest, AnyOtherByteIsRefused) {
  Write({{"a", "1"}, {"b", "2"}});
  std::ifstream in(path_, std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(in), {});
  RecordList read;
  for (size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[at] ^= static_cast<char>(1 << bit);
      std::ofstream(path_, std::ios::binary) << damaged;
      EXPECT_FALSE(Read(&read)) << at;
    }
    std::ofstream(path_, std::ios::binary) << whole.substr(0, at);
    EXPECT_FALSE(Read(&read)) << at;
  }
}

TEST_F(RecordFileTest, AnotherFileOfRecordsIsRefused) {
  Write({{"a", "1"}});
  const uint64_t checksum = checksum_;
  Write({{"a", "2"}});
  checksum_ = checksum;
  RecordList read;
  EXPECT_FALSE(Read(&read));
}

TEST_F(RecordFileTest, AnErrorEndsTheReading) {
  Write({{"a", "1"}, {"b", "2"}});
  int seen = 0;
  const Status read =
      ReadRecordFile(&env_, path_, bytes_, checksum_, [&](std::string_view, std::string_view) {
        ++seen;
        return Status(Error(ErrorCode::kIo, "enough"));
      });
  EXPECT_FALSE(read);
  EXPECT_EQ(seen, 1);
}

}  // namespace
}  // namespace tallyd
