// A head that base calls sealed may go only where it is the one that was, and its files are there.
#include "storage/leveldb/files/stray_head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <leveldb/options.h>

#include <filesystem>

#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/files/view.h"
#include "tests/storage/leveldb/block_maker.h"

namespace tallyd {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class StrayHeadTest : public ::testing::Test, public BlockMaker {
 protected:
  static constexpr uint64_t kNumber = 5;

  StrayHeadTest() {
    record_.store = std::string(16, 'a');
    record_.sealed_head = kNumber;
    shelf().SetStore(record_.store);
  }

  // Of that store; empty: it does not say so. What it was, as base would note it.
  HeadNote Make(const std::string& store, const std::string& value = "v") {
    fs::remove_all(path_);
    leveldb::Options options;
    options.create_if_missing = true;
    options.env = env();
    const auto head = Head::OpenAt(path_, kNumber, options, 1u << 20);
    EXPECT_TRUE(head);
    if (!head) return {};
    leveldb::DB& db = (*head)->db();
    EXPECT_TRUE(db.Put({}, TablePrefix(KeySpace::kRows, 3) + "row", value).ok());
    if (!store.empty()) {
      EXPECT_TRUE(db.Put({}, MetaKey(MetaKind::kStoreId), store).ok());
    }
    return {*(*head)->Checksum(), *(*head)->ChecksumOfOthers()};
  }
  StrayHead Judged() {
    const Result<StrayHead> head = JudgeHead(env(), path_, kNumber, record_, any_missing_);
    EXPECT_TRUE(head) << head.error().message();
    return head ? *head : StrayHead();
  }

  const std::string path_ = shelf().directory() + "/000005";
  FilesOnRecord record_;
  bool any_missing_ = false;
};

TEST_F(StrayHeadTest, TheOneThatWasSealedMayGo) {
  record_.head_notes[kNumber] = Make(record_.store);
  EXPECT_TRUE(Judged().may_go);
  any_missing_ = true;
  EXPECT_FALSE(Judged().may_go) << "a file that base names is missing";
}

TEST_F(StrayHeadTest, OneThatIsNotAsItWasMayBeTheOnlyCopy) {
  record_.head_notes[kNumber] = Make(record_.store);
  Make(record_.store, "another");
  EXPECT_FALSE(Judged().may_go);
}

TEST_F(StrayHeadTest, OneOfAnotherStoreMayBeTheOnlyCopy) {
  record_.head_notes[kNumber] = Make(std::string(16, 'b'));
  EXPECT_FALSE(Judged().may_go);
  EXPECT_THAT(Judged().reason, HasSubstr("of the store 6262"));
}

TEST_F(StrayHeadTest, WithoutANoteTheFilesThatWereMadeOfItTell) {
  const HeadNote note = Make(record_.store);
  EXPECT_FALSE(Judged().may_go) << "nothing tells of it";
  record_.files = {MakeFile(1, "a", 100, 7, {{FileSource::Kind::kHead, kNumber, note.entries}})};
  EXPECT_TRUE(Judged().may_go);
  fs::resize_file(record_.files[0]->path(), 100);
  EXPECT_FALSE(Judged().may_go);
}

TEST_F(StrayHeadTest, OneThatDoesNotSayItsStoreMayGoAsBefore) {
  Make("");
  EXPECT_TRUE(Judged().may_go);
}

TEST_F(StrayHeadTest, WhatIsLeftOfARemovalMayGo) {
  record_.head_notes[kNumber] = Make(record_.store);
  fs::remove(path_ + "/CURRENT");
  EXPECT_TRUE(Judged().may_go);
  record_.head_notes.clear();
  EXPECT_FALSE(Judged().may_go) << "nobody knows that it was removed";
}

TEST_F(StrayHeadTest, WhatCannotBeReadMayBeTheOnlyCopy) {
  record_.head_notes[kNumber] = Make(record_.store);
  for (const auto& file : fs::directory_iterator(path_)) {
    const std::string name = file.path().filename();
    if (name.starts_with("MANIFEST")) fs::resize_file(file.path(), 3);
  }
  EXPECT_FALSE(Judged().may_go);
}

}  // namespace
}  // namespace tallyd
