// What can be read of a damaged store becomes a store; what cannot is counted.
#include "storage/leveldb/tools/salvage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/catalogue/record_codec.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/files/view.h"
#include "tests/storage/leveldb/tools/small_store.h"

namespace tallyd {
namespace {

using testing::HasSubstr;
using Base = SalvageReport::Base;

class SalvageTest : public ::testing::Test, public SmallStore {
 protected:
  void SetUp() override {
    Make();
    files_ = FilesBelow(config().path);
  }

  // Of what `files_` are by now.
  SalvageReport MustSalvage() {
    WriteFiles(files_, config().path);
    made_.reset();
    std::filesystem::remove_all(To());
    const Result<SalvageReport> report = Salvage({config(), To(), &progress_});
    EXPECT_EQ(FilesBelow(config().path), files_) << "the damaged store is only read";
    if (report) {
      for (const Finding& finding : report->made.findings) ADD_FAILURE() << finding.problem;
      OpenMade();
      return *report;
    }
    ADD_FAILURE() << report.error().message();
    return {};
  }
  std::string To() const { return path() + "/salvaged"; }
  void OpenMade() {
    made_ = std::make_unique<StoreHarness>();
    made_->config() = config();
    made_->config().path = To();
    made_->Open();
    ASSERT_TRUE(made_->Adopt(SchemaOf()));
  }
  std::vector<std::string> Names(const std::string& begin, const std::string& end) const {
    std::vector<std::string> names;
    for (const auto& [name, bytes] : files_) {
      if (name.starts_with(begin) && name.ends_with(end)) names.push_back(name);
    }
    return names;
  }
  // As files_ has it, to be changed.
  std::unique_ptr<leveldb::DB> OpenNewestHead() {
    WriteFiles(files_, config().path);
    const std::string directory = HeadsDirectory(config().path);
    const std::vector<uint64_t> heads = ListHeads(leveldb::Env::Default(), directory).value();
    leveldb::DB* opened = nullptr;
    EXPECT_TRUE(
        leveldb::DB::Open(leveldb::Options(), HeadPath(directory, heads.back()), &opened).ok());
    return std::unique_ptr<leveldb::DB>(opened);
  }
  void LoseBase() {
    std::erase_if(files_, [](const auto& file) {
      return file.first.find('/') == std::string::npos;  // Of base.
    });
  }
  // As after it was made, and once more after everything was sealed and reopened.
  void ExpectHistory(const Rows& expected) {
    EXPECT_EQ(made_->Read("H"), expected);
    ASSERT_TRUE(made_->store().Settle());
    made_->Reopen();
    EXPECT_EQ(made_->Read("H"), expected);
  }

  std::map<std::string, std::string> files_;
  ToolProgress progress_;
  std::unique_ptr<StoreHarness> made_;
};

TEST_F(SalvageTest, OfASoundStoreNothingIsLost) {
  const SalvageReport report = MustSalvage();
  EXPECT_TRUE(report.whole());
  EXPECT_EQ(report.base, Base::kWhole);
  EXPECT_EQ(report.tables.at(1).entries, 13u);
  EXPECT_EQ(report.tables.at(1).lost_entries, 0u);
  EXPECT_EQ(report.tables.at(2).rows, latest.size());
  EXPECT_FALSE(report.latest_may_be_old);
  EXPECT_EQ(made_->Read("L"), latest);
  ExpectHistory(history);
  ASSERT_TRUE(made_->Write("H", "later", 1, {{"A", "value", Value::Int(1)}}));
  EXPECT_EQ(made_->Read("H").size(), history.size() + 1);
}

TEST_F(SalvageTest, WithoutBaseTheHistoryIsWhole) {
  LoseBase();
  const SalvageReport report = MustSalvage();
  EXPECT_EQ(report.base, Base::kGone);
  EXPECT_FALSE(report.whole());
  EXPECT_EQ(report.tables.at(1).name, "H");
  EXPECT_EQ(report.tables.at(1).entries, 13u);
  EXPECT_TRUE(report.latest_may_be_old);
  ExpectHistory(history);
}

// A head's entries need nothing that only base has.
TEST_F(SalvageTest, WithoutBaseLaterWritesWinStill) {
  LoseBase();
  MustSalvage();
  const TimeUs time = 80;  // Of a sealed event.
  ASSERT_TRUE(made_->Write("H", "m2", time, {{"A", "value", Value::Int(-1)}}));
  ScanSpec spec;
  spec.ranges = {OneRow("m2")};
  const Rows rows = made_->Read("H", spec);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].second.at("A:value@80"), "-1");
}

