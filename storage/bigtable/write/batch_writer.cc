#include "storage/bigtable/write/batch_writer.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>

#include "storage/bigtable/wire/bulk_write.h"
#include "storage/bigtable/wire/retry.h"
#include "storage/bigtable/write/joined_rows.h"
#include "storage/bigtable/write/removal.h"

namespace tallyd {
namespace {

constexpr size_t kGroupsAtOnce = 4;
constexpr size_t kRowsOfGroup = 20'000;
constexpr size_t kBytesOfGroup = 16u << 20;
constexpr uint64_t kQueuedBytes = 128u << 20;

uint64_t PlaceOfMemo(std::string_view key) {
  constexpr uint64_t kSeed = 1;
  return XXH3_64bits_withSeed(key.data(), key.size(), kSeed);
}

std::vector<uint64_t> PlacesOf(BigtableBatch* batch) {
  std::vector<uint64_t> places;
  places.reserve(batch->rows() + batch->notes().memos.size());
  for (const BigtableBatch::Step& step : batch->steps()) {
    for (const BigtableBatch::Entry& entry : step.rows) places.push_back(entry.place);
  }
  for (const auto& [key, memo] : batch->notes().memos) places.push_back(PlaceOfMemo(key));
  return places;
}

void AddMemos(const BigtableBatch::Notes& notes, bool (*comes_now)(NoteOrder),
              std::vector<CatalogueEntry>* entries) {
  for (const auto& [key, memo] : notes.memos) {
    if (!comes_now(memo.order)) continue;
    CatalogueEntry& entry = entries->emplace_back();
    entry.set_row_key(std::string(kMemoRows) + key);
    if (memo.value) {
      SetCatalogueCell(kValueColumn, *memo.value, 0, &entry);
    } else {
      entry.add_mutations()->mutable_delete_from_row();
    }
  }
}

// Whether it would write to a stream that another daemon's file, which counts, has otherwise.
bool WritesToDiffering(BigtableBatch* batch, const BigtableCatalogue& catalogue) {
  const WireTable* last = nullptr;
  const auto differs = [&](const WireTablePtr& table) {
    return table.get() != std::exchange(last, table.get()) && catalogue.Differs(table->info.stream);
  };
  return std::ranges::any_of(batch->steps(), [&](const BigtableBatch::Step& step) {
    return (step.removal && differs(step.removal->table)) ||
           std::ranges::any_of(step.rows, differs, &BigtableBatch::Entry::table);
  });
}

bool Folds(const BigtableBatch::Entry& row) { return row.folds; }
bool Counts(const BigtableBatch::Entry& row) { return row.counts; }

// Of a batch some of which may be there: to its sender it must not look like one that was refused
// before anything was written, as by its request or by what the store has.
Error InPart(const Error& error) {
  const bool looks_refused =
      error.code() == ErrorCode::kNotFound || error.code() == ErrorCode::kConflict;
  return looks_refused ? Error(ErrorCode::kUnavailable, error.message()) : error;
}

RowFailure FailureOf(const BigtableBatch::Entry& row, Error error) {
  return {row.table->info.id, row.entry.row_key(), std::move(error)};
}

void AddFailure(const BigtableBatch::Entry& row, const BulkRow& written,
                std::vector<RowFailure>* failed) {
  if (written.ended.ok()) return;
  failed->push_back(
      FailureOf(row, InPart(ErrorOf(written.ended, "table " + row.table->info.name))));
}

}  // namespace

BatchWriter::BatchWriter(const Parts& parts)
    : client_(*parts.client),
      catalogue_(*parts.catalogue),
      claims_(*parts.claims),
      journal_(*parts.journal),
      finder_(*parts.finder),
      group_journal_(parts.client, parts.catalogue, parts.claims, parts.journal, parts.clock),
      clock_(*parts.clock),
      grain_us_(parts.grain_us) {
  for (size_t i = 0; i < kGroupsAtOnce; ++i) threads_.emplace_back([this] { Work(); });
}

void BatchWriter::Submit(std::unique_ptr<BigtableBatch> batch, CommitDone done) {
  Enqueue(std::make_unique<WaitingBatch>(
      WaitingBatch{std::move(batch), std::move(done), client_.NewDeadline()}));
}

void BatchWriter::Finish(FoundBatch found, CommitDone done) {
  Enqueue(WaitingOf(std::move(found), std::move(done)));
}

std::unique_ptr<WaitingBatch> BatchWriter::WaitingOf(FoundBatch found, CommitDone done) const {
  auto waiting = std::make_unique<WaitingBatch>(
      WaitingBatch{std::move(found.batch), std::move(done), client_.NewDeadline()});
  waiting->counts_until =
      std::chrono::steady_clock::now() + kTokenLife - std::chrono::microseconds(found.age_us);
  waiting->found = std::move(found);
  return waiting;
}

void BatchWriter::Enqueue(std::unique_ptr<WaitingBatch> waiting) {
  waiting->places = PlacesOf(waiting->batch.get());
  waiting->goes_alone = GoesAlone(*waiting->batch);
  const size_t bytes = waiting->batch->bytes();
  std::unique_lock lock(mutex_);
  if (closed_) {
    waiting->error = Error(ErrorCode::kUnavailable, "the store is closed");
  } else if (queued_bytes_ > 0 && queued_bytes_ + bytes > kQueuedBytes) {
    waiting->error = Error(ErrorCode::kOverloaded, "too many batches wait for Bigtable");
  }
  if (waiting->error) {
    lock.unlock();
    return Answer(waiting.get());
  }
  queued_bytes_ += bytes;
  ++queued_batches_;
  queue_.push_back(std::move(waiting));
  changed_.notify_all();
}

Status BatchWriter::Alone(const std::function<Status()>& change) {
  {
    std::unique_lock lock(mutex_);
    ++wants_alone_;
    changed_.wait(lock, [this] { return groups_ == 0 && !is_alone_; });
    --wants_alone_;
    is_alone_ = true;
  }
  Status changed = change();
  const std::lock_guard lock(mutex_);
  is_alone_ = false;
  changed_.notify_all();
  return changed;
}

void BatchWriter::Close() {
  const std::lock_guard closing(close_mutex_);
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void BatchWriter::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    BatchGroup group = TakeGroup();
    if (group.empty()) {
      if (closed_ && queue_.empty()) return;
      changed_.wait(lock);
      continue;
    }
    ++groups_;
    const bool is_alone = group.front()->goes_alone;
    is_alone_ = is_alone;
    for (const auto& waiting : group) {
      places_.insert(waiting->places.begin(), waiting->places.end());
    }
    lock.unlock();
    Execute(&group);
    lock.lock();
    for (const auto& waiting : group) {
      for (const uint64_t place : waiting->places) places_.erase(place);
      queued_bytes_ -= waiting->batch->bytes();
      --queued_batches_;
    }
    --groups_;
    if (is_alone) is_alone_ = false;
    changed_.notify_all();
    lock.unlock();
    for (const auto& waiting : group) Answer(waiting.get());
    lock.lock();
  }
}

