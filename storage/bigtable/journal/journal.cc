#include "storage/bigtable/journal/journal.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <random>
#include <utility>

#include "storage/bigtable/read/row_filter.h"
#include "storage/bigtable/read/row_stream.h"
#include "storage/bigtable/wire/bulk_write.h"
#include "storage/bigtable/wire/own_table.h"
#include "storage/bigtable/wire/retry.h"

namespace tallyd {
namespace {

constexpr std::string_view kFamily = "j";
constexpr std::string_view kLeaseColumn = "l";
constexpr std::string_view kCountingColumn = "c";
constexpr std::string_view kFailedColumn = "f";
constexpr std::string_view kPieceColumns = "b/";
constexpr size_t kBytesOfPiece = 8u << 20;
// Twice it may fail before a lease is over.
constexpr RepeatingThread::Wait kKeptEvery{Journal::kLeaseUs / kUsPerMs / 3};

std::string RandomDigits(int words) {
  std::random_device random;
  std::string digits;
  for (int i = 0; i < words; ++i) digits += fmt::format("{:08x}", random());
  return digits;
}

void Set(std::string_view column, std::string_view value, data_api::Mutation* mutation) {
  data_api::Mutation::SetCell* const cell = mutation->mutable_set_cell();
  cell->set_family_name(std::string(kFamily));
  cell->set_column_qualifier(std::string(column));
  cell->set_value(std::string(value));
}

data_api::RowFilter Newest(std::string_view columns) {
  data_api::RowFilter filter;
  auto* const chain = filter.mutable_chain();
  chain->add_filters()->set_column_qualifier_regex_filter(std::string(columns));
  chain->add_filters()->set_cells_per_column_limit_filter(1);
  return filter;
}

data_api::CheckAndMutateRowRequest IfLeaseIs(const std::string& key, const std::string& glob) {
  data_api::CheckAndMutateRowRequest request;
  request.set_row_key(key);
  data_api::RowFilter filter = Newest(kLeaseColumn);
  filter.mutable_chain()->add_filters()->set_value_regex_filter(RegexOfGlob(glob));
  *request.mutable_predicate_filter() = std::move(filter);
  return request;
}

Journal::Mark MarkOf(const WireRow& row) {
  Journal::Mark mark;
  mark.key = row.key;
  for (const WireCell& cell : row.cells) {
    if (cell.qualifier == kLeaseColumn) mark.lease = cell.value;
    if (cell.qualifier == kFailedColumn) {
      mark.failed = cell.value.substr(std::min(cell.value.find(' ') + 1, cell.value.size()));
    }
    if (cell.qualifier == kCountingColumn) mark.has_begun_counting = true;
  }
  return mark;
}

data_api::MutateRowsRequest::Entry EntryOf(const Journal::NewRow& row, std::string_view lease) {
  data_api::MutateRowsRequest::Entry entry;
  entry.set_row_key(row.key);
  Set(kLeaseColumn, lease, entry.add_mutations());
  for (size_t at = 0, piece = 0; at < row.bytes.size(); at += kBytesOfPiece, ++piece) {
    Set(fmt::format("{}{:04}", kPieceColumns, piece),
        std::string_view(row.bytes).substr(at, kBytesOfPiece), entry.add_mutations());
  }
  return entry;
}

}  // namespace

Journal::Journal(BigtableClient* client, const Clock* clock)
    : client_(*client),
      clock_(*clock),
      table_(client->TableName(kJournalTable)),
      owner_(RandomDigits(4)) {}

Status Journal::Open(std::optional<SteadyTime> until) {
  if (is_there_) return {};
  const SteadyTime deadline = until.value_or(client_.NewDeadline());
  if (const Result<std::vector<Mark>> listed = List(deadline); listed) {
    is_there_ = true;
    return {};
  } else if (listed.error().code() != ErrorCode::kNotFound) {
    return listed.error();
  }
  if (!takes_batches()) return {};
  if (!client_.config().create) {
    return Invalid(
        fmt::format("storage.bigtable.create: is false, and there is no table {}, which "
                    "storage.bigtable.whole_batches needs",
                    table_));
  }
  if (Status made = MakeOwnTable(&client_, kJournalTable, kFamily); !made) return made;
  is_there_ = true;
  return {};
}

void Journal::Start() {
  if (!is_there_) return;
  keeper_.Start(kKeptEvery, [this] {
    Keep();
    return kKeptEvery;
  });
}

std::string Journal::NewKey() { return RandomDigits(4); }

std::string Journal::NewLease() const {
  return fmt::format("{} {}", std::max<TimeUs>(clock_.Now(), 0) + kLeaseUs, owner_);
}

void Journal::Write(std::vector<NewRow>* rows, SteadyTime deadline) {
  std::vector<data_api::MutateRowsRequest::Entry> entries;
  entries.reserve(rows->size());
  std::vector<BulkRow> calls;
  // Sent again behind its lease it would bring back a row that others have finished.
  const SteadyTime in_lease =
      std::chrono::steady_clock::now() + std::chrono::microseconds(kLeaseUs / 2);
  const std::string lease = NewLease();
  for (NewRow& row : *rows) {
    calls.push_back({.table = &table_, .entry = &entries.emplace_back(EntryOf(row, lease))});
    row.bytes.clear();
  }
  {
    const std::lock_guard lock(mutex_);
    const SteadyTime now = std::chrono::steady_clock::now();
    for (const NewRow& row : *rows) held_.emplace(row.key, now);
  }
  WriteRows(&client_, &calls, std::min(deadline, in_lease), Paced::kNo);
  for (size_t i = 0; i < calls.size(); ++i) {
    (*rows)[i].ended = std::move(calls[i].ended);
    (*rows)[i].is_in_doubt = calls[i].is_in_doubt;
  }
}

std::vector<RpcStatus> Journal::Erase(std::span<const std::string> keys, SteadyTime deadline) {
  std::vector<data_api::MutateRowsRequest::Entry> entries(keys.size());
  std::vector<BulkRow> calls;
  for (size_t i = 0; i < keys.size(); ++i) {
    entries[i].set_row_key(keys[i]);
    entries[i].add_mutations()->mutable_delete_from_row();
    calls.push_back({.table = &table_, .entry = &entries[i]});
  }
  WriteRows(&client_, &calls, deadline, Paced::kNo);
  std::vector<RpcStatus> ended;
  for (BulkRow& call : calls) ended.push_back(std::move(call.ended));
  return ended;
}

void Journal::LetGo(std::span<const std::string> keys) {
  const std::lock_guard lock(mutex_);
  for (const std::string& key : keys) held_.erase(key);
}

bool Journal::Holds(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  return held_.contains(key);
}

Result<std::vector<Journal::Mark>> Journal::List(SteadyTime deadline) {
  RowsQuery query;
  query.table = table_;
  query.ranges = {KeyRange{}};
  query.filter = Newest(fmt::format("[{}{}{}]", kLeaseColumn, kCountingColumn, kFailedColumn));
  query.limits.deadline = deadline;
  RowStream stream(&client_, std::move(query));
  std::vector<Mark> marks;
  while (true) {
    const Result<bool> more = stream.Next();
    if (!more) return more.error();
    if (!*more) return marks;
    marks.push_back(MarkOf(stream.row()));
  }
}

Result<std::optional<Journal::StoredRow>> Journal::Read(const std::string& key,
                                                        SteadyTime deadline) {
  RowsQuery query;
  query.table = table_;
  query.ranges = {RangeOfKey(key)};
  query.filter.emplace().set_cells_per_column_limit_filter(1);
  query.expected = 1;
  query.limits.deadline = deadline;
  RowStream stream(&client_, std::move(query));
  const Result<bool> more = stream.Next();
  if (!more) return more.error();
  if (!*more) return std::optional<StoredRow>();
  StoredRow row{MarkOf(stream.row()), {}};
  // They come in the order of their names, as the pieces do.
  for (const WireCell& cell : stream.row().cells) {
    if (cell.qualifier.starts_with(kPieceColumns)) row.bytes.append(cell.value);
  }
  return std::optional(std::move(row));
}

Result<bool> Journal::IsPending(const std::string& key, SteadyTime deadline) {
  RowsQuery query;
  query.table = table_;
  query.ranges = {RangeOfKey(key)};
  query.filter = Newest(fmt::format("[{}{}]", kLeaseColumn, kFailedColumn));
  query.expected = 1;
  query.limits.deadline = deadline;
  RowStream stream(&client_, std::move(query));
  const Result<bool> more = stream.Next();
  if (!more && more.error().code() == ErrorCode::kNotFound) return false;
  if (!more) return more.error();
  return *more && !MarkOf(stream.row()).failed;
}

bool Journal::IsOthers(const Mark& mark) const {
  if (mark.lease.ends_with(" " + owner_)) return Holds(mark.key);
  TimeUs until = 0;
  std::from_chars(mark.lease.data(), mark.lease.data() + mark.lease.size(), until);
  const TimeUs now = clock_.Now();
  // One that ends later than any could was given by a clock that was wrong.
  return now < until && until <= now + 2 * kLeaseUs;
}

Result<std::vector<bool>> Journal::Check(std::vector<data_api::CheckAndMutateRowRequest> requests,
                                         SteadyTime deadline) {
  std::vector<BulkRow> calls;
  for (auto& request : requests) calls.push_back({.table = &table_, .check = &request});
  WriteRows(&client_, &calls, deadline, Paced::kNo);
  std::vector<bool> matched;
  for (const BulkRow& call : calls) {
    if (!call.ended.ok()) return ErrorOf(call.ended, table_);
    matched.push_back(call.matched);
  }
  return matched;
}

data_api::CheckAndMutateRowRequest Journal::OfOwner(const std::string& key) const {
  return IfLeaseIs(key, "* " + owner_);
}

Result<std::vector<bool>> Journal::Take(std::span<const Mark> marks, SteadyTime deadline) {
  std::vector<data_api::CheckAndMutateRowRequest> requests;
  const std::string lease = NewLease();
  for (const Mark& mark : marks) {
    Set(kLeaseColumn, lease,
        requests.emplace_back(IfLeaseIs(mark.key, mark.lease)).add_true_mutations());
  }
  Result<std::vector<bool>> taken = Check(std::move(requests), deadline);
  if (!taken) return taken;
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < marks.size(); ++i) {
    if ((*taken)[i]) held_.emplace(marks[i].key, std::chrono::steady_clock::now());
  }
  return taken;
}

