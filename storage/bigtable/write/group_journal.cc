#include "storage/bigtable/write/group_journal.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "storage/bigtable/journal/journaled_batch.h"
#include "storage/bigtable/wire/bulk_write.h"
#include "storage/bigtable/wire/retry.h"
#include "storage/bigtable/write/joined_rows.h"

namespace tallyd {
namespace {

bool HasMemosBehind(const BigtableBatch& batch) {
  return std::ranges::any_of(batch.notes().memos,
                             [](const auto& memo) { return GoesBehindRows(memo.second.order); });
}

bool GoesInParts(const BigtableBatch& batch) {
  return std::ranges::any_of(batch.steps().front().rows, [](const BigtableBatch::Entry& row) {
    return row.entry.mutations_size() > kMutationsOfPart;
  });
}

// One row of a call is there as a whole or not by itself. Notes alone are not of the journal's:
// done later they would go over newer ones. Nor are deletes: done later they would take what came
// meanwhile.
bool NeedsJournal(const BigtableBatch& batch) {
  if (batch.has_deletes() || batch.rows() == 0) return false;
  return batch.rows() > 1 || HasMemosBehind(batch) || GoesInParts(batch);
}

bool CountsAny(const BigtableBatch& batch) {
  return std::ranges::any_of(batch.steps().front().rows, &BigtableBatch::Entry::counts);
}

Error TakenOver() {
  return Error(ErrorCode::kUnavailable,
               "another daemon took over the request with this Idempotency-Key");
}

Error ErrorOfJournal(const RpcStatus& ended) {
  return Error(ErrorCode::kUnavailable,
               ErrorOf(ended, "table " + std::string(kJournalTable)).message());
}

}  // namespace

// The lease of what was found is taken when its turn comes, so that nobody waits for it before.
void GroupJournal::TakeFound(BatchGroup* group) {
  std::vector<WaitingBatch*> found;
  std::vector<Journal::Mark> marks;
  for (const auto& waiting : *group) {
    if (!waiting->found || waiting->error) continue;
    found.push_back(waiting.get());
    marks.push_back(waiting->found->mark);
  }
  if (found.empty()) return;
  const Result<std::vector<bool>> taken = journal_.Take(marks, client_.NewDeadline());
  for (size_t i = 0; i < found.size(); ++i) {
    WaitingBatch& waiting = *found[i];
    if (!taken) {
      waiting.error = taken.error();
    } else if (!(*taken)[i]) {
      waiting.error = Error(ErrorCode::kCancelled, "another daemon is at it");
    } else {
      waiting.journal_key = marks[i].key;
    }
    const std::string& claim = waiting.batch->claim().key;
    if (waiting.error || claim.empty()) continue;
    const Result<bool> is_own = claims_.IsJournaled(claim, waiting.journal_key);
    if (is_own) {
      waiting.was_taken_over = !*is_own;
    } else {
      waiting.error = is_own.error();
    }
  }
}

// The claim names the journal's row before that is there, so that whoever takes it over looks for
// the row first.
void GroupJournal::BeginClaims(std::vector<WaitingBatch*>* batches) {
  std::vector<ClaimRows::Journaled> claimed;
  std::vector<WaitingBatch*> claimers;
  for (WaitingBatch* const waiting : *batches) {
    const BigtableBatch::Claimed& claim = waiting->batch->claim();
    if (claim.key.empty()) continue;
    claimed.push_back({{claim.key, claim.owner}, waiting->journal_key});
    claimers.push_back(waiting);
  }
  if (claimed.empty()) return;
  const Result<std::vector<bool>> begun = claims_.BeginJournaling(claimed);
  for (size_t i = 0; i < claimers.size(); ++i) {
    if (begun && (*begun)[i]) continue;
    claimers[i]->journal_key.clear();
    claimers[i]->error = begun ? TakenOver() : begun.error();
  }
  std::erase_if(*batches, [](const WaitingBatch* waiting) { return waiting->error.has_value(); });
}

// False: it is too long.
bool GroupJournal::EncodeRow(WaitingBatch* waiting, std::vector<Journal::NewRow>* rows) {
  if (catalogue_.takes_tokens()) {
    size_t number = 0;
    for (BigtableBatch::Entry& row : waiting->batch->steps().front().rows) {
      if (row.folds) GiveToken(waiting->journal_key + "/", number++, &row.entry);
    }
    waiting->counts_until = std::chrono::steady_clock::now() + kTokenLife;
  }
  std::string bytes = EncodeJournaled(*waiting->batch, std::max<TimeUs>(clock_.Now(), 0));
  if (bytes.size() <= Journal::kMaxBatchBytes) {
    rows->push_back({waiting->journal_key, std::move(bytes)});
    return true;
  }
  waiting->journal_key.clear();
  waiting->error =
      Error(ErrorCode::kTooLarge,
            fmt::format("storage.bigtable.whole_batches: a batch of {} bytes is more than a row of "
                        "the journal takes, which is {}; send less at once",
                        bytes.size(), Journal::kMaxBatchBytes));
  return false;
}

// What was left is finished later, and would go over what comes now.
void GroupJournal::HoldBackWhatContradicts(BatchGroup* group) {
  for (const auto& waiting : *group) {
    if (!waiting->is_well() || waiting->found) continue;
    if (!unfinished_.Contradicts(*waiting->batch)) continue;
    waiting->error = Error(ErrorCode::kUnavailable,
                           "an earlier batch that gives one of its cells another value is in the "
                           "journal and not finished yet");
  }
}

void GroupJournal::Write(BatchGroup* group) {
  if (!journal_.takes_batches()) return;
  HoldBackWhatContradicts(group);
  std::vector<WaitingBatch*> batches;
  for (const auto& waiting : *group) {
    if (waiting->error || waiting->found || !NeedsJournal(*waiting->batch)) continue;
    if (unfinished_.is_full()) {
      waiting->error =
          Error(ErrorCode::kOverloaded, "too much of what is in the journal is not finished yet");
      continue;
    }
    waiting->journal_key = Journal::NewKey();
    batches.push_back(waiting.get());
  }
  BeginClaims(&batches);
  std::vector<Journal::NewRow> rows;
  std::erase_if(batches, [&](WaitingBatch* waiting) { return !EncodeRow(waiting, &rows); });
  if (rows.empty()) return;
  journal_.Write(&rows, group->front()->deadline);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].ended.ok()) continue;
    batches[i]->error = ErrorOfJournal(rows[i].ended);
    if (rows[i].is_in_doubt) continue;
    journal_.LetGo({&rows[i].key, 1});
    batches[i]->journal_key.clear();
  }
}