// What is in the journal is finished before anything is deleted.
bool BatchWriter::GoesAlone(const BigtableBatch& batch) const {
  return batch.has_removals() || (batch.has_deletes() && journal_.is_there());
}

bool BatchWriter::MayJoin(const WaitingBatch& next) const {
  return !next.goes_alone && std::ranges::none_of(next.places, [this](uint64_t place) {
    return places_.contains(place);
  });
}

BatchGroup BatchWriter::TakeGroup() {
  BatchGroup group;
  if (queue_.empty() || is_alone_ || wants_alone_ > 0) return group;
  if (queue_.front()->goes_alone) {
    if (groups_ > 0) return group;
    group.push_back(std::move(queue_.front()));
    queue_.pop_front();
    return group;
  }
  size_t rows = 0;
  size_t bytes = 0;
  while (!queue_.empty() && MayJoin(*queue_.front())) {
    rows += queue_.front()->batch->rows();
    bytes += queue_.front()->batch->bytes();
    if (!group.empty() && (rows > kRowsOfGroup || bytes > kBytesOfGroup)) break;
    group.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return group;
}

void BatchWriter::Execute(BatchGroup* group) {
  const bool is_foreign = catalogue_.is_foreign();
  for (const auto& waiting : *group) {
    if (waiting->batch->refused()) {
      waiting->error = *waiting->batch->refused();
    } else if (is_foreign && !waiting->found &&
               WritesToDiffering(waiting->batch.get(), catalogue_)) {
      waiting->error = Error(ErrorCode::kUnavailable, catalogue_.WhyForeign());
    } else if (waiting->batch->adoption() != catalogue_.adoption() && waiting->batch->rows() > 0) {
      waiting->error = Error(ErrorCode::kUnavailable,
                             "the configuration changed while the batch waited: send it again");
    }
  }
  const bool takes_long = group->front()->batch->has_removals();
  if (group->front()->goes_alone && journal_.is_there() && !group->front()->error) {
    if (const Status finished = FinishJournal(client_.NewDeadline()); !finished) {
      group->front()->error = finished.error();
    }
    group->front()->deadline = client_.NewDeadline();
  }
  group_journal_.TakeFound(group);
  WriteNotesBefore(group);
  group_journal_.Write(group);
  WriteRowsOf(group, true);
  WriteRowsOf(group, false);
  std::vector<Part> last;
  for (const auto& waiting : *group) {
    last.push_back({waiting.get(), &waiting->batch->steps().back()});
  }
  WriteFolds(std::move(last), takes_long ? client_.NewDeadline() : group->front()->deadline);
  WriteNotesBehind(group);
  group_journal_.End(group);
  SettleCounts(group);
}

void BatchWriter::WriteNotesBefore(BatchGroup* group) {
  for (const auto& waiting : *group) {
    if (waiting->error) continue;
    const BigtableBatch::Notes& notes = waiting->batch->notes();
    if (notes.empty()) continue;
    std::vector<CatalogueEntry> fields =
        catalogue_.notes().EntriesOf(notes, catalogue_.sequence(), clock_.Now());
    std::vector<CatalogueEntry> entries = fields;
    AddMemos(notes, &GoesBeforeRows, &entries);
    if (entries.empty()) continue;
    if (const Status noted = catalogue_.rows().Write(std::move(entries)); !noted) {
      waiting->error = noted.error();
      continue;
    }
    catalogue_.notes().Learn(fields);
  }
}

void BatchWriter::WriteRowsOf(BatchGroup* group, bool history) {
  if (group->front()->batch->has_removals()) {
    WaitingBatch& waiting = *group->front();
    for (BigtableBatch::Step& step : waiting.batch->steps()) {
      if (!waiting.error && waiting.failed.empty()) WriteStep(&waiting, &step, history);
    }
    return;
  }
  JoinedRows rows(grain_us_);
  for (size_t i = 0; i < group->size(); ++i) {
    WaitingBatch& waiting = *(*group)[i];
    if (waiting.error) continue;
    const bool is_sent = history || waiting.failed.empty();
    for (BigtableBatch::Entry& row : waiting.batch->steps().front().rows) {
      if (row.folds || (row.table->info.mode == TableMode::kHistory) != history) continue;
      if (is_sent) {
        rows.Add(i, &row);
      } else {
        waiting.failed.push_back(FailureOf(row, Error(ErrorCode::kUnavailable, "it was not sent")));
      }
    }
  }
  rows.Write(&client_, group->front()->deadline,
             [&](size_t user, const BigtableBatch::Entry& row, const BulkRow& written) {
               AddFailure(row, written, &(*group)[user]->failed);
             });
}

// What fails of a delete is told of the row where it begins.
void BatchWriter::WriteStep(WaitingBatch* waiting, BigtableBatch::Step* step, bool history) {
  JoinedRows rows(grain_us_);
  for (BigtableBatch::Entry& row : step->rows) {
    if (row.folds || (row.table->info.mode == TableMode::kHistory) != history) continue;
    rows.Add(0, &row);
  }
  rows.Write(&client_, client_.NewDeadline(),
             [&](size_t, const BigtableBatch::Entry& row, const BulkRow& written) {
               AddFailure(row, written, &waiting->failed);
             });
  if (!step->removal) return;
  // What is deleted behind it must find it.
  if (history) WriteFolds({{waiting, step}}, client_.NewDeadline());
  if (waiting->error || !waiting->failed.empty()) return;
  const TableInfo& table = step->removal->table->info;
  if ((table.mode == TableMode::kHistory) != history || !catalogue_.Exists(table.id)) return;
  if (const Status removed = Remove(&client_, &claims_, *step->removal, grain_us_); !removed) {
    waiting->failed.push_back(
        {table.id, step->removal->ranges.front().start, InPart(removed.error())});
  }
}

bool BatchWriter::MayFold(const Part& part, SteadyTime deadline) {
  WaitingBatch& waiting = *part.waiting;
  if (waiting.error || waiting.was_taken_over || !waiting.batch->folds()) return false;
  if (std::ranges::none_of(part.step->rows, Folds)) return false;
  const SteadyTime now = std::chrono::steady_clock::now();
  if (!waiting.failed.empty() || now >= deadline || now >= waiting.counts_until) {
    for (const BigtableBatch::Entry& row : part.step->rows) {
      if (!row.folds) continue;
      waiting.failed.push_back(FailureOf(row, Error(ErrorCode::kUnavailable, "it was not sent")));
    }
    return false;
  }
  return std::ranges::none_of(part.step->rows, Counts) || MayCount(&waiting, *part.step);
}

bool BatchWriter::MayCount(WaitingBatch* waiting, const BigtableBatch::Step& step) {
  const BigtableBatch::Claimed& claim = waiting->batch->claim();
  if (!claim.key.empty() && !waiting->is_counting) {
    const Result<bool> begun =
        waiting->journal_key.empty()
            ? claims_.BeginCounting({claim.key, claim.owner})
            : claims_.BeginCountingJournaled(claim.key, waiting->journal_key);
    waiting->is_counting = true;
    if (!begun) {
      waiting->error = InPart(begun.error());
    } else if (!*begun) {
      waiting->is_counting = false;
      waiting->error = Error(ErrorCode::kUnavailable,
                             "another daemon took over the request with this Idempotency-Key");
    }
    if (waiting->error) return false;
  }
  const bool has_tokens = std::ranges::all_of(step.rows, [](const BigtableBatch::Entry& row) {
    return !row.counts || row.entry.has_idempotency();
  });
  if (waiting->journal_key.empty() || has_tokens) return true;
  const Result<bool> begun = journal_.BeginCounting(waiting->journal_key, client_.NewDeadline());
  if (!begun) {
    waiting->error = InPart(begun.error());
  } else if (!*begun) {
    waiting->error = Error(ErrorCode::kUnavailable, "another daemon is at the batch");
  }
  return !waiting->error;
}

// Where there is a journal each batch goes by itself to a row: what is sent again from there must
// be what the row's token was given for.
void BatchWriter::WriteFolds(std::vector<Part> parts, SteadyTime deadline) {
  while (!parts.empty()) {
    std::vector<Part> now;
    std::vector<Part> later;
    boost::unordered_flat_set<uint64_t> taken;
    for (const Part& part : parts) {
      std::vector<uint64_t> own;
      for (const BigtableBatch::Entry& row : part.step->rows) {
        if (row.folds) own.push_back(row.place);
      }
      const bool waits = journal_.is_there() && std::ranges::any_of(own, [&](uint64_t place) {
                           return taken.contains(place);
                         });
      (waits ? later : now).push_back(part);
      taken.insert(own.begin(), own.end());
    }
    WriteFoldsOnce(now, deadline);
    parts = std::move(later);
  }
}

void BatchWriter::WriteFoldsOnce(const std::vector<Part>& parts, SteadyTime deadline) {
  JoinedRows rows(grain_us_);
  SteadyTime until = std::min(deadline, std::chrono::steady_clock::now() + kTokenLife);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!MayFold(parts[i], deadline)) continue;
    until = std::min(until, parts[i].waiting->counts_until);
    for (BigtableBatch::Entry& row : parts[i].step->rows) {
      if (row.folds) rows.Add(i, &row);
    }
  }
  if (rows.empty()) return;
  if (catalogue_.takes_tokens()) rows.GiveTokens();
  rows.Write(&client_, until,
             [&](size_t user, const BigtableBatch::Entry& row, const BulkRow& written) {
               WaitingBatch& waiting = *parts[user].waiting;
               const bool may_be_there = written.ended.ok() || written.is_in_doubt;
               waiting.has_counted = waiting.has_counted || (row.counts && may_be_there);
               AddFailure(row, written, &waiting.failed);
             });
}

