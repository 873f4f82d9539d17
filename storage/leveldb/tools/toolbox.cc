#include "storage/leveldb/tools/toolbox.h"

#include <leveldb/db.h>
#include <leveldb/write_batch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

#include "storage/leveldb/env/space_guard.h"
#include "storage/leveldb/env/status.h"
#include "storage/leveldb/files/block_file.h"
#include "storage/leveldb/files/opener.h"
#include "storage/leveldb/files/view.h"

namespace tallyd {

namespace fs = std::filesystem;

namespace {

constexpr size_t kCopyBytes = 1u << 20;

Status Copy(StoreEnv* env, const std::string& from, const std::string& to, ToolProgress* progress) {
  leveldb::SequentialFile* opened = nullptr;
  Status done = FromLevelDb(env->NewSequentialFile(from, &opened));
  const std::unique_ptr<leveldb::SequentialFile> in(opened);
  leveldb::WritableFile* made = nullptr;
  if (done) done = FromLevelDb(env->NewWritableFile(to, &made));
  const std::unique_ptr<leveldb::WritableFile> out(made);
  const std::unique_ptr<char[]> buffer(new char[kCopyBytes]);
  while (done) {
    if (progress->stop) return Error(ErrorCode::kCancelled, "it was stopped");
    leveldb::Slice part;
    done = FromLevelDb(in->Read(kCopyBytes, &part, buffer.get()));
    if (done && part.empty()) break;
    if (done) done = FromLevelDb(out->Append(part));
    progress->done += part.size();
  }
  if (done) done = FromLevelDb(out->Sync());
  return done ? FromLevelDb(out->Close()) : done;
}

}  // namespace

bool Link(const std::string& from, const std::string& to) {
  return ::link(from.c_str(), to.c_str()) == 0;
}

Status LinkOrCopy(StoreEnv* env, const std::string& from, const std::string& to,
                  ToolProgress* progress, TransferCounts* counts) {
  if (env->FileExists(to)) return Error(ErrorCode::kConflict, to + " is there already");
  if (Link(from, to)) {
    ++counts->linked;
    return {};
  }
  const Status copied = Copy(env, from, to, progress);
  if (!copied) {
    ::unlink(to.c_str());
    return copied;
  }
  uint64_t bytes = 0;
  env->GetFileSize(to, &bytes).ok();
  ++counts->copied;
  counts->copied_bytes += bytes;
  return {};
}

Status ReplaceFile(StoreEnv* env, const std::string& path, std::string_view bytes) {
  const std::string made = path + ".new";
  leveldb::WritableFile* opened = nullptr;
  Status done = FromLevelDb(env->NewWritableFile(made, &opened));
  const std::unique_ptr<leveldb::WritableFile> file(opened);
  if (done) done = FromLevelDb(file->Append(ToSlice(bytes)));
  if (done) done = FromLevelDb(file->Sync());
  if (done) done = FromLevelDb(file->Close());
  if (done) done = FromLevelDb(env->RenameFile(made, path));
  if (done) done = FromLevelDb(env->SyncDirectory(fs::path(path).parent_path()));
  if (!done) ::unlink(made.c_str());
  return done;
}

Status MakeDirectory(StoreEnv* env, const std::string& path) {
  return env->FileExists(path) ? Status() : FromLevelDb(env->CreateDir(path));
}

namespace {


constexpr size_t kBatchBytes = 1u << 20;
constexpr mode_t kDirectoryMode = 0700;

// A daemon that was refused leaves its ballast.
bool HoldsNoData(const std::string& name) {
  return name == "." || name == ".." || name == kLockName || name == kBallastName;
}

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
      marked_(&env_, config.path + "/" + kUnfinishedName) {}

StoreBuilder::~StoreBuilder() { Unlock(); }

// What is seen before the lock is taken may be another's a moment later: that look only keeps
// directories that are of no concern as they are. Whether a mark's maker is alive the lock tells.
Status StoreBuilder::Take() {
  Status done = env_.FileExists(Path(kUnfinishedName)) ? Status() : CheckEmpty();
  if (!done) return done;
  done = MakePlace();
  if (done) done = Lock();
  for (const std::string& made :
       {Path(kUnfinishedName), blocks_directory(), HeadsDirectory(config_.path)}) {
    if (done) done = Make(made);
  }
  if (!done) Leave();
  return done;
}

Status StoreBuilder::CheckEmpty() const {
  std::error_code error;
  const fs::file_status status = fs::status(config_.path, error);
  if (!fs::exists(fs::symlink_status(config_.path, error))) return {};
  if (!fs::is_directory(status)) {
    return Error(ErrorCode::kConflict, config_.path + " is there, and is no directory");
  }
  std::vector<std::string> names;
  const Status listed =
      FromLevelDb(const_cast<DurableEnv&>(env_).GetChildren(config_.path, &names));
  if (!listed) return listed;
  if (std::find(names.begin(), names.end(), kUnfinishedName) != names.end()) {
    return Error(ErrorCode::kConflict, UnfinishedAdvice(config_.path));
  }
  if (std::all_of(names.begin(), names.end(), HoldsNoData)) return {};
  return Error(ErrorCode::kConflict,
               config_.path + " is not empty; a store is made in an empty directory only");
}

Status StoreBuilder::MakePlace() {
  std::error_code error;
  std::vector<fs::path> absent;
  for (fs::path at = fs::absolute(config_.path, error); !at.empty() && !fs::exists(at, error);
       at = at.parent_path()) {
    absent.push_back(at);
  }
  for (size_t i = absent.size(); i-- > 0;) {
    if (fs::create_directory(absent[i], error)) places_.push_back(absent[i]);
    if (error) return FromLevelDb(leveldb::Status::IOError(absent[i].string(), error.message()));
  }
  if (places_.empty()) return {};
  ::chmod(config_.path.c_str(), kDirectoryMode);
  return FromLevelDb(env_.SyncDirectory(places_.back().parent_path()));
}

Status StoreBuilder::Lock() {
  const std::string name = Path(kLockName);
  const bool was_there = env_.FileExists(name);
  Status done = FromLevelDb(env_.LockFile(name, &lock_));
  // The one that was locked can be a file that somebody who left has removed.
  const bool in_use = done ? !env_.FileExists(name) : done.error().code() == ErrorCode::kConflict;
  if (in_use) return Error(ErrorCode::kConflict, config_.path + " is in use by another process");
  if (done) done = CheckEmpty();
  made_lock_ = done && !was_there;
  return done;
}

// Only what was not there is its own.
Status StoreBuilder::Make(const std::string& directory) {
  if (::mkdir(directory.c_str(), kDirectoryMode) != 0) {
    return FromLevelDb(leveldb::Status::IOError(directory, std::strerror(errno)));
  }
  made_.push_back(directory);
  return FromLevelDb(env_.SyncDirectory(config_.path));
}

std::string StoreBuilder::blocks_directory() const { return BlockFilesDirectory(config_.path); }

Status StoreBuilder::Write(uint64_t head, const std::function<Status(const Put&)>& fill) {
  const std::string directory =
      head == kBase ? Path(kUnfinishedName) : HeadPath(HeadsDirectory(config_.path), head);
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

// CURRENT comes last: with it the store is complete, and the mark means nothing any more. LOCK
// stays the one that is held.
Status StoreBuilder::Complete() {
  Status done;
  for (const std::string& made :
       {blocks_directory(), HeadsDirectory(config_.path), Path(kUnfinishedName)}) {
    if (done) done = FromLevelDb(env_.SyncDirectory(made));
  }
  for (const fs::path& from : EntriesOf(Path(kUnfinishedName))) {
    const std::string name = from.filename();
    if (done && name != kCurrentName && name != kLockName) done = Move(name);
  }
  if (done) done = Move(kCurrentName);
  if (done) done = FromLevelDb(env_.SyncDirectory(config_.path));
  if (!done) return done;
  made_lock_ = false;
  places_.clear();
  made_.clear();
  std::error_code error;
  fs::remove_all(Path(kUnfinishedName), error);
  return {};
}

// A rename that fails may have been done.
Status StoreBuilder::Move(const std::string& name) {
  made_.push_back(Path(name));
  return FromLevelDb(env_.RenameFile(Path(kUnfinishedName) + "/" + name, Path(name)));
}

// CURRENT goes first and the mark last, so that a crash amid of it leaves what is refused.
void StoreBuilder::Leave() {
  std::error_code error;
  for (size_t i = made_.size(); i-- > 0;) fs::remove_all(made_[i], error);
  if (made_lock_) fs::remove(Path(kLockName), error);
  Unlock();
  for (size_t i = places_.size(); i-- > 0;) fs::remove(places_[i], error);
  made_lock_ = false;
  places_.clear();
  made_.clear();
}

void StoreBuilder::Unlock() {
  if (lock_ != nullptr) env_.UnlockFile(lock_).ok();
  lock_ = nullptr;
}

}  // namespace tallyd
