// A store whose background work is watched: files on the disk, metrics, damage.
#ifndef TALLYD_TESTS_STORAGE_LEVELDB_SEAL_SEALER_FIXTURE_H_
#define TALLYD_TESTS_STORAGE_LEVELDB_SEAL_SEALER_FIXTURE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/storage/store_fixture.h"

namespace tallyd {

inline constexpr uint64_t kMiB = 1u << 20;

class SealerFixture : public ::testing::Test, public StoreHarness {
 protected:
  void Put(const std::string& table, const std::string& row, TimeUs time, int64_t value) {
    ASSERT_TRUE(Write(table, row, time, {{"A", "x", Value::Int(value)}}));
  }
  // Rows `prefix`0000 and so on, of one time each, in one batch.
  void PutRows(const std::string& table, const std::string& prefix, int rows) {
    auto batch = NewBatch();
    for (int i = 0; i < rows; ++i) {
      StoreHarness::Put(batch.get(), table, prefix + std::to_string(10'000 + i), clock.Now(),
                        {{"A", "x", Value::Int(i)}});
    }
    ASSERT_TRUE(Commit(std::move(batch)));
  }
  std::vector<std::filesystem::path> BlockFiles() const {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(config_path() + "/blocks")) {
      files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
  }
  std::string config_path() const { return path() + "/db"; }
  static void FlipByteAt(const std::filesystem::path& file, std::streamoff at) {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekg(at);
    const auto byte = static_cast<char>(bytes.get() ^ 0x40);
    bytes.seekp(at);
    bytes.put(byte);
  }
  template <class Condition>
  static bool Await(Condition condition) {
    for (int i = 0; i < 3000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
};

}  // namespace tallyd

#endif  // TALLYD_TESTS_STORAGE_LEVELDB_SEAL_SEALER_FIXTURE_H_
