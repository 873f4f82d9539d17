#include "storage/leveldb/env/pread_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string_view>
#include <utility>

#include "storage/leveldb/env/status.h"
#include "storage/leveldb/env/wal_check.h"

namespace tallyd {
namespace {

class PreadFile : public leveldb::RandomAccessFile {
 public:
  PreadFile(std::string name, int descriptor) : name_(std::move(name)), descriptor_(descriptor) {}
  ~PreadFile() override { ::close(descriptor_); }

  leveldb::Status Read(uint64_t offset, size_t n, leveldb::Slice* result,
                       char* scratch) const override {
    size_t got = 0;
    while (got < n) {
      const ssize_t r =
          ::pread(descriptor_, scratch + got, n - got, static_cast<off_t>(offset + got));
      if (r < 0 && errno == EINTR) continue;
      if (r < 0) {
        *result = leveldb::Slice();
        return FromErrno(name_, errno);
      }
      if (r == 0) break;
      got += static_cast<size_t>(r);
    }
    *result = leveldb::Slice(scratch, got);
    return leveldb::Status::OK();
  }

 private:
  const std::string name_;
  const int descriptor_;
};

// What LevelDB reads of a table: its footer, and blocks with a byte of type and a checksum behind
// them (its doc/table_format.md).
class TableFile final : public PreadFile {
 public:
  TableFile(const std::string& name, int descriptor, uint64_t size)
      : PreadFile(name, descriptor), name_(name), size_(size) {}

  leveldb::Status Read(uint64_t offset, size_t n, leveldb::Slice* result,
                       char* scratch) const override {
    const leveldb::Status read = PreadFile::Read(offset, n, result, scratch);
    if (!read.ok()) return read;
    const std::string_view bytes(result->data(), result->size());
    const bool is_footer = n == kFooterBytes && offset + n == size_;
    const bool good = bytes.size() == n && (is_footer ? bytes.ends_with(kMagic) : IsBlock(bytes));
    if (good) return read;
    *result = leveldb::Slice();
    return leveldb::Status::Corruption(
        name_, "the block at byte " + std::to_string(offset) + " is not what was written");
  }

 private:
  static constexpr size_t kFooterBytes = 48;
  static constexpr size_t kChecksumBytes = 4;
  static constexpr std::string_view kMagic = "\x57\xfb\x80\x8b\x24\x75\x47\xdb";

  static bool IsBlock(std::string_view bytes) {
    if (bytes.size() <= kChecksumBytes) return false;
    const size_t size = bytes.size() - kChecksumBytes;
    return IsChecksumOf(bytes.substr(0, size), bytes.data() + size);
  }

  const std::string name_;
  const uint64_t size_;
};

// By read, so that it may be a pipe.
class WholeReadsFile final : public leveldb::SequentialFile {
 public:
  WholeReadsFile(std::string name, int descriptor)
      : name_(std::move(name)), descriptor_(descriptor) {}
  ~WholeReadsFile() override { ::close(descriptor_); }

  leveldb::Status Read(size_t n, leveldb::Slice* result, char* scratch) override {
    *result = leveldb::Slice();
    size_t got = 0;
    while (got < n) {
      const ssize_t r = ::read(descriptor_, scratch + got, n - got);
      if (r < 0 && errno == EINTR) continue;
      if (r < 0) return FromErrno(name_, errno);
      if (r == 0) break;
      got += static_cast<size_t>(r);
    }
    *result = leveldb::Slice(scratch, got);
    return leveldb::Status::OK();
  }
  leveldb::Status Skip(uint64_t n) override {
    if (::lseek(descriptor_, static_cast<off_t>(n), SEEK_CUR) >= 0) return leveldb::Status::OK();
    return FromErrno(name_, errno);
  }

 private:
  const std::string name_;
  const int descriptor_;
};

}  // namespace

leveldb::Status OpenPreadFile(const std::string& name, leveldb::RandomAccessFile** file) {
  *file = nullptr;
  const int descriptor = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return FromErrno(name, errno);
  struct stat stat {};
  if (!name.ends_with(".ldb")) {
    *file = new PreadFile(name, descriptor);
  } else if (::fstat(descriptor, &stat) == 0) {
    *file = new TableFile(name, descriptor, static_cast<uint64_t>(stat.st_size));
  } else {
    const int failed = errno;
    ::close(descriptor);
    return FromErrno(name, failed);
  }
  return leveldb::Status::OK();
}

leveldb::Status OpenSequentialFile(const std::string& name, leveldb::SequentialFile** file) {
  *file = nullptr;
  const int descriptor = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return FromErrno(name, errno);
  *file = new WholeReadsFile(name, descriptor);
  return leveldb::Status::OK();
}

}  // namespace tallyd
