// The engine as the committer drives it: commits, a failed write, recovery, who may commit.
#include "storage/leveldb/commit/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "tests/storage/leveldb/commit/engine_fixture.h"

namespace tallyd {
namespace {

using EngineTest = EngineFixture;

TEST_F(EngineTest, WhatWasCommittedIsThereAfterAnotherOpen) {
  ASSERT_TRUE(Commit("L", "second"));
  const uint64_t last = engine_->state().last_sequence;
  ASSERT_TRUE(OpenEngine());
  EXPECT_EQ(Rows(), (Strings{"first", "second"}));
  EXPECT_EQ(engine_->state().last_sequence, last);
}

TEST_F(EngineTest, AGroupIsCommittedAsAWhole) {
  const auto one = NewBatch();
  const auto two = NewBatch();
  AddRow(one.get(), "L", "one", Value::Int(1));
  AddRow(two.get(), "L", "two", Value::Int(2));
  Batch* const group[] = {one.get(), two.get()};
  const uint64_t last = engine_->state().last_sequence;
  ASSERT_TRUE(engine_->Commit(group, true));
  EXPECT_EQ(Rows(), (Strings{"first", "one", "two"}));
  EXPECT_EQ(engine_->state().last_sequence, last + 2);
  EXPECT_GT(engine_->CommittedBytes(), 0u);
}

TEST_F(EngineTest, OfAFailedWriteNothingIsSeenAndRecoveryGoesOn) {
  disk_.FailAt(disk_.calls() + 1, Fault::kIo, true);
  EXPECT_FALSE(Commit("L", "lost"));
  EXPECT_EQ(Rows(), Strings{"first"});
  EXPECT_FALSE(engine_->Recover()) << "the disk still fails";
  disk_.Heal();
  ASSERT_TRUE(engine_->Recover());
  ASSERT_TRUE(Commit("L", "second"));
  const Strings rows = Rows();
  // Its log may have held it all the same: it was not acknowledged, and may be either.
  EXPECT_TRUE(rows == (Strings{"first", "second"}) || rows == (Strings{"first", "lost", "second"}));
  ASSERT_TRUE(OpenEngine());
  EXPECT_EQ(Rows(), rows) << "memory is what the disk has";
}

TEST_F(EngineTest, EachCallOfACommitMayFailOnce) {
  // A write in LevelDB's background may take the fault; it is the next commit that hears of it.
  bool background_failed = false;
  for (uint64_t call = 1; call < 50; ++call) {
    const std::string row = "row" + std::to_string(100 + call);
    disk_.FailAt(disk_.calls() + call, Fault::kNoSpace, false);
    const Status committed = Commit("L", row);
    const bool failed = disk_.failed();
    disk_.Heal();
    ASSERT_TRUE(committed || failed || background_failed);
    if (committed && !failed) return;
    background_failed = static_cast<bool>(committed);
    if (committed) continue;
    EXPECT_EQ(committed.error().code(), ErrorCode::kNoSpace);
    ASSERT_TRUE(engine_->Recover());
    ASSERT_TRUE(Commit("L", row));
    const Strings rows = Rows();
    EXPECT_TRUE(std::find(rows.begin(), rows.end(), row) != rows.end());
  }
  FAIL() << "a commit has fewer calls";
}

TEST_F(EngineTest, ABatchOfATableThatIsGoneIsRefused) {
  const auto batch = NewBatch();
  TableInfo gone = TableOf("L");
  gone.id = 99;
  const ColumnRef column{0, "x"};
  const Value value = Value::Int(1);
  batch->Put(gone, "row", 1, {&column, 1}, {&value, 1});
  const Status checked = engine_->Check(*batch);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code(), ErrorCode::kConflict);
}

TEST_F(EngineTest, BatchesAreMeasuredByWhatTheyHold) {
  const auto small = NewBatch();
  const auto large = NewBatch();
  AddRow(small.get(), "L", "row", Value::Int(1));
  AddRow(large.get(), "L", "row", Value::String(std::string(1000, 'v')));
  EXPECT_GT(engine_->BytesOf(*small), 0u);
  EXPECT_GT(engine_->BytesOf(*large), 1000u);
}

TEST_F(EngineTest, AFullHeadIsToldOf) {
  int told = 0;
  engine_->OnFullHead([&] { ++told; });
  ASSERT_TRUE(Commit("H", "small"));
  EXPECT_EQ(told, 0);
  const auto batch = NewBatch();
  const std::string text(engine_->head_bytes(), 'v');
  AddRow(batch.get(), "H", "large", Value::String(text));
  ASSERT_TRUE(CommitBatch(batch.get()));
  EXPECT_EQ(told, 1);
}

TEST_F(EngineTest, AnotherEngineMayNotHaveTheSameDirectory) {
  Engine* const first = engine_.release();
  const std::unique_ptr<Engine> keep(first);
  const auto metrics = std::move(metrics_);
  const auto registry = std::move(registry_);
  const Status opened = OpenEngine();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), ErrorCode::kConflict);
  engine_.reset();
}

