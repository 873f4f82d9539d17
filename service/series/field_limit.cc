#include "service/series/field_limit.h"

#include <algorithm>

namespace tallyd {

FieldLimit::Admitted FieldLimit::Admit(const std::string& field, uint64_t most) {
  const std::lock_guard lock(mutex_);
  if (known_.contains(field)) return Admitted::kKnown;
  const auto pending = pending_.find(field);
  if (pending != pending_.end()) {
    ++pending->second;
    return Admitted::kReserved;
  }
  Load();
  if (known_.contains(field)) return Admitted::kKnown;
  if (CountWithPending() >= most) return Admitted::kFull;
  pending_[field] = 1;
  return Admitted::kReserved;
}

// Where it was committed the store knows it by now.
void FieldLimit::Settle(const std::string& field) {
  const std::lock_guard lock(mutex_);
  const auto pending = pending_.find(field);
  if (pending != pending_.end() && --pending->second == 0) pending_.erase(pending);
}

uint64_t FieldLimit::Count() {
  const std::lock_guard lock(mutex_);
  Load();
  return known_.size();
}

void FieldLimit::Load() {
  for (FieldInfo& field : store_.Fields(stream_)) {
    if (field.type_bits != 0) known_.insert(std::move(field.name));
  }
}

uint64_t FieldLimit::CountWithPending() const {
  const auto is_new = [this](const auto& pending) { return !known_.contains(pending.first); };
  return known_.size() + static_cast<uint64_t>(std::ranges::count_if(pending_, is_new));
}

}  // namespace tallyd
