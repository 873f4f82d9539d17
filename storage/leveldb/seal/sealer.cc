#include "storage/leveldb/seal/sealer.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "storage/bytes/coding.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/env/status.h"
#include "storage/leveldb/seal/file_jobs.h"
#include "storage/leveldb/seal/head_job.h"
#include "storage/leveldb/seal/latest_job.h"

namespace tallyd {
namespace {

constexpr auto kReopenPause = std::chrono::milliseconds(50);
constexpr auto kReopenPatience = std::chrono::seconds(5);
constexpr auto kFirstPause = std::chrono::milliseconds(500);
constexpr auto kLongestPause = std::chrono::milliseconds(10'000);
constexpr auto kBetweenLogLines = std::chrono::minutes(1);
// Dropped files whose last reader has gone wait for the next look.
constexpr auto kLook = std::chrono::seconds(1);
// Deletes have a deadline, which more urgent work, of which there may be some at any time, must not
// make pass.
constexpr int kRoundsBeforeATurn = 16;

// Compacts base, once for each Settle; before, when the store was opened, and when tables have
// changed, it clears out what no table owns.
class BaseJob final : public SealJob {
 public:
  explicit BaseJob(SealContext* context) : context_(*context) {}
  std::string_view name() const override { return "compacting base"; }
  Result<Progress> Work(const ViewPtr&) override {
    if (!context_.settle.active) compacted_ = false;
    const uint64_t version = context_.state().catalogue.version();
    if (swept_ == version && (!context_.settle.active || std::exchange(compacted_, true))) {
      return Progress::kNone;
    }
    const auto commit = [this](const Records& records) { return context_.CommitRecords(records); };
    const auto stopping = [this] { return context_.stopping(); };
    const Status swept =
        RemoveStrayRows(&context_.database(), context_.state().catalogue, commit, stopping);
    if (!swept) return swept.error();
    swept_ = version;
    if (!context_.settle.active) return Progress::kNone;
    compacted_ = true;
    const Status compacted = CompactBase(&context_.database(), commit, stopping);
    if (!compacted) return compacted.error();
    return Progress::kSome;
  }

 private:
  SealContext& context_;
  std::optional<uint64_t> swept_;  // The version of the catalogue.
  bool compacted_ = false;
};

// Stores what scans met of events that fell on one cell; whoever replaces files stores it, too.
class MergeCountJob final : public SealJob {
 public:
  explicit MergeCountJob(SealContext* context) : context_(*context) {}
  std::string_view name() const override { return "noting merged events"; }
  Result<Progress> Work(const ViewPtr&) override {
    if (!context_.state().merges.has_met()) return Progress::kNone;
    const MergeCounts::Written records = context_.state().merges.Unwritten();
    const Status written = context_.CommitRecords(records);
    if (!written) return written.error();
    context_.state().merges.WasWritten(records);
    return Progress::kSome;
  }

 private:
  SealContext& context_;
};

}  // namespace

Sealer::Sealer(const SealContext::Parts& parts)
    : config_(*parts.config),
      engine_(parts.engine),
      pacer_(config_.seal_cpu, [this] { return in_a_hurry(); }),
      context_({&config_, parts.clock, parts.retention, engine_, parts.committer, parts.metrics,
                &pacer_, [this] { return stopping(); }}) {
  AddJobs();
}

void Sealer::Start() {
  thread_ = std::thread([this] { Run(); });
}

Sealer::~Sealer() { Stop(); }

// In order of urgency.
void Sealer::AddJobs() {
  auto heads = std::make_unique<HeadJob>(&context_);
  auto latest = std::make_unique<LatestJob>(&context_);
  const auto yield = [heads = heads.get(), latest = latest.get()] {
    const Status yielded = heads->Yield();
    return yielded ? latest->Yield() : yielded;
  };
  const auto add = [&](std::unique_ptr<SealJob> job, bool takes_turns) {
    jobs_.emplace_back();
    jobs_.back().job = std::move(job);
    jobs_.back().takes_turns = takes_turns;
  };
  add(std::make_unique<MergeCountJob>(&context_), false);
  add(std::move(heads), false);
  add(std::make_unique<ExpiryJob>(&context_), false);
  add(std::make_unique<CapJob>(&context_), false);
  add(std::move(latest), false);
  add(std::make_unique<PurgeJob>(&context_, yield), true);
  jobs_.back().is_never_last = true;
  add(std::make_unique<MergeJob>(&context_, yield), true);
  add(std::make_unique<DamageJob>(&context_), false);
  add(std::make_unique<BaseJob>(&context_), false);
}

void Sealer::Wake() {
  {
    const std::lock_guard lock(mutex_);
    awake_ = true;
  }
  changed_.notify_all();
}

Status Sealer::Settle() {
  std::unique_lock lock(mutex_);
  const uint64_t ticket = ++settle_asked_;
  changed_.notify_all();
  changed_.wait(lock, [&] { return stopping_ || settle_done_ >= ticket; });
  if (settle_done_ < ticket) return Closing();
  return settle_result_;
}

void Sealer::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool Sealer::stopping() const {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

bool Sealer::settling() const {
  const std::lock_guard lock(mutex_);
  return settle_done_ < settle_asked_;
}

bool Sealer::in_a_hurry() const {
  if (settling() || stopping()) return true;
  const ViewPtr view = engine_->database().view();
  return view && HeadsPileUp(*view, engine_->head_bytes());
}

void Sealer::Run() {
  while (!stopping()) {
    {
      const std::lock_guard lock(mutex_);
      awake_ = false;
    }
    const Round round = WorkOnce();
    engine_->database().Dispose();
    if (round.failed) TellOfFailedHead();
    const bool some = round.progress == Progress::kSome;
    NoteReopening(!some && (round.reopening || engine_->database().view() == nullptr));
    if (some) continue;
    if (context_.settle.active && !round.reopening) EndSettle(ResultOf(round));
    Wait(round);
  }
}

// Asks the jobs from the first on, until one of them did something.
Sealer::Round Sealer::WorkOnce() {
  Round round;
  const ViewPtr view = engine_->database().view();
  round.reopening = view == nullptr;
  if (!view) return round;
  context_.BeginRound(*view);
  if (!context_.settle.active && settling()) BeginSettle(*view);
  SettleGoal& settle = context_.settle;
  if (settle.sequence == 0 && view->heads.front()->number() > settle.head) {
    settle.sequence = engine_->state().sealed_sequence;
  }
  if (++rounds_ > kRoundsBeforeATurn) {
    rounds_ = 0;
    for (Entry& entry : jobs_) {
      if (entry.is_never_last && Advance(&entry, view, &round)) return round;
    }
  }
  for (Entry& entry : jobs_) {
    if (Advance(&entry, view, &round)) return round;
  }
  return round;
}

bool Sealer::Advance(Entry* entry, const ViewPtr& view, Round* round) {
  const std::optional<Result<Progress>> asked = Ask(entry, view);
  if (!asked) return false;
  if (*asked) {
    round->progress = Progress::kSome;
    if (entry->takes_turns) {
      const auto others = std::find_if(jobs_.rbegin(), jobs_.rend(),
                                       [](const Entry& other) { return other.takes_turns; });
      std::swap(*entry, *others);
    }
    return true;
  }
  const Error& error = asked->error();
  round->reopening = round->reopening || error.code() == ErrorCode::kUnavailable;
  if (!round->failed) round->failed = error;
  return false;
}

std::optional<Result<Progress>> Sealer::Ask(Entry* entry, const ViewPtr& view) {
  const Time now = std::chrono::steady_clock::now();
  if (now < entry->not_before && !context_.settle.active) return std::nullopt;
  Result<Progress> worked = entry->job->Work(view);
  if (!worked) {
    Fail(entry, worked.error());
    return worked;
  }
  entry->pause = {};
  if (*worked == Progress::kNone) return std::nullopt;
  return worked;
}

// It is tried again and again; a line a minute tells of it, unless it fails in another way.
void Sealer::Fail(Entry* entry, const Error& error) {
  const Time now = std::chrono::steady_clock::now();
  entry->pause = std::clamp(entry->pause * 2, kFirstPause, kLongestPause);
  if (error.code() == ErrorCode::kUnavailable) entry->pause = kReopenPause;
  entry->not_before = now + entry->pause;
  if (error.code() == ErrorCode::kUnavailable || error.code() == ErrorCode::kCancelled) return;
  if (error.message() == entry->logged && now - entry->logged_at < kBetweenLogLines) return;
  entry->logged = error.message();
  entry->logged_at = now;
  spdlog::warn("store: {} waits: {}", entry->job->name(), error.message());
}

void Sealer::BeginSettle(const View& view) {
  const std::lock_guard lock(mutex_);
  settle_ticket_ = settle_asked_;
  const Head& newest = *view.heads.back();
  context_.settle = {true, newest.bytes() == 0 ? newest.number() - 1 : newest.number(), 0,
                     settle_ticket_};
}

void Sealer::EndSettle(Status result) {
  context_.settle = {};
  for (Entry& entry : jobs_) entry.not_before = {};
  const std::lock_guard lock(mutex_);
  settle_done_ = settle_ticket_;
  settle_result_ = std::move(result);
  changed_.notify_all();
}

// What settling came to: a failure of the store's own is nothing that whoever asked got wrong.
Status Sealer::ResultOf(const Round& round) const {
  std::optional<Error> left = context_.LeftBySettle();
  if (!left) left = round.failed;
  if (!left) return {};
  const ErrorCode code = left->code();
  const bool tells = code == ErrorCode::kNoSpace || code == ErrorCode::kIo ||
                     code == ErrorCode::kCorruption || code == ErrorCode::kCancelled;
  return tells ? *left : Error(ErrorCode::kUnavailable, left->message());
}

// The sealer writes to a head, too. After a write that failed nobody may, until the files have been
// opened anew, which is the committer's work: it learns of it by a write of its own.
void Sealer::TellOfFailedHead() {
  if (!engine_->database().HasFailedHead()) return;
  const Status told = context_.committer().Commit(context_.NewBatch());
  if (!told) spdlog::debug("store: the committer knows: {}", told.error().message());
}

// Whoever asked for a settling has a thread that waits, of which there are few.
void Sealer::NoteReopening(bool reopening) {
  const Time now = std::chrono::steady_clock::now();
  if (!reopening) return reopening_since_.reset();
  if (!reopening_since_) reopening_since_ = now;
  if (now - *reopening_since_ < kReopenPatience || !settling()) return;
  {
    const std::lock_guard lock(mutex_);
    settle_ticket_ = settle_asked_;
  }
  EndSettle(Reopening());
}

void Sealer::Wait(const Round& round) {
  const Time now = std::chrono::steady_clock::now();
  Time until = now + (round.reopening ? Time::duration(kReopenPause) : Time::duration(kLook));
  for (const Entry& entry : jobs_) {
    if (round.reopening) break;  // Nobody asks the jobs then, and what they wait for passes.
    until = std::min(until, std::max(entry.job->next(), entry.not_before));
    if (entry.not_before > now) until = std::min(until, entry.not_before);
  }
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, until, [&] {
    return stopping_ || (!round.reopening && (awake_ || settle_asked_ > settle_done_));
  });
}

namespace {

// Of latest rows, in one range.
constexpr size_t kRangeBytes = 4u << 20;

// The first and the last latest row of the range that begins at `start`; none at the end of all.
Result<Records> EndsOfRange(Lease* lease, const std::string& start) {
  const LeaseAccess access(lease);
  if (!access) return Reopening();
  const std::string end = PrefixEnd(std::string(1, static_cast<char>(KeySpace::kLatest)));
  const auto it = Database::NewIterator(&access.base());
  Records ends;
  size_t bytes = 0;
  for (it->Seek(start); it->Valid() && ToView(it->key()) < end && bytes < kRangeBytes; it->Next()) {
    bytes += it->key().size() + it->value().size();
    if (ends.size() < 2) ends.emplace_back();
    ends.back().first.assign(ToView(it->key()));
    ends.back().second.assign(ToView(it->value()));
  }
  const Status read = FromLevelDb(it->status());
  if (!read) return read.error();
  return ends;
}

Status CompactRange(Lease* lease, const std::string& begin, const std::string& end) {
  const LeaseAccess access(lease);
  if (!access) return Reopening();
  const leveldb::Slice first(begin);
  const leveldb::Slice last(end);
  access.base().CompactRange(&first, &last);
  return {};
}

// The first latest row at or after `start`, as a key; empty at the end.
Result<std::string> NextRow(Lease* lease, const std::string& start) {
  const LeaseAccess access(lease);
  if (!access) return Reopening();
  const auto it = Database::NewIterator(&access.base());
  it->Seek(start);
  const bool found =
      it->Valid() && static_cast<uint8_t>(it->key()[0]) == static_cast<uint8_t>(KeySpace::kLatest);
  const Status read = FromLevelDb(it->status());
  if (!read) return read.error();
  return found ? it->key().ToString() : std::string();
}

// Up to a range of rows from `start` to `end`, as records that remove them.
Result<Records> RemovalsOf(Lease* lease, const std::string& start, const std::string& end) {
  const LeaseAccess access(lease);
  if (!access) return Reopening();
  const auto it = Database::NewIterator(&access.base());
  Records removals;
  size_t bytes = 0;
  for (it->Seek(start); it->Valid() && ToView(it->key()) < end && bytes < kRangeBytes; it->Next()) {
    bytes += it->key().size() + it->value().size();
    removals.emplace_back(it->key().ToString(), std::string());
  }
  const Status read = FromLevelDb(it->status());
  if (!read) return read.error();
  return removals;
}

}  // namespace

Status RemoveStrayRows(Database* database, const Catalogue& catalogue,
                       const std::function<Status(const Records&)>& commit,
                       const std::function<bool()>& stopping) {
  Result<std::unique_ptr<Lease>> lease = database->NewLeaseOfFiles();
  if (!lease) return lease.error();
  std::string start(1, static_cast<char>(KeySpace::kLatest));
  while (true) {
    if (stopping()) return Error(ErrorCode::kCancelled, "the store is closing");
    const Result<std::string> row = NextRow(lease->get(), start);
    if (!row) return row.error();
    if (row->size() < kTablePrefixBytes) return {};
    const TableId table = DecodeU32(row->data() + 1);
    const std::string end = TableEnd(KeySpace::kLatest, table);
    start = catalogue.Exists(table) ? end : *row;
    if (start == end) continue;
    const Result<Records> removals = RemovalsOf(lease->get(), start, end);
    if (!removals) return removals.error();
    const Status removed = commit(*removals);
    if (!removed) return removed;
  }
}

Status CompactBase(Database* database, const std::function<Status(const Records&)>& commit,
                   const std::function<bool()>& stopping) {
  Result<std::unique_ptr<Lease>> lease = database->NewLeaseOfFiles();
  if (!lease) return lease.error();
  std::string start(1, static_cast<char>(KeySpace::kLatest));
  Status done = CompactRange(lease->get(), std::string(), start);
  while (done) {
    if (stopping()) return Error(ErrorCode::kCancelled, "the store is closing");
    const Result<Records> ends = EndsOfRange(lease->get(), start);
    if (!ends) return ends.error();
    if (ends->empty()) return {};
    const std::string& last = ends->back().first;
    done = CompactRange(lease->get(), start, last);
    if (done) done = commit(*ends);
    if (done) done = CompactRange(lease->get(), start, last);
    start = last + std::string(1, '\0');
  }
  return done;
}

}  // namespace tallyd
