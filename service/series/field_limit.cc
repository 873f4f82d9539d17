#include "service/series/field_limit.h"

#include <algorithm>

namespace tallyd {

namespace {

// To read all fields of a stream costs what reading so many names costs; a name that is new must
// not be a reason for it.
constexpr auto kBetweenLoads = std::chrono::seconds(1);

}  // namespace

FieldLimit::Admitted FieldLimit::Admit(const std::string& field, uint64_t most) {
  const std::lock_guard lock(mutex_);
  if (known_.contains(field)) return Admitted::kKnown;
  if (settled_.erase(field) > 0) {
    pending_[field] = 1;
    return Admitted::kReserved;
  }
  const auto pending = pending_.find(field);
  if (pending != pending_.end()) {
    ++pending->second;
    return Admitted::kReserved;
  }
  const auto now = std::chrono::steady_clock::now();
  if (!loaded_ || now >= *loaded_ + kBetweenLoads) {
    Load();
    loaded_ = now;
  }
  // Of the names that were settled some may have been of writes that failed.
  if (Taken() >= most && !settled_.empty()) Load();
  if (known_.contains(field)) return Admitted::kKnown;
  if (Taken() >= most) return Admitted::kFull;
  pending_[field] = 1;
  return Admitted::kReserved;
}

// Where it was committed the store knows it by now; until it is asked again, the name counts.
void FieldLimit::Settle(const std::string& field) {
  const std::lock_guard lock(mutex_);
  const auto pending = pending_.find(field);
  if (pending == pending_.end() || --pending->second > 0) return;
  pending_.erase(pending);
  if (known_.contains(field)) {
    --pending_known_;
  } else {
    settled_.insert(field);
  }
}

uint64_t FieldLimit::Count() {
  const std::lock_guard lock(mutex_);
  Load();
  return known_.size();
}

uint64_t FieldLimit::Taken() const {
  return known_.size() + settled_.size() + (pending_.size() - pending_known_);
}

void FieldLimit::Load() {
  for (FieldInfo& field : store_.Fields(stream_)) {
    if (field.type_bits != 0) known_.insert(std::move(field.name));
  }
  settled_.clear();
  pending_known_ = static_cast<uint64_t>(std::ranges::count_if(
      pending_, [this](const auto& pending) { return known_.contains(pending.first); }));
}

}  // namespace tallyd