// As a crash leaves it; a start makes it anew.
TEST_F(SalvageTest, ANewestHeadThatWasBeingMadeIsNoDamage) {
  const std::vector<std::string> made = Names("heads/", "/CURRENT");
  ASSERT_FALSE(made.empty());
  const uint64_t next = std::stoull(made.back().substr(6)) + 1;
  const std::string directory = HeadPath("heads", next) + "/";
  files_[directory];
  files_[directory + "LOCK"];
  files_[directory + "MANIFEST-000001"] = "half";
  const SalvageReport report = MustSalvage();
  EXPECT_TRUE(report.whole());
  EXPECT_EQ(report.damaged_heads, 0u);
  ExpectHistory(history);
}

TEST_F(SalvageTest, AnOnlyHeadThatHoldsNothingIsDamage) {
  std::erase_if(files_, [](const auto& file) {
    return file.first.starts_with("heads/") && !file.first.ends_with('/');
  });
  EXPECT_FALSE(MustSalvage().whole());
}

TEST_F(SalvageTest, AHeadThatIsMissingIsDamage) {
  std::erase_if(files_, [](const auto& file) { return file.first.starts_with("heads/"); });
  const SalvageReport report = MustSalvage();
  EXPECT_FALSE(report.whole());
  EXPECT_EQ(report.base, Base::kWhole);
  EXPECT_EQ(report.heads, 1u);
  EXPECT_EQ(report.damaged_heads, 1u);
  EXPECT_TRUE(report.latest_may_be_old);
  ASSERT_FALSE(report.findings.empty());
  EXPECT_THAT(report.findings.front().file, HasSubstr("/heads/0"));
  EXPECT_THAT(report.findings.front().problem, HasSubstr("it is missing"));
}

TEST_F(SalvageTest, AGapAmongTheHeadsIsDamage) {
  const uint64_t number = std::stoull(Names("heads/", "/CURRENT").back().substr(6));
  const std::string gone = HeadPath("heads", number) + "/";
  std::map<std::string, std::string> moved;
  for (const auto& [name, bytes] : files_) {
    const bool is_its = name.starts_with(gone);
    moved[is_its ? HeadPath("heads", number + 1) + "/" + name.substr(gone.size()) : name] = bytes;
  }
  files_ = std::move(moved);
  const SalvageReport report = MustSalvage();
  EXPECT_FALSE(report.whole());
  EXPECT_THAT(report.findings, testing::Contains(testing::Field(
                                   &Finding::file, HasSubstr(HeadPath("/heads", number)))));
  EXPECT_EQ(report.tables.at(1).entries, 13u) << "of the heads that are there";
}

// What adds up would count twice.
TEST_F(SalvageTest, AHeadThatLiesThereTwiceIsTakenOnce) {
  const uint64_t number = std::stoull(Names("heads/", "/CURRENT").back().substr(6));
  const std::string begin = HeadPath("heads", number) + "/";
  const std::map<std::string, std::string> once = files_;
  for (const auto& [name, bytes] : once) {
    if (!name.starts_with(begin)) continue;
    files_[HeadPath("heads", number + 1) + "/" + name.substr(begin.size())] = bytes;
  }
  const SalvageReport report = MustSalvage();
  EXPECT_FALSE(report.whole());
  EXPECT_EQ(report.tables.at(1).entries, 13u);
  ASSERT_FALSE(report.findings.empty());
  EXPECT_THAT(report.findings.front().problem, HasSubstr("it is left out"));
  ExpectHistory(history);
}

