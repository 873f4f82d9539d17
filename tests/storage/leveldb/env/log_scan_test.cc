// LevelDB's logs, as LevelDB itself wrote them, read without trust.
#include <gtest/gtest.h>
#include <leveldb/db.h>
#include <leveldb/env.h>
#include <leveldb/helpers/memenv.h>

#include <memory>

#include "storage/leveldb/env/wal_check.h"
#include "tests/storage/bytes/hostile_bytes.h"

namespace tallyd {
namespace {

class LogScanTest : public ::testing::Test {
 protected:
  LogScanTest() : env_(leveldb::NewMemEnv(leveldb::Env::Default())) {
    leveldb::Options options;
    options.env = env_.get();
    options.create_if_missing = true;
    options.write_buffer_size = 64u << 20;
    leveldb::DB* db = nullptr;
    EXPECT_TRUE(leveldb::DB::Open(options, "/db", &db).ok());
    db_.reset(db);
  }

  std::string Load(const std::string& ending) {
    std::vector<std::string> names;
    EXPECT_TRUE(env_->GetChildren("/db", &names).ok());
    std::string bytes;
    for (const std::string& name : names) {
      if (name.find(ending) == std::string::npos) continue;
      EXPECT_TRUE(leveldb::ReadFileToString(env_.get(), "/db/" + name, &bytes).ok());
    }
    return bytes;
  }
  // One record that has so many bytes and a few more.
  void Write(size_t bytes) {
    ASSERT_TRUE(db_->Put({}, "key", std::string(bytes, 'v')).ok());
    log_ = Load(".log");
    ends_.push_back(log_.size());
  }
  static LogScan Scan(std::string_view log, uint64_t* seen = nullptr) {
    uint64_t records = 0;
    const LogScan scan = ScanLog(log, [&](std::string_view record) {
      EXPECT_FALSE(record.empty());
      ++records;
      return true;
    });
    EXPECT_EQ(scan.records, records);
    EXPECT_LE(scan.good_end, log.size());
    if (seen != nullptr) *seen = records;
    return scan;
  }
  size_t RecordsWithin(size_t size) const {
    size_t records = 0;
    while (records < ends_.size() && ends_[records] <= size) ++records;
    return records;
  }

