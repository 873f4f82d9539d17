#include "storage/blocks/known_lists.h"

namespace tallyd {
namespace {

// Blocks of changing lists must not keep the buffers of all that ever occurred.
constexpr size_t kKeptLists = 1024;

}  // namespace

KnownLists::List* KnownLists::Begin(size_t size, const void* identity, List* list) {
  list->identity = identity;
  list->columns.assign(size, kUnknown);
  list->number = kUnknown;
  return list;
}

uint32_t KnownLists::PlaceOf(size_t size, const void* identity) {
  const auto [found, is_new] = places_.try_emplace(identity, count_);
  if (!is_new) return found->second;
  if (count_ == lists_.size()) lists_.emplace_back();
  Begin(size, identity, &lists_[count_]);
  return count_++;
}

void KnownLists::Clear() {
  if (lists_.size() > kKeptLists) lists_.resize(kKeptLists);
  count_ = 0;
  places_.clear();
}

}  // namespace tallyd
