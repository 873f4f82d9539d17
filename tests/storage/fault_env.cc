#include "tests/storage/fault_env.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>

namespace tallyd {

class FaultEnv::File final : public leveldb::WritableFile {
 public:
  File(FaultEnv* env, std::string name, leveldb::WritableFile* file)
      : env_(env), name_(std::move(name)), file_(file) {}
  ~File() override { Close().ok(); }

  leveldb::Status Append(const leveldb::Slice& data) override {
    const leveldb::Status called = env_->Call(name_);
    if (!called.ok()) return called;
    const leveldb::Status done = file_->Append(data);
    const std::lock_guard lock(env_->mutex_);
    if (done.ok()) env_->files_[name_].written += data.size();
    return done;
  }
  leveldb::Status Flush() override { return file_->Flush(); }
  leveldb::Status Sync() override {
    env_->WaitWhileHeld(Hang::kSyncs);
    const leveldb::Status called = env_->Call(name_);
    if (!called.ok()) return called;
    const leveldb::Status done = file_->Sync();
    const std::lock_guard lock(env_->mutex_);
    Extent& extent = env_->files_[name_];
    if (done.ok()) extent.synced = extent.written;
    return done;
  }
  leveldb::Status Close() override {
    if (!file_) return leveldb::Status::OK();
    const leveldb::Status called = env_->Call(name_);
    const leveldb::Status done = file_->Close();
    file_.reset();
    if (!called.ok()) return called;
    // DurableEnv syncs a log that is closed.
    const std::lock_guard lock(env_->mutex_);
    Extent& extent = env_->files_[name_];
    if (done.ok() && name_.ends_with(".log")) extent.synced = extent.written;
    return done;
  }

 private:
  FaultEnv* const env_;
  const std::string name_;
  std::unique_ptr<leveldb::WritableFile> file_;
};

class FaultEnv::Places final : public PlacesFile {
 public:
  Places(FaultEnv* env, std::string name, std::unique_ptr<PlacesFile> file)
      : env_(env), name_(std::move(name)), file_(std::move(file)) {}

  leveldb::Status WriteAt(uint64_t offset, const leveldb::Slice& bytes, bool sync) override {
    leveldb::Status done = env_->Call(name_);
    if (!done.ok()) return done;
    std::string all;
    leveldb::ReadFileToString(&env_->durable_, name_, &all).ok();
    all.resize(std::max<size_t>(all.size(), offset + bytes.size()));
    done = file_->WriteAt(offset, bytes, sync);
    const std::lock_guard lock(env_->mutex_);
    if (done.ok() && sync) {
      env_->overwrites_.erase(name_);
    } else if (done.ok()) {
      env_->overwrites_[name_].push_back(
          {offset, all.substr(offset, bytes.size()), bytes.ToString()});
    }
    return done;
  }

 private:
  FaultEnv* const env_;
  const std::string name_;
  const std::unique_ptr<PlacesFile> file_;
};

class FaultEnv::Reader final : public leveldb::RandomAccessFile {
 public:
  Reader(FaultEnv* env, const std::string& name, leveldb::RandomAccessFile* file)
      : env_(env), is_block_file_(name.ends_with(".blocks")), file_(file) {}
  leveldb::Status Read(uint64_t offset, size_t n, leveldb::Slice* result,
                       char* scratch) const override {
    if (env_->fail_reads_ && is_block_file_) return leveldb::Status::IOError("injected");
    const leveldb::Status read = file_->Read(offset, n, result, scratch);
    env_->bytes_read_ += result->size();
    return read;
  }

 private:
  FaultEnv* const env_;
  const bool is_block_file_;
  const std::unique_ptr<leveldb::RandomAccessFile> file_;
};

class FaultEnv::Sequence final : public leveldb::SequentialFile {
 public:
  Sequence(FaultEnv* env, leveldb::SequentialFile* file) : env_(env), file_(file) {}
  leveldb::Status Read(size_t n, leveldb::Slice* result, char* scratch) override {
    const leveldb::Status read = file_->Read(n, result, scratch);
    env_->bytes_read_ += result->size();
    return read;
  }
  leveldb::Status Skip(uint64_t n) override { return file_->Skip(n); }