// Of base's table and the head's only one can be right, and base is what all else is read by.
TEST_F(SalvageTest, EntriesOfATableThatBaseHasAnotherUnderItsNumberAreLeftOut) {
  std::unique_ptr<leveldb::DB> db = OpenNewestHead();
  TableInfo other;
  other.name = "OTHER";
  other.stream = "other";
  other.row_key = "{other}";
  ASSERT_TRUE(db->Put({}, std::string("\x13") + TableKey(1), EncodeTable(other)).ok());
  db.reset();
  files_ = FilesBelow(config().path);
  const SalvageReport report = MustSalvage();
  EXPECT_FALSE(report.whole());
  EXPECT_EQ(report.tables.at(1).lost_entries, 5u);
  ExpectHistory(made_->Read("H"));
}

TEST_F(SalvageTest, AClosedHeadThatNoneFollowsIsDamage) {
  std::unique_ptr<leveldb::DB> db = OpenNewestHead();
  ASSERT_TRUE(db->Put({}, MetaKey(MetaKind::kClosedHead), std::string(8, '\1')).ok());
  db.reset();
  files_ = FilesBelow(config().path);
  const SalvageReport report = MustSalvage();
  EXPECT_FALSE(report.whole());
  ASSERT_FALSE(report.findings.empty());
  EXPECT_THAT(report.findings.front().problem, HasSubstr("the head before it is closed"));
  ExpectHistory(history);
}

TEST_F(SalvageTest, WithoutManifestsTheLogsTell) {
  std::erase_if(files_, [](const auto& file) {
    return file.first.find("MANIFEST") != std::string::npos || file.first.ends_with("CURRENT");
  });
  const SalvageReport report = MustSalvage();
  EXPECT_EQ(report.base, Base::kDamaged);
  EXPECT_EQ(report.damaged_heads, report.heads);
  EXPECT_EQ(made_->Read("L"), latest);
  ExpectHistory(history);
}

TEST_F(SalvageTest, ADamagedBlockCostsThatBlock) {
  const std::string name = Names("blocks/", ".blocks").front();
  files_[name][20] ^= 4;
  const SalvageReport report = MustSalvage();
  const SalvagedTable& table = report.tables.at(1);
  EXPECT_EQ(report.base, Base::kWhole);
  EXPECT_EQ(table.lost_blocks, 1u);
  EXPECT_GT(table.lost_entries, 0u);
  EXPECT_EQ(table.entries + table.lost_entries, 13u);
  EXPECT_THAT(report.findings.front().file, HasSubstr(name));
  EXPECT_EQ(made_->Read("L"), latest);
}

TEST_F(SalvageTest, AnIndexIsNotNeeded) {
  const std::string name = Names("blocks/", ".blocks").front();
  std::string& bytes = files_[name];
  bytes.resize(bytes.size() - 5);
  const SalvageReport report = MustSalvage();
  EXPECT_FALSE(report.whole());
  EXPECT_EQ(report.tables.at(1).lost_entries, 0u);
  ExpectHistory(history);
}

TEST_F(SalvageTest, AMissingFileIsCounted) {
  files_.erase(Names("blocks/", ".blocks").front());
  const SalvageReport report = MustSalvage();
  EXPECT_EQ(report.tables.at(1).lost_files, 1u);
  EXPECT_EQ(report.tables.at(1).entries + report.tables.at(1).lost_entries, 13u);
}

TEST_F(SalvageTest, ADamagedLogCostsWhatCannotBeRead) {
  const std::string log = Names("heads/", ".log").back();
  files_[log][30] ^= 1;
  const SalvageReport report = MustSalvage();
  EXPECT_EQ(report.damaged_heads, 1u);
  EXPECT_TRUE(report.latest_may_be_old);
  EXPECT_GE(report.tables.at(1).entries, 8u);
  EXPECT_LT(report.tables.at(1).entries, 13u);
}

// A whole record for LevelDB, which ends behind the lengths of an entry.
TEST_F(SalvageTest, AMalformedGroupCostsThatGroup) {
  std::unique_ptr<leveldb::DB> db = OpenNewestHead();
  ASSERT_TRUE(db->Put({}, GroupKey(uint64_t{1} << 40), "\x1b\x03").ok());
  db.reset();
  files_ = FilesBelow(config().path);
  const SalvageReport report = MustSalvage();
  EXPECT_FALSE(report.whole());
  EXPECT_EQ(report.tables.at(1).entries, 13u);
  EXPECT_THAT(report.findings.back().problem, HasSubstr("malformed"));
  ExpectHistory(history);
}

