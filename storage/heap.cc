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

// What mimalloc manages as one, and where it begins.
constexpr size_t kSegmentBytes = 32u << 20;
// The next head needs what the last one had: it would be given back, and come page by page.
constexpr long kDecommitDelayMs = 10'000;

size_t RoundUp(size_t bytes) { return (bytes + kSegmentBytes - 1) / kSegmentBytes * kSegmentBytes; }

size_t PhysicalBytes() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  return pages > 0 ? static_cast<size_t>(pages) * static_cast<size_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

// Addresses for as much as there can be, of which nothing is taken until it is used. mimalloc's own
// large pages are never given back. Without these, as where addresses are limited, pages are small.
void ReserveHugePages() {
  const size_t bytes = RoundUp(PhysicalBytes());
  void* const reserved = ::mmap(nullptr, bytes + kSegmentBytes, PROT_READ | PROT_WRITE,
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
  mi_option_set_default(mi_option_decommit_delay, kDecommitDelayMs);
  mi_option_set_default(mi_option_segment_decommit_delay, kDecommitDelayMs);
  ReserveHugePages();
}

void ReleaseAtOnce(bool at_once) {
  static const long kLater = mi_option_get(mi_option_decommit_delay);
  mi_option_set(mi_option_decommit_delay, at_once ? 0 : kLater);
}

void GiveBackHeap() { mi_collect(/*force=*/true); }

#else

void PrepareHeap() {}
void ReleaseAtOnce(bool) {}
void GiveBackHeap() {}

#endif

}  // namespace tallyd