void Journal::Keep() {
  std::vector<data_api::CheckAndMutateRowRequest> requests;
  {
    const std::lock_guard lock(mutex_);
    // Most are under way for much less time than a lease lasts.
    const SteadyTime due = std::chrono::steady_clock::now() - kKeptEvery / 2;
    for (const auto& [key, since] : held_) {
      if (since <= due) requests.push_back(OfOwner(key));
    }
  }
  if (requests.empty()) return;
  const std::string lease = NewLease();
  for (auto& request : requests) Set(kLeaseColumn, lease, request.add_true_mutations());
  const SteadyTime deadline = std::chrono::steady_clock::now() + kKeptEvery;
  if (const auto kept = Check(std::move(requests), deadline); !kept) {
    spdlog::debug("bigtable: leases of the journal: {}", kept.error().message());
  }
}

Result<bool> Journal::BeginCounting(const std::string& key, SteadyTime deadline) {
  std::vector<data_api::CheckAndMutateRowRequest> requests = {OfOwner(key)};
  // So that whoever read the row before does not get the lease.
  Set(kLeaseColumn, NewLease(), requests[0].add_true_mutations());
  Set(kCountingColumn, std::to_string(clock_.Now()), requests[0].add_true_mutations());
  const Result<std::vector<bool>> matched = Check(std::move(requests), deadline);
  if (!matched) return matched.error();
  return matched->front();
}

Result<bool> Journal::GiveUp(const std::string& key, std::string_view why, SteadyTime deadline) {
  std::vector<data_api::CheckAndMutateRowRequest> requests = {OfOwner(key)};
  auto* const ends = requests[0].add_true_mutations()->mutable_delete_from_column();
  ends->set_family_name(std::string(kFamily));
  ends->set_column_qualifier(std::string(kLeaseColumn));
  Set(kFailedColumn, fmt::format("{} {}", clock_.Now(), why), requests[0].add_true_mutations());
  const Result<std::vector<bool>> matched = Check(std::move(requests), deadline);
  if (!matched) return matched.error();
  return matched->front();
}

}  // namespace tallyd
