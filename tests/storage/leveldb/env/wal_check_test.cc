#include "storage/leveldb/env/wal_check.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "storage/leveldb/env/crc32c.h"
#include "storage/leveldb/env/marked_env.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {
namespace {

namespace fs = std::filesystem;

std::string Little(uint64_t value, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) text.push_back(static_cast<char>(value >> 8 * i));
  return text;
}

// What is a whole record of a log in every respect.
std::string LikeARecord(uint64_t sequence) {
  const std::string data = Little(sequence, 8) + Little(1, 4) + "looks like a change";
  const uint32_t crc = ExtendCrc32c(0, "\x01" + data);
  const uint32_t masked = (crc >> 15 | crc << 17) + 0xa282ead8;
  return Little(masked, 4) + Little(data.size(), 2) + "\x01" + data;
}

// A store that was closed with everything still in its log.
class WalCheckTest : public ::testing::Test, public StoreHarness {
 protected:
  static constexpr int kWrites = 20;

  void SetUp() override {
    config().write_buffer = 16u << 20;
    Open();
    ASSERT_TRUE(Adopt(MakeSchema({MakeTable("H")})));
    for (int i = 0; i < kWrites; ++i) {
      const std::string text(5000, static_cast<char>('a' + i));
      ASSERT_TRUE(Write("H", Row(i), i, {{"A", "x", Value::String(text)}}));
    }
    Close();
    log_ = Log();
    bytes_ = Load(log_);
  }

  static std::string Row(int i) { return std::to_string(100 + i); }

  std::string Log() const {
    std::string newest;
    for (const auto& file : fs::directory_iterator(config_path())) {
      if (file.path().extension() == ".log") newest = std::max(newest, file.path().string());
    }
    return newest;
  }
  std::string config_path() const { return path() + "/db/heads/000001"; }
  static std::string Load(const std::string& name) {
    std::ifstream in(name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void Store(const std::string& bytes) {
    std::ofstream(log_, std::ios::binary | std::ios::trunc) << bytes;
  }
  std::vector<std::string> TornFiles() const {
    std::vector<std::string> torn;
    for (const auto& file : fs::directory_iterator(config_path())) {
      const std::string name = file.path().filename();
      if (name.find(".torn-") != std::string::npos) torn.push_back(file.path());
    }
    return torn;
  }
  void ExpectRefused() {
    const Status opened = TryOpen();
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code(), ErrorCode::kCorruption);
    EXPECT_THAT(opened.error().message(), ::testing::HasSubstr(".log"));
    EXPECT_EQ(Load(log_), Damaged()) << "nothing was changed";
    EXPECT_TRUE(TornFiles().empty());
  }
  // Where the last record begins.
  size_t LastRecord() const {
    const std::string_view cut = std::string_view(bytes_).substr(0, bytes_.size() - 1);
    return ScanLog(cut, [](std::string_view) { return true; }).good_end;
  }
  // That so many bytes at the end of the log were passed over.
  void ExpectTold(uint64_t bytes) {
    const auto tails = CutTails();
    ASSERT_EQ(tails.size(), 1u);
    EXPECT_EQ(tails[0], std::pair(std::string(log_), bytes));
  }
  // Events with texts of these sizes, of which no fsync is waited for.
  void WriteUnsynced(const std::vector<size_t>& sizes) {
    config().sync = Sync::kInterval;
    config().sync_interval_us = 3'600'000'000;
    Reopen();
    log_ = Log();
    synced_ = fs::file_size(log_);
    for (const size_t size : sizes) {
      const std::string row = "later" + std::to_string(fs::file_size(log_));
      ASSERT_TRUE(Write("H", row, 1, {{"A", "x", Value::String(std::string(size, 't'))}}));
    }
    unsynced_ = Load(log_);
    ASSERT_GT(unsynced_.size(), synced_);
  }
  // The log is then `bytes`, and what was noted as synced is as it was before it was closed.
  void LosePowerWith(const std::string& bytes) {
    const std::string notes = Load(config_path() + "/SYNCED");
    Close();
    Store(bytes);
    std::ofstream(config_path() + "/SYNCED", std::ios::binary | std::ios::trunc) << notes;
  }
  std::string Damaged() const { return damaged_; }
  void Damage(std::string bytes) {
    damaged_ = std::move(bytes);
    Store(damaged_);
  }

  std::string log_, bytes_, damaged_, unsynced_;
  uintmax_t synced_ = 0;
};

TEST_F(WalCheckTest, ACurrentThatNamesNoManifestIsNamed) {
  const std::string name = config_path() + "/CURRENT";
  const std::string whole = Load(name);
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] ^= 1;
    for (const std::string& bytes : {damaged, whole.substr(0, at)}) {
      std::ofstream(name, std::ios::binary) << bytes;
      const Status opened = TryOpen();
      ASSERT_FALSE(opened) << at;
      EXPECT_THAT(opened.error().message(), testing::HasSubstr(name)) << at;
    }
  }
  std::ofstream(name, std::ios::binary) << whole;
  EXPECT_TRUE(TryOpen());
}

