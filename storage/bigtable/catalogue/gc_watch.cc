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
constexpr std::string_view kGone = "the table is gone";
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
    const auto differences = DifferencesOf(*table);
    if (!differences) return differences.error();
    const std::string drift = *differences ? TextOfAll(**differences) : std::string(kGone);
    if (Status noted = Note(*table, drift, now, &*cells); !noted) return noted;
  }
  if (!due.empty()) {
    if (Status forgot = ForgetGone(*cells, now); !forgot) return forgot;
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

Status GcWatch::SetAgain(const Schema& file) {
  Result<CatalogueCells> cells = catalogue_.rows().Read(kGcRow);
  if (!cells) return cells.error();
  for (const TablePtr& table : catalogue_.Tables()) {
    const Table* const named = file.FindTable(table->name);
    if (named == nullptr || named->nightly || table->orphaned) continue;
    auto differences = DifferencesOf(*table);
    if (!differences) return differences.error();
    if (!*differences || (*differences)->empty()) continue;
    if (Status set = SetRules(*table, **differences); !set) return set;
    std::erase_if(**differences, [](const Difference& one) { return one.there.has_value(); });
    const std::string left = TextOfAll(**differences);
    if (Status noted = Note(*table, left, clock_.Now(), &*cells); !noted) return noted;
  }
  Publish(*cells);
  return {};
}

Status GcWatch::SetRules(const TableInfo& table, const std::vector<Difference>& differences) {
  admin_api::ModifyColumnFamiliesRequest request;
  request.set_name(client_.TableName(table.name));
  for (const Difference& one : differences) {
    if (!one.there) continue;
    auto* const change = request.add_modifications();
    change->set_id(one.family);
    *change->mutable_update()->mutable_gc_rule() = one.wanted;
    change->mutable_update_mask()->add_paths("gc_rule");
    spdlog::info(
        "bigtable: family {} of table {} had another rule there, {}, and has the file's "
        "again: {}",
        one.family, table.name, TextOf(*one.there), TextOf(one.wanted));
  }
  if (request.modifications().empty()) return {};
  const RpcStatus set =
      Ask([&](SteadyTime until) { return client_.ModifyColumnFamilies(request, until); });
  return set.ok() ? Status() : Status(ErrorOf(set, "the families of table " + table.name));
}

Status GcWatch::Note(const TableInfo& table, const std::string& drift, TimeUs now,
                     CatalogueCells* cells) {
  const std::string read_column = std::string(kReadColumns) + table.name;
  const std::string drift_column = std::string(kDriftColumns) + table.name;
  std::vector<CatalogueEntry> entries(1);
  entries[0].set_row_key(std::string(kGcRow));
  SetCatalogueCell(read_column, std::to_string(now), 0, &entries[0]);
  SetCatalogueCell(drift_column, drift, 0, &entries[0]);
  (*cells)[drift_column] = drift;
  return catalogue_.rows().Write(std::move(entries));
}

// What was found of tables that are no more: nightly ones come and go.
Status GcWatch::ForgetGone(const CatalogueCells& cells, TimeUs now) {
  std::vector<CatalogueEntry> entries(1);
  entries[0].set_row_key(std::string(kGcRow));
  for (const auto& [column, read] : cells) {
    if (!column.starts_with(kReadColumns) || TimeIn(read) + kUsPerDay > now) continue;
    const std::string table = column.substr(kReadColumns.size());
    if (catalogue_.Find(table) != nullptr) continue;
    for (const std::string_view columns : {kReadColumns, kDriftColumns}) {
      auto* const gone = entries[0].add_mutations()->mutable_delete_from_column();
      gone->set_family_name(std::string(kCatalogueFamily));
      gone->set_column_qualifier(std::string(columns) + table);
    }
  }
  if (entries[0].mutations().empty()) return {};
  return catalogue_.rows().Write(std::move(entries));
}

// What passes is tried again for as long as one try may take.
RpcStatus GcWatch::Ask(const std::function<RpcStatus(SteadyTime until)>& call) const {
  Retry retry(client_.ending(), std::chrono::steady_clock::now() +
                                    std::chrono::microseconds(client_.config().attempt_us));
  RpcStatus ended;
  do {
    ended = call(retry.deadline());
  } while (retry.MayTryAgain(ended));
  return ended;
}

Result<std::optional<std::vector<GcWatch::Difference>>> GcWatch::DifferencesOf(
    const TableInfo& table) {
  admin_api::GetTableRequest request;
  request.set_name(client_.TableName(table.name));
  request.set_view(admin_api::Table::SCHEMA_VIEW);
  admin_api::Table there;
  const RpcStatus ended =
      Ask([&](SteadyTime until) { return client_.GetTable(request, &there, until); });
  std::optional<std::vector<Difference>> differences;
  if (ended.code == RpcCode::kNotFound) return differences;
  if (!ended.ok()) return ErrorOf(ended, "table " + table.name);
  differences.emplace();
  for (const StoredFamily& family : table.families) {
    if (!family.configured) continue;
    Difference one{family.name, {}, GcRuleOf(family.last, table.mode)};
    const auto known = there.column_families().find(family.name);
    if (known != there.column_families().end()) one.there = known->second.gc_rule();
    if (one.there && IsSameRule(*one.there, one.wanted)) continue;
    differences->push_back(std::move(one));
  }
  return differences;
}

std::string GcWatch::TextOfAll(const std::vector<Difference>& differences) {
  std::string text;
  for (const Difference& one : differences) {
    text += fmt::format("{}family {}: there {}, by the file {}", text.empty() ? "" : "; ",
                        one.family, one.there ? TextOf(*one.there) : "is none", TextOf(one.wanted));
  }
  return text;
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
