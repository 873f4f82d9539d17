#include "ingest/map/seen_fields.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "config/schema/schema.h"
#include "storage/field_keeper.h"

namespace tallyd {
namespace {

constexpr int64_t kRefreshUs = 100'000;

// The last commit before any of the table's rules began to apply: what it missed earlier does not
// count.
uint64_t LastChange(const TableInfo& table) {
  uint64_t last = table.membership.since;
  for (const RuleMark& mark : table.rules) last = std::max(last, mark.since);
  return last;
}

}  // namespace

SeenFields::SeenFields(Store& store, std::string stream, std::vector<TablePtr> tables)
    : store_(store), stream_(std::move(stream)), tables_(std::move(tables)) {
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

bool SeenFields::KnowsMissed(const TableInfo& table, std::string_view field, uint8_t how) const {
  std::shared_lock lock(mutex_);
  const auto of_table = missed_.find(table.id);
  if (of_table == missed_.end()) return false;
  const auto knows = [&](std::string_view name) {
    const auto found = of_table->second.find(name);
    return found != of_table->second.end() && (found->second & how) == how;
  };
  return knows(field) || knows({});
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
  const auto* const keeper = dynamic_cast<const FieldKeeper*>(&store_);
  // Whoever brings one of them says so again.
  const auto doubted =
      keeper == nullptr ? std::vector<std::string>() : keeper->DoubtedFields(stream_);
  std::unique_lock lock(mutex_);
  for (const FieldInfo& field : fields) {
    if (std::ranges::binary_search(doubted, field.name)) continue;
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
  for (const TablePtr& table : tables_) {
    for (const MissedField& missed : store_.MissedFields(*table)) {
      if (missed.sequence > LastChange(*table)) missed_[table->id][missed.name] |= missed.how;
    }
  }
}

}  // namespace tallyd
