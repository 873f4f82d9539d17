#include "storage/leveldb/env/pread_file.h"

#include <gtest/gtest.h>
#include <leveldb/table.h>
#include <leveldb/table_builder.h>

#include <fstream>
#include <memory>

#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

// LevelDB says that a checksum differs, and not where.
TEST(PreadFileTest, DamageInATableFileNamesTheFile) {
  const TempDir dir;
  leveldb::Env* const env = leveldb::Env::Default();
  const std::string name = dir.path() + "/000001.ldb";
  leveldb::WritableFile* made = nullptr;
  ASSERT_TRUE(env->NewWritableFile(name, &made).ok());
  const std::unique_ptr<leveldb::WritableFile> file(made);
  leveldb::TableBuilder builder(leveldb::Options(), file.get());
  for (int i = 100; i < 999; ++i) builder.Add(std::to_string(i), std::string(30, 'x'));
  ASSERT_TRUE(builder.Finish().ok());
  ASSERT_TRUE(file->Close().ok());
  std::string whole;
  ASSERT_TRUE(leveldb::ReadFileToString(env, name, &whole).ok());
  const auto read_all = [&](const std::string& bytes) {
    std::ofstream(name, std::ios::binary) << bytes;
    const leveldb::Options options;
    leveldb::RandomAccessFile* opened = nullptr;
    EXPECT_TRUE(OpenPreadFile(name, &opened).ok());
    const std::unique_ptr<leveldb::RandomAccessFile> in(opened);
    leveldb::Table* read = nullptr;
    const leveldb::Status status = leveldb::Table::Open(options, opened, whole.size(), &read);
    const std::unique_ptr<leveldb::Table> table(read);
    if (!status.ok()) return status;
    const std::unique_ptr<leveldb::Iterator> it(table->NewIterator(leveldb::ReadOptions()));
    for (it->SeekToFirst(); it->Valid(); it->Next()) EXPECT_EQ(it->value().size(), 30u);
    return it->status();
  };
  EXPECT_TRUE(read_all(whole).ok());
  for (size_t at = 0; at + 100 < whole.size(); at += 101) {
    std::string damaged = whole;
    damaged[at] ^= 8;
    EXPECT_NE(read_all(damaged).ToString().find(name), std::string::npos) << at;
    EXPECT_NE(read_all(whole.substr(0, at)).ToString().find(name), std::string::npos) << at;
  }
}

TEST(PreadFileTest, AFileThatIsNotThereIsNotFound) {
  const TempDir dir;
  leveldb::RandomAccessFile* file = nullptr;
  EXPECT_TRUE(OpenPreadFile(dir.path() + "/none", &file).IsNotFound());
  EXPECT_EQ(file, nullptr);
}

}  // namespace
}  // namespace tallyd
