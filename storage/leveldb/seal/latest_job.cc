#include "storage/leveldb/seal/latest_job.h"

#include <algorithm>
#include <limits>
#include <thread>
#include <tuple>

#include "storage/cell_merge.h"
#include "storage/heap.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/latest/latest_merge.h"

namespace tallyd {
namespace {

using std::chrono::steady_clock;

constexpr int64_t kAgeless = std::numeric_limits<int64_t>::max();
constexpr TimeUs kNoTime = std::numeric_limits<TimeUs>::max();
constexpr size_t kPieceBytes = 256u << 10;
constexpr size_t kReadRows = 512;
// Read at most before somebody else may work.
constexpr size_t kStepRows = 16 * kReadRows;
// How long readers of an older list are waited for; while somebody waits for a settling, less.
constexpr auto kPatience = std::chrono::seconds(60);
constexpr auto kPatienceToSettle = std::chrono::seconds(5);
constexpr auto kNap = std::chrono::milliseconds(10);
constexpr auto kLook = std::chrono::seconds(1);
// The clock that judges may stand still or be set, the ages be configured anew.
constexpr auto kLongestSleep = std::chrono::seconds(5);
constexpr auto kPauseAfterFailure = std::chrono::milliseconds(500);
// Between passes for the sake of ages.
constexpr auto kBetweenPasses = std::chrono::seconds(2);
// A pass takes at most this part of the time.
constexpr int kPassShare = 20;
constexpr size_t kWorthGivingBack = 16u << 20;
constexpr size_t kLeastRowBytes = 64;

}  // namespace

LatestJob::Ages LatestJob::Ages::Of(const TableInfo& table) {
  Ages ages;
  ages.least = kAgeless;
  int64_t greatest = 0;
  for (const StoredFamily& family : table.families) {
    const std::optional<int64_t> age = AgeAlone(family.rules);
    ages.of_family.push_back(family.configured && age ? *age : kAgeless);
    ages.least = std::min(ages.least, ages.of_family.back());
    greatest = std::max(greatest, ages.of_family.back());
  }
  // The newest event keeps older ones out for as long as one of them could have cells to show.
  if (table.mode == TableMode::kLatestRow) {
    ages.of_family.assign(ages.of_family.size(), greatest);
    ages.least = greatest;
  }
  return ages;
}

TimeUs LatestJob::Ages::ExpiryOf(FamilyId family, TimeUs time) const {
  const int64_t age = family < of_family.size() ? of_family[family] : kAgeless;
  return age >= kNoTime - time ? kNoTime : time + age + 1;
}

TimeUs LatestJob::Ages::FirstExpiry(TimeUs time) const {
  return least >= kNoTime - time ? kNoTime : time + least + 1;
}

LatestJob::LatestJob(SealContext* context)
    : context_(*context),
      state_(context->state()),
      rows_at_once_(std::max<size_t>(1, context->engine().rows_at_once())),
      merge_(state_.sets) {}

LatestJob::~LatestJob() { ReleaseSoon(false); }

// Where it does not go on, what is freed is of others, who need it again.
Result<Progress> LatestJob::Work(const ViewPtr&) {
  Result<Progress> worked = WorkOnce();
  if (!worked) ReleaseSoon(false);
  return worked;
}

Result<Progress> LatestJob::WorkOnce() {
  if (!pass_) {
    if (IsQuiet()) return Progress::kNone;
    pass_ = FindPass();
  }
  next_ = {};
  if (pass_) {
    const Status stepped = Step();
    if (!stepped) return stepped.error();
    return Progress::kSome;
  }
  Result<Progress> done = DropRecords();
  if (done && *done == Progress::kNone) done = ClearDropped();
  if (!done || *done == Progress::kSome) return done;
  GiveBack();
  next_ = NextLook();
  if (!waits_ || !context_.settle.active) return Progress::kNone;
  std::this_thread::sleep_for(kNap);
  return Progress::kSome;
}

// Nothing has changed since there was nothing to do. Rows that were put may be past their age: that
// is looked at now and then.
bool LatestJob::IsQuiet() {
  const std::array<uint64_t, 3> sees = {state_.latest_deletes.version(), state_.catalogue.version(),
                                        state_.sealed_sequence};
  const bool same = std::exchange(seen_, sees) == sees;
  return same && !context_.settle.active && steady_clock::now() < next_;
}

LatestJob::Time LatestJob::NextLook() const {
  const Time now = steady_clock::now();
  if (waits_) return now + kNap;
  TimeUs first = kNoTime;
  for (const auto& [table, watch] : watched_) first = std::min(first, watch.next);
  const TimeUs retention_now = std::max<TimeUs>(context_.retention_now(), 0);
  const std::chrono::microseconds left(first - std::min(first, retention_now));
  return now + std::clamp<std::chrono::microseconds>(left, kLook, kLongestSleep);
}

Status LatestJob::Yield() {
  const Time now = steady_clock::now();
  if (now < yield_not_before_) return {};
  const ViewPtr view = context_.database().view();
  if (!view) return Reopening();
  const Result<Progress> worked = Work(view);
  if (worked) return {};
  const ErrorCode code = worked.error().code();
  if (code == ErrorCode::kUnavailable || code == ErrorCode::kCancelled) return worked.error();
  yield_not_before_ = now + kPauseAfterFailure;
  return {};
}

std::optional<LatestJob::Pass> LatestJob::FindPass() {
  waits_ = false;
  for (const TablePtr& table : state_.catalogue.Tables()) {
    if (table->mode == TableMode::kHistory) continue;
    std::optional<Pass> pass = PassOver(table);
    if (pass) return pass;
  }
  return {};
}

std::optional<LatestJob::Pass> LatestJob::PassOver(const TablePtr& table) {
  Watch& watch = watched_[table->id];
  if (watch.table != table) watch = {table, Ages::Of(*table), 0, watch.not_before, watch.settled};
  const TimeUs oldest = state_.latest.TakeOldest(table->id);
  watch.next = std::min(watch.next, watch.ages.FirstExpiry(oldest));
  if (watch.ages.least == kAgeless) watch.next = kNoTime;
  const TimeUs now = context_.retention_now();
  const bool settles = context_.settle.active && watch.settled != context_.settle.number;
  const bool aged = watch.next <= now && (settles || steady_clock::now() >= watch.not_before);
  Pass pass;
  pass.table = table;
  pass.generation = state_.latest_deletes.generation();
  pass.deletes = state_.latest_deletes.Of(table->id);
  pass.last_delete = LastReady(*pass.deletes);
  pass.next = kNoTime;
  pass.start = steady_clock::now();
  waits_ = waits_ || (!pass.deletes->empty() && pass.deletes->back()->sequence > pass.last_delete);
  if (!aged && pass.last_delete == 0) return {};
  if (aged) {
    watch.next = kNoTime;
    if (settles) watch.settled = context_.settle.number;
    for (const int64_t age : watch.ages.of_family) {
      // The clock may say that it is before the epoch.
      pass.oldest.push_back(age == kAgeless ? std::numeric_limits<TimeUs>::min()
                                            : std::max<TimeUs>(now, 0) - age);
    }
    return pass;
  }
  pass.left = pass.deletes->front()->what.rows;
  for (const auto& deleted : *pass.deletes) {
    const KeyRange& rows = deleted->what.rows;
    if (deleted->sequence > pass.last_delete) break;
    pass.left.start = std::min(pass.left.start, rows.start);
    pass.left.end = pass.left.end.empty() || rows.end.empty() ? std::string()
                                                              : std::max(pass.left.end, rows.end);
  }
  return pass;
}

// The last of the deletes of which, and of all before them, every reader knows by now.
uint64_t LatestJob::LastReady(const DeleteList& deletes) {
  const Time now = steady_clock::now();
  const auto patience = context_.settle.active ? kPatienceToSettle : kPatience;
  uint64_t last = 0;
  for (const auto& deleted : deletes) {
    const Time since = awaited_.try_emplace(deleted->sequence, now).first->second;
    if (now - since < patience && state_.latest_deletes.HasReadersBefore(*deleted)) break;
    last = deleted->sequence;
  }
  return last;
}

Status LatestJob::Step() {
  context_.Pace();
  auto batch = context_.NewBatch();
  bool more = true;
  size_t bytes = 0;
  Status done = pass_->generation == state_.latest_deletes.generation()
                    ? FillPiece(batch.get(), &more, &bytes)
                    : Reopening();
  const size_t swept = batch->ops().size();
  if (done && !batch->empty()) done = context_.committer().Commit(std::move(batch));
  if (done) context_.metrics().swept_rows.Increment(static_cast<double>(swept));
  if (!done) {
    // From the beginning, then; or never, if the table was dropped.
    Watch& watch = watched_[pass_->table->id];
    watch.next = 0;
    watch.settled = 0;
    pass_.reset();
    return done.error().code() == ErrorCode::kConflict ? Status() : done;
  }
  NoteFreed(bytes + swept * kLeastRowBytes);
  if (!more) FinishPass();
  return {};
}

// *bytes: of the rows that it puts in the batch.
Status LatestJob::FillPiece(LevelDbBatch* batch, bool* more, size_t* bytes) {
  Pass& pass = *pass_;
  batch->SetTrim({pass.last_delete, pass.oldest});
  for (size_t read = 0; *more && read < kStepRows && *bytes < kPieceBytes;) {
    const size_t room = rows_at_once_ - batch->ops().size();
    if (room == 0) break;
    *more = state_.latest.Read(pass.table->id, pass.left, false, std::min(room, kReadRows), &copy_);
    read += copy_.rows().size();
    for (const auto& [key, row] : copy_.rows()) {
      const Result<bool> due = Examine(key, row);
      if (!due) return due.error();
      if (!*due) continue;
      batch->TrimRow(pass.table->id, key);
      *bytes += key.size() + row.size();
    }
    if (*more) pass.left.start = std::string(copy_.rows().back().first) + '\0';
  }
  return {};
}

// Whether something is to go of the row.
Result<bool> LatestJob::Examine(std::string_view key, std::string_view row) {
  Pass& pass = *pass_;
  LatestTrim trim;
  trim.oldest = pass.oldest;
  for (const auto& deleted : *pass.deletes) {
    if (deleted->sequence <= pass.last_delete && deleted->CoversRow(key)) {
      trim.deletes.push_back(deleted.get());
    }
  }
  const Result<std::string_view> left = merge_.Trim(pass.table->id, row, trim);
  if (!left) return left.error();
  const Status covered = left->empty() || pass.oldest.empty() ? Status() : CoverExpiry(*left);
  if (!covered) return covered.error();
  return left->data() != row.data();
}

// When the first cell of the row expires. Families of which cells of that time would be past their
// age already have none here.
Status LatestJob::CoverExpiry(std::string_view row) {
  const Ages& ages = watched_[pass_->table->id].ages;
  if (!DecodeLatest(row, &layers_)) {
    return Error(ErrorCode::kCorruption, "a row of a latest table is malformed");
  }
  for (const Layer& layer : layers_) {
    const bool simple = std::all_of(pass_->oldest.begin(), pass_->oldest.end(),
                                    [&](TimeUs oldest) { return layer.time >= oldest; });
    if (simple) {
      pass_->next = std::min(pass_->next, ages.FirstExpiry(layer.time));
      continue;
    }
    EntryCells cells;
    if (!DecodeEntry(state_.sets, pass_->table->id, layer.entry, &cells)) {
      return Error(ErrorCode::kCorruption, "a row of a latest table is malformed");
    }
    for (size_t i = 0; i < cells.columns.size(); ++i) {
      if (cells.values[i].is_null()) continue;
      pass_->next = std::min(pass_->next, ages.ExpiryOf(cells.columns[i].family, layer.time));
    }
  }
  return {};
}

void LatestJob::FinishPass() {
  Pass& pass = *pass_;
  for (const auto& deleted : *pass.deletes) {
    if (deleted->sequence > pass.last_delete) break;
    state_.latest_deletes.SetApplied(deleted, pass.generation, state_.last_sequence);
    awaited_.erase(deleted->sequence);
  }
  if (!pass.oldest.empty()) {
    Watch& watch = watched_[pass.table->id];
    const Time now = steady_clock::now();
    watch.next = std::min(watch.next, pass.next);
    watch.not_before =
        now + std::max<Time::duration>(kBetweenPasses, (now - pass.start) * kPassShare);
  }
  pass_.reset();
}

Result<Progress> LatestJob::DropRecords() {
  const ViewPtr view = context_.database().view();
  if (!view) return Reopening();
  // A power cut may have left the delete and not the head that it came with: nothing is to be
  // sealed then. What is written from now on is later than the delete.
  const bool all_sealed = view->heads.size() == 1 && view->heads.back()->bytes() == 0;
  auto batch = context_.NewBatch();
  DeleteList dropped;
  bool waits_for_head = false;
  for (const auto& [deleted, until] : state_.latest_deletes.AllApplied()) {
    if (!all_sealed && until > state_.sealed_sequence) {
      waits_for_head = true;
      continue;
    }
    batch->DropRecord(DeleteKey(deleted->table, deleted->sequence));
    dropped.push_back(deleted);
  }
  if (dropped.empty()) return waits_for_head ? SettleHead(*view->heads.back()) : Progress::kNone;
  // Rows that were written over since are in the newest head only: it must stay before this goes.
  Status done = context_.SyncAppliedDeletes();
  if (done) done = context_.committer().Commit(std::move(batch));
  if (!done) return done.error();
  for (const auto& deleted : dropped) state_.latest_deletes.ForgetApplied(deleted);
  return Progress::kSome;
}

// What the deletes took out of rows may have begun the newest head only now.
Progress LatestJob::SettleHead(const Head& newest) {
  SettleGoal& settle = context_.settle;
  if (!settle.active || newest.bytes() == 0 || newest.number() <= settle.head) {
    return Progress::kNone;
  }
  settle.head = newest.number();
  return Progress::kSome;
}

// What base has of them is BaseJob's.
Result<Progress> LatestJob::ClearDropped() {
  Progress progress = Progress::kNone;
  for (const TableId table : state_.latest.Tables()) {
    if (state_.catalogue.Exists(table)) continue;
    const Status done = ClearTable(table);
    if (!done) return done.error();
    progress = Progress::kSome;
  }
  return progress;
}

// The committer takes the rows out of its tables; they are freed here, as that may take long. With
// them go the deletes that were to be applied to them.
Status LatestJob::ClearTable(TableId table) {
  watched_.erase(table);
  LatestRows taken;
  const Status done = context_.committer().Commit(context_.NewBatch(), [&] {
    if (state_.catalogue.Exists(table)) return;
    taken = state_.latest.TakeOut(table);
    state_.latest_deletes.SetAllApplied(table);
  });
  NoteFreed(taken.size() * kLeastRowBytes);
  return done;
}

void LatestJob::NoteFreed(size_t bytes) {
  freed_bytes_ += bytes;
  if (freed_bytes_ >= kWorthGivingBack) ReleaseSoon(true);
}

// The committer made the rows, so what they took is its part of the heap's. Without it the process
// would keep it. A store that is not writable has other troubles.
void LatestJob::GiveBack() {
  if (freed_bytes_ < kWorthGivingBack) return;
  freed_bytes_ = 0;
  std::ignore = context_.committer().Commit(context_.NewBatch(), GiveBackHeap);
  ReleaseSoon(false);
}

}  // namespace tallyd
