#include "storage/leveldb/env/overlay_env.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace tallyd {
namespace {

leveldb::Status NotThere(const std::string& name) {
  return leveldb::Status::NotFound(name, std::strerror(ENOENT));
}

class SilentLogger final : public leveldb::Logger {
 public:
  void Logv(const char*, std::va_list) override {}
};

}  // namespace

class OverlayEnv::MemoryFile {
 public:
  void Append(const leveldb::Slice& data) {
    const std::lock_guard lock(mutex_);
    bytes_.append(data.data(), data.size());
  }
  void Overwrite(uint64_t offset, const leveldb::Slice& data) {
    const std::lock_guard lock(mutex_);
    bytes_.resize(std::max<uint64_t>(bytes_.size(), offset + data.size()));
    bytes_.replace(offset, data.size(), data.data(), data.size());
  }
  uint64_t size() const {
    const std::lock_guard lock(mutex_);
    return bytes_.size();
  }
  leveldb::Slice Read(uint64_t offset, size_t n, char* scratch) const {
    const std::lock_guard lock(mutex_);
    if (offset >= bytes_.size()) return {};
    n = std::min<uint64_t>(n, bytes_.size() - offset);
    std::memcpy(scratch, bytes_.data() + offset, n);
    return {scratch, n};
  }

 private:
  mutable std::mutex mutex_;
  std::string bytes_;  // Guarded by mutex_.
};

class OverlayEnv::Reader final : public leveldb::RandomAccessFile, public leveldb::SequentialFile {
 public:
  explicit Reader(std::shared_ptr<MemoryFile> file) : file_(std::move(file)) {}

  leveldb::Status Read(uint64_t offset, size_t n, leveldb::Slice* result,
                       char* scratch) const override {
    *result = file_->Read(offset, n, scratch);
    return leveldb::Status::OK();
  }
  leveldb::Status Read(size_t n, leveldb::Slice* result, char* scratch) override {
    *result = file_->Read(at_, n, scratch);
    at_ += result->size();
    return leveldb::Status::OK();
  }
  leveldb::Status Skip(uint64_t n) override {
    at_ += n;
    return leveldb::Status::OK();
  }

 private:
  const std::shared_ptr<MemoryFile> file_;
  uint64_t at_ = 0;
};

class OverlayEnv::Writer final : public leveldb::WritableFile {
 public:
  Writer(const OverlayEnv* env, std::string name, std::shared_ptr<MemoryFile> file)
      : env_(env), name_(std::move(name)), file_(std::move(file)) {}

  leveldb::Status Append(const leveldb::Slice& data) override {
    const leveldb::Status writable = env_->CheckWritable(name_);
    if (writable.ok()) file_->Append(data);
    return writable;
  }
  leveldb::Status Close() override { return leveldb::Status::OK(); }
  leveldb::Status Flush() override { return leveldb::Status::OK(); }
  leveldb::Status Sync() override { return leveldb::Status::OK(); }

 private:
  const OverlayEnv* const env_;
  const std::string name_;
  const std::shared_ptr<MemoryFile> file_;
};

OverlayEnv::~OverlayEnv() {
  for (const int descriptor : locks_) ::close(descriptor);
}

Status OverlayEnv::Lock(const std::string& directory) {
  const std::string name = directory + "/LOCK";
  const int descriptor = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0 && errno == ENOENT) return {};
  // A lock for reading: others who only look may come, too, and nothing needs to be writable.
  struct flock lock {};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  if (descriptor >= 0 && ::fcntl(descriptor, F_OFD_SETLK, &lock) == 0) {
    locks_.push_back(descriptor);
    return {};
  }
  const int failed = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (failed == EACCES || failed == EAGAIN) {
    if (descriptor >= 0) {
      return Error(ErrorCode::kConflict, directory + " is in use by another process");
    }
  }
  return Error(ErrorCode::kIo, fmt::format("{}: {}", name, std::strerror(failed)));
}

leveldb::Status OverlayEnv::CheckWritable(const std::string& name) const {
  if (!frozen_) return leveldb::Status::OK();
  return leveldb::Status::IOError(name, "nothing is written any more");
}

OverlayEnv::Change OverlayEnv::Resolve(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto change = changes_.find(name);
  return change != changes_.end() ? change->second : Change{nullptr, name, false};
}

leveldb::Status OverlayEnv::NewSequentialFile(const std::string& name,
                                              leveldb::SequentialFile** file) {
  *file = nullptr;
  const Change found = Resolve(name);
  if (!found.real.empty()) return target()->NewSequentialFile(found.real, file);
  if (!found.file) return NotThere(name);
  *file = new Reader(found.file);
  return leveldb::Status::OK();
}

leveldb::Status OverlayEnv::NewRandomAccessFile(const std::string& name,
                                                leveldb::RandomAccessFile** file) {
  *file = nullptr;
  const Change found = Resolve(name);
  if (!found.real.empty()) return target()->NewRandomAccessFile(found.real, file);
  if (!found.file) return NotThere(name);
  *file = new Reader(found.file);
  return leveldb::Status::OK();
}

