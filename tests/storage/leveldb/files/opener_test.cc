// What lies in a store's directory, damaged in every way that is to be noticed before it is opened.
#include "storage/leveldb/files/opener.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "storage/bytes/coding.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/commit/group_writer.h"
#include "storage/leveldb/env/marked_env.h"
#include "tests/storage/fault_calls.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

namespace fs = std::filesystem;

using Contents = std::map<std::string, std::string>;

std::string Load(const fs::path& name) {
  std::ifstream in(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void Store(const fs::path& name, const std::string& bytes) {
  std::ofstream(name, std::ios::binary | std::ios::trunc) << bytes;
}

// Of all files below it, by path, but for those that a mere attempt to open touches.
Contents Read(const std::string& directory) {
  Contents contents;
  for (const auto& file : fs::recursive_directory_iterator(directory)) {
    const std::string name = file.path().filename();
    if (!file.is_regular_file() || name == "LOCK" || name.starts_with("LOG")) continue;
    contents[file.path().lexically_relative(directory)] = Load(file.path());
  }
  return contents;
}

// A store with a sealed head, and two heads that are not: one closed, one newest.
class OpenerTest : public ::testing::Test, public StoreHarness {
 protected:
  void SetUp() override {
    Open();
    ASSERT_TRUE(Adopt(MakeSchema({MakeTable("H"), MakeTable("L", Pattern::kLatest)})));
    WriteRow("sealed");
    Close();
    fs::copy(config().path + "/heads/000001", first_, fs::copy_options::recursive);
    Reopen();
    ASSERT_TRUE(store().Settle());
    WriteRow("closed");
    Close();
    WriteToAnotherHead("newest");
    sound_ = path() + "/sound";
    fs::rename(config().path, sound_);
    ASSERT_FALSE(fs::exists(sound_ + "/heads/000001"));
    ASSERT_TRUE(fs::exists(sound_ + "/heads/000002/CURRENT"));
    ASSERT_TRUE(fs::exists(sound_ + "/heads/000003/CURRENT"));
  }

  void WriteRow(const std::string& row) {
    auto batch = NewBatch();
    Put(batch.get(), "H", row, 1, {{"A", "x", Value::Int(1)}});
    Put(batch.get(), "L", row, 1, {{"A", "x", Value::Int(1)}});
    ASSERT_TRUE(Commit(std::move(batch)));
  }

  // The sealer would seal the head before at once.
  void WriteToAnotherHead(const std::string& row) {
    Database database(config(), &disk_);
    EngineState state;
    ASSERT_TRUE(database.Open(1u << 20));
    ASSERT_TRUE(LoadEngineState(&database, &state));
    database.AdmitReaders({}, {});
    const Result<bool> begun = database.BeginHead();
    ASSERT_TRUE(begun && *begun);
    GroupWriter writer({&clock, Sync::kAlways, 2000}, &database, &state);
    LevelDbBatch batch(state.fields);
    const ColumnRef column{0, "x"};
    const Value value = Value::Int(1);
    for (const TablePtr& table : state.catalogue.Tables()) {
      batch.Put(*table, row, 1, {&column, 1}, {&value, 1});
    }
    batch.AddField("s", "x", 1);  // For base's log.
    LevelDbBatch* const group = &batch;
    ASSERT_TRUE(writer.Commit({&group, 1}, true));
  }

  // A copy to be damaged; the store opens that.
  void Restore() {
    fs::remove_all(config().path);
    fs::copy(sound_, config().path, fs::copy_options::recursive);
  }
  fs::path At(const std::string& name) { return config().path + "/" + name; }

  void ExpectRefused(const std::string& names) {
    const Contents before = tallyd::Read(config().path);
    const Status opened = TryOpen();
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code(), ErrorCode::kCorruption) << opened.error().message();
    EXPECT_THAT(opened.error().message(), ::testing::HasSubstr(names));
    EXPECT_THAT(opened.error().message(), ::testing::HasSubstr("salvage"));
    const Contents after = tallyd::Read(config().path);
    for (const auto& [name, bytes] : before) {
      const auto found = after.find(name);
      ASSERT_NE(found, after.end()) << name << " is gone";
      EXPECT_EQ(found->second, bytes) << name;
    }
  }

  // Of what only a head that is open tells.
  void ExpectRefusedOpen(const std::string& names) {
    const Status opened = TryOpen();
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code(), ErrorCode::kCorruption) << opened.error().message();
    EXPECT_THAT(opened.error().message(), ::testing::HasSubstr(names));
  }
  Contents BaseFiles() {
    Contents files;
    for (const auto& file : fs::directory_iterator(config().path)) {
      const std::string name = file.path().filename();
      if (file.is_regular_file() && name != "LOCK") files[name] = Load(file.path());
    }
    return files;
  }
  void PutBaseFiles(const Contents& files) {
    for (const auto& [name, bytes] : BaseFiles()) fs::remove(At(name));
    for (const auto& [name, bytes] : files) Store(At(name), bytes);
  }
  // By a set of columns, as events of one shape come.
  Status WriteInSet(const std::string& table, const std::string& column) {
    const TablePtr of = store().FindTable(table);
    const ColumnRef ref{0, column};
    const ColumnSet* const set = store().InternColumns(*of, {&ref, 1});
    const Value value = Value::Int(1);
    auto batch = NewBatch();
    batch->Put(*of, "r", 1, *set, {&value, 1});
    return Commit(std::move(batch));
  }

  void ExpectSound() {
    Reopen();
    EXPECT_EQ(StoreHarness::Read("H").size(), 3u);
    EXPECT_EQ(StoreHarness::Read("L").size(), 3u);
    Close();
  }

  // The log or manifest in use in a directory of the store.
  std::string InUse(const std::string& directory, bool log) {
    const SyncedNote note = SyncedNotes::Read(&disk_, sound_ + "/" + directory)->last;
    const std::string name = log ? fmt::format("{:06}.log", note.log.number)
                                 : fmt::format("MANIFEST-{:06}", note.manifest.number);
    return directory.empty() ? name : directory + "/" + name;
  }
  std::vector<std::string> AllInUse() {
    std::vector<std::string> names;
    for (const char* directory : {"", "heads/000002", "heads/000003"}) {
      for (const bool log : {false, true}) names.push_back(InUse(directory, log));
    }
    return names;
  }

  DurableEnv disk_{{[](double) {}, [] {}}};
  std::string sound_;
  const std::string first_ = path() + "/first";  // The head that was sealed, as it was before.
};

