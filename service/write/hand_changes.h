// Hand changes: what is done to rows of one table by their keys, and so is in no event of its
// stream. A memo that goes with the change tells of it for as long as the table lives: a filling
// may neither take away what was written by hand nor bring back what was deleted.
#ifndef TALLYD_SERVICE_WRITE_HAND_CHANGES_H_
#define TALLYD_SERVICE_WRITE_HAND_CHANGES_H_

#include <cstdint>
#include <string_view>

#include "storage/batch.h"
#include "storage/store.h"

namespace tallyd {

enum class HandChange : uint8_t { kWritten, kDeleted };

// Of whoever changes rows of the table with this batch.
void NoteHandChange(std::string_view table, HandChange change, Batch* batch);
// The table is gone: another one may get its name.
void ForgetHandChanges(std::string_view table, Batch* batch);

// Where it cannot be read, it may have been. May read the disk.
bool WasChangedByHand(std::string_view table, HandChange change, Store* store);
bool WasChangedByHand(std::string_view table, Store* store);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_WRITE_HAND_CHANGES_H_
