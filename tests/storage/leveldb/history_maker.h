// A database with one history table, whose entries a test puts into heads and block files itself.
#ifndef TALLYD_TESTS_STORAGE_LEVELDB_HISTORY_MAKER_H_
#define TALLYD_TESTS_STORAGE_LEVELDB_HISTORY_MAKER_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "storage/leveldb/catalogue/registries.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/env/durable_env.h"
#include "storage/leveldb/files/block_file.h"
#include "storage/leveldb/files/database.h"
#include "tests/storage/fault_env.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {

// A write to the column F:x.
struct HistoryEntry {
  std::string row;
  TimeUs time = 0;
  uint64_t sequence = 0;
  int64_t value = 0;
  std::string stored = {};  // What is stored, where that is not to be the value.

  // In the order of the store.
  bool operator<(const HistoryEntry& other) const {
    if (row != other.row) return row < other.row;
    return time != other.time ? time > other.time : sequence > other.sequence;
  }
};

class HistoryMaker {
 public:
  static constexpr TableId kTable = 3;
  static constexpr uint64_t kHeadBytes = 1u << 20;

  HistoryMaker() {
    config_.path = dir_.path() + "/db";
    std::filesystem::create_directories(config_.path);
    info_.id = kTable;
    info_.name = "T";
    info_.stream = "s";
    info_.families.resize(1);
    info_.families[0].name = "F";
    info_.families[0].configured = true;
    info_.family_rank = {0};
    const ColumnRef column{0, "x"};
    set_ = sets_.Intern(info_, {&column, 1});
    database_ = std::make_unique<Database>(config_, &env_);
  }

  const std::string& path() const { return config_.path; }
  FaultEnv& env() { return env_; }
  Database& database() { return *database_; }
  TablePtr table() const { return std::make_shared<const TableInfo>(info_); }
  Family& rules() { return info_.families[0].rules; }
  const ColumnRegistry& sets() const { return sets_; }
  const ColumnSet& set() const { return *set_; }

  void Open() {
    const Status opened = database_->Open(kHeadBytes);
    ASSERT_TRUE(opened) << opened.error().message();
    database_->AdmitReaders({}, {});
  }
  Status TryPut(const std::vector<HistoryEntry>& entries) {
    leveldb::WriteBatch batch;
    for (const HistoryEntry& entry : entries) {
      batch.Put(KeyOf(entry), BytesOf(entry));
      last_sequence_ = std::max(last_sequence_, entry.sequence);
    }
    std::string last;
    PutU64(&last, last_sequence_);
    batch.Put(MetaKey(MetaKind::kLastSequence), last);
    HeadWrite write;
    write.batch = &batch;
    write.sync = true;
    return database_->WriteHead(write, [] {});
  }
  // As one record of the head.
  Status TryPutGroup(const std::vector<HistoryEntry>& entries) {
    std::vector<std::pair<std::string, std::string>> bytes;
    for (const HistoryEntry& entry : entries) {
      bytes.emplace_back(KeyOf(entry), BytesOf(entry));
      last_sequence_ = std::max(last_sequence_, entry.sequence);
    }
    EntrySorter sorter;
    for (const auto& [key, value] : bytes) sorter.Add(key, value);
    leveldb::WriteBatch batch;
    std::string last;
    PutU64(&last, last_sequence_);
    batch.Put(MetaKey(MetaKind::kLastSequence), last);
    HeadWrite write;
    write.batch = &batch;
    write.sync = true;
    write.entries = sorter.TakeRun();
    write.sequence = last_sequence_;
    return database_->WriteHead(write, [] {});
  }
  void Put(const std::vector<HistoryEntry>& entries) { ASSERT_TRUE(TryPut(entries)); }
  void BeginHead() { ASSERT_TRUE(database_->BeginHead().value()); }
  void MakeFile(std::vector<HistoryEntry> entries) {
    std::sort(entries.begin(), entries.end());
    BlockFileInfo info;
    info.number = ++files_;
    info.width = kUsPerDay;
    info.window = entries.front().time / kUsPerDay * kUsPerDay;
    BlockFileWriter writer(&database_->shelf(), table(), info);
    for (const HistoryEntry& entry : entries) {
      ASSERT_TRUE(writer.FlushFull(entry.row, entry.time, 1));
      writer.builder().Add({entry.row, entry.time, entry.sequence}, *set_,
                           std::vector{Value::Int(entry.value)});
    }
    ASSERT_TRUE(writer.Complete());
    ASSERT_TRUE(writer.Sync());
    const BlockFilePtr file = writer.Finish();
    database_->ChangeView([&](View* view) { view->Replace({}, {file}); });
  }
  std::unique_ptr<Lease> NewLease() { return std::move(database_->NewLease()).value(); }

 private:
  static std::string KeyOf(const HistoryEntry& entry) {
    std::string key(MaxEntryKeyBytes(entry.row.size()), '\0');
    const char* end = EncodeEntryKey(key.data(), kTable, entry.row, entry.time);
    key.resize(static_cast<size_t>(end - key.data()));
    PatchSequence(key.data(), key.size(), entry.sequence);
    return key;
  }
  std::string BytesOf(const HistoryEntry& entry) const {
    if (!entry.stored.empty()) return entry.stored;
    ByteBuffer out;
    AppendEntry(*set_, std::vector{Value::Int(entry.value)}, &out);
    return {out.data(), out.size()};
  }

  TempDir dir_;
  FaultEnv env_;
  StorageConfig config_;
  TableInfo info_;
  ColumnRegistry sets_;
  const ColumnSet* set_ = nullptr;
  uint64_t files_ = 0;
  uint64_t last_sequence_ = 0;
  std::unique_ptr<Database> database_;
};

}  // namespace tallyd

#endif  // TALLYD_TESTS_STORAGE_LEVELDB_HISTORY_MAKER_H_
