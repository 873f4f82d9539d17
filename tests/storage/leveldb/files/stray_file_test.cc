#include "storage/leveldb/files/stray_file.h"

#include <gtest/gtest.h>
#include <leveldb/options.h>

#include <filesystem>
#include <fstream>

#include "storage/leveldb/codec/entry_codec.h"
#include "tests/storage/fault_calls.h"
#include "tests/storage/fault_env.h"
#include "tests/storage/leveldb/block_maker.h"

namespace tallyd {
namespace {

namespace fs = std::filesystem;
using Kind = StrayFile::Kind;

class StrayFileTest : public ::testing::Test, public BlockMaker {
 protected:
  StrayFileTest() {
    record_.store = std::string(16, 'a');
    shelf().SetStore(record_.store);
  }

  Kind KindOf(const std::string& path, uint64_t number = 7) {
    StrayJudge judge(env(), &record_, any_missing_);
    Result<StrayFile> stray = judge.Judge(path, number);
    EXPECT_TRUE(stray) << stray.error().message();
    if (!stray) return Kind::kOnlyCopy;
    stray_ = std::move(*stray);
    return stray_.kind;
  }

  static FileSource SourceOf(const BlockFilePtr& file) {
    return {FileSource::Kind::kFile, file->info().number, file->info().checksum};
  }

  std::shared_ptr<Head> OpenHead(uint64_t number, const std::string& value) {
    leveldb::Options options;
    options.create_if_missing = true;
    options.env = env();
    Result<std::shared_ptr<Head>> head = Head::Open(shelf().directory(), number, options, 1u << 20);
    EXPECT_TRUE(head);
    if (!head) return nullptr;
    const std::string key = TablePrefix(KeySpace::kRows, 3) + "row";
    EXPECT_TRUE((*head)->db().Put({}, key, value).ok());
    return *head;
  }

  static void Flip(const std::string& path, uint64_t at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(at));
    const char byte = static_cast<char>(file.get() ^ 1);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte);
  }

  FilesOnRecord record_;
  bool any_missing_ = false;
  StrayFile stray_;
};

TEST_F(StrayFileTest, WhatWasMergedOfFilesThatAreThereIsElsewhere) {
  record_.files = {MakeFile(1, "a", 100), MakeFile(2, "b", 100)};
  const BlockFilePtr merged =
      MakeFile(7, "a", 100, 7, {SourceOf(record_.files[0]), SourceOf(record_.files[1])});
  EXPECT_EQ(KindOf(merged->path()), Kind::kElsewhere);
}

TEST_F(StrayFileTest, WhatWasMergedOfAFileThatIsGoneMayBeTheOnlyCopy) {
  record_.files = {MakeFile(1, "a", 100), MakeFile(2, "b", 100)};
  const BlockFilePtr merged =
      MakeFile(7, "a", 100, 7, {SourceOf(record_.files[0]), SourceOf(record_.files[1])});
  fs::remove(record_.files[1]->path());
  EXPECT_EQ(KindOf(merged->path()), Kind::kOnlyCopy);
  EXPECT_EQ(stray_.reason, "it was made of file 2, which is not here as it was then");
  record_.files.pop_back();
  EXPECT_EQ(KindOf(merged->path()), Kind::kOnlyCopy);
}

TEST_F(StrayFileTest, ASourceOfWhichAByteIsDamagedIsNotThere) {
  record_.files = {MakeFile(1, "a", 100)};
  const std::string source = record_.files[0]->path();
  const BlockFilePtr merged = MakeFile(7, "a", 100, 7, {SourceOf(record_.files[0])});
  const uint64_t size = fs::file_size(source);
  for (uint64_t at = 0; at < size; ++at) {
    Flip(source, at);
    EXPECT_EQ(KindOf(merged->path()), Kind::kOnlyCopy) << "the byte " << at;
    Flip(source, at);
  }
  EXPECT_EQ(KindOf(merged->path()), Kind::kElsewhere);
}

TEST_F(StrayFileTest, ASourceOfTheSameNumberThatIsAnotherFileIsNotThere) {
  record_.files = {MakeFile(1, "a", 100)};
  FileSource source = SourceOf(record_.files[0]);
  ++source.checksum;
  EXPECT_EQ(KindOf(MakeFile(7, "a", 100, 7, {source})->path()), Kind::kOnlyCopy);
}

TEST_F(StrayFileTest, AFileOfAnotherStoreMayBeTheOnlyCopy) {
  record_.files = {MakeFile(1, "a", 100)};
  shelf().SetStore(std::string(16, 'b'));
  const BlockFilePtr other = MakeFile(7, "a", 100, 7, {SourceOf(record_.files[0])});
  EXPECT_EQ(KindOf(other->path()), Kind::kOnlyCopy);
  EXPECT_EQ(stray_.reason, "it is of the store 62626262626262626262626262626262");
}

