#include "storage/bigtable/write/joined_rows.h"

#include <fmt/format.h>

#include <random>

namespace tallyd {
namespace {

// Of a row's event: it is written where the row holds nothing newer.
data_api::CheckAndMutateRowRequest CheckOf(const BigtableBatch::Entry& row, int64_t grain_us) {
  data_api::CheckAndMutateRowRequest check;
  check.set_row_key(row.entry.row_key());
  check.mutable_predicate_filter()->mutable_timestamp_range_filter()->set_start_timestamp_micros(
      row.time + grain_us);
  check.add_false_mutations()->mutable_delete_from_row();
  check.mutable_false_mutations()->MergeFrom(row.entry.mutations());
  return check;
}

std::string NewTokens() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}", random(), random(), random());
}

}  // namespace

void GiveToken(const std::string& head, size_t number, data_api::MutateRowsRequest::Entry* entry) {
  data_api::Idempotency* const known = entry->mutable_idempotency();
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  known->set_token(head + std::to_string(number));
  known->mutable_start_time()->set_seconds(
      std::chrono::duration_cast<std::chrono::seconds>(now).count());
}

void JoinedRows::Add(size_t user, BigtableBatch::Entry* row) {
  if (row->entry.mutations().empty()) return;
  const auto [known, is_new] =
      places_.try_emplace({row->table->info.id, row->entry.row_key()}, rows_.size());
  if (is_new) {
    Joined& added = rows_.emplace_back();
    added.row = row;
    added.users.push_back(user);
    return;
  }
  Joined& joined = rows_[known->second];
  joined.users.push_back(user);
  if (!row->is_checked()) {
    if (joined.merged == nullptr) {
      joined.merged = std::make_unique<BigtableBatch::Entry>(*joined.row);
      joined.row = joined.merged.get();
    }
    joined.row->counts = joined.row->counts || row->counts;
    joined.row->entry.mutable_mutations()->MergeFrom(row->entry.mutations());
  } else if (row->time >= joined.row->time) {
    joined.row = row;
  }
}

void JoinedRows::GiveTokens() {
  const std::string head = NewTokens();
  for (size_t i = 0; i < rows_.size(); ++i) {
    auto& entry = rows_[i].row->entry;
    if (!entry.has_idempotency()) GiveToken(head, i, &entry);
  }
}

void JoinedRows::Write(BigtableClient* client, SteadyTime deadline, const Ended& ended) {
  if (rows_.empty()) return;
  std::vector<data_api::CheckAndMutateRowRequest> checks;
  checks.reserve(rows_.size());
  std::vector<BulkRow> rows;
  for (Joined& joined : rows_) {
    BulkRow& row = rows.emplace_back();
    row.table = &joined.row->table->name;
    if (joined.row->is_checked()) {
      row.check = &checks.emplace_back(CheckOf(*joined.row, grain_us_));
    } else {
      row.entry = &joined.row->entry;
      row.goes_once = joined.row->counts && !row.entry->has_idempotency();
    }
  }
  WriteRows(client, &rows, deadline, Paced::kYes);
  for (size_t i = 0; i < rows.size(); ++i) {
    for (const size_t user : rows_[i].users) ended(user, *rows_[i].row, rows[i]);
  }
}

}  // namespace tallyd