TEST_F(WalCheckTest, AWholeLogOpens) {
  Reopen();
  EXPECT_EQ(Read("H").size(), size_t{kWrites});
  EXPECT_TRUE(TornFiles().empty());
}

// Behind what was synced.
TEST_F(WalCheckTest, ARecordThatEndsEarlyIsPassedOverAndTold) {
  Store(bytes_ + bytes_.substr(LastRecord(), 4000));
  Reopen();
  EXPECT_EQ(Read("H").size(), size_t{kWrites});
  EXPECT_TRUE(TornFiles().empty());
  ExpectTold(4000);
}

TEST_F(WalCheckTest, GarbageAtTheEndIsCutOffAndKept) {
  std::string garbage = bytes_.substr(LastRecord());
  garbage[10] ^= 1;
  Store(bytes_ + garbage);
  Reopen();
  EXPECT_EQ(Read("H").size(), size_t{kWrites});
  ASSERT_EQ(TornFiles().size(), 1u);
  EXPECT_EQ(Load(TornFiles()[0]), garbage);
  ExpectTold(garbage.size());
}

TEST_F(WalCheckTest, ZerosAfterTheEndAreRoom) {
  Store(bytes_ + std::string(100'000, '\0'));
  Reopen();
  EXPECT_EQ(Read("H").size(), size_t{kWrites});
  EXPECT_TRUE(TornFiles().empty());
  EXPECT_TRUE(CutTails().empty());
}

TEST_F(WalCheckTest, GarbageBeforeRoomIsCutOffAndKeptWithoutTheRoom) {
  std::string garbage = bytes_.substr(LastRecord());
  garbage[10] ^= 1;
  Store(bytes_ + garbage + std::string(100'000, '\0'));
  Reopen();
  EXPECT_EQ(Read("H").size(), size_t{kWrites});
  ASSERT_EQ(TornFiles().size(), 1u);
  EXPECT_EQ(Load(TornFiles()[0]), garbage);
  ExpectTold(garbage.size());
}

// Room is no place to lose what was synced in.
TEST_F(WalCheckTest, ALogOfWhichTheEndIsZerosIsRefused) {
  for (const size_t left : {size_t{0}, LastRecord(), bytes_.size() - 1000}) {
    Damage(bytes_.substr(0, left) + std::string(bytes_.size() - left + 5000, '\0'));
    ExpectRefused();
  }
}

TEST_F(WalCheckTest, AKilledProcessLeavesRoomThatIsNoTail) {
  Reopen();
  ASSERT_TRUE(Write("H", "later", 1, {{"A", "x", Value::Int(1)}}));
  log_ = Log();
  const std::string live = Load(log_);
  ASSERT_TRUE(live.ends_with(std::string(1000, '\0')));
  const std::string notes = Load(config_path() + "/SYNCED");
  Close();
  EXPECT_LT(fs::file_size(log_), live.size());
  Store(live);
  std::ofstream(config_path() + "/SYNCED", std::ios::binary | std::ios::trunc) << notes;
  Reopen();
  EXPECT_EQ(Read("H").size(), size_t{kWrites + 1});
  EXPECT_TRUE(CutTails().empty());
}

TEST_F(WalCheckTest, AWholeRecordThatWasNotSyncedIsKept) {
  WriteUnsynced({100});
  LosePowerWith(unsynced_.substr(0, unsynced_.size() - 1));
  Reopen();
  EXPECT_EQ(Read("H").size(), size_t{kWrites});
  EXPECT_EQ(CutTails().size(), 1u);
}

// Its first part is whole, and LevelDB would call what follows an error.
TEST_F(WalCheckTest, ARecordOfManyBlocksWithoutItsEndIsCutOffBeforeRoom) {
  WriteUnsynced({100'000});
  const size_t block = 32'768;
  std::string torn = unsynced_.substr(0, (synced_ / block + 2) * block);
  ASSERT_LT(torn.size(), unsynced_.size());
  torn.resize(unsynced_.size() + 50'000);
  LosePowerWith(torn);
  Reopen();
  EXPECT_EQ(Read("H").size(), size_t{kWrites});
  EXPECT_EQ(TornFiles().size(), 1u);
}

// With an interval the records of a while may be on their way, also when a log has just been made.
TEST_F(WalCheckTest, AHoleBeforeAWholeUnsyncedRecordIsATailAlsoWhereAnEmptyLogFollows) {
  WriteUnsynced({1000, 1000});
  std::string torn = unsynced_;
  torn.replace(synced_, 512, 512, '\0');
  LosePowerWith(torn);
  const uint64_t number = *LogNumber(fs::path(log_).filename().string());
  std::ofstream(config_path() + "/" + fmt::format("{:06}.log", number + 1)).flush();
  Reopen();
  EXPECT_EQ(Read("H").size(), size_t{kWrites});
  EXPECT_EQ(CutTails().size(), 1u);
}

// Of any sequence number: one that was, one that could be the next, one of another store.
TEST_F(WalCheckTest, ATornRecordWhosePayloadLooksLikeARecordIsATail) {
  uint64_t last = 0;
  ScanLog(bytes_, [&](std::string_view batch) {
    last = static_cast<uint8_t>(batch[0]) + 256u * static_cast<uint8_t>(batch[1]);
    return true;
  });
  const std::string whole = path() + "/whole";
  fs::copy(path() + "/db", whole, fs::copy_options::recursive);
  for (const uint64_t sequence : {uint64_t{1}, last, last + 3, uint64_t{1} << 40}) {
    fs::remove_all(path() + "/db");
    fs::copy(whole, path() + "/db", fs::copy_options::recursive);
    Reopen();
    log_ = Log();
    std::string text(1000, 'x');
    for (int i = 0; i < 3; ++i) text += LikeARecord(sequence) + std::string(500, 'x');
    const std::string notes = Load(config_path() + "/SYNCED");
    ASSERT_TRUE(Write("H", "later", 1, {{"A", "x", Value::String(text)}}));
    std::string torn = Load(log_);
    torn.replace(200, 100, 100, '\0');
    Close();
    Store(torn);
    std::ofstream(config_path() + "/SYNCED", std::ios::binary | std::ios::trunc) << notes;
    ASSERT_NO_FATAL_FAILURE(Reopen()) << sequence;
    EXPECT_EQ(Read("H").size(), size_t{kWrites}) << sequence;
    EXPECT_EQ(CutTails().size(), 1u) << sequence;
    Close();
  }
}

TEST_F(WalCheckTest, ALogThatIsCutAnywhereIsRefused) {
  for (size_t left = 0; left < bytes_.size(); left += 997) {
    Damage(bytes_.substr(0, left));
    ExpectRefused();
  }
}

// Also at the end of a record, where it looks whole.
TEST_F(WalCheckTest, ALogWithoutItsLastRecordIsRefused) {
  Damage(bytes_.substr(0, LastRecord()));
  ExpectRefused();
}

TEST_F(WalCheckTest, AFlipInTheLastRecordIsRefused) {
  std::string bytes = bytes_;
  bytes[bytes.size() - 10] ^= 1;
  Damage(bytes);
  ExpectRefused();
}

TEST_F(WalCheckTest, WithoutNotesTheLastRecordMayPassForATornOne) {
  fs::remove(config_path() + "/SYNCED");
  std::string bytes = bytes_;
  bytes[bytes.size() - 10] ^= 1;
  Store(bytes);
  Reopen();
  EXPECT_EQ(Read("H").size(), size_t{kWrites - 1});
  EXPECT_EQ(TornFiles().size(), 1u);
  EXPECT_EQ(CutTails().size(), 1u);
}

TEST_F(WalCheckTest, AFlippedBitInTheMiddleIsRefused) {
  std::string bytes = bytes_;
  bytes[bytes.size() / 2] ^= 0x10;
  Damage(bytes);
  ExpectRefused();
}

// LevelDB alone passes over this without a word.
TEST_F(WalCheckTest, ZerosInTheMiddleAreRefused) {
  std::string bytes = bytes_;
  bytes.replace(40'000, 4096, 4096, '\0');
  Damage(bytes);
  ExpectRefused();
}

TEST_F(WalCheckTest, AMissingPieceInTheMiddleIsRefused) {
  std::string bytes = bytes_;
  bytes.erase(32'768, 32'768);
  Damage(bytes);
  ExpectRefused();
}

TEST_F(WalCheckTest, AFlipOfAnyByteIsRefused) {
  // Sampled: each flip costs an open.
  for (size_t at = 3; at < bytes_.size(); at += 2499) {
    std::string bytes = bytes_;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x80);
    Damage(bytes);
    ExpectRefused();
  }
}

}  // namespace
}  // namespace tallyd