void BatchWriter::WriteNotesBehind(BatchGroup* group) {
  std::vector<CatalogueEntry> entries;
  for (const auto& waiting : *group) {
    if (waiting->error || waiting->was_taken_over) continue;
    if (!waiting->has_all()) {
      // Some rows may be there all the same.
      AddMemos(
          waiting->batch->notes(), [](NoteOrder order) { return order == NoteOrder::kAround; },
          &entries);
      continue;
    }
    AddMemos(waiting->batch->notes(), &GoesBehindRows, &entries);
    if (!waiting->is_counting || !waiting->journal_key.empty()) continue;
    entries.push_back(ClaimRows::CountedEntry(waiting->batch->claim().key));
  }
  if (entries.empty()) return;
  // Of one memo the last change counts, and an entry is in a call once.
  std::map<std::string, CatalogueEntry> last;
  for (CatalogueEntry& entry : entries) last[entry.row_key()] = std::move(entry);
  entries.clear();
  for (auto& [key, entry] : last) entries.push_back(std::move(entry));
  const Status noted = catalogue_.rows().Write(std::move(entries));
  if (noted) return;
  for (const auto& waiting : *group) {
    const auto& memos = waiting->batch->notes().memos;
    const bool has_some = std::ranges::any_of(
        memos, [](const auto& memo) { return GoesBehindRows(memo.second.order); });
    if (has_some && waiting->has_all()) waiting->error = InPart(noted.error());
  }
}