 private:
  FaultEnv* const env_;
  const std::unique_ptr<leveldb::SequentialFile> file_;
};

FaultEnv::FaultEnv()
    : StoreEnv(&durable_), durable_({[](double) {}, [] {}}, LogWrites::kDirect) {}

void FaultEnv::FailAt(uint64_t call, Fault fault, bool until_healed) {
  const std::lock_guard lock(mutex_);
  fail_at_ = call;
  fault_ = fault;
  sticky_ = until_healed;
  failed_ = false;
}

void FaultEnv::Heal() {
  const std::lock_guard lock(mutex_);
  fail_at_ = 0;
}

void FaultEnv::Hold(Hang what) {
  {
    const std::lock_guard lock(mutex_);
    held_ = what;
  }
  let_go_.notify_all();
}

int FaultEnv::hanging() const {
  const std::lock_guard lock(mutex_);
  return hanging_;
}

void FaultEnv::WaitWhileHeld(Hang what) {
  std::unique_lock lock(mutex_);
  ++hanging_;
  let_go_.wait(lock, [&] { return held_ != what; });
  --hanging_;
}

void FaultEnv::CutAt(uint64_t call) { FailAt(call, Fault::kIo, true); }

uint64_t FaultEnv::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

bool FaultEnv::failed() const {
  const std::lock_guard lock(mutex_);
  return failed_;
}

leveldb::Status FaultEnv::Call(const std::string& what) {
  const std::lock_guard lock(mutex_);
  ++calls_;
  if (fail_at_ == 0 || calls_ < fail_at_ || (calls_ > fail_at_ && !sticky_)) {
    return leveldb::Status::OK();
  }
  failed_ = true;
  return leveldb::Status::IOError(what, std::strerror(fault_ == Fault::kNoSpace ? ENOSPC : EIO));
}

leveldb::Status FaultEnv::NewSequentialFile(const std::string& name,
                                            leveldb::SequentialFile** file) {
  const leveldb::Status opened = EnvWrapper::NewSequentialFile(name, file);
  if (opened.ok()) *file = new Sequence(this, *file);
  return opened;
}

leveldb::Status FaultEnv::NewRandomAccessFile(const std::string& name,
                                              leveldb::RandomAccessFile** file) {
  const leveldb::Status opened = EnvWrapper::NewRandomAccessFile(name, file);
  if (opened.ok()) *file = new Reader(this, name, *file);
  if (opened.ok() && name.ends_with(".blocks")) ++block_files_opened_;
  return opened;
}

void FaultEnv::KeepFiles(const std::string& ending) {
  const std::lock_guard lock(mutex_);
  kept_ = ending;
}

leveldb::Status FaultEnv::NewWritableFile(const std::string& name, leveldb::WritableFile** file) {
  *file = nullptr;
  leveldb::Status done = Call(name);
  if (!done.ok()) return done;
  leveldb::WritableFile* opened = nullptr;
  done = EnvWrapper::NewWritableFile(name, &opened);
  if (!done.ok()) return done;
  *file = new File(this, name, opened);
  const std::lock_guard lock(mutex_);
  files_[name] = {};
  if (name.ends_with(".log"))
    room_asked_ += std::exchange(expected_[name.substr(0, name.rfind('/'))], 0);
  return done;
}

void FaultEnv::ExpectLog(const std::string& directory, const LogRoom& room) {
  const std::lock_guard lock(mutex_);
  expected_[directory] = room.bytes;
}

leveldb::Status FaultEnv::RemoveFile(const std::string& name) {
  WaitWhileHeld(Hang::kRemovals);
  {
    const std::lock_guard lock(mutex_);
    if (!kept_.empty() && name.ends_with(kept_)) return leveldb::Status::IOError(name, "kept");
  }
  leveldb::Status done = Call(name);
  if (!done.ok()) return done;
  done = EnvWrapper::RemoveFile(name);
  const std::lock_guard lock(mutex_);
  if (done.ok()) files_.erase(name);
  if (done.ok()) overwrites_.erase(name);
  return done;
}

leveldb::Status FaultEnv::RenameFile(const std::string& from, const std::string& to) {
  leveldb::Status done = Call(from);
  if (!done.ok()) return done;
  done = EnvWrapper::RenameFile(from, to);
  const std::lock_guard lock(mutex_);
  const auto moved = files_.find(from);
  if (done.ok() && moved != files_.end()) {
    files_[to] = moved->second;
    files_.erase(from);
  }
  return done;
}

leveldb::Status FaultEnv::SyncDirectory(const std::string& directory) {
  const leveldb::Status done = Call(directory);
  return done.ok() ? durable_.SyncDirectory(directory) : done;
}

leveldb::Status FaultEnv::NewPlacesFile(const std::string& name,
                                        std::unique_ptr<PlacesFile>* file) {
  leveldb::Status done = Call(name);
  std::unique_ptr<PlacesFile> opened;
  if (done.ok()) done = durable_.NewPlacesFile(name, &opened);
  if (done.ok()) *file = std::make_unique<Places>(this, name, std::move(opened));
  return done;
}

namespace {

void PutBytes(const std::string& name, uint64_t offset, const std::string& bytes) {
  std::fstream file(name, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(offset));
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

// Each place has what was written to it at some time since the last sync, or garbage.
void FaultEnv::LoseOverwrites(Loss loss, std::mt19937_64* random) {
  for (auto& [name, written] : overwrites_) {
    if (!std::filesystem::exists(name)) continue;
    for (auto last = written.rbegin(); last != written.rend(); ++last) {
      PutBytes(name, last->offset, last->before);
    }
    if (loss == Loss::kAll) continue;
    written.resize((*random)() % (written.size() + 1));
    for (Overwrite& overwrite : written) {
      if ((*random)() % 3 == 0) continue;
      const bool torn = loss != Loss::kRandomTail && (*random)() % 4 == 0;
      if (torn && loss == Loss::kZeroedSectors) overwrite.after.assign(overwrite.after.size(), 0);
      if (torn && loss == Loss::kRandomSectors) {
        for (char& c : overwrite.after) c = static_cast<char>((*random)());
      }
      PutBytes(name, overwrite.offset, overwrite.after);
    }
  }
  overwrites_.clear();
}

void FaultEnv::LosePower(Loss loss, unsigned seed) {
  constexpr uint64_t kSector = 512;
  constexpr uint64_t kRoomMax = 100'000;
  std::mt19937_64 random(seed);
  const std::lock_guard lock(mutex_);
  for (const auto& [name, extent] : files_) {
    if (!std::filesystem::exists(name)) continue;
    // DurableEnv, below this, let its room go when the log was closed, as a power cut does not.
    const uint64_t room = name.ends_with(".log") && random() % 2 == 0 ? random() % kRoomMax : 0;
    const auto make_room = [&] {
      if (room > 0) std::filesystem::resize_file(name, std::filesystem::file_size(name) + room);
    };
    if (extent.synced == extent.written) {
      make_room();
      continue;
    }
    uint64_t kept = extent.synced;
    if (loss != Loss::kAll) kept += random() % (extent.written - extent.synced + 1);
    // Into room any part may have come, whatever is lost before it.
    const bool has_holes = loss == Loss::kRandomSectors || loss == Loss::kZeroedSectors;
    if (has_holes && random() % 2 == 0) kept = extent.written;
    std::filesystem::resize_file(name, kept);
    make_room();
    if (loss == Loss::kAll || loss == Loss::kRandomTail) continue;
    std::fstream file(name, std::ios::in | std::ios::out | std::ios::binary);
    for (uint64_t at = extent.synced; at < kept; at = (at / kSector + 1) * kSector) {
      if (random() % 2 == 0) continue;
      std::string bytes(std::min(kept, (at / kSector + 1) * kSector) - at, '\0');
      if (loss == Loss::kRandomSectors) {
        for (char& c : bytes) c = static_cast<char>(random());
      }
      file.seekp(static_cast<std::streamoff>(at));
      file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    }
  }
  LoseOverwrites(loss, &random);
  files_.clear();
  fail_at_ = 0;
}

}  // namespace tallyd