// Behind the notes, and before the journal's row goes: whoever claims the key in between finds the
// answer.
void GroupJournal::EndClaims(BatchGroup* group) {
  std::vector<CatalogueEntry> ended;
  for (const auto& waiting : *group) {
    const std::string& claim = waiting->batch->claim().key;
    if (waiting->journal_key.empty() || claim.empty() || !waiting->is_well()) continue;
    if (!waiting->found) {
      ended.push_back(ClaimRows::CountedEntry(claim));
    } else if (Status told = claims_.EndJournaled(claim, waiting->journal_key); !told) {
      waiting->error = told.error();
    }
  }
  if (ended.empty()) return;
  // Where that fails whoever comes with the key finds the answer before the doubt.
  if (const Status told = catalogue_.rows().Write(std::move(ended)); !told) {
    spdlog::warn("bigtable: {}", told.error().message());
  }
}

void GroupJournal::Erase(BatchGroup* group) {
  std::vector<std::string> keys;
  std::vector<WaitingBatch*> batches;
  for (const auto& waiting : *group) {
    if (waiting->journal_key.empty() || !waiting->is_well()) continue;
    keys.push_back(waiting->journal_key);
    batches.push_back(waiting.get());
  }
  if (keys.empty()) return;
  // Others of the group may have taken all of the time that there was.
  const std::vector<RpcStatus> ended = journal_.Erase(keys, client_.NewDeadline());
  for (size_t i = 0; i < ended.size(); ++i) {
    if (ended[i].ok()) {
      batches[i]->journal_key.clear();
    } else {
      batches[i]->error = ErrorOfJournal(ended[i]);
    }
  }
}

void GroupJournal::End(BatchGroup* group) {
  std::vector<std::string> held;
  for (const auto& waiting : *group) {
    if (waiting->journal_key.empty()) continue;
    held.push_back(waiting->journal_key);
    const bool lacks = waiting->found && waiting->found->lacks;
    if (lacks && waiting->is_well()) waiting->error = *waiting->found->lacks;
  }
  const auto note_unfinished = [&] {
    for (const auto& waiting : *group) {
      if (waiting->journal_key.empty() || waiting->found || waiting->is_well()) continue;
      unfinished_.Add(waiting->journal_key, *waiting->batch);
    }
  };
  note_unfinished();
  // Others of the group may have gone over some of its cells.
  HoldBackWhatContradicts(group);
  if (held.empty()) return;
  EndClaims(group);
  Erase(group);
  note_unfinished();
  journal_.LetGo(held);
  for (const auto& waiting : *group) {
    if (!waiting->journal_key.empty() && !waiting->found) TellOf(waiting.get());
  }
}

void GroupJournal::TellOf(WaitingBatch* waiting) {
  ErrorCode code = ErrorCode::kUnavailable;
  std::string why;
  if (waiting->error) {
    code = waiting->error->code();
    why = waiting->error->message();
  } else {
    // One that does not pass says more.
    const auto lasting = std::ranges::find_if(waiting->failed, [](const RowFailure& row) {
      return row.error.code() != ErrorCode::kUnavailable;
    });
    const RowFailure& told = lasting == waiting->failed.end() ? waiting->failed.front() : *lasting;
    code = told.error.code();
    why = fmt::format("{} of {} rows were not acknowledged: {}", waiting->failed.size(),
                      waiting->batch->rows(), told.error.message());
  }
  why += "; what of the batch is in the journal is finished from there";
  const bool counts_beside = waiting->batch->claim().key.empty() && CountsAny(*waiting->batch);
  waiting->error = Error(counts_beside ? ErrorCode::kInDoubt : code, std::move(why));
}

}  // namespace tallyd
