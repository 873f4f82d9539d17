#include "storage/leveldb/env/file_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "storage/leveldb/env/log_file.h"
#include "storage/leveldb/env/status.h"

namespace tallyd {
namespace {

class HeldLock final : public leveldb::FileLock {
 public:
  HeldLock(std::string name, int descriptor) : name_(std::move(name)), descriptor_(descriptor) {}
  ~HeldLock() override { ::close(descriptor_); }
  const std::string& name() const { return name_; }
  int descriptor() const { return descriptor_; }

 private:
  const std::string name_;
  const int descriptor_;
};

int SetLock(int descriptor, short type) {
  struct flock whole {};
  whole.l_type = type;
  whole.l_whence = SEEK_SET;
  return ::fcntl(descriptor, F_OFD_SETLK, &whole) == 0 ? 0 : errno;
}

}  // namespace

leveldb::Status TakeFileLock(const std::string& name, leveldb::FileLock** lock) {
  *lock = nullptr;
  const int descriptor = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kFileMode);
  const int failed = descriptor < 0 ? errno : SetLock(descriptor, F_WRLCK);
  if (failed == 0) {
    *lock = new HeldLock(name, descriptor);
    return leveldb::Status::OK();
  }
  if (descriptor >= 0) ::close(descriptor);
  const bool is_taken = descriptor >= 0 && (failed == EACCES || failed == EAGAIN);
  return is_taken ? leveldb::Status::IOError("lock " + name, std::strerror(failed))
                  : FromErrno(name, failed);
}

leveldb::Status ReleaseFileLock(leveldb::FileLock* lock) {
  std::unique_ptr<HeldLock> held(static_cast<HeldLock*>(lock));
  const std::string name = held->name();
  const int failed = SetLock(held->descriptor(), F_UNLCK);
  held.reset();
  return failed == 0 ? leveldb::Status::OK() : FromErrno(name, failed);
}

const std::string& NameOfLock(const leveldb::FileLock& lock) {
  return static_cast<const HeldLock&>(lock).name();
}

}  // namespace tallyd