class WideRowSalvageTest : public SalvageTest {
 protected:
  // A wide row of two sets of columns: one is fed in a head that is sealed by now, the other one
  // also in the newest.
  void SetUp() override {
    SmallStore::Make();
    Open();
    ASSERT_TRUE(Adopt(SchemaOf()));
    Feed("x", 10'000);
    Feed("y", 10'001);
    ASSERT_TRUE(store().Settle());
    Feed("y", 10'002);
    Feed("y", 10'003);
    row_ = ReadRow(this);
    Close();
    files_ = FilesBelow(config().path);
    LoseBase();
  }
  void Feed(const std::string& column, TimeUs time) {
    const std::string text(600, static_cast<char>('a' + time % 10));
    ASSERT_TRUE(Write("L", "wide", time, {{"A", column, Value::String(text)}}, true));
  }
  static Rows ReadRow(StoreHarness* of) {
    ScanSpec spec;
    spec.ranges = {OneRow("wide")};
    return of->Read("L", spec);
  }

  Rows row_;
};

TEST_F(WideRowSalvageTest, WithoutBaseTheHeadTellsTheWholeRow) {
  MustSalvage();
  EXPECT_EQ(ReadRow(made_.get()), row_);
}

TEST_F(WideRowSalvageTest, WhatWasAddedToARowThatIsLostIsNoRow) {
  std::unique_ptr<leveldb::DB> db = OpenNewestHead();
  std::unique_ptr<leveldb::Iterator> all(db->NewIterator({}));
  std::vector<std::string> copies;
  const std::string copied_set{static_cast<char>(KeySpace::kCopies), '\0', '\x12'};
  for (all->Seek(copied_set); all->Valid() && all->key().starts_with(copied_set); all->Next()) {
    if (all->value().ToString().ends_with("x")) copies.push_back(all->key().ToString());
  }
  all.reset();
  ASSERT_FALSE(copies.empty());
  for (const std::string& copy : copies) ASSERT_TRUE(db->Delete({}, copy).ok());
  db.reset();
  files_ = FilesBelow(config().path);
  MustSalvage();
  EXPECT_EQ(ReadRow(made_.get()), Rows());
}

// Without base, what a start has put aside may be all that is left of something.
TEST_F(SalvageTest, WithoutBaseWhatIsLostCounts) {
  LoseBase();
  const std::string name = Names("blocks/", ".blocks").front();
  files_["lost/"] = "";
  files_["lost/" + name.substr(name.find('/') + 1)] = files_[name];
  files_.erase(name);
  EXPECT_EQ(MustSalvage().tables.at(1).entries, 13u);
  ExpectHistory(history);
}

// A LevelDB that is sound and empty in the place of base: a start refuses it.
TEST_F(SalvageTest, AnEmptyBaseBesideFilesIsNone) {
  LoseBase();
  WriteFiles(files_, config().path);
  leveldb::DB* opened = nullptr;
  leveldb::Options options;
  options.create_if_missing = true;
  ASSERT_TRUE(leveldb::DB::Open(options, config().path, &opened).ok());
  delete opened;
  files_ = FilesBelow(config().path);
  const SalvageReport report = MustSalvage();
  EXPECT_EQ(report.base, Base::kGone);
  EXPECT_FALSE(report.whole());
  EXPECT_EQ(report.tables.at(1).entries, 13u);
  ExpectHistory(history);
}

// Base and heads were put back from an older copy, beside newer files.
TEST_F(SalvageTest, WhatBaseDoesNotNameIsReadFromTheFiles) {
  Reopen();
  WriteEvent("m1", 5000, 7);
  ASSERT_TRUE(store().Settle());
  const Rows later = Read("H");
  Close();
  const auto newer = FilesBelow(config().path);
  std::erase_if(files_, [](const auto& file) { return file.first.starts_with("blocks/"); });
  for (const auto& [name, bytes] : newer) {
    if (name.starts_with("blocks/")) files_[name] = bytes;
  }
  const SalvageReport report = MustSalvage();
  EXPECT_EQ(report.base, Base::kWhole);
  EXPECT_FALSE(report.whole()) << "base is older than they are";
  EXPECT_EQ(report.tables.at(1).lost_files, 0u);
  ExpectHistory(later);
}

// The same after a start has moved the newer file: base tells what counts, so it is not taken.
TEST_F(SalvageTest, WhatAStartPutAsideIsTold) {
  Reopen();
  WriteEvent("m1", 5000, 7);
  ASSERT_TRUE(store().Settle());
  Close();
  files_["lost/"];
  for (const auto& [name, bytes] : FilesBelow(config().path)) {
    if (!name.ends_with(".blocks") || files_.contains(name)) continue;
    files_["lost/" + name.substr(name.find('/') + 1)] = bytes;
  }
  const SalvageReport report = MustSalvage();
  EXPECT_FALSE(report.whole());
  ASSERT_FALSE(report.findings.empty());
  EXPECT_THAT(report.findings.front().problem, HasSubstr("only copy"));
  ExpectHistory(history);
}

TEST_F(SalvageTest, AFileOfAnotherStoreIsLeftOut) {
  LoseBase();
  SmallStore other;
  other.Make();
  for (const auto& [name, bytes] : FilesBelow(other.config().path)) {
    if (name.ends_with(".blocks")) files_["blocks/9" + name.substr(8)] = bytes;
  }
  const SalvageReport report = MustSalvage();
  EXPECT_EQ(report.tables.at(1).entries, 13u);
  EXPECT_THAT(report.findings.back().problem, HasSubstr("of the store"));
  ExpectHistory(history);
}

TEST_F(SalvageTest, AHeadOfAnotherStoreThatCountsAsSealedIsTold) {
  SmallStore other;
  other.Make();
  const auto head = *std::filesystem::directory_iterator(other.config().path + "/heads");
  files_["heads/000001/"];
  for (const auto& [name, bytes] : FilesBelow(head.path())) files_["heads/000001/" + name] = bytes;
  const SalvageReport report = MustSalvage();
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_THAT(report.findings.front().problem, HasSubstr("left out"));
  ExpectHistory(history);
}

TEST_F(SalvageTest, WhatIsSalvagedIsTheSameStore) {
  MustSalvage();
  made_->Close();
  const auto made = FilesBelow(To());
  size_t files = 0;
  for (const auto& [name, bytes] : made) {
    if (!name.starts_with("blocks/") || name.ends_with('/')) continue;
    ++files;
    EXPECT_EQ(bytes, files_[name]);
  }
  EXPECT_EQ(files, Names("blocks/", ".blocks").size());
}

TEST_F(SalvageTest, OnlyAnEmptyDirectoryIsTaken) {
  std::filesystem::create_directories(To() + "/precious");
  for (const std::string& to : {To(), config().path, config().path + "/x", path()}) {
    const Result<SalvageReport> report = Salvage({config(), to, &progress_});
    ASSERT_FALSE(report) << to;
    EXPECT_EQ(report.error().code(), ErrorCode::kConflict);
  }
  StorageConfig nowhere = config();
  nowhere.path += "-2";
  const Result<SalvageReport> report = Salvage({nowhere, path() + "/to", &progress_});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code(), ErrorCode::kNotFound);
}

// Every byte of every file, once: never another value, and what is missing is told.
TEST_F(SalvageTest, NoDamageMakesAWrongValue) {
  const auto whole = files_;
  std::map<std::string, std::string> expected;
  for (const auto& [row, cells] : history) {
    for (const auto& [cell, text] : cells) expected[row + " " + cell] = text;
  }
  for (const auto& [name, bytes] : whole) {
    const std::string base = name.substr(name.rfind('/') + 1);
    if (base.empty() || base.starts_with("LO")) continue;
    for (size_t at = 0; at < bytes.size(); at += 1 + bytes.size() / 6) {
      files_ = whole;
      files_[name][at] ^= static_cast<char>(1 << at % 8);
      const SalvageReport report = MustSalvage();
      size_t found = 0;
      for (const auto& [row, cells] : made_->Read("H")) {
        for (const auto& [cell, text] : cells) {
          ++found;
          ASSERT_EQ(expected[row + " " + cell], text) << name << " " << at;
        }
      }
      EXPECT_TRUE(!report.whole() || found == expected.size()) << name << " " << at;
    }
  }
}

}  // namespace
}  // namespace tallyd
