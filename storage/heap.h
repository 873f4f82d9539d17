// The heap of the process. Its memory comes in huge pages, where the system has any: what a head
// holds is written once and read twice, so most of what memory costs is its first use, a fault for
// each page. Linking this in replaces malloc by mimalloc (https://github.com/microsoft/mimalloc),
// which asks for them; under the sanitizers, which have heaps of their own, neither does anything.
#ifndef TALLYD_STORAGE_HEAP_H_
#define TALLYD_STORAGE_HEAP_H_

namespace tallyd {

// Before other threads run. What MIMALLOC_... variables of the environment say is kept.
void PrepareHeap();

// What is freed goes back to the system at once, or, as it is at first, after some seconds if nobody
// needs it again. For all threads; while very much is freed that nobody will need soon.
void ReleaseAtOnce(bool at_once);

// What the calling thread allocated and anybody freed goes back to the system, in pieces of at least
// 64 KiB. Takes a while.
void GiveBackHeap();

}  // namespace tallyd

#endif  // TALLYD_STORAGE_HEAP_H_