TEST_F(OpenerTest, ASoundStoreOpens) {
  Restore();
  ExpectSound();
}

// One call that fails at a start: what it was to read is there all the same.
TEST_F(OpenerTest, NoDirectoryOrFileThatCannotBeReadIsTakenForAbsent) {
  Restore();
  FaultCalls calls(path());
  ExpectSound();
  int refused = 0;
  for (const CallFault& kind : KindsOf(calls.TakeCalls())) {
    const bool looks =
        kind.call == "readdir" || kind.call == "stat" || kind.call == "open" || kind.call == "read";
    if (!looks) continue;
    for (const uint64_t at : {1, 3}) {
      Restore();
      CallFault fault = kind;
      fault.at = at;
      calls.Fail(fault);
      const Status opened = TryOpen();
      Close();
      calls.Heal();
      SCOPED_TRACE(fault.call + " " + fault.path + " " + std::to_string(at));
      refused += opened ? 0 : 1;
      ASSERT_NO_FATAL_FAILURE(ExpectSound());
    }
  }
  EXPECT_GT(refused, 5);
}

TEST_F(OpenerTest, NoStoreIsMadeInThePlaceOfOneThatWasOpen) {
  Restore();
  Database database(config(), &disk_);
  ASSERT_TRUE(database.Open(1u << 20));
  database.AdmitReaders({}, {});
  database.Close();
  fs::rename(config().path, path() + "/elsewhere");
  fs::create_directory(config().path);
  const Status opened = database.Open(1u << 20);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::kIo);
  EXPECT_FALSE(fs::exists(At("CURRENT")));
  fs::remove_all(config().path);
  fs::rename(path() + "/elsewhere", config().path);
  EXPECT_TRUE(database.Open(1u << 20));
}

TEST_F(OpenerTest, WhatARestoreLeftUnfinishedIsRefused) {
  fs::create_directories(At("restoring"));
  const Status opened = TryOpen();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::kConflict);
  EXPECT_THAT(opened.error().message(), ::testing::HasSubstr("restore or salvage again"));
  EXPECT_THAT(opened.error().message(), ::testing::Not(::testing::HasSubstr("another process")));
  EXPECT_FALSE(fs::exists(At("CURRENT")));
  Restore();
  fs::create_directories(At("restoring"));
  ExpectSound();  // It was complete.
}

TEST_F(OpenerTest, AFlipInALogOrManifestIsRefused) {
  for (const std::string& name : AllInUse()) {
    const std::string bytes = Load(sound_ + "/" + name);
    ASSERT_FALSE(bytes.empty()) << name;
    const size_t step = std::max<size_t>(1, bytes.size() / 40);
    for (size_t at = 0; at < bytes.size(); at += step) {
      SCOPED_TRACE(name + " at " + std::to_string(at));
      Restore();
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ 1);
      Store(At(name), damaged);
      ExpectRefused(name);
      if (HasFailure()) return;
    }
  }
}

