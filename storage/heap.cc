#include "storage/heap.h"

#ifdef TALLYD_HAS_MIMALLOC
#include <mimalloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#endif

namespace tallyd {

#ifdef TALLYD_HAS_MIMALLOC

namespace {

// What mimalloc manages as one, 32 MiB, begins at a multiple of its size; newer ones may take more.
constexpr size_t kSegmentBytes = 64u << 20;
// The next head needs what the last one had: it would be given back, and come page by page.
constexpr long kReleaseDelayMs = 10'000;
// Not 0, with which all that is free around a page is given back with each page that is freed.
constexpr long kSoonMs = 1;

size_t RoundUp(size_t bytes) { return (bytes + kSegmentBytes - 1) / kSegmentBytes * kSegmentBytes; }

size_t PhysicalBytes() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  return pages > 0 ? static_cast<size_t>(pages) * static_cast<size_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

// Whether making addresses accessible may fail, on which mimalloc does not look. They count where
// the kernel never overcommits (vm.overcommit_memory is 2; not every process may read it), or under
// a limit: then so many are too many.
bool AddressesCount() {
  constexpr size_t kTooMany = size_t{1} << 44;
  void* const tried = ::mmap(nullptr, kTooMany, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (tried == MAP_FAILED) return true;
  ::munmap(tried, kTooMany);
  return false;
}

// Addresses for as much as there can be. mimalloc makes them accessible as it needs them, so the
// rest counts for no limit and is in no core dump. Its own large pages are never given back.
// Without these, as where addresses are limited, pages are small.
void ReserveHugePages() {
  if (AddressesCount()) return;
  const size_t bytes = RoundUp(PhysicalBytes());
  void* const reserved = ::mmap(nullptr, bytes + kSegmentBytes, PROT_NONE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return;
  auto* const begin = reinterpret_cast<void*>(RoundUp(reinterpret_cast<uintptr_t>(reserved)));
  ::madvise(begin, bytes, MADV_HUGEPAGE);
  mi_manage_os_memory(begin, bytes, /*is_committed=*/false, /*is_large=*/false, /*is_zero=*/true,
                      /*numa_node=*/-1);
}

}  // namespace

void PrepareHeap() {
  // From a thread's first segment on: one that is committed in pieces is used in pieces.
  mi_option_set_default(mi_option_eager_commit_delay, 0);
  mi_option_set_default(mi_option_decommit_delay, kReleaseDelayMs);
  mi_option_set_default(mi_option_segment_decommit_delay, kReleaseDelayMs);
  ReserveHugePages();
}

void ReleaseSoon(bool soon) {
  static const long kDelay = mi_option_get(mi_option_decommit_delay);
  static const long kMore = mi_option_get(mi_option_decommit_extend_delay);
  mi_option_set(mi_option_decommit_delay, soon ? kSoonMs : kDelay);
  mi_option_set(mi_option_decommit_extend_delay, soon ? 0 : kMore);
}

void GiveBackHeap() { mi_collect(/*force=*/true); }

#else

void PrepareHeap() {}
void ReleaseSoon(bool) {}
void GiveBackHeap() {}

#endif

}  // namespace tallyd
