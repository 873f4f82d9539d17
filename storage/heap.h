// The heap of the process. Its memory comes in huge pages, where the system has any: what a head
// holds is written once and read twice, so most of what memory costs is its first use, a fault for
// each page. Linking this in replaces malloc by mimalloc (https://github.com/microsoft/mimalloc),
// which asks for them; under the sanitizers, which have heaps of their own, neither does anything.
#ifndef TALLYD_STORAGE_HEAP_H_
#define TALLYD_STORAGE_HEAP_H_

namespace tallyd {

// Before other threads run. What MIMALLOC_... variables of the environment say of when memory is
// given back is kept.
void PrepareHeap();

// What is freed goes back to the system when more is freed beside it: a millisecond later, or, as
// at first, ten seconds later. For all threads; while very much is freed that nobody will need
// soon. Parts of huge pages count as given back, and are when the system runs short of memory.
void ReleaseSoon(bool soon);

// What the calling thread, or threads that ended, allocated and anybody freed goes back to the
// system, where it is large pieces or ReleaseSoon was told so; what was freed within the last
// millisecond, beside memory in use, may stay. Takes a millisecond for each MiB.
void GiveBackHeap();

}  // namespace tallyd

#endif  // TALLYD_STORAGE_HEAP_H_
