#include "service/write/hand_changes.h"

#include <optional>
#include <string>

namespace tallyd {
namespace {

constexpr HandChange kHandChanges[] = {HandChange::kWritten, HandChange::kDeleted};

std::string HandKey(std::string_view table, HandChange change) {
  return (change == HandChange::kWritten ? "hand/written/" : "hand/deleted/") + std::string(table);
}

}  // namespace

void NoteHandChange(std::string_view table, HandChange change, Batch* batch) {
  batch->PutMemo(HandKey(table, change), "1", NoteOrder::kBefore);
}

void ForgetHandChanges(std::string_view table, Batch* batch) {
  for (const HandChange change : kHandChanges) batch->DropMemo(HandKey(table, change));
}

bool WasChangedByHand(std::string_view table, HandChange change, Store* store) {
  const Result<std::optional<std::string>> memo = store->FindMemo(HandKey(table, change));
  return !memo || memo->has_value();
}

bool WasChangedByHand(std::string_view table, Store* store) {
  for (const HandChange change : kHandChanges) {
    if (WasChangedByHand(table, change, store)) return true;
  }
  return false;
}

}  // namespace tallyd
