#include "storage/bigtable/catalogue/gc_watch.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <charconv>
#include <random>
#include <utility>

#include "storage/bigtable/catalogue/table_admin.h"
#include "storage/bigtable/wire/retry.h"

namespace tallyd {
namespace {

constexpr std::string_view kGcRow = "g";
constexpr std::string_view kLeaseColumn = "lease";
constexpr std::string_view kReadColumns = "a/";
constexpr std::string_view kDriftColumns = "d/";
constexpr auto kFirstGcLook = std::chrono::seconds(5);
constexpr auto kBetweenGcLooks = std::chrono::minutes(1);

std::string RandomName() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

// 0: none that a clock can have told.
TimeUs TimeIn(std::string_view text) {
  TimeUs time = 0;
  std::from_chars(text.data(), text.data() + text.size(), time);
  return time >= 0 && time <= kMaxTimeUs ? time : 0;
}

std::string_view ValueOf(const CatalogueCells& cells, const std::string& column) {
  const auto cell = cells.find(column);
  return cell == cells.end() ? std::string_view() : std::string_view(cell->second);
}

}  // namespace

GcWatch::GcWatch(BigtableClient* client, BigtableCatalogue* catalogue, const Clock* clock)
    : client_(*client), catalogue_(*catalogue), clock_(*clock), owner_(RandomName()) {}

void GcWatch::Start() {
  thread_.Start(kFirstGcLook, [this] {
    // That the service is away others tell.
    if (const Status looked = Look(); !looked) {
      spdlog::debug("bigtable: rules of garbage collection: {}", looked.error().message());
    }
    return RepeatingThread::Wait(kBetweenGcLooks);
  });
}

Status GcWatch::Look() {
  Result<CatalogueCells> cells = catalogue_.rows().Read(kGcRow);
  if (!cells) return cells.error();
  const TimeUs now = clock_.Now();
  std::vector<TablePtr> due;
  for (const TablePtr& table : catalogue_.Tables()) {
    const TimeUs read = TimeIn(ValueOf(*cells, std::string(kReadColumns) + table->name));
    if (!table->orphaned && (read + kBetweenReadsUs <= now || read > now)) due.push_back(table);
  }
  if (!due.empty()) {
    const Result<bool> holds = HoldLease(*cells, now);
    if (!holds) return holds.error();
    if (!*holds) due.clear();
  }
  for (const TablePtr& table : due) {
    const Result<std::string> drift = DriftOf(*table);
    if (!drift) return drift.error();
    const std::string read_column = std::string(kReadColumns) + table->name;
    const std::string drift_column = std::string(kDriftColumns) + table->name;
    std::vector<CatalogueEntry> entries(1);
    entries[0].set_row_key(std::string(kGcRow));
    SetCatalogueCell(read_column, std::to_string(now), 0, &entries[0]);
    SetCatalogueCell(drift_column, *drift, 0, &entries[0]);
    if (Status noted = catalogue_.rows().Write(std::move(entries)); !noted) return noted;
    (*cells)[drift_column] = *drift;
  }
  Publish(*cells);
  return {};
}

// Of two that claim it at once one gets it.
Result<bool> GcWatch::HoldLease(const CatalogueCells& cells, TimeUs now) {
  const std::string before(ValueOf(cells, std::string(kLeaseColumn)));
  const size_t space = std::min(before.find(' '), before.size());
  const TimeUs until = space < before.size() ? TimeIn(before.substr(space + 1)) : 0;
  const bool is_own = before.substr(0, space) == owner_;
  // One that ends later than any could was given by a clock that was wrong.
  if (!is_own && now < until && until <= now + 2 * kLeaseUs) return false;
  return catalogue_.rows().Swap(kGcRow, kLeaseColumn, before,
                                fmt::format("{} {}", owner_, now + kLeaseUs));
}

Result<std::string> GcWatch::DriftOf(const TableInfo& table) {
  admin_api::GetTableRequest request;
  request.set_name(client_.TableName(table.name));
  request.set_view(admin_api::Table::SCHEMA_VIEW);
  admin_api::Table there;
  const SteadyTime until =
      std::chrono::steady_clock::now() + std::chrono::microseconds(client_.config().attempt_us);
  const RpcStatus ended = client_.GetTable(request, &there, until);
  if (ended.code == RpcCode::kNotFound) return std::string("the table is gone");
  if (!ended.ok()) return ErrorOf(ended, "table " + table.name);
  std::string drift;
  for (const StoredFamily& family : table.families) {
    if (!family.configured) continue;
    const admin_api::GcRule wanted = GcRuleOf(family.last, table.mode);
    const auto known = there.column_families().find(family.name);
    const bool is_there = known != there.column_families().end();
    if (is_there && IsSameRule(known->second.gc_rule(), wanted)) continue;
    drift +=
        fmt::format("{}family {}: there {}, by the file {}", drift.empty() ? "" : "; ", family.name,
                    is_there ? TextOf(known->second.gc_rule()) : "is none", TextOf(wanted));
  }
  return drift;
}

void GcWatch::Publish(const CatalogueCells& cells) {
  std::map<std::string, std::string> found;
  for (const TablePtr& table : catalogue_.Tables()) {
    const std::string_view drift = ValueOf(cells, std::string(kDriftColumns) + table->name);
    if (!table->orphaned && !drift.empty()) found.emplace(table->name, drift);
  }
  const std::lock_guard lock(mutex_);
  for (const auto& [table, drift] : found) {
    const auto known = drifts_.find(table);
    if (known != drifts_.end() && known->second == drift) continue;
    spdlog::warn("bigtable: garbage of table {} is not collected as the file says: {}", table,
                 drift);
  }
  drifts_ = std::move(found);
}

std::map<std::string, std::string> GcWatch::Drifts() const {
  const std::lock_guard lock(mutex_);
  return drifts_;
}

}  // namespace tallyd
