// The disks of all ApiWorlds, full or not: below its floor of free space a store stores nothing. It
// looks ten times a second.
#ifndef TALLYD_TESTS_API_FULL_DISK_H_
#define TALLYD_TESTS_API_FULL_DISK_H_

namespace tallyd {

void SetDisksFull(bool full);

}  // namespace tallyd

#endif  // TALLYD_TESTS_API_FULL_DISK_H_