TEST_F(OpenerTest, ALogOrManifestThatIsCutIsRefused) {
  for (const std::string& name : AllInUse()) {
    const std::string bytes = Load(sound_ + "/" + name);
    const size_t step = std::max<size_t>(1, bytes.size() / 40);
    for (size_t left = 0; left < bytes.size(); left += step) {
      SCOPED_TRACE(name + " cut to " + std::to_string(left));
      Restore();
      Store(At(name), bytes.substr(0, left));
      ExpectRefused(name);
      if (HasFailure()) return;
    }
  }
}

TEST_F(OpenerTest, ALogThatIsGoneIsRefused) {
  for (const char* directory : {"", "heads/000002", "heads/000003"}) {
    const std::string log = InUse(directory, true);
    Restore();
    fs::remove(At(log));
    ExpectRefused(log);
  }
}

TEST_F(OpenerTest, WhatFollowsTheSyncedBytesIsPassedOverAndTold) {
  for (const std::string& name : AllInUse()) {
    SCOPED_TRACE(name);
    // Closed heads were synced as they were closed.
    if (name.starts_with("heads/000002") && name.ends_with(".log")) continue;
    Restore();
    Store(At(name), Load(At(name)) + "torn");
    Reopen();
    const auto tails = CutTails();
    ASSERT_EQ(tails.size(), 1u);
    EXPECT_EQ(tails[0], std::pair(At(name).string(), uint64_t{4}));
    ExpectSound();
  }
}

TEST_F(OpenerTest, GarbageBehindAHeadThatAnotherFollowsIsRefused) {
  Restore();
  const std::string log = InUse("heads/000002", true);
  Store(At(log), Load(At(log)) + "torn");
  ExpectRefused(log);
}

TEST_F(OpenerTest, ABaseThatIsGoneBesideHeadsIsRefused) {
  Restore();
  for (const auto& file : fs::directory_iterator(config().path)) {
    if (file.is_regular_file()) fs::remove(file.path());
  }
  ExpectRefused("CURRENT");
  fs::remove_all(At("heads"));
  ExpectRefused("CURRENT");  // The block files are left.
}

TEST_F(OpenerTest, AMissingCurrentIsRefused) {
  for (const std::string directory : {"", "heads/000002/", "heads/000003/"}) {
    Restore();
    fs::remove(At(directory + "CURRENT"));
    ExpectRefused(directory + "CURRENT");
  }
}

TEST_F(OpenerTest, AnEmptyBaseBesideHeadsIsRefused) {
  Restore();
  for (const auto& file : fs::directory_iterator(config().path)) {
    if (file.is_regular_file()) fs::remove(file.path());
  }
  leveldb::DB* empty = nullptr;
  leveldb::Options options;
  options.create_if_missing = true;
  ASSERT_TRUE(leveldb::DB::Open(options, config().path, &empty).ok());
  delete empty;
  ExpectRefused("heads holds data");
}

TEST_F(OpenerTest, AHeadThatIsGoneIsRefused) {
  Restore();
  fs::remove_all(At("heads/000002"));
  ExpectRefused("heads/000002");
  fs::create_directory(At("heads/000002"));
  ExpectRefused("heads/000002");
  fs::remove_all(At("heads"));
  ExpectRefused("heads/000002");
}

// The head before knows, which has to be opened for that.
TEST_F(OpenerTest, ANewestHeadThatIsGoneIsRefused) {
  Restore();
  fs::remove_all(At("heads/000003"));
  for (int i = 0; i < 2; ++i) {
    const Status opened = TryOpen();
    ASSERT_FALSE(opened);
    EXPECT_THAT(opened.error().message(), ::testing::HasSubstr("heads/000003 is missing"));
    EXPECT_FALSE(fs::exists(At("heads/000003/CURRENT")));
  }
  fs::copy(sound_ + "/heads/000003", At("heads/000003"), fs::copy_options::recursive);
  ExpectSound();
}

TEST_F(OpenerTest, ASealedHeadThatIsLeftIsRemoved) {
  Restore();
  fs::copy(first_, At("heads/000001"), fs::copy_options::recursive);
  leveldb::DB* head = nullptr;
  ASSERT_TRUE(leveldb::DB::Open(leveldb::Options(), At("heads/000001"), &head).ok());
  std::string next;
  PutU64(&next, 2);
  ASSERT_TRUE(head->Put({}, MetaKey(MetaKind::kClosedHead), next).ok());
  delete head;
  ExpectSound();
  EXPECT_FALSE(fs::exists(At("heads/000001")));
  EXPECT_FALSE(fs::exists(At("lost")));
}

