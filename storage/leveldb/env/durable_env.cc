#include "storage/leveldb/env/durable_env.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "storage/leveldb/env/directory.h"
#include "storage/leveldb/env/file_lock.h"
#include "storage/leveldb/env/pread_file.h"
#include "storage/leveldb/env/status.h"

namespace tallyd {
namespace {

constexpr mode_t kDirectoryMode = 0700;
constexpr size_t kBufferBytes = 64u << 10;

std::string BaseName(const std::string& name) { return name.substr(name.rfind('/') + 1); }
std::string DirectoryOf(const std::string& name) {
  const size_t slash = name.rfind('/');
  return slash == std::string::npos ? "." : name.substr(0, slash);
}

bool IsLog(const std::string& name) { return name.ends_with(".log"); }
bool IsManifest(const std::string& name) { return BaseName(name).starts_with("MANIFEST"); }
// LevelDB's own, for people.
bool IsMessages(const std::string& name) { return BaseName(name).starts_with("LOG"); }

bool IsAt(const struct stat& file, const std::string& name) {
  struct stat found {};
  if (::lstat(name.c_str(), &found) != 0) return false;
  return found.st_dev == file.st_dev && found.st_ino == file.st_ino;
}

}  // namespace

class DurableEnv::Descriptor {
 public:
  explicit Descriptor(const std::string& directory)
      : number_(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }  // Negative: it could not be opened, and errno says why.

 private:
  const int number_;
};

// Buffered appends. A manifest names new files: their names are durable before any byte of it is
// written, which the system may write to the disk at any time.
class DurableEnv::File final : public leveldb::WritableFile {
 public:
  File(DurableEnv* env, std::string name, int descriptor)
      : env_(env),
        name_(std::move(name)),
        is_manifest_(IsManifest(name_)),
        descriptor_(descriptor),
        buffer_(new char[kBufferBytes]) {}
  ~File() override {
    if (descriptor_ >= 0) Close().ok();
  }

  leveldb::Status Append(const leveldb::Slice& data) override {
    if (!error_.ok()) return error_;
    if (data.size() > kBufferBytes - used_) {
      if (!WriteBuffer()) return error_;
      if (data.size() >= kBufferBytes) {
        Write(data.data(), data.size());
        return error_;
      }
    }
    std::memcpy(buffer_.get() + used_, data.data(), data.size());
    used_ += data.size();
    return error_;
  }

  // LevelDB flushes each record of a manifest before it syncs it.
  leveldb::Status Flush() override {
    if (error_.ok() && !is_manifest_) WriteBuffer();
    return error_;
  }

  leveldb::Status Sync() override {
    if (error_.ok() && WriteBuffer()) error_ = env_->SyncDescriptor(descriptor_, name_);
    return error_;
  }

  leveldb::Status Close() override {
    if (error_.ok()) WriteBuffer();
    if (::close(descriptor_) < 0 && error_.ok()) error_ = FromErrno(name_, errno);
    descriptor_ = -1;
    return error_;
  }

 private:
  bool WriteBuffer() { return Write(buffer_.get(), std::exchange(used_, 0)); }

  bool Write(const char* data, size_t size) {
    if (is_manifest_ && size > 0) error_ = env_->SyncDirectoryOf(name_);
    if (!error_.ok()) return false;
    while (size > 0) {
      const ssize_t r = ::write(descriptor_, data, size);
      if (r < 0 && errno == EINTR) continue;
      if (r < 0) {
        error_ = FromErrno(name_, errno);
        return false;
      }
      data += r;
      size -= static_cast<size_t>(r);
    }
    return true;
  }

  DurableEnv* const env_;
  const std::string name_;
  const bool is_manifest_;
  int descriptor_;
  std::unique_ptr<char[]> buffer_;
  size_t used_ = 0;
  leveldb::Status error_;
};

class DurableEnv::Places final : public PlacesFile {
 public:
  Places(DurableEnv* env, std::string name, int descriptor)
      : env_(env), name_(std::move(name)), descriptor_(descriptor) {}
  ~Places() override { ::close(descriptor_); }

  leveldb::Status WriteAt(uint64_t offset, const leveldb::Slice& bytes, bool sync) override {
    for (size_t at = 0; at < bytes.size();) {
      const ssize_t r = ::pwrite(descriptor_, bytes.data() + at, bytes.size() - at,
                                 static_cast<off_t>(offset + at));
      if (r < 0 && errno != EINTR) return FromErrno(name_, errno);
      if (r > 0) at += static_cast<size_t>(r);
    }
    return sync ? env_->SyncDescriptor(descriptor_, name_) : leveldb::Status::OK();
  }

 private:
  DurableEnv* const env_;
  const std::string name_;
  const int descriptor_;
};

// LevelDB tells that it waits for a compaction in its log of messages only.
class DurableEnv::StallLogger final : public leveldb::Logger {
 public:
  StallLogger(const DurableEnv* env, leveldb::Logger* file) : env_(env), file_(file) {}

  void Logv(const char* format, std::va_list arguments) override {
    if (std::string_view(format).find("waiting") != std::string_view::npos) {
      env_->observer_.on_stall();
    }
    file_->Logv(format, arguments);
  }

