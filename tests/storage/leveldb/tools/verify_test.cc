// Verify finds what is damaged and names it, and changes nothing.
#include "storage/leveldb/tools/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/leveldb/files/view.h"
#include "tests/storage/leveldb/old_block_files.h"
#include "tests/storage/leveldb/tools/small_store.h"

namespace tallyd {
namespace {

using testing::HasSubstr;

class VerifyTest : public ::testing::Test, public SmallStore {
 protected:
  void SetUp() override {
    Make();
    files_ = FilesBelow(config().path);
  }

  VerifyReport Verify() {
    const auto before = FilesBelow(config().path);
    VerifyOptions options;
    options.storage = config();
    Result<VerifyReport> report = VerifyStore(options);
    EXPECT_EQ(FilesBelow(config().path), before) << "nothing changes";
    if (report) return std::move(*report);
    ADD_FAILURE() << report.error().message();
    return {};
  }

  // The names that match, in order.
  std::vector<std::string> Names(const std::string& begin, const std::string& end) const {
    std::vector<std::string> names;
    for (const auto& [name, bytes] : files_) {
      if (name.starts_with(begin) && name.ends_with(end)) names.push_back(name);
    }
    return names;
  }
  void Flip(const std::string& name, size_t at) {
    files_[name].at(at) ^= 0x10;
    WriteFiles(files_, config().path);
  }

