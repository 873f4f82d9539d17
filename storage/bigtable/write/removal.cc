#include "storage/bigtable/write/removal.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "config/values/repeating_thread.h"
#include "storage/bigtable/codec/cell_time.h"
#include "storage/bigtable/read/row_filter.h"
#include "storage/bigtable/read/row_stream.h"
#include "storage/bigtable/wire/bulk_write.h"
#include "storage/bigtable/wire/retry.h"

namespace tallyd {
namespace {

constexpr size_t kRowsAtOnce = 2000;

bool IsOfWholeRows(const DeleteSpec& what) { return !what.family && what.cells.is_open(); }

// Cells of what is named, each column once.
std::optional<data_api::RowFilter> FilterOfRemoval(const TableInfo& table, const DeleteSpec& what,
                                                   int64_t grain_us) {
  if (IsOfWholeRows(what)) return KeysFilter();
  data_api::RowFilter filter;
  auto* const chain = filter.mutable_chain();
  if (what.family) {
    chain->add_filters()->set_family_name_regex_filter(
        RegexOfGlob(table.families[*what.family].name));
  }
  if (!what.cells.is_open()) {
    auto* const times = chain->add_filters()->mutable_timestamp_range_filter();
    times->set_start_timestamp_micros(NextGrain(what.cells.from, grain_us));
    if (what.cells.to <= kMaxTimeUs) {
      times->set_end_timestamp_micros(NextGrain(what.cells.to, grain_us));
    }
  }
  chain->add_filters()->set_cells_per_column_limit_filter(1);
  chain->add_filters()->set_strip_value_transformer(true);
  return filter;
}

// False: nothing of the row is to go.
bool DeleteFrom(const WireRow& row, const TableInfo& table, const DeleteSpec& what,
                int64_t grain_us, data_api::MutateRowsRequest::Entry* entry) {
  entry->set_row_key(row.key);
  if (IsOfWholeRows(what)) {
    entry->add_mutations()->mutable_delete_from_row();
    return true;
  }
  for (const WireCell& cell : row.cells) {
    if (what.qualifier && *what.qualifier != cell.qualifier) continue;
    auto* const column = entry->add_mutations()->mutable_delete_from_column();
    column->set_family_name(std::string(cell.family));
    column->set_column_qualifier(std::string(cell.qualifier));
    DeleteColumn(table, what, grain_us, column);
  }
  return entry->mutations_size() > 0;
}

Status Send(BigtableClient* client, const std::string& table,
            std::vector<data_api::MutateRowsRequest::Entry>* entries) {
  std::vector<BulkRow> rows;
  for (auto& entry : *entries) rows.push_back({.table = &table, .entry = &entry});
  WriteRows(client, &rows, client->NewDeadline());
  for (const BulkRow& row : rows) {
    if (!row.ended.ok()) return ErrorOf(row.ended, "a delete");
  }
  entries->clear();
  return {};
}

// The prefix that the range is, where it is one.
std::optional<std::string> PrefixOf(const KeyRange& range) {
  if (range.start.empty()) return range.end.empty() ? std::optional<std::string>("") : std::nullopt;
  return PrefixEnd(range.start) == range.end ? std::optional(range.start) : std::nullopt;
}

Status TakeTurn(const Ending& ending, ClaimRows* claims, const Claiming::Held& turn,
                SteadyTime until) {
  constexpr auto kLook = std::chrono::milliseconds(500);
  while (true) {
    const Result<Claiming::Fate> fate = claims->Claim(turn);
    if (!fate) return fate.error();
    if (*fate == Claiming::Fate::kOwn) return {};
    const SteadyTime look = std::chrono::steady_clock::now() + kLook;
    if (look > until || ending.WaitUntil(look)) {
      return Error(ErrorCode::kUnavailable,
                   "another daemon deletes very many rows of the table just now");
    }
  }
}

// A daemon that is killed meanwhile leaves its turn to others when the lease ends; what the service
// has begun by then it tells the next one to wait for.
Status DropRowsInTurn(BigtableClient* client, ClaimRows* claims, const std::string& table,
                      const std::string& prefix) {
  std::random_device random;
  const Claiming::Held turn{std::string("\0drop\0", 6) + table.substr(table.rfind('/') + 1),
                            fmt::format("{:08x}{:08x}", random(), random())};
  const SteadyTime until = client->NewDeadline();
  if (Status taken = TakeTurn(client->ending(), claims, turn, until); !taken) return taken;
  constexpr RepeatingThread::Wait kKeep = Claiming::kClaimLease / 3;
  RepeatingThread keeper;
  keeper.Start(kKeep, [&] {
    (void)claims->Keep({&turn, 1});  // What fails once is done again before the lease ends.
    return kKeep;
  });
  Status dropped = DropRows(client, table, prefix);
  keeper.Stop();
  (void)claims->Release({&turn, 1});  // Else it ends by itself.
  return dropped;
}

}  // namespace

Status Remove(BigtableClient* client, ClaimRows* claims, const BigtableBatch::Removal& removal,
              int64_t grain_us) {
  const DeleteSpec& what = removal.what;
  if (!HasTimes(what, grain_us)) return {};
  RowsQuery query;
  query.table = removal.table->name;
  query.ranges = removal.ranges;
  query.filter = FilterOfRemoval(removal.table->info, what, grain_us);
  RowStream stream(client, std::move(query));
  const std::optional<std::string> prefix = IsOfWholeRows(what) && removal.ranges.size() == 1
                                                ? PrefixOf(removal.ranges.front())
                                                : std::nullopt;
  std::vector<data_api::MutateRowsRequest::Entry> entries;
  uint64_t rows = 0;
  while (true) {
    const Result<bool> more = stream.Next();
    if (!more) return more.error();
    if (!*more) return Send(client, removal.table->name, &entries);
    if (++rows > kRowsDeletedSingly && prefix) {
      return DropRowsInTurn(client, claims, removal.table->name, *prefix);
    }
    data_api::MutateRowsRequest::Entry entry;
    if (DeleteFrom(stream.row(), removal.table->info, what, grain_us, &entry)) {
      entries.push_back(std::move(entry));
    }
    const bool waits = prefix && rows <= kRowsDeletedSingly;  // They may go by DropRowRange.
    if (waits || entries.size() < kRowsAtOnce) continue;
    if (Status sent = Send(client, removal.table->name, &entries); !sent) return sent;
  }
}

Status DropRows(BigtableClient* client, const std::string& table, const std::string& prefix) {
  admin_api::DropRowRangeRequest request;
  request.set_name(table);
  if (prefix.empty()) {
    request.set_delete_all_data_from_table(true);
  } else {
    request.set_row_key_prefix(prefix);
  }
  // It is one call, however long that takes; another one of the table is told to wait.
  constexpr auto kLongest = std::chrono::minutes(10);
  const SteadyTime deadline = std::chrono::steady_clock::now() + kLongest;
  Retry retry(client->ending(), deadline);
  RpcStatus dropped;
  do {
    dropped = client->DropRowRange(request, deadline);
  } while (retry.MayTryAgain(dropped));
  if (!dropped.ok()) return ErrorOf(dropped, "a delete of many rows");
  return {};
}

}  // namespace tallyd