leveldb::Status OverlayEnv::NewWritableFile(const std::string& name, leveldb::WritableFile** file) {
  *file = nullptr;
  const leveldb::Status writable = CheckWritable(name);
  if (!writable.ok()) return writable;
  auto bytes = std::make_shared<MemoryFile>();
  *file = new Writer(this, name, bytes);
  const std::lock_guard lock(mutex_);
  changes_[name] = {std::move(bytes), {}, false};
  return leveldb::Status::OK();
}

class OverlayEnv::Places final : public PlacesFile {
 public:
  Places(OverlayEnv* env, std::string name) : env_(env), name_(std::move(name)) {}
  leveldb::Status WriteAt(uint64_t offset, const leveldb::Slice& bytes, bool) override {
    return env_->WriteAt(name_, offset, bytes);
  }

 private:
  OverlayEnv* const env_;
  const std::string name_;
};

leveldb::Status OverlayEnv::NewPlacesFile(const std::string& name,
                                          std::unique_ptr<PlacesFile>* file) {
  *file = std::make_unique<Places>(this, name);
  return leveldb::Status::OK();
}

leveldb::Status OverlayEnv::WriteAt(const std::string& name, uint64_t offset,
                                    const leveldb::Slice& bytes) {
  Change found = Resolve(name);
  leveldb::Status done = CheckWritable(name);
  if (done.ok() && !found.file) {
    found = {std::make_shared<MemoryFile>(), {}, false};
    std::string before;
    const leveldb::Status read = leveldb::ReadFileToString(this, name, &before);
    if (!read.ok() && !read.IsNotFound()) done = read;
    found.file->Append(before);
  }
  if (!done.ok()) return done;
  found.file->Overwrite(offset, bytes);
  const std::lock_guard lock(mutex_);
  changes_[name] = found;
  return done;
}

leveldb::Status OverlayEnv::NewAppendableFile(const std::string& name, leveldb::WritableFile**) {
  return leveldb::Status::NotSupported(name, "appending to what another process wrote");
}

bool OverlayEnv::FileExists(const std::string& name) {
  const Change found = Resolve(name);
  return found.real.empty() ? !found.is_removed() : target()->FileExists(found.real);
}

leveldb::Status OverlayEnv::GetChildren(const std::string& directory,
                                        std::vector<std::string>* names) {
  names->clear();
  const Change found = Resolve(directory);
  leveldb::Status listed = leveldb::Status::OK();
  if (!found.real.empty()) listed = target()->GetChildren(found.real, names);
  if (found.real.empty() && !found.is_directory) listed = NotThere(directory);
  if (!listed.ok()) return listed;
  const std::string prefix = directory + "/";
  const std::lock_guard lock(mutex_);
  for (auto change = changes_.lower_bound(prefix);
       change != changes_.end() && change->first.starts_with(prefix); ++change) {
    const std::string name = change->first.substr(prefix.size());
    if (name.find('/') != std::string::npos) continue;
    std::erase(*names, name);
    if (!change->second.is_removed()) names->push_back(name);
  }
  return leveldb::Status::OK();
}

leveldb::Status OverlayEnv::RemoveFile(const std::string& name) {
  if (!FileExists(name)) return NotThere(name);
  const std::lock_guard lock(mutex_);
  changes_[name] = {};
  return leveldb::Status::OK();
}

leveldb::Status OverlayEnv::CreateDir(const std::string& name) {
  if (FileExists(name)) return leveldb::Status::IOError(name, std::strerror(EEXIST));
  const std::lock_guard lock(mutex_);
  changes_[name] = {nullptr, {}, true};
  return leveldb::Status::OK();
}

leveldb::Status OverlayEnv::GetFileSize(const std::string& name, uint64_t* size) {
  const Change found = Resolve(name);
  if (!found.real.empty()) return target()->GetFileSize(found.real, size);
  if (found.is_removed()) return NotThere(name);
  *size = found.file ? found.file->size() : 0;
  return leveldb::Status::OK();
}

leveldb::Status OverlayEnv::RenameFile(const std::string& from, const std::string& to) {
  if (!FileExists(from)) return NotThere(from);
  Change moved = Resolve(from);
  const std::lock_guard lock(mutex_);
  changes_[from] = {};
  changes_[to] = std::move(moved);
  return leveldb::Status::OK();
}

leveldb::Status OverlayEnv::LockFile(const std::string&, leveldb::FileLock** lock) {
  *lock = new leveldb::FileLock();
  return leveldb::Status::OK();
}

leveldb::Status OverlayEnv::UnlockFile(leveldb::FileLock* lock) {
  delete lock;
  return leveldb::Status::OK();
}

leveldb::Status OverlayEnv::NewLogger(const std::string&, leveldb::Logger** logger) {
  *logger = new SilentLogger();
  return leveldb::Status::OK();
}

}  // namespace tallyd