void BatchWriter::SettleCounts(BatchGroup* group) {
  std::vector<Claiming::Held> nothing_counted;
  for (const auto& waiting : *group) {
    if (waiting->is_well() || waiting->found || !waiting->journal_key.empty()) continue;
    if (waiting->has_counted) {
      const Error& why = waiting->error ? *waiting->error : waiting->failed.front().error;
      waiting->error = Error(
          ErrorCode::kInDoubt,
          "of what it adds up some has counted, or nobody knows whether it has: " + why.message());
    } else if (waiting->is_counting) {
      nothing_counted.push_back({waiting->batch->claim().key, waiting->batch->claim().owner});
    }
  }
  if (nothing_counted.empty()) return;
  // Where that fails, too, its sender will be told that nobody knows.
  if (const Status told = claims_.EndCounting(nothing_counted); !told) {
    spdlog::warn("bigtable: {}", told.error().message());
  }
}

Status BatchWriter::FinishOne(FoundBatch found) {
  if (found.batch == nullptr) return *found.lacks;
  BatchGroup group;
  group.push_back(WaitingOf(std::move(found), [](const CommitOutcome&) {}));
  Execute(&group);
  const WaitingBatch& ended = *group.front();
  if (ended.is_well()) return {};
  return ended.error ? *ended.error : ended.failed.front().error;
}

