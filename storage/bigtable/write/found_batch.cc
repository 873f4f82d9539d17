#include "storage/bigtable/write/found_batch.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "storage/bigtable/journal/journaled_batch.h"

namespace tallyd {
namespace {

// What adds up must not be sent once the service may have forgotten its tokens, nor where it knows
// none and it was sent before.
bool MayStillCount(const JournaledBatch::Row& row, const FoundBatch& found) {
  if (!row.counts) return true;
  if (found.may_be_given_up()) return false;
  return row.entry.has_idempotency() || !found.mark.has_begun_counting;
}

}  // namespace

Result<std::optional<FoundBatch>> BatchFinder::Find(const std::string& key, SteadyTime deadline) {
  Result<std::optional<Journal::StoredRow>> stored = journal_.Read(key, deadline);
  if (!stored) return stored.error();
  if (!*stored || (*stored)->mark.failed || journal_.IsOthers((*stored)->mark)) {
    return std::optional<FoundBatch>();
  }
  FoundBatch found;
  found.mark = std::move((*stored)->mark);
  const std::string& bytes = (*stored)->bytes;
  found.age_us = std::max<int64_t>(clock_.Now() - WrittenOfJournaled(bytes).value_or(0), 0);
  Result<JournaledBatch> journaled = DecodeJournaled(bytes);
  if (!journaled) {
    found.lacks = journaled.error();
    return std::optional(std::move(found));
  }
  // That a table is no more only what the catalogue has by now may say.
  if (Status read = catalogue_.Refresh(deadline); !read) return read.error();
  found.batch = std::make_unique<BigtableBatch>(&tables_, catalogue_.adoption(), grain_us_);
  std::vector<TablePtr> tables;
  for (const JournaledBatch::Table& table : journaled->tables) {
    const TablePtr known = catalogue_.Find(table.name);
    tables.push_back(known != nullptr && known->id == table.id ? known : nullptr);
  }
  size_t withheld = 0;
  for (JournaledBatch::Row& row : journaled->rows) {
    if (tables[row.table] == nullptr) continue;
    if (!MayStillCount(row, found)) {
      ++withheld;
      continue;
    }
    BigtableBatch::Entry made;
    made.time = row.time;
    made.entry = std::move(row.entry);
    made.folds = row.folds;
    made.counts = row.counts;
    found.batch->AddEntry(*tables[row.table], std::move(made));
  }
  if (withheld > 0) {
    found.lacks =
        Error(ErrorCode::kConflict, "of its rows " + std::to_string(withheld) +
                                        " add up, and nobody knows whether they have counted");
  }
  for (const auto& [memo, value] : journaled->memos) {
    if (value) {
      const bool is_around = journaled->around.contains(memo);
      found.batch->PutMemo(memo, *value, is_around ? NoteOrder::kAround : NoteOrder::kAfter);
    } else {
      found.batch->DropMemo(memo);
    }
  }
  if (!journaled->claim.empty()) found.batch->CountUnder(journaled->claim, "");
  return std::optional(std::move(found));
}

}  // namespace tallyd
