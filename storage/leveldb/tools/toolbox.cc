#include "storage/leveldb/tools/toolbox.h"

#include <fcntl.h>
#include <fmt/format.h>
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

Error ErrorOf(const std::string& path, int number) {
  return FromLevelDb(FromErrno(path, number)).error();
}

// A file that nobody else has a name of.
Status MakeFresh(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return ErrorOf(path, errno);
  const int made = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode);
  if (made < 0) return ErrorOf(path, errno);
  ::close(made);
  return {};
}

// To a name that is this copy's only.
Status Copy(StoreEnv* env, const std::string& from, const std::string& to, ToolProgress* progress) {
  uint64_t size = 0;
  uint64_t copied = 0;
  Status done = FromLevelDb(env->GetFileSize(from, &size));
  leveldb::SequentialFile* opened = nullptr;
  if (done) done = FromLevelDb(env->NewSequentialFile(from, &opened));
  const std::unique_ptr<leveldb::SequentialFile> in(opened);
  if (done) done = MakeFresh(to);
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
    copied += part.size();
    progress->done += part.size();
  }
  if (done) done = FromLevelDb(out->Sync());
  if (done) done = FromLevelDb(out->Close());
  if (done && copied != size) {
    return Error(ErrorCode::kIo,
                 fmt::format("{} has {} bytes, and {} of them could be read", from, size, copied));
  }
  return done;
}

// Whatever links lead there.
bool IsOneFile(const std::string& one, const std::string& other) {
  struct stat of_one {};
  struct stat of_other {};
  return ::stat(one.c_str(), &of_one) == 0 && ::stat(other.c_str(), &of_other) == 0 &&
         of_one.st_dev == of_other.st_dev && of_one.st_ino == of_other.st_ino;
}

}  // namespace

bool IsWithin(const fs::path& path, const fs::path& directory) {
  for (fs::path at = path;; at = at.parent_path()) {
    std::error_code unknown;  // Of what is not there.
    if (at == directory || fs::equivalent(at, directory, unknown)) return true;
    if (!at.has_relative_path()) return false;
  }
}

Result<bool> Exists(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return ErrorOf(path, errno);
}

// Of the file that a symbolic link leads to: a name of the link would have none of its bytes.
Result<bool> Link(const std::string& from, const std::string& to) {
  std::error_code error;
  const bool is_link = fs::is_symlink(fs::path(from), error);
  const std::string file = is_link ? fs::canonical(from, error).string() : from;
  if (error) return ErrorOf(from, error.value());
  if (::link(file.c_str(), to.c_str()) == 0) return true;
  const int failed = errno;
  const Result<bool> is_there = Exists(to);
  if (!is_there) return is_there.error();
  if (*is_there && failed != EEXIST && IsOneFile(file, to)) return true;
  if (*is_there) return Error(ErrorCode::kConflict, to + " is there already");
  return false;
}

Status MoveOver(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return {};
  const int failed = errno;
  const Result<bool> is_left = Exists(from);
  const Result<bool> is_there = Exists(to);
  if (is_left && !*is_left && is_there && *is_there) return {};
  return ErrorOf(to, failed);
}

Status LinkOrCopy(StoreEnv* env, const std::string& from, const std::string& to,
                  ToolProgress* progress, TransferCounts* counts, Transfer how) {
  const Result<bool> linked = how == Transfer::kCopy ? Result<bool>(false) : Link(from, to);
  if (!linked) return linked.error();
  if (*linked) {
    ++counts->linked;
    return {};
  }
  const Result<bool> is_there = Exists(to);
  if (!is_there) return is_there.error();
  if (*is_there) return Error(ErrorCode::kConflict, to + " is there already");
  const std::string made = to + ".new";
  Status copied = Copy(env, from, made, progress);
  uint64_t bytes = 0;
  if (copied) copied = FromLevelDb(env->GetFileSize(made, &bytes));
  if (copied) copied = MoveOver(made, to);
  if (!copied) {
    ::unlink(made.c_str());
    return copied;
  }
  ++counts->copied;
  counts->copied_bytes += bytes;
  return {};
}

bool HaveSameBytes(leveldb::Env* env, const std::string& one, const std::string& other) {
  if (IsOneFile(one, other)) return true;
  const std::unique_ptr<char[]> buffers(new char[2 * kCopyBytes]);
  std::unique_ptr<leveldb::RandomAccessFile> files[2];
  uint64_t sizes[2] = {0, 0};
  for (const size_t i : {0, 1}) {
    const std::string& path = i == 0 ? one : other;
    leveldb::RandomAccessFile* opened = nullptr;
    if (!env->GetFileSize(path, &sizes[i]).ok()) return false;
    if (!env->NewRandomAccessFile(path, &opened).ok()) return false;
    files[i].reset(opened);
  }
  if (sizes[0] != sizes[1]) return false;
  for (uint64_t at = 0; at < sizes[0]; at += kCopyBytes) {
    const size_t size = std::min<uint64_t>(kCopyBytes, sizes[0] - at);
    leveldb::Slice parts[2];
    for (const size_t i : {0, 1}) {
      char* const buffer = buffers.get() + i * kCopyBytes;
      if (!files[i]->Read(at, size, &parts[i], buffer).ok() || parts[i].size() != size)
        return false;
    }
    if (parts[0] != parts[1]) return false;
  }
  return true;
}