// What is in the journal when a removal begins must not bring back later what that takes away.
// REQUIRES: no group is under way beside the removal.
Status BatchWriter::FinishJournal(SteadyTime deadline) {
  constexpr auto kLook = std::chrono::milliseconds(100);
  const Result<std::vector<Journal::Mark>> marks = journal_.List(deadline);
  if (!marks) return marks.error();
  std::vector<std::string> left;
  for (const Journal::Mark& mark : *marks) {
    if (!mark.failed) left.push_back(mark.key);
  }
  while (true) {
    std::vector<std::string> others;
    for (const std::string& key : left) {
      Result<std::optional<FoundBatch>> found = finder_.Find(key, deadline);
      if (!found) return found.error();
      if (*found) {
        const Status finished = FinishOne(std::move(**found));
        const bool passes = finished || finished.error().code() == ErrorCode::kUnavailable ||
                            finished.error().code() == ErrorCode::kCancelled;
        if (!passes) {
          return Error(ErrorCode::kUnavailable,
                       "batch " + key +
                           " of the journal, which would bring back what is removed: " +
                           finished.error().message());
        }
      }
      const Result<bool> is_pending = journal_.IsPending(key, deadline);
      if (!is_pending) return is_pending.error();
      if (*is_pending) others.push_back(key);
    }
    if (others.empty()) return {};
    if (std::chrono::steady_clock::now() + kLook > deadline) {
      return Error(ErrorCode::kUnavailable,
                   fmt::format("{} batches of the journal are not finished, and would bring back "
                               "what is removed",
                               others.size()));
    }
    std::this_thread::sleep_for(kLook);
    left = std::move(others);
  }
}

void BatchWriter::Answer(WaitingBatch* waiting) {
  if (waiting->error) {
    waiting->done(CommitOutcome(*waiting->error));
  } else if (!waiting->failed.empty()) {
    const size_t rows = std::max(waiting->batch->rows(), waiting->failed.size());
    waiting->done(CommitOutcome::InPart(std::move(waiting->failed), rows));
  } else {
    waiting->done(CommitOutcome());
  }
}

}  // namespace tallyd
