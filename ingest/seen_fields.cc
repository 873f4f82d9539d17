#include "ingest/seen_fields.h"

#include <mutex>
#include <utility>

#include "config/schema.h"

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

bool SeenFields::IsLastSpelling(std::string_view compact, std::string_view field) const {
  std::shared_lock lock(mutex_);
  if (noted_.find(compact) != noted_.end()) return false;
  const auto found = spellings_.find(compact);
  return found != spellings_.end() && found->second.name == field;
}

void SeenFields::NoteSpelling(std::string_view compact, std::string_view field) {
  std::unique_lock lock(mutex_);
  noted_[std::string(compact)] = field;
  missing_.store(true, std::memory_order_relaxed);
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
  for (const FieldInfo& field : fields) {
    types_[field.name] |= field.type_bits;
    if (field.spelled == 0) continue;
    FieldInfo& last = spellings_[CompactName(field.name)];
    if (last.spelled < field.spelled) last = field;
  }
  std::erase_if(noted_, [this](const auto& noted) {
    const auto found = spellings_.find(noted.first);
    return found != spellings_.end() && found->second.name == noted.second;
  });
  if (!noted_.empty()) missing_.store(true, std::memory_order_relaxed);
}

}  // namespace tallyd