Status ReplaceFile(StoreEnv* env, const std::string& path, std::string_view bytes) {
  const std::string made = path + ".new";
  Status done = MakeFresh(made);
  leveldb::WritableFile* opened = nullptr;
  if (done) done = FromLevelDb(env->NewWritableFile(made, &opened));
  const std::unique_ptr<leveldb::WritableFile> file(opened);
  if (done) done = FromLevelDb(file->Append(ToSlice(bytes)));
  if (done) done = FromLevelDb(file->Sync());
  if (done) done = FromLevelDb(file->Close());
  if (done) done = FromLevelDb(env->RenameFile(made, path));
  // A bare name lies in the working directory.
  const std::string directory = std::filesystem::path(path).parent_path();
  if (done) done = FromLevelDb(env->SyncDirectory(directory.empty() ? "." : directory));
  if (!done) ::unlink(made.c_str());
  return done;
}

Status MakeDirectory(StoreEnv* env, const std::string& path) {
  const Result<bool> is_there = Exists(path);
  if (!is_there) return is_there.error();
  return *is_there ? Status() : FromLevelDb(env->CreateDir(path));
}

namespace {

// mkfs makes it for fsck, in the root of a volume.
constexpr char kLostAndFound[] = "lost+found";

bool IsOfNobody(const std::string& name) {
  return name == "." || name == ".." || name == kLostAndFound;
}

}  // namespace

Result<bool> IsEmptyDirectory(StoreEnv* env, const std::string& path) {
  std::vector<std::string> names;
  const Status listed = FromLevelDb(env->GetChildren(path, &names));
  if (!listed) return listed.error();
  return std::all_of(names.begin(), names.end(), IsOfNobody);
}

Result<Owner> OwnerOf(const std::string& path) {
  std::error_code error;
  for (std::filesystem::path at = std::filesystem::absolute(path, error); !at.empty();
       at = at.parent_path()) {
    struct stat status {};
    if (::stat(at.c_str(), &status) == 0) return Owner{status.st_uid, status.st_gid};
    if (errno != ENOENT || at == at.parent_path()) return ErrorOf(at, errno);
  }
  return ErrorOf(path, ENOENT);
}

// What has another name is shared: to change its owner would change it for both.
Status GiveTo(const Owner& owner, const std::string& path) {
  if (::geteuid() != 0) return {};
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return ErrorOf(path, errno);
  const bool is_directory = S_ISDIR(status.st_mode);
  const bool is_own = is_directory || status.st_nlink == 1;
  const bool is_given = Owner{status.st_uid, status.st_gid} == owner;
  if (is_own && !is_given && ::lchown(path.c_str(), owner.user, owner.group) != 0) {
    return ErrorOf(path, errno);
  }
  if (!is_directory) return {};
  std::vector<std::string> names;
  const Status listed = FromLevelDb(leveldb::Env::Default()->GetChildren(path, &names));
  if (!listed) return listed;
  for (const std::string& name : names) {
    if (name == "." || name == "..") continue;
    const Status given = GiveTo(owner, path + "/" + name);
    if (!given) return given;
  }
  return {};
}

namespace {


constexpr size_t kBatchBytes = 1u << 20;
constexpr mode_t kDirectoryMode = 0700;

// A daemon that was refused leaves its ballast.
bool HoldsNoData(const std::string& name) {
  return IsOfNobody(name) || name == kLockName || name == kBallastName;
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
  const Result<bool> is_marked = Exists(Path(kUnfinishedName));
  const Result<Owner> owner = OwnerOf(config_.path);
  if (!is_marked) return is_marked.error();
  if (!owner) return owner.error();
  owner_ = *owner;
  Status done = *is_marked ? Status() : CheckEmpty();
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
  const Result<bool> is_there = Exists(config_.path);
  if (!is_there) return is_there.error();
  if (!*is_there) return {};
  if (!fs::is_directory(config_.path, error)) {
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

Status StoreBuilder::Bring(const std::string& from, const std::string& to, ToolProgress* progress,
                           TransferCounts* counts) {
  const Result<Owner> owner = OwnerOf(from);
  if (!owner) return owner.error();
  const bool may_be_shared = ::geteuid() != 0 || *owner == owner_;
  return LinkOrCopy(&env_, from, to, progress, counts,
                    may_be_shared ? Transfer::kLinkOrCopy : Transfer::kCopy);
}

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
  std::vector<std::string> names;
  if (done) done = FromLevelDb(env_.GetChildren(Path(kUnfinishedName), &names));
  for (const std::string& name : names) {
    if (name == "." || name == ".." || name == kCurrentName || name == kLockName) continue;
    if (done) done = Move(name);
  }
  if (done) done = GiveAway();
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

// What others have put there is not touched.
Status StoreBuilder::GiveAway() {
  std::vector<std::string> given = made_;
  for (const fs::path& place : places_) given.push_back(place);
  if (made_lock_) given.push_back(Path(kLockName));
  for (const std::string& path : given) {
    const Status done = GiveTo(owner_, path);
    if (!done) return done;
  }
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