  std::map<std::string, std::string> files_;
};

TEST_F(VerifyTest, ASoundStoreIsSound) {
  const VerifyReport report = Verify();
  for (const Finding& finding : report.findings) {
    ADD_FAILURE() << finding.file << ": " << finding.problem;
  }
  EXPECT_TRUE(report.notes.empty());
  ASSERT_EQ(report.tables.size(), 2u);
  const VerifiedTable& table = report.tables.at(1);
  EXPECT_EQ(table.name, "H");
  EXPECT_EQ(table.sealed_entries, 8u);
  EXPECT_EQ(table.unsealed_entries, 5u);
  EXPECT_EQ(table.files, Names("blocks/", ".blocks").size());
  EXPECT_EQ(report.tables.at(2).rows, 4u);
  EXPECT_GT(report.bytes, 0u);
}

TEST_F(VerifyTest, ADamagedBlockIsNamedWithWhatItHolds) {
  const std::string name = Names("blocks/", ".blocks").front();
  Flip(name, 20);
  const VerifyReport report = Verify();
  ASSERT_EQ(report.findings.size(), 1u);
  const Finding& finding = report.findings.front();
  EXPECT_THAT(finding.file, HasSubstr(name));
  EXPECT_EQ(finding.offset, 0u);
  EXPECT_EQ(finding.table, "H");
  EXPECT_EQ(finding.times->from / 100, (finding.times->to - 1) / 100) << "one window";
  EXPECT_THAT(finding.first_key, testing::StartsWith("m"));
  EXPECT_LE(finding.first_key, finding.last_key);
}

TEST_F(VerifyTest, EveryByteOfABlockFileMatters) {
  const std::string name = Names("blocks/", ".blocks").front();
  for (size_t at = 0; at < files_[name].size(); at += 7) {
    Flip(name, at);
    const VerifyReport report = Verify();
    ASSERT_EQ(report.findings.size(), 1u) << at;
    EXPECT_THAT(report.findings.front().file, HasSubstr(name));
    Flip(name, at);
  }
}

TEST_F(VerifyTest, AMissingFileAndSwappedFilesAreNamed) {
  const std::vector<std::string> names = Names("blocks/", ".blocks");
  ASSERT_GT(names.size(), 2u);
  files_.erase(names[0]);
  std::swap(files_[names[1]], files_[names[2]]);
  WriteFiles(files_, config().path);
  const VerifyReport report = Verify();
  ASSERT_EQ(report.findings.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_THAT(report.findings[i].file, HasSubstr(names[i]));
  EXPECT_THAT(report.findings[0].problem, HasSubstr("missing"));
  EXPECT_EQ(report.findings[0].table, "H");
  EXPECT_THAT(report.findings[1].problem, HasSubstr("it is file"));
}

TEST_F(VerifyTest, AFileUnderAnotherSpellingOfItsNumberIsMissing) {
  const std::string name = Names("blocks/", ".blocks").front();
  files_["blocks/00" + name.substr(name.find('/') + 1)] = files_[name];
  files_.erase(name);
  WriteFiles(files_, config().path);
  const VerifyReport report = Verify();
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_THAT(report.findings.front().file, HasSubstr(name));
  EXPECT_THAT(report.findings.front().problem, HasSubstr("missing"));
  EXPECT_EQ(report.notes.size(), 1u);
}

TEST_F(VerifyTest, FilesThatNobodyNamesAreToldOf) {
  const std::string name = Names("blocks/", ".blocks").front();
  files_["blocks/000077.blocks"] = files_[name];
  files_["blocks/000078.blocks"] = files_[name].substr(0, files_[name].size() / 2);
  WriteFiles(files_, config().path);
  const VerifyReport report = Verify();
  EXPECT_TRUE(report.sound()) << "a crash leaves such";
  ASSERT_EQ(report.notes.size(), 2u);
  EXPECT_THAT(report.notes, testing::Contains(HasSubstr("000077")));
}

// Base and heads were put back from an older copy.
TEST_F(VerifyTest, WhatMayBeTheOnlyCopyIsNoRestOfACrash) {
  const std::string name = Names("blocks/", ".blocks").front();
  Reopen();
  WriteEvent("m1", 5000, 7);
  ASSERT_TRUE(store().Settle());
  Close();
  for (const auto& [path, bytes] : FilesBelow(config().path)) {
    if (path.starts_with("blocks/")) files_[path] = bytes;
  }
  WriteFiles(files_, config().path);
  const VerifyReport report = Verify();
  ASSERT_FALSE(report.sound());
  EXPECT_THAT(report.findings.front().problem, HasSubstr("only copy"));
  EXPECT_EQ(report.findings.front().table, "H");
}

TEST_F(VerifyTest, AFileOfAnotherStoreIsNamed) {
  const std::string own = files_.at(Names("blocks/", ".blocks").front());
  SmallStore other;
  other.Make();
  for (const auto& [path, bytes] : FilesBelow(other.config().path)) {
    if (!path.ends_with(".blocks")) continue;
    ASSERT_EQ(files_.at(path).size(), bytes.size()) << "they are alike";
    files_[path] = bytes;
  }
  WriteFiles(files_, config().path);
  const VerifyReport report = Verify();
  EXPECT_EQ(report.findings.size(), Names("blocks/", ".blocks").size());
  ASSERT_FALSE(report.sound());
  EXPECT_THAT(report.findings.front().problem, HasSubstr("another file"));
}

// The same after a start has moved the newer file.
TEST_F(VerifyTest, WhatAStartPutAsideIsNamedUntilSomebodyRemovesIt) {
  Reopen();
  WriteEvent("m1", 5000, 7);
  ASSERT_TRUE(store().Settle());
  Close();
  for (const auto& [path, bytes] : FilesBelow(config().path)) {
    if (path.starts_with("blocks/")) files_[path] = bytes;
  }
  WriteFiles(files_, config().path);
  for (int start = 0; start < 2; ++start) {
    Reopen();
    Close();
    const VerifyReport report = Verify();
    ASSERT_FALSE(report.sound());
    EXPECT_THAT(report.findings.front().file, HasSubstr("/lost/"));
    EXPECT_THAT(report.findings.front().problem, HasSubstr("only copy"));
  }
  std::filesystem::remove_all(config().path + "/lost");
  EXPECT_TRUE(Verify().sound());
}

TEST_F(VerifyTest, WhatIsPutAsideAndElsewhereIsNoDamage) {
  files_["lost/"];
  files_["lost/000077.blocks"] = files_[Names("blocks/", ".blocks").front()];
  files_["lost/notes"] = "mine";
  WriteFiles(files_, config().path);
  const VerifyReport report = Verify();
  EXPECT_TRUE(report.sound());
  EXPECT_EQ(report.notes.size(), 2u);
}

// Base has sealed a head of its number.
TEST_F(VerifyTest, AHeadOfAnotherStoreThatCountsAsSealedIsNamed) {
  SmallStore other;
  other.Make();
  const std::string from = other.config().path + "/heads";
  const auto head = *std::filesystem::directory_iterator(from);
  for (const auto& [path, bytes] : FilesBelow(head.path())) files_["heads/000001/" + path] = bytes;
  files_["heads/000001/"];
  WriteFiles(files_, config().path);
  const VerifyReport report = Verify();
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_THAT(report.findings.front().file, HasSubstr("heads/000001"));
  EXPECT_THAT(report.findings.front().problem, HasSubstr("only copy"));
}

TEST_F(VerifyTest, AHeadThatLiesThereTwiceIsNamed) {
  const std::string from = config().path + "/heads";
  const auto head = *std::filesystem::directory_iterator(from);
  const uint64_t number = std::stoull(head.path().filename());
  const std::string to = HeadPath("heads", number + 1) + "/";
  for (const auto& [path, bytes] : FilesBelow(head.path())) files_[to + path] = bytes;
  files_[to];
  WriteFiles(files_, config().path);
  const VerifyReport report = Verify();
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_THAT(report.findings.front().problem, HasSubstr("it is a copy of head"));
}

TEST_F(VerifyTest, FilesOfFormat8AreSound) {
  RewriteFilesAsFormat8(config().path);
  files_ = FilesBelow(config().path);
  for (const Finding& finding : Verify().findings) {
    EXPECT_THAT(finding.file, testing::EndsWith("SYNCED")) << finding.problem;
  }
}

TEST_F(VerifyTest, DamageInBaseHidesNoDamageElsewhere) {
  Flip(Names("", ".ldb").front(), 10);
  Flip(Names("blocks/", ".blocks").front(), 20);
  const VerifyReport report = Verify();
  std::string found;
  for (const Finding& finding : report.findings) found += finding.file + "\n";
  EXPECT_THAT(found, HasSubstr(".ldb\n"));
  EXPECT_THAT(found, HasSubstr(".blocks\n"));
}

TEST_F(VerifyTest, ADamagedHeadIsNamed) {
  const std::vector<std::string> logs = Names("heads/", ".log");
  ASSERT_FALSE(logs.empty());
  Flip(logs.back(), 30);
  const VerifyReport report = Verify();
  ASSERT_FALSE(report.sound());
  EXPECT_THAT(report.findings.front().problem, HasSubstr("heads/"));
}

TEST_F(VerifyTest, WhereNothingTellsWhatWasSyncedVerifySaysSo) {
  for (const std::string& name : {std::string("SYNCED"), Names("heads/", "/SYNCED").back()}) {
    const std::string notes = std::exchange(files_[name], std::string());
    WriteFiles(files_, config().path);
    const VerifyReport empty = Verify();
    ASSERT_EQ(empty.findings.size(), 1u) << name;
    EXPECT_THAT(empty.findings.front().file, testing::EndsWith("/" + name));
    files_.erase(name);
    WriteFiles(files_, config().path);
    const VerifyReport gone = Verify();
    ASSERT_EQ(gone.findings.size(), 1u) << name;
    EXPECT_THAT(gone.findings.front().file, testing::EndsWith("/" + name));
    files_[name] = notes;
  }
}

// One that was being made when the process ended follows it.
TEST_F(VerifyTest, AHeadThatIsNotTheNewestTellsWhatWasSyncedToo) {
  const std::string name = Names("heads/", "/SYNCED").back();
  const std::string next = HeadPath("heads", std::stoull(name.substr(6)) + 1) + "/";
  files_[next];
  files_[next + "LOCK"];
  WriteFiles(files_, config().path);
  EXPECT_TRUE(Verify().sound());
  files_.erase(name);
  WriteFiles(files_, config().path);
  const VerifyReport report = Verify();
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_THAT(report.findings.front().file, testing::EndsWith("/" + name));
}

TEST_F(VerifyTest, WithoutAStoreThereIsNothingToVerify) {
  VerifyOptions options;
  options.storage = config();
  options.storage.path += "/elsewhere";
  const Result<VerifyReport> report = VerifyStore(options);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace tallyd
