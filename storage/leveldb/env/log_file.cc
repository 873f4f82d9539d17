#include "storage/leveldb/env/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "storage/leveldb/env/status.h"

namespace tallyd {
namespace {

// What is appended is written when there is so much of it, if no one syncs before.
constexpr size_t kBufferBytes = 1u << 20;
// Room for so many more syncs of the size of the one that found none, if they are small: its zeros
// are bytes that the disk writes once more, which large ones do not win back. Nor more than a small
// part of what is free: several logs may have room at once.
constexpr uint64_t kSyncsPerRoom = 16;
constexpr uint64_t kRoomSyncBytesMax = 96u << 10;
constexpr uint64_t kFreePerRoom = 64;
// Of room that is made before it is needed, synced one by one: others' fsyncs wait for one at most.
constexpr uint64_t kSliceBytes = 2u << 20;
// Never written to: all of it is the one page of zeros that the kernel has.
alignas(4096) char zeros[1u << 20];

// On the file's disk; 0 where nobody knows.
uint64_t FreeBytes(int descriptor) {
  struct statvfs disk {};
  if (::fstatvfs(descriptor, &disk) != 0) return 0;
  return uint64_t{disk.f_bavail} * disk.f_frsize;
}

}  // namespace

leveldb::Status LogFile::Make(const std::string& name, LogWrites writes, Owner* owner,
                              std::unique_ptr<LogFile>* file) {
  constexpr int kFlags = O_TRUNC | O_WRONLY | O_CREAT | O_CLOEXEC;
  int descriptor = -1;
  bool is_direct = writes == LogWrites::kDirect;
  if (is_direct) descriptor = ::open(name.c_str(), kFlags | O_DIRECT, kFileMode);
  if (descriptor < 0 && (!is_direct || errno == EINVAL)) {
    is_direct = false;
    descriptor = ::open(name.c_str(), kFlags, kFileMode);
  }
  if (descriptor < 0) return FromErrno(name, errno);
  file->reset(new LogFile(name, descriptor, is_direct, owner));
  return leveldb::Status::OK();
}

LogFile::LogFile(std::string name, int descriptor, bool is_direct, Owner* owner)
    : name_(std::move(name)),
      descriptor_(descriptor),
      is_direct_(is_direct),
      owner_(owner),
      buffer_(new Block[kBufferBytes / kBlockBytes]),
      bytes_(reinterpret_cast<char*>(buffer_.get())) {}

// LevelDB drops a log this way when it changes logs, without a look at the outcome.
LogFile::~LogFile() {
  if (descriptor_ >= 0 && !Close().ok()) owner_->NoteFailedClose(name_);
}

leveldb::Status LogFile::MakeRoomAhead(const LogRoom& room) {
  const auto until = std::chrono::steady_clock::now() + room.within;
  const uint64_t end = std::min(room.bytes, FreeBytes(descriptor_) / kFreePerRoom);
  while (room_end_ + kSliceBytes <= end && std::chrono::steady_clock::now() < until) {
    const uint64_t slice_end = room_end_ + kSliceBytes;
    if (!WriteZeros(slice_end)) return error_;
    error_ = owner_->SyncDescriptor(descriptor_, name_);
    if (!error_.ok() || room_end_ < slice_end) return error_;
  }
  return error_;
}

leveldb::Status LogFile::Append(const leveldb::Slice& data) {
  for (size_t done = 0; error_.ok() && done < data.size();) {
    if (used_ == kBufferBytes && !WriteBuffer()) break;
    const size_t some = std::min(data.size() - done, kBufferBytes - used_);
    std::memcpy(bytes_ + used_, data.data() + done, some);
    used_ += some;
    done += some;
  }
  return error_;
}

leveldb::Status LogFile::Flush() {
  if (error_.ok() && !is_direct_) WriteBuffer();
  return error_;
}

leveldb::Status LogFile::Sync() {
  if (error_.ok()) error_ = owner_->CheckLogBefore(name_);
  if (!error_.ok() || !WriteBuffer()) return error_;
  if (end() > room_end_ && !MakeRoom()) return error_;
  return SyncWritten();
}

leveldb::Status LogFile::Close() {
  if (error_.ok() && WriteBuffer() && end() > synced_end_) SyncWritten().ok();
  // With room that cannot be let go the log is as good.
  const bool has_room = error_.ok() && file_end_ > end();
  if (has_room && ::ftruncate(descriptor_, static_cast<off_t>(end())) == 0) room_end_ = end();
  if (::close(descriptor_) < 0 && error_.ok()) error_ = FromErrno(name_, errno);
  descriptor_ = -1;
  return error_;
}

uint64_t LogFile::EndOfBlock(uint64_t bytes) const {
  return is_direct_ ? (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes : bytes;
}

// Blocks that are whole then need not stay.
bool LogFile::WriteBuffer() {
  if (written_ == used_) return true;
  std::memset(bytes_ + used_, 0, EndOfBlock(used_) - used_);
  for (size_t from = is_direct_ ? 0 : written_; from < EndOfBlock(used_);) {
    const ssize_t r = WriteAt(bytes_ + from, EndOfBlock(used_) - from, begin_ + from);
    if (r < 0) {
      error_ = FromErrno(name_, errno);
      return false;
    }
    from += static_cast<size_t>(r);
  }
  const size_t whole = used_ / kBlockBytes * kBlockBytes;
  std::memmove(bytes_, bytes_ + whole, used_ - whole);
  begin_ += whole;
  used_ -= whole;
  written_ = used_;
  return true;
}

ssize_t LogFile::WriteAt(const char* data, size_t size, uint64_t offset) {
  while (true) {
    const ssize_t r = ::pwrite(descriptor_, data, size, static_cast<off_t>(offset));
    if (r > 0) file_end_ = std::max(file_end_, offset + static_cast<uint64_t>(r));
    if (r >= 0) return r;
    if (errno == EINTR) continue;
    if (errno != EINVAL || !is_direct_) return r;
    // The file system has larger blocks, or takes none in spite of what it said.
    is_direct_ = false;
    const int flags = ::fcntl(descriptor_, F_GETFL);
    if (flags < 0 || ::fcntl(descriptor_, F_SETFL, flags & ~O_DIRECT) != 0) return -1;
  }
}

leveldb::Status LogFile::SyncWritten() {
  error_ = owner_->SyncDescriptor(descriptor_, name_);
  struct stat file {};
  if (error_.ok() && ::fstat(descriptor_, &file) != 0) error_ = FromErrno(name_, errno);
  // What has no name any more nobody finds again, however well it is on the disk.
  if (error_.ok() && file.st_nlink == 0) {
    error_ = leveldb::Status::IOError(name_, "it was removed while it was in use");
  }
  if (error_.ok()) synced_end_ = end();
  return error_;
}

// REQUIRES: end() > room_end_.
bool LogFile::MakeRoom() {
  room_end_ = EndOfBlock(end());
  const uint64_t step = end() - synced_end_;
  if (step > kRoomSyncBytesMax) return true;
  const uint64_t most = FreeBytes(descriptor_) / kFreePerRoom;
  const uint64_t wanted = end() + std::min(step * kSyncsPerRoom, most);
  return WriteZeros((wanted + kBlockBytes - 1) / kBlockBytes * kBlockBytes);
}

// On a full disk, as far as it goes.
bool LogFile::WriteZeros(uint64_t room_end) {
  while (room_end_ < room_end) {
    const size_t bytes = std::min<uint64_t>(room_end - room_end_, sizeof(zeros));
    const ssize_t r = WriteAt(zeros, bytes, room_end_);
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

}  // namespace tallyd