 private:
  const DurableEnv* const env_;
  const std::unique_ptr<leveldb::Logger> file_;
};

DurableEnv::DurableEnv(EnvObserver observer, LogWrites log_writes)
    : StoreEnv(leveldb::Env::Default()),
      observer_(std::move(observer)),
      log_writes_(log_writes),
      thread_([this] { RunBackground(); }) {}

DurableEnv::~DurableEnv() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

leveldb::Status DurableEnv::NewRandomAccessFile(const std::string& name,
                                                leveldb::RandomAccessFile** file) {
  return OpenPreadFile(name, file);
}

leveldb::Status DurableEnv::NewSequentialFile(const std::string& name,
                                              leveldb::SequentialFile** file) {
  return OpenSequentialFile(name, file);
}

bool DurableEnv::FileExists(const std::string& name) {
  struct stat found {};
  return ::stat(name.c_str(), &found) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

leveldb::Status DurableEnv::GetChildren(const std::string& directory,
                                        std::vector<std::string>* names) {
  return ListDirectory(directory, names);
}

leveldb::Status DurableEnv::NewWritableFile(const std::string& name, leveldb::WritableFile** file) {
  *file = nullptr;
  if (IsLog(name)) {
    std::unique_ptr<LogFile> log;
    leveldb::Status made = LogFile::Make(name, log_writes_, this, &log);
    if (made.ok()) made = SyncDirectoryOf(name);
    if (made.ok()) made = log->MakeRoomAhead(TakeExpected(DirectoryOf(name)));
    if (made.ok()) *file = log.release();
    return made;
  }
  const int descriptor = ::open(name.c_str(), O_TRUNC | O_WRONLY | O_CREAT | O_CLOEXEC, kFileMode);
  if (descriptor < 0) return FromErrno(name, errno);
  *file = new File(this, name, descriptor);
  return leveldb::Status::OK();
}

leveldb::Status DurableEnv::NewAppendableFile(const std::string& name, leveldb::WritableFile**) {
  return leveldb::Status::NotSupported(name, "appending to what another process wrote");
}

leveldb::Status DurableEnv::CreateDir(const std::string& name) {
  if (::mkdir(name.c_str(), kDirectoryMode) != 0) return FromErrno(name, errno);
  return SyncDirectoryOf(name);
}

leveldb::Status DurableEnv::RemoveDir(const std::string& name) {
  ForgetFailures(name);
  return EnvWrapper::RemoveDir(name);
}

leveldb::Status DurableEnv::RemoveFile(const std::string& name) {
  if (IsLog(name) || IsManifest(name)) {
    // What replaced it must be there to stay.
    leveldb::Status may_go = SyncDirectoryOf(name);
    if (may_go.ok() && IsManifest(name)) may_go = CheckManifestMayGo(name);
    if (!may_go.ok()) return may_go;
  }
  return EnvWrapper::RemoveFile(name);
}

// LevelDB takes back a manifest where it was told that CURRENT could not be renamed.
leveldb::Status DurableEnv::CheckManifestMayGo(const std::string& name) {
  std::string current;
  const std::string current_name = DirectoryOf(name) + "/CURRENT";
  const leveldb::Status read = leveldb::ReadFileToString(this, current_name, &current);
  if (!read.ok()) return read.IsNotFound() ? leveldb::Status::OK() : read;
  if (current != BaseName(name) + "\n") return leveldb::Status::OK();
  return leveldb::Status::IOError(name, "CURRENT names it");
}

leveldb::Status DurableEnv::RenameFile(const std::string& from, const std::string& to) {
  struct stat file {};
  if (::lstat(from.c_str(), &file) != 0) return FromErrno(from, errno);
  if (::rename(from.c_str(), to.c_str()) != 0) {
    const leveldb::Status failed = FromErrno(from, errno);
    if (!IsAt(file, to) || IsAt(file, from)) return failed;
    // It was made all the same, and what the system says of it later is worth no more.
    NoteFailedSync(DirectoryOf(to), failed);
    return leveldb::Status::OK();
  }
  if (IsMessages(to)) return leveldb::Status::OK();
  const leveldb::Status synced = SyncDirectoryOf(to);
  if (!synced.ok()) NoteFailedSync(DirectoryOf(to), synced);
  return leveldb::Status::OK();
}

// A database is being opened: it reads its logs anew, the failed one included, and writes the names
// that count anew.
leveldb::Status DurableEnv::LockFile(const std::string& name, leveldb::FileLock** lock) {
  const std::string directory = DirectoryOf(name);
  leveldb::Status locked = TakeFileLock(name, lock);
  if (!locked.ok()) return locked;
  ForgetFailures(directory);
  locked = HoldDirectory(directory);
  if (!locked.ok()) {
    ReleaseFileLock(std::exchange(*lock, nullptr)).ok();
    return locked;
  }
  const std::lock_guard guard(directories_mutex_);
  locked_.insert(directory);
  return locked;
}

leveldb::Status DurableEnv::UnlockFile(leveldb::FileLock* lock) {
  const std::string directory = DirectoryOf(NameOfLock(*lock));
  {
    const std::lock_guard guard(directories_mutex_);
    locked_.erase(directory);
    held_.erase(directory);
  }
  return ReleaseFileLock(lock);
}

leveldb::Status DurableEnv::NewLogger(const std::string& name, leveldb::Logger** logger) {
  const leveldb::Status opened = EnvWrapper::NewLogger(name, logger);
  if (!opened.ok()) return opened;
  ::chmod(name.c_str(), kFileMode);
  *logger = new StallLogger(this, *logger);
  return opened;
}

leveldb::Status DurableEnv::SyncDescriptor(int descriptor, const std::string& name) {
  const auto start = std::chrono::steady_clock::now();
  const int failed = ::fdatasync(descriptor) == 0 ? 0 : errno;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  observer_.on_sync(took.count());
  return failed == 0 ? leveldb::Status::OK() : FromErrno(name, failed);
}

leveldb::Status DurableEnv::SyncDirectoryOf(const std::string& name) {
  return SyncDirectory(DirectoryOf(name));
}

leveldb::Status DurableEnv::SyncDirectory(const std::string& directory) {
  const leveldb::Status failed = TakeFailedSync(directory);
  return failed.ok() ? SyncUnlessFailed(directory) : failed;
}

leveldb::Status DurableEnv::SyncUnlessFailed(const std::string& directory) {
  std::shared_ptr<const Descriptor> held;
  bool is_locked = false;
  {
    const std::lock_guard lock(directories_mutex_);
    if (const auto found = held_.find(directory); found != held_.end()) held = found->second;
    is_locked = locked_.contains(directory);
  }
  if (!held) held = std::make_shared<const Descriptor>(directory);
  if (held->number() < 0) return FromErrno(directory, errno);
  const leveldb::Status synced = SyncDescriptor(held->number(), directory);
  if (!synced.ok() && is_locked) NoteFailedSync(directory, synced);
  return synced;
}

leveldb::Status DurableEnv::TakeFailedSync(const std::string& directory) {
  const std::lock_guard lock(directories_mutex_);
  const auto failed = sync_failed_.find(directory);
  if (failed == sync_failed_.end()) return leveldb::Status::OK();
  const leveldb::Status why = failed->second;
  if (!locked_.contains(directory)) sync_failed_.erase(failed);
  return why;
}

void DurableEnv::NoteFailedSync(const std::string& directory, const leveldb::Status& why) {
  const std::lock_guard lock(directories_mutex_);
  sync_failed_.try_emplace(directory, why);
}

leveldb::Status DurableEnv::HoldDirectory(const std::string& directory) {
  auto opened = std::make_shared<const Descriptor>(directory);
  if (opened->number() < 0) return FromErrno(directory, errno);
  const std::lock_guard lock(directories_mutex_);
  held_[directory].swap(opened);
  return leveldb::Status::OK();
}

leveldb::Status DurableEnv::NewPlacesFile(const std::string& name,
                                          std::unique_ptr<PlacesFile>* file) {
  const int descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, kFileMode);
  if (descriptor < 0) return FromErrno(name, errno);
  *file = std::make_unique<Places>(this, name, descriptor);
  return leveldb::Status::OK();
}

leveldb::Status DurableEnv::CheckLogBefore(const std::string& name) {
  {
    const std::lock_guard lock(directories_mutex_);
    const auto failed = sync_failed_.find(DirectoryOf(name));
    if (failed != sync_failed_.end()) return failed->second;
  }
  const std::lock_guard lock(logs_mutex_);
  if (!close_failed_.contains(DirectoryOf(name))) return leveldb::Status::OK();
  return leveldb::Status::IOError(name, "the log before it could not be synced");
}

void DurableEnv::NoteFailedClose(const std::string& name) {
  const std::lock_guard lock(logs_mutex_);
  close_failed_.insert(DirectoryOf(name));
}

void DurableEnv::ForgetFailures(const std::string& directory) {
  {
    const std::lock_guard lock(logs_mutex_);
    close_failed_.erase(directory);
  }
  const std::lock_guard lock(directories_mutex_);
  sync_failed_.erase(directory);
}

void DurableEnv::ExpectLog(const std::string& directory, const LogRoom& room) {
  const std::lock_guard lock(logs_mutex_);
  expected_[directory] = room;
}

LogRoom DurableEnv::TakeExpected(const std::string& directory) {
  const std::lock_guard lock(logs_mutex_);
  const auto found = expected_.extract(directory);
  return found.empty() ? LogRoom() : found.mapped();
}

void DurableEnv::SleepForMicroseconds(int micros) {
  observer_.on_stall();
  EnvWrapper::SleepForMicroseconds(micros);
}

void DurableEnv::Schedule(void (*work)(void*), void* argument) {
  {
    const std::lock_guard lock(mutex_);
    work_.emplace_back(work, argument);
  }
  changed_.notify_one();
}

void DurableEnv::RunBackground() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || !work_.empty(); });
    if (work_.empty()) return;
    const auto [work, argument] = work_.front();
    work_.pop_front();
    lock.unlock();
    work(argument);
    lock.lock();
  }
}

}  // namespace tallyd
