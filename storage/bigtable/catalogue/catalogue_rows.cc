#include "storage/bigtable/catalogue/catalogue_rows.h"

#include <fmt/format.h>

#include <chrono>
#include <random>
#include <utility>

#include "storage/bigtable/read/row_filter.h"
#include "storage/bigtable/wire/bulk_write.h"
#include "storage/bigtable/wire/own_table.h"
#include "storage/bigtable/wire/retry.h"

namespace tallyd {
namespace {

constexpr std::string_view kClaimRow = "p/claim";
constexpr size_t kIdDigits = 32;
constexpr std::string_view kProbeRows[] = {"p/1", "p/2"};

data_api::RowFilter NewestCells() {
  data_api::RowFilter filter;
  filter.set_cells_per_column_limit_filter(1);
  return filter;
}

// Empty: any.
data_api::RowFilter HasCell(std::string_view column, const std::string& value) {
  data_api::RowFilter filter;
  auto* const chain = filter.mutable_chain();
  chain->add_filters()->set_column_qualifier_regex_filter(RegexOfGlob(std::string(column)));
  chain->add_filters()->set_cells_per_column_limit_filter(1);
  if (!value.empty()) chain->add_filters()->set_value_regex_filter(RegexOfGlob(value));
  return filter;
}

void Set(std::string_view qualifier, std::string_view value, data_api::Mutation* mutation) {
  data_api::Mutation::SetCell* const cell = mutation->mutable_set_cell();
  cell->set_family_name(std::string(kCatalogueFamily));
  cell->set_column_qualifier(std::string(qualifier));
  cell->set_value(std::string(value));
}

std::string NewMark() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

// One that is sent again behind what others wrote meanwhile must not be taken for the one before
// that.
void RenewMark(CatalogueEntry* entry) {
  if (entry->mutations().empty()) return;
  data_api::Mutation& last = *entry->mutable_mutations()->rbegin();
  if (!last.has_set_cell() || last.set_cell().column_qualifier() != kChangedColumn) return;
  last.mutable_set_cell()->set_value(NewMark());
}

std::string NewIdOfTables() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

}  // namespace

void SetCatalogueCell(std::string_view qualifier, std::string_view value, int64_t time,
                      data_api::Mutation* mutation) {
  Set(qualifier, value, mutation);
  mutation->mutable_set_cell()->set_timestamp_micros(time);
}

void SetCatalogueCell(std::string_view qualifier, std::string_view value, int64_t time,
                      CatalogueEntry* entry) {
  SetCatalogueCell(qualifier, value, time, entry->add_mutations());
}

void MarkChanged(CatalogueEntry* entry) { SetCatalogueCell(kChangedColumn, NewMark(), 0, entry); }

CatalogueRows::CatalogueRows(BigtableClient* client)
    : client_(*client), table_(client->TableName(kCatalogueTable)) {}

void CatalogueRows::Send(std::vector<BulkRow>* rows, SteadyTime until) {
  WriteRows(&client_, rows, until, Paced::kNo);
}

Status CatalogueRows::Open(std::optional<SteadyTime> until) {
  Status claimed = Claim(until.value_or(client_.NewDeadline()));
  if (claimed || claimed.error().code() != ErrorCode::kNotFound) return claimed;
  if (!client_.config().create) {
    return Invalid(
        fmt::format("storage.bigtable.create: is false, and there is no table {}", table_));
  }
  if (Status made = MakeOwnTable(&client_, kCatalogueTable, kCatalogueFamily); !made) return made;
  return Claim(client_.NewDeadline());
}

// The row is there after it, whoever has won.
Status CatalogueRows::Claim(SteadyTime until) {
  data_api::CheckAndMutateRowRequest request;
  request.set_row_key(std::string(kClaimRow));
  Set(kValueColumn, NewIdOfTables(), request.add_false_mutations());
  std::vector<BulkRow> rows{{.table = &table_, .check = &request}};
  Send(&rows, until);
  const RpcStatus& ended = rows.front().ended;
  if (ended.ok()) return {};
  if (ended.code == RpcCode::kFailedPrecondition) {
    return Invalid(fmt::format(
        "storage.bigtable.app_profile: \"{}\" does not take single-row transactions: {}; "
        "accepted: one that routes to a single cluster and allows them",
        client_.config().app_profile, ended.message));
  }
  return ErrorOf(ended, table_);
}

Result<std::string> CatalogueRows::StoreId(SteadyTime until) {
  const Result<CatalogueCells> claimed = Read(kClaimRow, until);
  if (!claimed) return claimed.error();
  const auto id = claimed->find(std::string(kValueColumn));
  const bool has_id = id != claimed->end() && id->second.size() == kIdDigits;
  return has_id ? id->second : std::string();
}

Result<bool> CatalogueRows::TakesReverseScans() {
  std::vector<CatalogueEntry> entries;
  for (const std::string_view key : kProbeRows) {
    CatalogueEntry& entry = entries.emplace_back();
    entry.set_row_key(std::string(key));
    SetCatalogueCell(kValueColumn, "1", 0, &entry);
  }
  if (Status written = Write(std::move(entries)); !written) return written.error();
  RowsQuery query;
  query.table = table_;
  query.ranges = {{std::string(kProbeRows[0]), std::string(kProbeRows[1]) + '\0'}};
  query.reverse = true;
  query.expected = 1;
  query.limits.deadline = client_.NewDeadline();
  RowStream stream(&client_, std::move(query));
  const Result<bool> more = stream.Next();
  if (!more) {
    return more.error().code() == ErrorCode::kUnavailable ? Result<bool>(more.error()) : false;
  }
  return *more && stream.row().key == kProbeRows[1];
}

Result<CatalogueCells> CatalogueRows::Read(std::string_view key, std::optional<SteadyTime> until) {
  const Result<std::vector<CatalogueRow>> rows = ReadRange(RangeOfKey(key), 1, until);
  if (!rows) return rows.error();
  return rows->empty() ? CatalogueCells() : rows->front().cells;
}

Result<std::vector<CatalogueRow>> CatalogueRows::ReadRange(const KeyRange& range, uint64_t limit,
                                                           std::optional<SteadyTime> until) {
  RowsQuery query;
  query.ranges = {range};
  query.filter = NewestCells();
  query.expected = limit;
  query.limits.deadline = until.value_or(client_.NewDeadline());
  return ReadAll(std::move(query));
}

Result<std::vector<CatalogueRow>> CatalogueRows::ReadRanges(std::vector<KeyRange> ranges,
                                                            std::string_view column,
                                                            std::optional<SteadyTime> until) {
  RowsQuery query;
  query.ranges = std::move(ranges);
  query.filter = column.empty() ? NewestCells() : HasCell(column, "");
  query.limits.deadline = until.value_or(client_.NewDeadline());
  return ReadAll(std::move(query));
}

Result<std::vector<CatalogueRow>> CatalogueRows::ReadAll(RowsQuery query) {
  const uint64_t limit = query.expected;
  query.table = table_;
  RowStream stream(&client_, std::move(query));
  std::vector<CatalogueRow> rows;
  while (limit == 0 || rows.size() < limit) {
    const Result<bool> more = stream.Next();
    if (!more) return more.error();
    if (!*more) break;
    CatalogueRow& row = rows.emplace_back();
    row.key = stream.row().key;
    for (const WireCell& cell : stream.row().cells) {
      row.cells.emplace(cell.qualifier, cell.value);
    }
  }
  return rows;
}

Status CatalogueRows::Write(std::vector<CatalogueEntry> entries) {
  std::vector<BulkRow> rows;
  for (CatalogueEntry& entry : entries) {
    rows.push_back({.table = &table_, .entry = &entry, .before_try = &RenewMark});
  }
  Send(&rows, client_.NewDeadline());
  for (const BulkRow& row : rows) {
    if (!row.ended.ok()) return ErrorOf(row.ended, table_);
  }
  return {};
}

Result<std::vector<bool>> CatalogueRows::Check(
    std::vector<data_api::CheckAndMutateRowRequest> requests, SteadyTime until) {
  if (requests.empty()) return std::vector<bool>();
  std::vector<BulkRow> rows;
  for (auto& request : requests) rows.push_back({.table = &table_, .check = &request});
  Send(&rows, until);
  std::vector<bool> matched;
  for (const BulkRow& row : rows) {
    if (!row.ended.ok()) return ErrorOf(row.ended, table_);
    matched.push_back(row.matched);
  }
  return matched;
}

Result<bool> CatalogueRows::Swap(std::string_view row, std::string_view column,
                                 const std::string& before, const std::string& after) {
  data_api::CheckAndMutateRowRequest request;
  request.set_row_key(std::string(row));
  *request.mutable_predicate_filter() = HasCell(column, before);
  Set(column, after, before.empty() ? request.add_false_mutations() : request.add_true_mutations());
  std::vector<BulkRow> rows{{.table = &table_, .check = &request}};
  Send(&rows, client_.NewDeadline());
  if (!rows.front().ended.ok()) return ErrorOf(rows.front().ended, table_);
  const Result<CatalogueCells> cells = Read(row);
  if (!cells) return cells.error();
  const auto cell = cells->find(std::string(column));
  return cell != cells->end() && cell->second == after;
}

Result<bool> CatalogueRows::ReplaceSchema(const std::string& before, const CatalogueCells& cells) {
  data_api::CheckAndMutateRowRequest request;
  request.set_row_key(std::string(kSchemaRow));
  // Without a version the row has no cell, and the mutations are those of no match.
  auto* const mutations =
      before.empty() ? request.mutable_false_mutations() : request.mutable_true_mutations();
  if (!before.empty()) *request.mutable_predicate_filter() = HasCell(kVersionColumn, before);
  mutations->Add()->mutable_delete_from_row();
  for (const auto& [qualifier, value] : cells) Set(qualifier, value, mutations->Add());
  std::vector<BulkRow> rows{{.table = &table_, .check = &request}};
  Send(&rows, client_.NewDeadline());
  if (!rows.front().ended.ok()) return ErrorOf(rows.front().ended, table_);
  // A try whose answer was lost may have been the one that won.
  const Result<CatalogueCells> after = Read(kSchemaRow);
  if (!after) return after.error();
  const auto version = after->find(std::string(kVersionColumn));
  return version != after->end() && version->second == cells.at(std::string(kVersionColumn));
}

}  // namespace tallyd