TEST_F(StrayFileTest, ACopyOfAFileThatBaseNamesIsTold) {
  record_.files = {MakeFile(1, "a", 100)};
  const std::string copy = shelf().PathOf(7);
  fs::copy_file(record_.files[0]->path(), copy);
  EXPECT_EQ(KindOf(copy), Kind::kCopy);
  fs::remove(record_.files[0]->path());
  EXPECT_EQ(KindOf(copy), Kind::kOnlyCopy);
}

TEST_F(StrayFileTest, WhatWasSealedOfAHeadThatIsThereIsElsewhere) {
  record_.heads = {OpenHead(4, "value")};
  const FileSource source{FileSource::Kind::kHead, 4, *record_.heads[0]->Checksum()};
  const std::string path = MakeFile(7, "a", 100, 7, {source})->path();
  EXPECT_EQ(KindOf(path), Kind::kElsewhere);
}

// Base and heads were put back from an older copy, as a snapshot of last night.
TEST_F(StrayFileTest, WhatWasSealedOfAHeadThatHadMoreThenMayBeTheOnlyCopy) {
  record_.heads = {OpenHead(4, "value")};
  const FileSource more{FileSource::Kind::kHead, 4, *record_.heads[0]->Checksum() + 1};
  const std::string path = MakeFile(7, "a", 100, 7, {more})->path();
  EXPECT_EQ(KindOf(path), Kind::kOnlyCopy);
  EXPECT_EQ(stray_.reason, "it was made of head 4, which is not here as it was then");
  record_.heads.clear();
  EXPECT_EQ(KindOf(path), Kind::kOnlyCopy);
}

TEST_F(StrayFileTest, AFileThatDoesNotSayWhatItWasMadeOfMayBeTheOnlyCopy) {
  EXPECT_EQ(KindOf(MakeFile(7, "a", 100)->path()), Kind::kOnlyCopy);
}

TEST_F(StrayFileTest, AFileIsDroppedIfItIsTheOneThatWas) {
  const BlockFilePtr file = MakeFile(7, "a", 100);
  record_.dropped = {{7, file->info().checksum}};
  EXPECT_EQ(KindOf(file->path()), Kind::kElsewhere);
  any_missing_ = true;
  EXPECT_EQ(KindOf(file->path()), Kind::kOnlyCopy) << "what took its place may be gone";
  any_missing_ = false;
  record_.dropped = {{7, file->info().checksum ^ 1}};
  EXPECT_EQ(KindOf(file->path()), Kind::kOnlyCopy);
  record_.dropped = {{7, std::nullopt}};
  EXPECT_EQ(KindOf(file->path()), Kind::kOnlyCopy) << "an older tallyd did not mean this one";
}

TEST_F(StrayFileTest, AFileThatIsCutIsIncomplete) {
  const std::string path = MakeFile(7, "a", 100)->path();
  const uint64_t size = fs::file_size(path);
  for (uint64_t left = size; left-- > 0;) {
    fs::resize_file(path, left);
    ASSERT_EQ(KindOf(path), Kind::kIncomplete) << left;
  }
}

TEST_F(StrayFileTest, ACompleteFileOfWhichAByteIsDamagedIsNotIncomplete) {
  const std::string path = MakeFile(7, "a", 100)->path();
  const uint64_t size = fs::file_size(path);
  for (uint64_t at = 0; at < size; ++at) {
    Flip(path, at);
    ASSERT_EQ(KindOf(path), Kind::kOnlyCopy) << "the byte " << at;
    Flip(path, at);
  }
}

TEST_F(StrayFileTest, WhatCannotBeReadIsNotJudged) {
  const std::string path = MakeFile(7, "a", 100)->path();
  FaultEnv failing;
  failing.FailReads(true);
  EXPECT_FALSE(StrayJudge(&failing, &record_).Judge(path, 7));
}

TEST_F(StrayFileTest, WhileASourceCannotBeReadAFileIsNotJudged) {
  record_.files = {MakeFile(1, "a", 100)};
  const std::string path = MakeFile(7, "a", 100, 7, {SourceOf(record_.files[0])})->path();
  FaultCalls calls(shelf().directory());
  calls.Fail({.call = "open",
              .path = fs::path(record_.files[0]->path()).filename(),
              .error = EACCES,
              .until_healed = true});
  EXPECT_FALSE(StrayJudge(env(), &record_).Judge(path, 7));
  EXPECT_TRUE(calls.failed());
}

}  // namespace
}  // namespace tallyd