TEST_F(OpenerTest, AnotherHeadInThePlaceOfASealedOneGoesToLost) {
  Restore();
  fs::copy(At("heads/000002"), At("heads/000001"), fs::copy_options::recursive);
  ExpectSound();
  EXPECT_FALSE(fs::exists(At("heads/000001")));
  EXPECT_TRUE(fs::exists(At("lost/head-000001/CURRENT")));
}

// A crash leaves this where the next head was being made.
TEST_F(OpenerTest, AHeadThatIsNotWholeYetIsMadeAnew) {
  Restore();
  fs::create_directory(At("heads/000004"));
  Store(At("heads/000004/MANIFEST-000001"), "");
  ExpectSound();
  ExpectSound();
}

// Two alike stores have heads of the same numbers.
TEST_F(OpenerTest, AHeadOfAnotherStoreIsRefused) {
  Restore();
  leveldb::DB* head = nullptr;
  ASSERT_TRUE(leveldb::DB::Open(leveldb::Options(), At("heads/000003"), &head).ok());
  std::string id;
  ASSERT_TRUE(head->Get({}, MetaKey(MetaKind::kStoreId), &id).ok()) << "with the first commit";
  ASSERT_TRUE(head->Put({}, MetaKey(MetaKind::kStoreId), std::string(16, 'x')).ok());
  delete head;
  const Status opened = TryOpen();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::kCorruption);
  EXPECT_THAT(opened.error().message(),
              ::testing::HasSubstr("heads/000003 is a head of the store 78787878"));
  ASSERT_TRUE(leveldb::DB::Open(leveldb::Options(), At("heads/000003"), &head).ok());
  ASSERT_TRUE(head->Delete({}, MetaKey(MetaKind::kStoreId)).ok());
  delete head;
  ExpectSound();  // As a tallyd from before format 9 left it.
}

// What adds up in it would count twice.
TEST_F(OpenerTest, AHeadThatLiesThereTwiceIsRefused) {
  for (const std::string& from : {sound_ + "/heads/000003", sound_ + "/heads/000002", first_}) {
    Restore();
    fs::copy(from, At("heads/000004"), fs::copy_options::recursive);
    ExpectRefusedOpen("heads/000004 contradicts what lies beside it: it is a copy of head ");
  }
}

TEST_F(OpenerTest, ABaseThatIsOlderThanTheTablesOfAHeadIsRefused) {
  Restore();
  Reopen();
  ASSERT_TRUE(store().Settle());
  Close();
  const Contents older = BaseFiles();
  Reopen();
  ASSERT_TRUE(
      Adopt(MakeSchema({MakeTable("H"), MakeTable("L", Pattern::kLatest), MakeTable("N")})));
  ASSERT_TRUE(Write("N", "r", 1, {{"A", "x", Value::Int(1)}}));
  Close();
  Reopen();  // Sound as it is.
  Close();
  PutBaseFiles(older);
  ExpectRefusedOpen("has entries of table 3 (N), and base, which is older");
}

TEST_F(OpenerTest, ABaseThatIsOlderThanTheColumnsOfAHeadIsRefused) {
  Restore();
  Reopen();
  ASSERT_TRUE(store().Settle());
  Close();
  const Contents older = BaseFiles();
  Reopen();
  ASSERT_TRUE(WriteInSet("H", "other"));
  Close();
  Reopen();
  Close();
  PutBaseFiles(older);
  ExpectRefusedOpen("base, which is older, has no such set");
}

// The log that a start begins says of which store it is, not only the head's first one.
TEST_F(OpenerTest, AHeadsLogOfAnotherStoreIsRefused) {
  const auto make = [](StoreHarness* store) {
    store->Open();
    for (const char* row : {"one", "two"}) {
      ASSERT_TRUE(store->Adopt(MakeSchema({MakeTable("H")})));
      ASSERT_TRUE(store->Write("H", row, 1, {{"A", "x", Value::Int(1)}}));
      store->Close();
      if (std::string_view(row) == "one") store->Open();
    }
  };
  StoreHarness one;
  StoreHarness other;
  make(&one);
  make(&other);
  const std::string to = one.config().path + "/heads/000001";
  for (const auto& file : fs::directory_iterator(other.config().path + "/heads/000001")) {
    const std::string name = file.path().filename();
    if (!name.ends_with(".log") && name != "SYNCED") continue;
    ASSERT_TRUE(fs::exists(to + "/" + name)) << "they are alike";
    fs::copy(file.path(), to + "/" + name, fs::copy_options::overwrite_existing);
  }
  const Status opened = one.TryOpen();
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message(), ::testing::HasSubstr("is a head of the store"));
}

TEST_F(OpenerTest, WithoutNotesItOpens) {
  Restore();
  for (const char* name : {"SYNCED", "heads/000002/SYNCED", "heads/000003/SYNCED"}) {
    fs::remove(At(name));
  }
  ExpectSound();
}

}  // namespace
}  // namespace tallyd
