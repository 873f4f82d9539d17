// A LevelDB store in a directory of its own, with verbs for tests: Write, Read, Reopen.
#ifndef TALLYD_TESTS_STORAGE_STORE_FIXTURE_H_
#define TALLYD_TESTS_STORAGE_STORE_FIXTURE_H_

#include <prometheus/registry.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/leveldb_store.h"
#include "tests/storage/store_verbs.h"

namespace tallyd {

class TempDir {
 public:
  // In memory, where there is room.
  TempDir();
  explicit TempDir(const std::filesystem::path& root);
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// As tests want it: small, without a reserve.
StorageConfig TestStorage(const TempDir& directory);

class StoreHarness : public StoreVerbs {
 public:
  explicit StoreHarness(StoreEnv* env = nullptr);
  ~StoreHarness() override;

  // Before Open.
  StorageConfig& config() { return config_; }
  void set_rows_at_once(uint64_t rows) { rows_at_once_ = rows; }  // See LevelDbStoreOptions.
  // See LevelDbStoreOptions.
  void set_block_columns(uint32_t columns) { block_columns_ = columns; }
  const std::string& path() const { return dir_.path(); }

  Status TryOpen();
  void Open();
  void Close() { store_.reset(); }
  void Reopen();  // Closes, opens, and adopts what was adopted last.
  Status Adopt(const Schema& schema);

  Store& store() override { return *store_; }

  // Until no delete waits to be purged.
  void AwaitPurge();
  // What the engine tells of itself, by its name in /v1/status.
  uint64_t Told(const std::string& member);
  // The ends of files that a start passed over: file and bytes.
  std::vector<std::pair<std::string, uint64_t>> CutTails();

  // The sum of a counter or gauge over its labels.
  double Metric(const std::string& name) const;
  // As the store tells it of itself, all labels together.
  double Gauge(const std::string& name);

  MeasureVolume measure;  // Before Open.

 private:
  TempDir dir_;
  StorageConfig config_;
  StoreEnv* env_;
  uint64_t rows_at_once_ = LevelDbStoreOptions().rows_at_once;
  uint32_t block_columns_ = LevelDbStoreOptions().block_columns;
  Schema adopted_;
  std::unique_ptr<prometheus::Registry> own_registry_;
  std::unique_ptr<Store> store_;
};

}  // namespace tallyd

#endif  // TALLYD_TESTS_STORAGE_STORE_FIXTURE_H_
