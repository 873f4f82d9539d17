#include "tests/storage/fault_calls.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tallyd {
namespace {

// What each call asks first. The allocator calls the system, too, before it can give memory: until
// faults are armed nothing here takes any.
constinit std::atomic<bool> armed{false};
constinit std::atomic<size_t> transfer_bytes{0};

// Never destroyed: threads may call the system until the process ends.
struct Faults {
  std::mutex mutex;
  std::string directory;           // Guarded by mutex, as all that follows.
  std::optional<CallFault> fault;  // `at` counts down.
  bool failed = false;
  std::vector<MadeCall> calls;
};

Faults& TheFaults() {
  static auto* const faults = new Faults();
  return *faults;
}

std::string PathOf(int descriptor) {
  char path[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t size = ::readlink(link.c_str(), path, sizeof path);
  if (size <= 0) return {};
  std::string_view name(path, static_cast<size_t>(size));
  constexpr std::string_view kDeleted = " (deleted)";
  if (name.ends_with(kDeleted)) name.remove_suffix(kDeleted.size());
  return std::string(name);
}

std::string PathAt(int directory, const char* name) {
  if (name[0] == '/' || directory == AT_FDCWD) return name;
  return PathOf(directory) + "/" + name;
}

// The path below the directory; nothing where it is elsewhere. REQUIRES: the faults' mutex.
std::optional<std::string> Below(const Faults& faults, const std::string& path) {
  if (path == faults.directory) return std::string();
  if (!path.starts_with(faults.directory + "/")) return std::nullopt;
  return path.substr(faults.directory.size() + 1);
}

// The fault of this call, if it is to have one.
std::optional<CallFault> FaultOf(const char* call, const std::string& path) {
  Faults& faults = TheFaults();
  const std::lock_guard lock(faults.mutex);
  const std::optional<std::string> below = Below(faults, path);
  if (!armed || !below) return std::nullopt;
  faults.calls.push_back({call, *below});
  if (!faults.fault) return std::nullopt;
  CallFault& fault = *faults.fault;
  const bool matches = fault.call.empty() || fault.call == call;
  if (!matches || below->find(fault.path) == std::string::npos) return std::nullopt;
  if (fault.at > 1) {
    --fault.at;
    return std::nullopt;
  }
  faults.failed = true;
  const CallFault found = fault;
  if (!fault.until_healed) faults.fault.reset();
  return found;
}

bool IsArmed() { return armed.load(std::memory_order_relaxed); }

// Makes the call unless it is to fail undone. `path` gives its path, asked for only while faults
// are armed; `undo` lets go of what a call that was done has given, of which nobody will know.
template <class Path, class Make, class Undo>
auto Do(const char* call, const Path& path, const Make& make, const Undo& undo)
    -> decltype(make()) {
  using Made = decltype(make());
  if (!IsArmed()) return make();
  const int before = errno;
  const std::optional<CallFault> fault = FaultOf(call, path());
  errno = before;
  if (!fault) return make();
  if (fault->sense == FaultSense::kDone) undo(make());
  errno = fault->error;
  if constexpr (std::is_pointer_v<Made>) {
    return nullptr;
  } else {
    return static_cast<Made>(-1);
  }
}

template <class Path, class Make>
auto Do(const char* call, const Path& path, const Make& make) -> decltype(make()) {
  return Do(call, path, make, [](auto) {});
}

size_t Limited(int descriptor, size_t bytes) {
  const size_t most = transfer_bytes.load(std::memory_order_relaxed);
  if (most == 0 || bytes <= most) return bytes;
  const std::string path = PathOf(descriptor);
  Faults& faults = TheFaults();
  const std::lock_guard lock(faults.mutex);
  return Below(faults, path) ? most : bytes;
}

// What is behind this file's own definition: libc's, or a sanitizer's before it.
template <class Function>
Function* Real(const char* name) {
  void* const found = ::dlsym(RTLD_NEXT, name);
  if (found == nullptr) std::abort();
  return reinterpret_cast<Function*>(found);
}

mode_t ModeGiven(int flags, std::va_list arguments) {
  const bool has_mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return has_mode ? va_arg(arguments, mode_t) : 0;
}

int CloseAgain(int descriptor);

int Open(const char* name, int flags, mode_t mode) {
  static auto* const real = Real<int(const char*, int, ...)>("open");
  return Do(
      "open", [&] { return std::string(name); }, [&] { return real(name, flags, mode); },
      CloseAgain);
}

int Stat(const char* name, const auto& make) {
  return Do(
      "stat", [&] { return std::string(name); }, make);
}

}  // namespace

FaultCalls::FaultCalls(const std::string& directory) {
  Faults& faults = TheFaults();
  const std::lock_guard lock(faults.mutex);
  if (armed) std::abort();
  char real[PATH_MAX];
  faults.directory = ::realpath(directory.c_str(), real) != nullptr ? real : directory;
  faults.fault.reset();
  faults.failed = false;
  faults.calls.clear();
  armed = true;
}

FaultCalls::~FaultCalls() {
  Faults& faults = TheFaults();
  const std::lock_guard lock(faults.mutex);
  armed = false;
  transfer_bytes = 0;
}

void FaultCalls::Fail(CallFault fault) {
  Faults& faults = TheFaults();
  const std::lock_guard lock(faults.mutex);
  faults.fault = std::move(fault);
  faults.failed = false;
}

void FaultCalls::Heal() {
  Faults& faults = TheFaults();
  const std::lock_guard lock(faults.mutex);
  faults.fault.reset();
}

bool FaultCalls::failed() const {
  Faults& faults = TheFaults();
  const std::lock_guard lock(faults.mutex);
  return faults.failed;
}

void FaultCalls::LimitTransfers(size_t bytes) { transfer_bytes = bytes; }

std::vector<MadeCall> FaultCalls::TakeCalls() {
  Faults& faults = TheFaults();
  const std::lock_guard lock(faults.mutex);
  return std::exchange(faults.calls, {});
}

std::vector<CallFault> KindsOf(const std::vector<MadeCall>& calls) {
  std::set<std::pair<std::string, std::string>> known;
  std::vector<CallFault> kinds;
  for (const MadeCall& made : calls) {
    std::string kind = made.path;
    std::erase_if(kind, [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
    if (!known.emplace(made.call, kind).second) continue;
    kinds.push_back({.call = made.call, .path = made.path});
  }
  return kinds;
}

}  // namespace tallyd

// In the place of libc's own, for all of the process: a definition in the program comes first.
extern "C" {

int open(const char* name, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = tallyd::ModeGiven(flags, arguments);
  va_end(arguments);
  return tallyd::Open(name, flags, mode);
}

int open64(const char* name, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = tallyd::ModeGiven(flags, arguments);
  va_end(arguments);
  return tallyd::Open(name, flags, mode);
}

int openat(int directory, const char* name, int flags, ...) {
  static auto* const real = tallyd::Real<int(int, const char*, int, ...)>("openat");
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = tallyd::ModeGiven(flags, arguments);
  va_end(arguments);
  return tallyd::Do(
      "open", [&] { return tallyd::PathAt(directory, name); },
      [&] { return real(directory, name, flags, mode); }, tallyd::CloseAgain);
}

// A descriptor is closed in either sense, as Linux has it.
int close(int descriptor) {
  static auto* const real = tallyd::Real<int(int)>("close");
  if (!tallyd::IsArmed()) return real(descriptor);
  const std::string path = tallyd::PathOf(descriptor);
  const int closed = real(descriptor);
  const int before = errno;
  const auto fault = tallyd::FaultOf("close", path);
  errno = fault ? fault->error : before;
  return fault ? -1 : closed;
}

ssize_t read(int descriptor, void* bytes, size_t size) {
  static auto* const real = tallyd::Real<ssize_t(int, void*, size_t)>("read");
  return tallyd::Do(
      "read", [&] { return tallyd::PathOf(descriptor); },
      [&] { return real(descriptor, bytes, tallyd::Limited(descriptor, size)); });
}

ssize_t pread(int descriptor, void* bytes, size_t size, off_t offset) {
  static auto* const real = tallyd::Real<ssize_t(int, void*, size_t, off_t)>("pread");
  return tallyd::Do(
      "read", [&] { return tallyd::PathOf(descriptor); },
      [&] { return real(descriptor, bytes, tallyd::Limited(descriptor, size), offset); });
}

ssize_t pread64(int descriptor, void* bytes, size_t size, off64_t offset) {
  return ::pread(descriptor, bytes, size, offset);
}

ssize_t write(int descriptor, const void* bytes, size_t size) {
  static auto* const real = tallyd::Real<ssize_t(int, const void*, size_t)>("write");
  return tallyd::Do(
      "write", [&] { return tallyd::PathOf(descriptor); },
      [&] { return real(descriptor, bytes, tallyd::Limited(descriptor, size)); });
}

ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
  static auto* const real = tallyd::Real<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  return tallyd::Do(
      "write", [&] { return tallyd::PathOf(descriptor); },
      [&] { return real(descriptor, bytes, tallyd::Limited(descriptor, size), offset); });
}

ssize_t pwrite64(int descriptor, const void* bytes, size_t size, off64_t offset) {
  return ::pwrite(descriptor, bytes, size, offset);
}

ssize_t writev(int descriptor, const iovec* pieces, int count) {
  static auto* const real = tallyd::Real<ssize_t(int, const iovec*, int)>("writev");
  return tallyd::Do(
      "write", [&] { return tallyd::PathOf(descriptor); },
      [&] { return real(descriptor, pieces, count); });
}

ssize_t sendfile(int to, int from, off_t* offset, size_t size) noexcept {
  static auto* const real = tallyd::Real<ssize_t(int, int, off_t*, size_t)>("sendfile");
  return tallyd::Do(
      "write", [&] { return tallyd::PathOf(to); }, [&] { return real(to, from, offset, size); });
}

ssize_t copy_file_range(int from, off64_t* from_offset, int to, off64_t* to_offset, size_t size,
                        unsigned flags) {
  using Function = ssize_t(int, off64_t*, int, off64_t*, size_t, unsigned);
  static auto* const real = tallyd::Real<Function>("copy_file_range");
  return tallyd::Do(
      "write", [&] { return tallyd::PathOf(to); },
      [&] { return real(from, from_offset, to, to_offset, size, flags); });
}

int fsync(int descriptor) {
  static auto* const real = tallyd::Real<int(int)>("fsync");
  return tallyd::Do(
      "sync", [&] { return tallyd::PathOf(descriptor); }, [&] { return real(descriptor); });
}

int fdatasync(int descriptor) {
  static auto* const real = tallyd::Real<int(int)>("fdatasync");
  return tallyd::Do(
      "sync", [&] { return tallyd::PathOf(descriptor); }, [&] { return real(descriptor); });
}

int ftruncate(int descriptor, off_t size) noexcept {
  static auto* const real = tallyd::Real<int(int, off_t)>("ftruncate");
  return tallyd::Do(
      "truncate", [&] { return tallyd::PathOf(descriptor); },
      [&] { return real(descriptor, size); });
}

int truncate(const char* name, off_t size) noexcept {
  static auto* const real = tallyd::Real<int(const char*, off_t)>("truncate");
  return tallyd::Do(
      "truncate", [&] { return std::string(name); }, [&] { return real(name, size); });
}

int fallocate(int descriptor, int mode, off_t offset, off_t size) {
  static auto* const real = tallyd::Real<int(int, int, off_t, off_t)>("fallocate");
  return tallyd::Do(
      "allocate", [&] { return tallyd::PathOf(descriptor); },
      [&] { return real(descriptor, mode, offset, size); });
}

int rename(const char* from, const char* to) noexcept {
  static auto* const real = tallyd::Real<int(const char*, const char*)>("rename");
  return tallyd::Do(
      "rename", [&] { return std::string(to); }, [&] { return real(from, to); });
}

int link(const char* from, const char* to) noexcept {
  static auto* const real = tallyd::Real<int(const char*, const char*)>("link");
  return tallyd::Do(
      "link", [&] { return std::string(to); }, [&] { return real(from, to); });
}

int unlink(const char* name) noexcept {
  static auto* const real = tallyd::Real<int(const char*)>("unlink");
  return tallyd::Do(
      "remove", [&] { return std::string(name); }, [&] { return real(name); });
}

int unlinkat(int directory, const char* name, int flags) noexcept {
  static auto* const real = tallyd::Real<int(int, const char*, int)>("unlinkat");
  return tallyd::Do(
      "remove", [&] { return tallyd::PathAt(directory, name); },
      [&] { return real(directory, name, flags); });
}

int remove(const char* name) noexcept {
  static auto* const real = tallyd::Real<int(const char*)>("remove");
  return tallyd::Do(
      "remove", [&] { return std::string(name); }, [&] { return real(name); });
}

int rmdir(const char* name) noexcept {
  static auto* const real = tallyd::Real<int(const char*)>("rmdir");
  return tallyd::Do(
      "remove", [&] { return std::string(name); }, [&] { return real(name); });
}

int mkdir(const char* name, mode_t mode) noexcept {
  static auto* const real = tallyd::Real<int(const char*, mode_t)>("mkdir");
  return tallyd::Do(
      "mkdir", [&] { return std::string(name); }, [&] { return real(name, mode); });
}

int access(const char* name, int mode) noexcept {
  static auto* const real = tallyd::Real<int(const char*, int)>("access");
  return tallyd::Stat(name, [&] { return real(name, mode); });
}

int stat(const char* name, struct stat* found) noexcept {
  static auto* const real = tallyd::Real<int(const char*, struct stat*)>("stat");
  return tallyd::Stat(name, [&] { return real(name, found); });
}

int stat64(const char* name, struct stat64* found) noexcept {
  static auto* const real = tallyd::Real<int(const char*, struct stat64*)>("stat64");
  return tallyd::Stat(name, [&] { return real(name, found); });
}

int lstat(const char* name, struct stat* found) noexcept {
  static auto* const real = tallyd::Real<int(const char*, struct stat*)>("lstat");
  return tallyd::Stat(name, [&] { return real(name, found); });
}

int fstat(int descriptor, struct stat* found) noexcept {
  static auto* const real = tallyd::Real<int(int, struct stat*)>("fstat");
  return tallyd::Do(
      "stat", [&] { return tallyd::PathOf(descriptor); }, [&] { return real(descriptor, found); });
}

int fstat64(int descriptor, struct stat64* found) noexcept {
  static auto* const real = tallyd::Real<int(int, struct stat64*)>("fstat64");
  return tallyd::Do(
      "stat", [&] { return tallyd::PathOf(descriptor); }, [&] { return real(descriptor, found); });
}

int statvfs(const char* name, struct statvfs* found) noexcept {
  static auto* const real = tallyd::Real<int(const char*, struct statvfs*)>("statvfs");
  return tallyd::Do(
      "statvfs", [&] { return std::string(name); }, [&] { return real(name, found); });
}

DIR* opendir(const char* name) {
  static auto* const real = tallyd::Real<DIR*(const char*)>("opendir");
  return tallyd::Do(
      "open", [&] { return std::string(name); }, [&] { return real(name); },
      [](DIR* opened) {
        if (opened != nullptr) ::closedir(opened);
      });
}

FILE* fopen(const char* name, const char* mode) {
  static auto* const real = tallyd::Real<FILE*(const char*, const char*)>("fopen");
  return tallyd::Do(
      "open", [&] { return std::string(name); }, [&] { return real(name, mode); },
      [](FILE* opened) {
        if (opened != nullptr) std::fclose(opened);
      });
}

FILE* fopen64(const char* name, const char* mode) { return ::fopen(name, mode); }

struct dirent* readdir(DIR* directory) {
  static auto* const real = tallyd::Real<dirent*(DIR*)>("readdir");
  return tallyd::Do(
      "readdir", [&] { return tallyd::PathOf(::dirfd(directory)); },
      [&] { return real(directory); });
}

int fcntl(int descriptor, int command, ...) {
  static auto* const real = tallyd::Real<int(int, int, ...)>("fcntl");
  std::va_list arguments;
  va_start(arguments, command);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  const auto make = [&] { return real(descriptor, command, argument); };
  if (command != F_SETLK && command != F_SETLKW && command != F_OFD_SETLK) return make();
  return tallyd::Do(
      "lock", [&] { return tallyd::PathOf(descriptor); }, make);
}
}

namespace tallyd {
namespace {

int CloseAgain(int descriptor) { return descriptor < 0 ? descriptor : ::close(descriptor); }

}  // namespace
}  // namespace tallyd
