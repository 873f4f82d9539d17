#include "ingest/seen_fields.h"

#include <mutex>
#include <utility>

namespace tallyd {
namespace {

constexpr int64_t kRefreshUs = 100'000;

}  // namespace

SeenFields::SeenFields(Store& store, std::string stream)
    : store_(store), stream_(std::move(stream)) {
  Load();
}

uint8_t SeenFields::KnownTypes(std::string_view field) const {
  std::shared_lock lock(mutex_);
  const auto found = types_.find(field);
  return found == types_.end() ? uint8_t{0} : found->second;
}

void SeenFields::Refresh(TimeUs now) {
  if (!missing_.load(std::memory_order_relaxed)) return;
  TimeUs last = refreshed_.load(std::memory_order_relaxed);
  // A clock that was set back must not stop the asking.
  if (now >= last && now - last < kRefreshUs) return;
  if (!refreshed_.compare_exchange_strong(last, now)) return;  // Another thread does it.
  missing_.store(false, std::memory_order_relaxed);
  Load();
}

void SeenFields::Load() {
  const std::vector<FieldInfo> fields = store_.Fields(stream_);
  std::unique_lock lock(mutex_);
  for (const FieldInfo& field : fields) types_[field.name] |= field.type_bits;
}

}  // namespace tallyd