TEST_F(EngineTest, WithoutRoomEventsAreRefusedAndWhatFreesRoomIsNot) {
  measure = [](const std::string&) { return VolumeSpace{1u << 30, 0}; };
  config().free_space_floor = 1u << 20;
  ASSERT_TRUE(OpenEngine());
  const auto events = NewBatch();
  AddRow(events.get(), "L", "row", Value::Int(1));
  EXPECT_EQ(engine_->Admit(*events).error().code(), ErrorCode::kNoSpace);
  const auto removal = NewBatch();
  removal->Delete(TableOf("H"), DeleteSpec{});
  removal->PutMemo("a note", "of the removal", NoteOrder::kBefore);
  EXPECT_TRUE(engine_->Admit(*removal));
  const auto note = NewBatch();
  note->PutMemo("a note", "alone", NoteOrder::kBefore);
  EXPECT_EQ(engine_->Admit(*note).error().code(), ErrorCode::kNoSpace);
  const auto change = NewBatch();
  change->Delete(TableOf("H"), DeleteSpec{});
  AddRow(change.get(), "H", "row", Value::Int(1));
  EXPECT_EQ(engine_->Admit(*change).error().code(), ErrorCode::kNoSpace);
}

// The files that are open outlive it.
TEST_F(EngineTest, NothingIsAcknowledgedIntoADirectoryThatIsGone) {
  ASSERT_TRUE(engine_->Admit());
  for (const bool all : {false, true}) {
    const std::string elsewhere = path() + "/elsewhere";
    std::filesystem::rename(all ? config().path : config().path + "/CURRENT", elsewhere);
    std::this_thread::sleep_for(std::chrono::milliseconds(110));
    EXPECT_EQ(engine_->Admit().error().code(), ErrorCode::kUnavailable);
    const auto batch = NewBatch();
    EXPECT_EQ(engine_->Admit(*batch).error().code(), ErrorCode::kUnavailable) << "of a delete, too";
    std::filesystem::rename(elsewhere, all ? config().path : config().path + "/CURRENT");
    std::this_thread::sleep_for(std::chrono::milliseconds(110));
    EXPECT_TRUE(engine_->Admit());
  }
  std::filesystem::remove_all(config().path);
  EXPECT_FALSE(Commit("H", "gone")) << "its log has no name";
  EXPECT_FALSE(engine_->Recover());
  EXPECT_FALSE(std::filesystem::exists(config().path + "/CURRENT"));
  EXPECT_EQ(engine_->space().free_bytes(), 0u);
}

// As somebody does who restores under the hands of the daemon: the directory itself stays.
void PutInPlaceOf(const std::string& store, const std::string& content) {
  for (const auto& entry : std::filesystem::directory_iterator(store)) {
    std::filesystem::remove_all(entry.path());
  }
  std::filesystem::copy(content, store, std::filesystem::copy_options::recursive);
}

