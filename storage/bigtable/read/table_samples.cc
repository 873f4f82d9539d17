#include "storage/bigtable/read/table_samples.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tallyd {
namespace {

// A service that does not answer costs one estimate its deadline, and the next ones nothing.
constexpr std::chrono::seconds kBetweenFailures{10};
constexpr std::chrono::seconds kBetweenAsks{60};
// So many places are kept: of a table of some terabytes.
constexpr size_t kMostPlaces = 100'000;

bool Puts(const data_api::Mutation& mutation) {
  return mutation.has_set_cell() || mutation.has_add_to_cell();
}

SeenRow SeenIn(const BigtableBatch::Entry& row) {
  SeenRow seen{kMaxTimeUs, 0, 1, 0};
  TimeUs before = -1;
  for (const data_api::Mutation& mutation : row.entry.mutations()) {
    if (!Puts(mutation)) continue;
    const auto& cell = mutation.set_cell();
    const TimeUs time = mutation.has_set_cell() ? cell.timestamp_micros() : row.time;
    seen.first = std::min(seen.first, time);
    seen.last = std::max(seen.last, time);
    seen.entries += before >= 0 && time != before ? 1 : 0;
    seen.bytes += cell.column_qualifier().size() + sizeof(time) + cell.value().size();
    before = time;
  }
  return seen;
}

}  // namespace

std::shared_ptr<TableSample> TableSamples::Of(TableId table) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<TableSample>& sample = tables_[table].sample;
  if (sample == nullptr) sample = std::make_shared<TableSample>();
  return sample;
}

void TableSamples::Drop(TableId table) {
  const std::lock_guard lock(mutex_);
  tables_.erase(table);
}

void TableSamples::Tell(const BigtableBatch& batch) {
  std::shared_ptr<TableSample> sample;
  TableId of = 0;
  const auto choose = [&](const WireTable& table) {
    if (sample != nullptr && of == table.info.id) return;
    of = table.info.id;
    sample = Of(of);
  };
  for (const BigtableBatch::Step& step : batch.steps()) {
    for (const BigtableBatch::Entry& row : step.rows) {
      choose(*row.table);
      if (row.entry.mutations().empty()) continue;
      if (row.entry.mutations(0).has_delete_from_row()) {
        sample->Forget(RangeOfKey(row.entry.row_key()));
      }
      if (!Puts(*row.entry.mutations().rbegin())) continue;
      if (!sample->Wants(row.entry.row_key())) continue;
      const bool adds = row.table->info.mode == TableMode::kHistory;
      sample->Take(row.entry.row_key(), SeenIn(row), adds);
    }
    if (!step.removal) continue;
    const DeleteSpec& what = step.removal->what;
    choose(*step.removal->table);
    if (what.family || !what.cells.is_open()) continue;
    for (const KeyRange& rows : step.removal->ranges) sample->Forget(rows);
  }
}

bool TableSamples::MayAsk(TableId table, std::chrono::seconds wait) {
  const SteadyTime now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  SteadyTime& asked = tables_[table].asked;
  if (asked != SteadyTime::min() && now - asked < wait) return false;
  asked = now;
  return true;
}

void TableSamples::AskOnce(const TableInfo& table, SteadyTime deadline) {
  const std::shared_ptr<TableSample> sample = Of(table.id);
  if (sample->has_places() || !MayAsk(table.id, kBetweenFailures)) return;
  Ask(table, sample.get(), deadline);
}

void TableSamples::AskAgain(const TableInfo& table, SteadyTime deadline) {
  const std::shared_ptr<TableSample> sample = Of(table.id);
  if (!sample->was_asked() || !MayAsk(table.id, kBetweenAsks)) return;
  Ask(table, sample.get(), deadline);
}

void TableSamples::Ask(const TableInfo& table, TableSample* sample, SteadyTime deadline) {
  data_api::SampleRowKeysRequest request;
  request.set_table_name(client_.TableName(NameBehind(table.name)));
  request.set_app_profile_id(client_.config().app_profile);
  std::vector<data_api::SampleRowKeysResponse> answer;
  if (!client_.SampleRowKeys(request, &answer, deadline).ok()) return;
  if (answer.empty() || answer.size() > kMostPlaces) return;
  TableSample::Places places;
  for (const data_api::SampleRowKeysResponse& place : answer) {
    const auto bytes = static_cast<uint64_t>(std::max<int64_t>(place.offset_bytes(), 0));
    places.emplace_back(place.row_key(), bytes);
  }
  sample->SetPlaces(std::move(places));
}

}  // namespace tallyd
