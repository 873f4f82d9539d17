#include "storage/bigtable/write/batch_writer.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "storage/bigtable/wire/bulk_write.h"
#include "storage/bigtable/wire/retry.h"
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

// The rows of several batches as calls have them: each once.
class JoinedRows {
 public:
  explicit JoinedRows(int64_t grain_us) : grain_us_(grain_us) {}

  bool empty() const { return rows_.empty(); }

  // In the order in which the batches count. `user`: whose failure one of the row is.
  void Add(size_t user, BigtableBatch::Entry* row) {
    if (row->entry.mutations().empty()) return;
    const auto [known, is_new] =
        places_.try_emplace({row->table->info.id, row->entry.row_key()}, rows_.size());
    if (is_new) {
      rows_.push_back({row, {user}});
      return;
    }
    Joined& joined = rows_[known->second];
    joined.users.push_back(user);
    joined.row->counts = joined.row->counts || row->counts;
    if (!row->is_checked()) {
      joined.row->entry.mutable_mutations()->MergeFrom(row->entry.mutations());
    } else if (row->time >= joined.row->time) {
      joined.row = row;
    }
  }

  // So that the service knows each row when it comes again.
  void GiveTokens() {
    std::random_device random;
    std::string token = fmt::format("{:08x}{:08x}{:08x}", random(), random(), random());
    const size_t head = token.size();
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    for (size_t i = 0; i < rows_.size(); ++i) {
      data_api::Idempotency* const known = rows_[i].row->entry.mutable_idempotency();
      token.resize(head);
      known->set_token(token.append(std::to_string(i)));
      known->mutable_start_time()->set_seconds(
          std::chrono::duration_cast<std::chrono::seconds>(now).count());
    }
  }

  // Calls `ended` for each row and each batch that has it.
  template <class Ended>
  void Write(BigtableClient* client, SteadyTime deadline, const Ended& ended) {
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
    WriteRows(client, &rows, deadline);
    for (size_t i = 0; i < rows.size(); ++i) {
      for (const size_t user : rows_[i].users) ended(user, *rows_[i].row, rows[i]);
    }
  }

 private:
  struct Joined {
    BigtableBatch::Entry* row = nullptr;
    std::vector<size_t> users;
  };
  const int64_t grain_us_;
  std::vector<Joined> rows_;
  std::map<std::pair<TableId, std::string_view>, size_t> places_;
};

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

BatchWriter::BatchWriter(BigtableClient* client, BigtableCatalogue* catalogue, ClaimRows* claims,
                         const Clock* clock, int64_t grain_us)
    : client_(*client),
      catalogue_(*catalogue),
      claims_(*claims),
      clock_(*clock),
      grain_us_(grain_us) {
  for (size_t i = 0; i < kGroupsAtOnce; ++i) threads_.emplace_back([this] { Work(); });
}