TEST_F(EngineTest, AnOlderCopyInTheStoresPlaceIsRefusedUntilAnotherOpen) {
  const std::string older = path() + "/older";
  std::filesystem::copy(config().path, older, std::filesystem::copy_options::recursive);
  ASSERT_TRUE(Commit("L", "second"));
  PutInPlaceOf(config().path, older);
  EXPECT_FALSE(Commit("L", "third"));
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Status recovered = engine_->Recover();
    ASSERT_FALSE(recovered);
    EXPECT_THAT(recovered.error().message(), testing::HasSubstr("it holds an older state"));
    EXPECT_FALSE(engine_->database().is_open()) << "another process may have it";
    EXPECT_EQ(Rows(), (Strings{"first", "second"})) << "memory is what was acknowledged";
  }
  ASSERT_TRUE(OpenEngine());
  EXPECT_EQ(Rows(), Strings{"first"});
  EXPECT_TRUE(Commit("L", "third"));
}

TEST_F(EngineTest, AnotherStoreInTheStoresPlaceIsRefusedUntilAnotherOpen) {
  StoreHarness other;
  other.Open();
  ASSERT_TRUE(other.Adopt(MakeSchema({MakeTable("H"), MakeTable("L", Pattern::kLatest)})));
  for (TimeUs time = 1; time < 9; ++time) {
    ASSERT_TRUE(other.Write("L", "others", time, {{"A", "x", Value::Int(1)}}));
  }
  other.Close();
  const std::string own = engine_->database().shelf().store();
  PutInPlaceOf(config().path, other.config().path);
  EXPECT_FALSE(Commit("L", "second"));
  const Status recovered = engine_->Recover();
  ASSERT_FALSE(recovered);
  EXPECT_THAT(recovered.error().message(), testing::HasSubstr("it holds the store "));
  EXPECT_EQ(engine_->database().shelf().store(), own);
  EXPECT_EQ(Rows(), Strings{"first"});
  ASSERT_TRUE(OpenEngine());
  EXPECT_EQ(Rows(), Strings{"others"});
}

// The files that are open have names still, elsewhere.
TEST_F(EngineTest, NothingIsAcknowledgedIntoFilesThatWereMovedAside) {
  const std::string copy = path() + "/copy";
  const std::string aside = path() + "/aside";
  std::filesystem::copy(config().path, copy, std::filesystem::copy_options::recursive);
  ASSERT_TRUE(Commit("L", "second"));
  std::filesystem::create_directory(aside);
  for (const auto& entry : std::filesystem::directory_iterator(config().path)) {
    std::filesystem::rename(entry.path(), std::filesystem::path(aside) / entry.path().filename());
  }
  std::filesystem::copy(copy, config().path, std::filesystem::copy_options::recursive);
  std::this_thread::sleep_for(std::chrono::milliseconds(110));
  EXPECT_EQ(engine_->Admit().error().code(), ErrorCode::kUnavailable);
  EXPECT_FALSE(Commit("L", "third"));
  const Status recovered = engine_->Recover();
  ASSERT_FALSE(recovered);
  EXPECT_THAT(recovered.error().message(), testing::HasSubstr("it holds an older state"));
}

// As it was before this start, with as many changes.
TEST_F(EngineTest, ACopyFromBeforeTheStartIsRefusedThoughNothingWasWrittenSince) {
  engine_.reset();
  const std::string older = path() + "/older";
  std::filesystem::copy(config().path, older, std::filesystem::copy_options::recursive);
  ASSERT_TRUE(OpenEngine());
  PutInPlaceOf(config().path, older);
  EXPECT_FALSE(Commit("L", "second"));
  const Status recovered = engine_->Recover();
  ASSERT_FALSE(recovered);
  EXPECT_THAT(recovered.error().message(), testing::HasSubstr("before this start"));
}

TEST_F(EngineTest, ItsOwnContentPutBackIsGoneOnWith) {
  ASSERT_TRUE(Commit("L", "second"));
  const std::string saved = path() + "/saved";
  std::filesystem::copy(config().path, saved, std::filesystem::copy_options::recursive);
  PutInPlaceOf(config().path, saved);
  EXPECT_FALSE(Commit("L", "third"));
  ASSERT_TRUE(engine_->Recover());
  ASSERT_TRUE(Commit("L", "fourth"));
  EXPECT_EQ(Rows(), (Strings{"first", "fourth", "second"}));
}

}  // namespace
}  // namespace tallyd
