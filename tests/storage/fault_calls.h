// FaultCalls: faults below the Env. While one lives, the system's calls that this process makes
// about files below a directory are counted, and can be made to fail, in either sense: nothing was
// done, or it was done and is then said to have failed. The calls of libraries are among them
// (LevelDB's, std::filesystem's); only what libc calls inside itself is not.
//
//   FaultCalls calls(harness.path());
//   calls.Fail({.call = "rename", .path = "CURRENT", .sense = FaultSense::kDone});
//   ... EXPECT_TRUE(calls.failed());
//
// One at a time in a process. Thread-safe.
#ifndef TALLYD_TESTS_STORAGE_FAULT_CALLS_H_
#define TALLYD_TESTS_STORAGE_FAULT_CALLS_H_

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tallyd {

enum class FaultSense { kUndone, kDone };

struct CallFault {
  // Which calls: all of that name, where it is not empty, whose path has `path` in it. Names are
  // the system's: open (openat, opendir and fopen, too), read (pread), readdir, stat (fstat, lstat,
  // access), statvfs, write (pwrite, writev, sendfile, copy_file_range), sync (fsync, fdatasync),
  // truncate (ftruncate), allocate, rename, remove (unlink, rmdir), link, mkdir, lock, close.
  std::string call{};
  std::string path{};
  FaultSense sense = FaultSense::kUndone;
  int error = EIO;
  // The how many-th of these calls from now on fails: that one, or all from there until Heal.
  uint64_t at = 1;
  bool until_healed = false;
};

// One call, as it was made: of a rename or link, the path that it is to have.
struct MadeCall {
  std::string call;
  std::string path;  // Below the directory.
};

class FaultCalls {
 public:
  explicit FaultCalls(const std::string& directory);
  ~FaultCalls();
  FaultCalls(const FaultCalls&) = delete;
  FaultCalls& operator=(const FaultCalls&) = delete;

  // In the place of the fault before.
  void Fail(CallFault fault);
  void Heal();
  bool failed() const;  // Some call has, since Fail.
  // One read or write moves at most so many bytes, as a file system may have it; 0: as many as
  // there are.
  void LimitTransfers(size_t bytes);
  // Made since the last call of this.
  std::vector<MadeCall> TakeCalls();
};

// Each kind of call, once by name and kind of file (its path without digits), in the order in which
// they came first. What a test of all calls has to make fail.
std::vector<CallFault> KindsOf(const std::vector<MadeCall>& calls);

}  // namespace tallyd

#endif  // TALLYD_TESTS_STORAGE_FAULT_CALLS_H_