  std::unique_ptr<leveldb::Env> env_;
  std::unique_ptr<leveldb::DB> db_;
  std::string log_;
  std::vector<size_t> ends_;  // Of the records, in the log.
};

TEST_F(LogScanTest, AnEmptyLogIsClean) {
  const LogScan scan = Scan("");
  EXPECT_TRUE(scan.clean);
  EXPECT_EQ(scan.records, 0u);
}

TEST_F(LogScanTest, RecordsOfAnySizeAreGivenWholeAndInOrder) {
  std::mt19937_64 random(1);
  std::vector<size_t> sizes;
  for (int i = 0; i < 60; ++i) sizes.push_back(random() % (i % 10 == 0 ? 200'000 : 3000));
  for (const size_t size : sizes) Write(size);
  size_t next = 0;
  const LogScan scan = ScanLog(log_, [&](std::string_view record) {
    EXPECT_TRUE(record.ends_with(std::string(sizes[next++], 'v')));
    return true;
  });
  EXPECT_TRUE(scan.clean);
  EXPECT_EQ(scan.records, sizes.size());
  EXPECT_EQ(scan.good_end, log_.size());
}

TEST_F(LogScanTest, ALogThatIsCutEndsEarlyBehindItsLastWholeRecord) {
  for (const size_t size : {10u, 0u, 300u, 50u}) Write(size);
  for (size_t size = 0; size < log_.size(); ++size) {
    const LogScan scan = Scan(std::string_view(log_).substr(0, size));
    const size_t whole = RecordsWithin(size);
    const size_t end = whole == 0 ? 0 : ends_[whole - 1];
    ASSERT_EQ(scan.records, whole) << size;
    ASSERT_EQ(scan.good_end, end) << size;
    ASSERT_EQ(scan.clean, size == end) << size;
    ASSERT_TRUE(scan.clean || scan.ends_early) << size;
    ASSERT_FALSE(scan.good_after) << size;
  }
}

TEST_F(LogScanTest, ARecordOfManyBlocksThatIsCutIsNone) {
  Write(10);
  Write(100'000);
  std::mt19937_64 random(2);
  for (int round = 0; round < 200; ++round) {
    const size_t size = ends_[0] + 1 + random() % (log_.size() - ends_[0] - 1);
    const LogScan scan = Scan(std::string_view(log_).substr(0, size));
    ASSERT_EQ(scan.records, 1u) << size;
    ASSERT_EQ(scan.good_end, ends_[0]) << size;
    ASSERT_FALSE(scan.clean);
  }
}

TEST_F(LogScanTest, AFlippedBitIsDamageWithWholeRecordsAfterIt) {
  for (const size_t size : {10u, 0u, 300u, 50u}) Write(size);
  for (size_t at = 0; at < ends_[2]; ++at) {
    std::string damaged = log_;
    damaged[at] ^= 4;
    const LogScan scan = Scan(damaged);
    const size_t whole = RecordsWithin(at);
    ASSERT_FALSE(scan.clean) << at;
    ASSERT_EQ(scan.records, whole) << at;
    ASSERT_EQ(scan.good_end, whole == 0 ? 0 : ends_[whole - 1]) << at;
    ASSERT_EQ(scan.good_after, ends_[whole]) << at;
  }
}

TEST_F(LogScanTest, ZerosUpToTheEndAreRoomAndOthersAreDamage) {
  for (const size_t size : {10u, 40'000u}) Write(size);
  const std::string zeros(100'000, '\0');
  const LogScan scan = Scan(log_ + zeros);
  EXPECT_TRUE(scan.clean);
  EXPECT_EQ(scan.records, 2u);
  EXPECT_EQ(scan.good_end, log_.size());
  EXPECT_EQ(scan.end, log_.size());
  const LogScan empty = Scan(zeros);
  EXPECT_TRUE(empty.clean);
  EXPECT_EQ(empty.end, 0u);
  const LogScan between = Scan(log_ + std::string(500, '\0') + log_);
  EXPECT_FALSE(between.clean);
  EXPECT_EQ(between.good_end, log_.size());
  EXPECT_EQ(between.good_after, log_.size() + 500);
}

// As a power cut may leave it: sectors of the last record reached the disk in any order.
TEST_F(LogScanTest, ARecordWithHolesInRoomIsATailWithoutTheZerosBehindIt) {
  Write(10);
  Write(100'000);
  std::mt19937_64 random(5);
  for (int round = 0; round < 300; ++round) {
    std::string torn = log_ + std::string(random() % 50'000, '\0');
    for (size_t at = ends_[0]; at < log_.size(); at = (at / 512 + 1) * 512) {
      const size_t end = std::min((at / 512 + 1) * 512, log_.size());
      if (random() % 100 < static_cast<size_t>(round % 101)) std::fill_n(&torn[at], end - at, '\0');
    }
    const LogScan scan = Scan(torn);
    ASSERT_EQ(scan.end, torn.find_last_not_of('\0') + 1);
    const bool whole = torn.starts_with(log_);
    ASSERT_EQ(scan.records, whole ? 2u : 1u);
    ASSERT_EQ(scan.good_end, ends_[whole ? 1 : 0]);
    ASSERT_EQ(scan.clean, scan.end == scan.good_end);
    ASSERT_FALSE(scan.good_after);
  }
}

TEST_F(LogScanTest, ARecordThatCannotBeIsDamage) {
  Write(10);
  Write(20);
  uint64_t asked = 0;
  const LogScan scan = ScanLog(log_, [&](std::string_view) { return ++asked < 2; });
  EXPECT_EQ(scan.records, 1u);
  EXPECT_EQ(scan.good_end, ends_[0]);
  EXPECT_FALSE(scan.clean);
}

TEST_F(LogScanTest, DamagedLogsAreReadUpToTheDamage) {
  for (int i = 0; i < 40; ++i) Write(static_cast<size_t>(i) * 7);
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; ++round) {
    std::string damaged = log_;
    const size_t at = random() % damaged.size();
    damaged[at] ^= static_cast<char>(1 + random() % 255);
    if (random() % 2 == 0) damaged.resize(random() % damaged.size());
    const LogScan scan = Scan(damaged);
    ASSERT_LE(scan.records, RecordsWithin(damaged.size()));
    if (at < damaged.size()) {
      ASSERT_EQ(scan.records, RecordsWithin(at)) << "nothing of the record that has it";
    }
  }
}

TEST_F(LogScanTest, RandomBytesAreNoLog) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 10; ++round) {
    std::string bytes(random() % 20'000, '\0');
    for (char& c : bytes) c = static_cast<char>(random() % 4);
    EXPECT_EQ(Scan(bytes).records, 0u);
  }
}

TEST_F(LogScanTest, AManifestTellsTheLogInUse) {
  Write(10);
  ManifestFacts facts;
  const std::string manifest = Load("MANIFEST");
  ASSERT_FALSE(manifest.empty());
  const LogScan scan =
      ScanLog(manifest, [&](std::string_view edit) { return ReadEdit(edit, &facts); });
  EXPECT_TRUE(scan.clean);
  EXPECT_GT(scan.records, 0u);
  EXPECT_GT(facts.oldest_log, 0u);
}

TEST_F(LogScanTest, DamagedEditsAreRefusedOrRead) {
  std::vector<std::string> edits;
  db_->CompactRange(nullptr, nullptr);
  Write(10);
  db_->CompactRange(nullptr, nullptr);
  ScanLog(Load("MANIFEST"), [&](std::string_view edit) {
    edits.emplace_back(edit);
    return true;
  });
  ASSERT_GT(edits.size(), 1u);
  for (const std::string& edit : edits) {
    ManifestFacts facts;
    EXPECT_TRUE(ReadEdit(edit, &facts));
    EXPECT_FALSE(ReadEdit(edit + "\x08", &facts)) << "a tag that is not";
    EXPECT_FALSE(ReadEdit(edit + "\x01\x7f", &facts)) << "a name that is cut";
    DamageManyTimes(edit, [](std::string_view bytes) {
      ManifestFacts damaged;
      ReadEdit(bytes, &damaged);
    });
  }
}

}  // namespace
}  // namespace tallyd
