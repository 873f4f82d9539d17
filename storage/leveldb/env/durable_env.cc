#include "storage/leveldb/env/durable_env.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "storage/leveldb/env/pread_file.h"
#include "storage/leveldb/env/status.h"

namespace tallyd {
namespace {

constexpr mode_t kFileMode = 0600;
constexpr mode_t kDirectoryMode = 0700;
constexpr size_t kBufferBytes = 64u << 10;
// Room for so many more syncs of the size of the one that found none, if they are small: its zeros
// are bytes that the disk writes once more, which large ones do not win back. Nor more than a small
// part of what is free: several logs may have room at once.
constexpr uint64_t kSyncsPerRoom = 16;
constexpr uint64_t kRoomSyncBytesMax = 96u << 10;
constexpr uint64_t kFreePerRoom = 64;
constexpr uint64_t kPageBytes = 4096;
// Of room that is made before it is needed, synced one by one: others' fsyncs wait for one at most.
constexpr uint64_t kSliceBytes = 2u << 20;
constexpr char kZeros[64u << 10] = {};

std::string BaseName(const std::string& name) { return name.substr(name.rfind('/') + 1); }
std::string DirectoryOf(const std::string& name) {
  const size_t slash = name.rfind('/');
  return slash == std::string::npos ? "." : name.substr(0, slash);
}
// On the file's disk; 0 where nobody knows.
uint64_t FreeBytes(int descriptor) {
  struct statvfs disk {};
  if (::fstatvfs(descriptor, &disk) != 0) return 0;
  return uint64_t{disk.f_bavail} * disk.f_frsize;
}

bool IsLog(const std::string& name) { return name.ends_with(".log"); }
bool IsManifest(const std::string& name) { return BaseName(name).starts_with("MANIFEST"); }

}  // namespace

// Buffered appends, a log's into room that is made when a Sync finds none left, or before. After a
// failed write or sync every later call fails, Close included, and nothing more reaches the file.
class DurableEnv::File final : public leveldb::WritableFile {
 public:
  File(DurableEnv* env, std::string name, int descriptor)
      : env_(env),
        name_(std::move(name)),
        is_log_(IsLog(name_)),
        is_manifest_(IsManifest(name_)),
        descriptor_(descriptor),
        buffer_(new char[kBufferBytes]) {}
  ~File() override {
    // LevelDB drops a log this way when it changes logs, without a look at the outcome.
    if (descriptor_ >= 0 && !Close().ok() && is_log_) {
      env_->SetLogCloseFailed(DirectoryOf(name_), true);
    }
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

  leveldb::Status Flush() override {
    if (error_.ok()) WriteBuffer();
    return error_;
  }

  // REQUIRES: nothing was written.
  leveldb::Status MakeRoomAhead(const LogRoom& room) {
    const auto until = std::chrono::steady_clock::now() + room.within;
    const uint64_t end = std::min(room.bytes, FreeBytes(descriptor_) / kFreePerRoom);
    while (room_end_ + kSliceBytes <= end && std::chrono::steady_clock::now() < until) {
      const uint64_t slice_end = room_end_ + kSliceBytes;
      if (!WriteZeros(slice_end)) return error_;
      error_ = env_->SyncDescriptor(descriptor_, name_);
      if (!error_.ok() || room_end_ < slice_end) return error_;
    }
    return error_;
  }

  leveldb::Status Sync() override {
    // A manifest names new files: their names come first.
    if (error_.ok() && is_manifest_) error_ = env_->SyncDirectoryOf(name_);
    if (error_.ok() && is_log_ && env_->LogCloseFailed(DirectoryOf(name_))) {
      error_ = leveldb::Status::IOError(name_, "the log before it could not be synced");
    }
    if (!error_.ok() || !WriteBuffer()) return error_;
    if (is_log_ && end_ > room_end_ && !MakeRoom()) return error_;
    return SyncWritten();
  }

  leveldb::Status Close() override {
    if (error_.ok() && WriteBuffer() && is_log_ && end_ > synced_end_) SyncWritten().ok();
    // With room that cannot be let go the log is as good.
    const bool has_room = error_.ok() && room_end_ > end_;
    if (has_room && ::ftruncate(descriptor_, static_cast<off_t>(end_)) == 0) room_end_ = end_;
    if (::close(descriptor_) < 0 && error_.ok()) error_ = FromErrno(name_, errno);
    descriptor_ = -1;
    return error_;
  }

 private:
  bool WriteBuffer() { return Write(buffer_.get(), std::exchange(used_, 0)); }

  leveldb::Status SyncWritten() {
    error_ = env_->SyncDescriptor(descriptor_, name_);
    if (error_.ok()) synced_end_ = end_;
    return error_;
  }

  // REQUIRES: end_ > room_end_.
  bool MakeRoom() {
    room_end_ = end_;
    const uint64_t step = end_ - synced_end_;
    if (step > kRoomSyncBytesMax) return true;
    const uint64_t most = FreeBytes(descriptor_) / kFreePerRoom;
    const uint64_t wanted = end_ + std::min(step * kSyncsPerRoom, most);
    return WriteZeros((wanted + kPageBytes - 1) / kPageBytes * kPageBytes);
  }

  // On a full disk, as far as it goes.
  bool WriteZeros(uint64_t room_end) {
    while (room_end_ < room_end) {
      const size_t bytes = std::min<uint64_t>(room_end - room_end_, sizeof(kZeros));
      const ssize_t r = ::pwrite(descriptor_, kZeros, bytes, static_cast<off_t>(room_end_));
      if (r < 0 && errno == EINTR) continue;
      if (r < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) return true;
      if (r < 0) {
        error_ = FromErrno(name_, errno);
        return false;
      }
      room_end_ += static_cast<uint64_t>(r);
      if (static_cast<size_t>(r) < bytes) return true;
    }
    return true;
  }

  bool Write(const char* data, size_t size) {
    while (size > 0) {
      const ssize_t r = ::write(descriptor_, data, size);
      if (r < 0 && errno == EINTR) continue;
      if (r < 0) {
        error_ = FromErrno(name_, errno);
        return false;
      }
      data += r;
      size -= static_cast<size_t>(r);
      end_ += static_cast<uint64_t>(r);
    }
    return true;
  }

  DurableEnv* const env_;
  const std::string name_;
  const bool is_log_;
  const bool is_manifest_;
  int descriptor_;
  std::unique_ptr<char[]> buffer_;
  size_t used_ = 0;
  uint64_t end_ = 0;         // Where what was written ends,
  uint64_t synced_end_ = 0;  // what of it was synced,
  uint64_t room_end_ = 0;    // and the zeros behind it, where that is greater.
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

DurableEnv::DurableEnv(EnvObserver observer)
    : StoreEnv(leveldb::Env::Default()),
      observer_(std::move(observer)),
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

leveldb::Status DurableEnv::NewWritableFile(const std::string& name, leveldb::WritableFile** file) {
  *file = nullptr;
  const int descriptor = ::open(name.c_str(), O_TRUNC | O_WRONLY | O_CREAT | O_CLOEXEC, kFileMode);
  if (descriptor < 0) return FromErrno(name, errno);
  auto opened = std::make_unique<File>(this, name, descriptor);
  if (IsLog(name)) {
    leveldb::Status made = SyncDirectoryOf(name);
    if (made.ok()) made = opened->MakeRoomAhead(TakeExpected(DirectoryOf(name)));
    if (!made.ok()) return made;
  }
  *file = opened.release();
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
  SetLogCloseFailed(name, false);
  return EnvWrapper::RemoveDir(name);
}

leveldb::Status DurableEnv::RemoveFile(const std::string& name) {
  if (IsLog(name) || IsManifest(name)) {
    // What replaced it must be there to stay.
    const leveldb::Status synced = SyncDirectoryOf(name);
    if (!synced.ok()) return synced;
  }
  return EnvWrapper::RemoveFile(name);
}

leveldb::Status DurableEnv::RenameFile(const std::string& from, const std::string& to) {
  const leveldb::Status renamed = EnvWrapper::RenameFile(from, to);
  return renamed.ok() ? SyncDirectoryOf(to) : renamed;
}

leveldb::Status DurableEnv::LockFile(const std::string& name, leveldb::FileLock** lock) {
  const leveldb::Status locked = EnvWrapper::LockFile(name, lock);
  if (locked.ok()) ::chmod(name.c_str(), kFileMode);
  // A database is being opened: it reads its logs anew, the failed one included.
  SetLogCloseFailed(DirectoryOf(name), false);
  return locked;
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
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return FromErrno(directory, errno);
  const leveldb::Status synced = SyncDescriptor(descriptor, directory);
  ::close(descriptor);
  return synced;
}

leveldb::Status DurableEnv::NewPlacesFile(const std::string& name,
                                          std::unique_ptr<PlacesFile>* file) {
  const int descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, kFileMode);
  if (descriptor < 0) return FromErrno(name, errno);
  *file = std::make_unique<Places>(this, name, descriptor);
  return leveldb::Status::OK();
}

bool DurableEnv::LogCloseFailed(const std::string& directory) {
  const std::lock_guard lock(logs_mutex_);
  return close_failed_.contains(directory);
}

void DurableEnv::SetLogCloseFailed(const std::string& directory, bool failed) {
  const std::lock_guard lock(logs_mutex_);
  if (failed) {
    close_failed_.insert(directory);
  } else {
    close_failed_.erase(directory);
  }
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