void BatchWriter::Submit(std::unique_ptr<BigtableBatch> batch, CommitDone done) {
  auto waiting =
      std::make_unique<Waiting>(Waiting{std::move(batch), std::move(done), client_.NewDeadline()});
  waiting->places = PlacesOf(waiting->batch.get());
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
    Group group = TakeGroup();
    if (group.empty()) {
      if (closed_ && queue_.empty()) return;
      changed_.wait(lock);
      continue;
    }
    ++groups_;
    const bool is_alone = group.front()->batch->has_removals();
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

bool BatchWriter::MayJoin(const Waiting& next) const {
  return !next.batch->has_removals() && std::ranges::none_of(next.places, [this](uint64_t place) {
    return places_.contains(place);
  });
}

BatchWriter::Group BatchWriter::TakeGroup() {
  Group group;
  if (queue_.empty() || is_alone_ || wants_alone_ > 0) return group;
  if (queue_.front()->batch->has_removals()) {
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

void BatchWriter::Execute(Group* group) {
  const bool is_foreign = catalogue_.is_foreign();
  for (const auto& waiting : *group) {
    if (waiting->batch->refused()) {
      waiting->error = *waiting->batch->refused();
    } else if (is_foreign && WritesToDiffering(waiting->batch.get(), catalogue_)) {
      waiting->error = Error(ErrorCode::kUnavailable, catalogue_.WhyForeign());
    } else if (waiting->batch->adoption() != catalogue_.adoption() && waiting->batch->rows() > 0) {
      waiting->error = Error(ErrorCode::kUnavailable,
                             "the configuration changed while the batch waited: send it again");
    }
  }
  WriteNotesBefore(group);
  WriteRowsOf(group, true);
  WriteRowsOf(group, false);
  std::vector<Part> last;
  for (const auto& waiting : *group) {
    last.push_back({waiting.get(), &waiting->batch->steps().back()});
  }
  const bool takes_long = group->front()->batch->has_removals();
  WriteFolds(last, takes_long ? client_.NewDeadline() : group->front()->deadline);
  WriteNotesBehind(group);
  SettleCounts(group);
}

void BatchWriter::WriteNotesBefore(Group* group) {
  for (const auto& waiting : *group) {
    if (waiting->error) continue;
    const BigtableBatch::Notes& notes = waiting->batch->notes();
    if (notes.empty()) continue;
    std::vector<CatalogueEntry> fields =
        catalogue_.notes().EntriesOf(notes, catalogue_.sequence(), clock_.Now());
    std::vector<CatalogueEntry> entries = fields;
    AddMemos(notes, &ComesBefore, &entries);
    if (entries.empty()) continue;
    if (const Status noted = catalogue_.rows().Write(std::move(entries)); !noted) {
      waiting->error = noted.error();
      continue;
    }
    catalogue_.notes().Learn(fields);
  }
}

void BatchWriter::WriteRowsOf(Group* group, bool history) {
  if (group->front()->batch->has_removals()) {
    Waiting& waiting = *group->front();
    for (BigtableBatch::Step& step : waiting.batch->steps()) {
      if (!waiting.error && waiting.failed.empty()) WriteStep(&waiting, &step, history);
    }
    return;
  }
  JoinedRows rows(grain_us_);
  for (size_t i = 0; i < group->size(); ++i) {
    Waiting& waiting = *(*group)[i];
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
void BatchWriter::WriteStep(Waiting* waiting, BigtableBatch::Step* step, bool history) {
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
  Waiting& waiting = *part.waiting;
  const auto folds = [](const BigtableBatch::Entry& row) { return row.folds; };
  const auto counts = [](const BigtableBatch::Entry& row) { return row.counts; };
  if (waiting.error || !waiting.batch->folds()) return false;
  if (std::ranges::none_of(part.step->rows, folds)) return false;
  if (!waiting.failed.empty() || std::chrono::steady_clock::now() >= deadline) {
    for (const BigtableBatch::Entry& row : part.step->rows) {
      if (!row.folds) continue;
      waiting.failed.push_back(FailureOf(row, Error(ErrorCode::kUnavailable, "it was not sent")));
    }
    return false;
  }
  const BigtableBatch::Claimed& claim = waiting.batch->claim();
  if (claim.key.empty() || waiting.is_counting || std::ranges::none_of(part.step->rows, counts)) {
    return true;
  }
  const Result<bool> begun = claims_.BeginCounting({claim.key, claim.owner});
  waiting.is_counting = true;
  if (!begun) {
    waiting.error = begun.error();
  } else if (!*begun) {
    waiting.is_counting = false;
    waiting.error = Error(ErrorCode::kUnavailable,
                          "another daemon took over the request with this Idempotency-Key");
  }
  return !waiting.error;
}

void BatchWriter::WriteFolds(const std::vector<Part>& parts, SteadyTime deadline) {
  // The service forgets a token a quarter of an hour later.
  constexpr auto kTokenLife = std::chrono::minutes(14);
  JoinedRows rows(grain_us_);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!MayFold(parts[i], deadline)) continue;
    for (BigtableBatch::Entry& row : parts[i].step->rows) {
      if (row.folds) rows.Add(i, &row);
    }
  }
  if (rows.empty()) return;
  if (catalogue_.takes_tokens()) rows.GiveTokens();
  rows.Write(&client_, std::min(deadline, std::chrono::steady_clock::now() + kTokenLife),
             [&](size_t user, const BigtableBatch::Entry& row, const BulkRow& written) {
               Waiting& waiting = *parts[user].waiting;
               const bool may_be_there = written.ended.ok() || written.is_in_doubt;
               waiting.has_counted = waiting.has_counted || (row.counts && may_be_there);
               AddFailure(row, written, &waiting.failed);
             });
}

void BatchWriter::WriteNotesBehind(Group* group) {
  std::vector<CatalogueEntry> entries;
  for (const auto& waiting : *group) {
    if (waiting->error) continue;
    if (!waiting->failed.empty()) {
      // Some rows may be there all the same.
      AddMemos(
          waiting->batch->notes(), [](NoteOrder order) { return order == NoteOrder::kAround; },
          &entries);
      continue;
    }
    AddMemos(waiting->batch->notes(), &ComesAfter, &entries);
    if (!waiting->is_counting) continue;
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
    const bool has_some =
        std::ranges::any_of(memos, [](const auto& memo) { return ComesAfter(memo.second.order); });
    if (has_some && !waiting->error && waiting->failed.empty()) {
      waiting->error = InPart(noted.error());
    }
  }
}

void BatchWriter::SettleCounts(Group* group) {
  std::vector<Claiming::Held> nothing_counted;
  for (const auto& waiting : *group) {
    if (!waiting->error && waiting->failed.empty()) continue;
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

void BatchWriter::Answer(Waiting* waiting) {
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
