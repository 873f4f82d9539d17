#include "storage/leveldb/tools/store_builder.h"

#include <leveldb/db.h>
#include <leveldb/write_batch.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "storage/leveldb/env/status.h"
#include "storage/leveldb/files/block_file.h"
#include "storage/leveldb/files/head.h"
#include "storage/leveldb/tools/transfer.h"

namespace tallyd {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBatchBytes = 1u << 20;
constexpr char kBuildName[] = "restoring";  // Where base is made.
constexpr char kCurrentName[] = "CURRENT";

std::vector<fs::path> EntriesOf(const std::string& directory) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    entries.push_back(entry.path());
  }
  return entries;
}

Status Flush(leveldb::DB* db, leveldb::WriteBatch* batch) {
  leveldb::WriteOptions options;
  options.sync = true;
  const Status written = FromLevelDb(db->Write(options, batch));
  batch->Clear();
  return written;
}

}  // namespace

StoreBuilder::StoreBuilder(const StorageConfig& config)
    : config_(config),
      env_({[](double) {}, [] {}}),
      marked_(&env_, config.path + "/" + kBuildName) {}

Status StoreBuilder::CheckTarget() const {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(config_.path, error))) return {};
  if (fs::is_directory(config_.path, error) && fs::is_empty(config_.path, error)) return {};
  return Error(ErrorCode::kConflict,
               config_.path + " is not empty; a store is made in an empty directory only");
}

Status StoreBuilder::Begin() {
  std::error_code error;
  made_ = !fs::exists(config_.path, error);
  const fs::path parent = fs::path(config_.path).parent_path();
  fs::create_directories(parent, error);
  Status done = MakeDirectory(&env_, config_.path);
  for (const std::string& made : {blocks_directory(), HeadsDirectory(config_.path)}) {
    if (done) done = MakeDirectory(&env_, made);
  }
  return done;
}

std::string StoreBuilder::blocks_directory() const { return BlockFilesDirectory(config_.path); }

Status StoreBuilder::Write(uint64_t head, const std::function<Status(const Put&)>& fill) {
  const std::string directory =
      head == kBase ? Path(kBuildName) : HeadPath(HeadsDirectory(config_.path), head);
  Status done = MakeDirectory(&env_, directory);
  if (!done) return done;
  leveldb::Options options;
  options.create_if_missing = true;
  options.error_if_exists = true;
  options.env = &marked_;
  options.write_buffer_size = config_.write_buffer;
  options.max_file_size = config_.max_file_size;
  leveldb::DB* opened = nullptr;
  done = FromLevelDb(leveldb::DB::Open(options, directory, &opened));
  if (!done) return done;
  const std::unique_ptr<leveldb::DB> db(opened);
  leveldb::WriteBatch batch;
  done = fill([&](std::string_view key, std::string_view value) {
    batch.Put(ToSlice(key), ToSlice(value));
    return batch.ApproximateSize() < kBatchBytes ? Status() : Flush(db.get(), &batch);
  });
  return done ? Flush(db.get(), &batch) : done;
}

Status StoreBuilder::Complete() {
  Status done;
  for (const std::string& made :
       {blocks_directory(), HeadsDirectory(config_.path), Path(kBuildName)}) {
    if (done) done = FromLevelDb(env_.SyncDirectory(made));
  }
  for (const fs::path& from : EntriesOf(Path(kBuildName))) {
    const std::string name = from.filename();
    if (done && name != kCurrentName) done = FromLevelDb(env_.RenameFile(from, Path(name)));
  }
  const std::string current = Path(kBuildName) + "/" + kCurrentName;
  if (done) done = FromLevelDb(env_.RenameFile(current, Path(kCurrentName)));
  std::error_code error;
  if (done) fs::remove_all(Path(kBuildName), error);
  return done;
}

void StoreBuilder::Leave() {
  std::error_code error;
  for (const fs::path& entry : EntriesOf(config_.path)) fs::remove_all(entry, error);
  if (made_) fs::remove(config_.path, error);
}

}  // namespace tallyd
