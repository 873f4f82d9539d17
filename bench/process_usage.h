#ifndef TALLYD_BENCH_PROCESS_USAGE_H_
#define TALLYD_BENCH_PROCESS_USAGE_H_

// What a server costs, seen from outside: its processor time and peak memory from /proc, and its
// disk space as allocated blocks (what `du` shows). A server that cannot be seen (no pid given)
// reads as zero.

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace tallyd::bench {

// Processor time of all threads of `pid`, ended ones too, user and system.
double CpuSeconds(pid_t pid);

// Peak resident memory (VmHWM).
std::uint64_t PeakMemoryBytes(pid_t pid);

// Allocated bytes below `path`, without the file `ballast` that tallyd reserves against a full
// disk.
std::uint64_t DiskBytes(const std::string& path);

// Returns once `pid` has used next to no processor time for `idle_seconds` on end, or after
// `seconds_max`: servers go on merging after they have answered, some after a pause. Returns
// whether it came to rest.
bool WaitUntilIdle(pid_t pid, int idle_seconds, int seconds_max);

}  // namespace tallyd::bench

#endif  // TALLYD_BENCH_PROCESS_USAGE_H_
