#include "tests/storage/remote_double.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tallyd {
namespace {

using std::chrono::microseconds;

constexpr microseconds kLatestAnswer(400);
constexpr double kRefusedAtFirst = 0.1;
constexpr double kLostAtFirst = 0.1;
constexpr size_t kRowsOfCall = 100;
constexpr uint64_t kRowsOfPage = 50;

Error Unavailable(std::string message) {
  return Error(ErrorCode::kUnavailable, std::move(message));
}

// Each page is of the moment when it was asked for.
class RemoteScan final : public RowScan {
 public:
  RemoteScan(RemoteDouble* remote, TablePtr table, const ScanSpec& spec)
      : remote_(*remote), table_(std::move(table)), left_(spec), has_limit_(spec.limit > 0) {}

  Result<bool> Next() override {
    while (!is_done_ && !(has_limit_ && left_.limit == 0)) {
      if (page_ == nullptr) {
        if (Status answered = FetchPage(); !answered) return answered.error();
      }
      const Result<bool> more = page_->Next();
      if (!more) return more;
      if (*more) {
        ++rows_;
        if (has_limit_) --left_.limit;
        last_ = page_->row().key;
        return true;
      }
      is_done_ = rows_ < page_rows_;
      GoOnBehind();
    }
    return false;
  }

  void SkipTo(std::string_view key) override {
    GoOnBehind();
    Cut(std::string(key), false);
  }

  const Row& row() const override { return page_->row(); }

 private:
  Status FetchPage() {
    if (Status answered = remote_.AwaitAnswer(left_.limits); !answered) return answered;
    ScanSpec spec = left_;
    page_rows_ = has_limit_ ? std::min(kRowsOfPage, left_.limit) : kRowsOfPage;
    spec.limit = page_rows_;
    rows_ = 0;
    page_ = remote_.service().Scan(table_, spec);
    return {};
  }

  // What was returned is behind, and what is left of the page is asked for again.
  void GoOnBehind() {
    if (page_ != nullptr && rows_ > 0) Cut(last_, true);
    page_.reset();
  }

  // What lies before the key goes, and the key with it where it was read.
  void Cut(const std::string& key, bool was_read) {
    std::vector<KeyRange>& ranges = left_.ranges;
    if (left_.reverse) {
      const std::string end = was_read ? key : key + '\0';
      std::erase_if(ranges, [&](const KeyRange& range) { return range.start >= end; });
      for (KeyRange& range : ranges) {
        if (range.end.empty() || range.end > end) range.end = end;
      }
      return;
    }
    const std::string start = was_read ? key + '\0' : key;
    std::erase_if(ranges,
                  [&](const KeyRange& range) { return !range.end.empty() && range.end <= start; });
    for (KeyRange& range : ranges) range.start = std::max(range.start, start);
  }

  RemoteDouble& remote_;
  const TablePtr table_;
  ScanSpec left_;  // What is still to be read.
  const bool has_limit_;
  std::unique_ptr<RowScan> page_;
  uint64_t page_rows_ = 0;  // That it may have.
  uint64_t rows_ = 0;       // Of it that were returned.
  bool is_done_ = false;
  std::string last_;
};

}  // namespace

RemoteDouble::RemoteDouble(ModelDisk* disk, const Clock* clock, unsigned seed)
    : capabilities_{.engine = "remote double"},
      service_(disk, clock),
      latency_(microseconds(0)),
      random_(seed) {
  writer_ = std::thread([this] { Work(); });
  answerer_ = std::thread([this] { GiveAnswers(); });
}

RemoteDouble::~RemoteDouble() { Close(); }

void RemoteDouble::Close() {
  const std::lock_guard closing(close_mutex_);
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
  if (writer_.joinable()) writer_.join();
  if (answerer_.joinable()) answerer_.join();
  service_.Close();
}

bool RemoteDouble::Happens(double chance) {
  const std::lock_guard lock(mutex_);
  return std::bernoulli_distribution(chance)(random_);
}

microseconds RemoteDouble::SomeTime(microseconds at_most) {
  const std::lock_guard lock(mutex_);
  return microseconds(std::uniform_int_distribution<int64_t>(0, at_most.count())(random_));
}

void RemoteDouble::Submit(std::unique_ptr<Batch> batch, CommitDone done) {
  auto* const own = dynamic_cast<RemoteBatch*>(batch.get());
  if (own == nullptr) return done(Invalid("the batch is not of this store"));
  {
    const std::lock_guard lock(mutex_);
    if (!closed_) {
      batch.release();
      sent_.push_back({std::unique_ptr<RemoteBatch>(own), std::move(done)});
      changed_.notify_all();
      return;
    }
  }
  done(Unavailable("the store is closed"));
}

// Batches are written in the order in which they were submitted, and answered in any.
void RemoteDouble::Work() {
  while (true) {
    Sent next;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return closed_ || !sent_.empty(); });
      if (sent_.empty()) return;
      next = std::move(sent_.front());
      sent_.pop_front();
      is_writing_ = true;
    }
    CommitOutcome outcome = Execute(next.batch.get());
    const SteadyTime at = std::chrono::steady_clock::now() + SomeTime(kLatestAnswer);
    const std::lock_guard lock(mutex_);
    answers_.emplace(at, Answer{std::move(next.done), std::move(outcome)});
    is_writing_ = false;
    changed_.notify_all();
  }
}

void RemoteDouble::GiveAnswers() {
  std::unique_lock lock(mutex_);
  while (true) {
    if (answers_.empty()) {
      if (closed_ && sent_.empty() && !is_writing_) return;
      changed_.wait(lock);
      continue;
    }
    const auto first = answers_.begin();
    if (first->first > std::chrono::steady_clock::now()) {
      changed_.wait_until(lock, SteadyTime(first->first));
      continue;
    }
    Answer answer = std::move(first->second);
    answers_.erase(first);
    lock.unlock();
    answer.done(std::move(answer.outcome));
    lock.lock();
  }
}

CommitOutcome RemoteDouble::Execute(RemoteBatch* batch) {
  if (Status noted = WriteNotes(batch->First(), "first"); !noted) return noted;
  std::vector<RowFailure> failed;
  // Latest rows are sent when the history of the batch is there: they never run ahead.
  for (const bool history : {true, false}) {
    const bool any_failed = !failed.empty();
    Entries entries;
    for (RemoteBatch::Entry& entry : batch->entries()) {
      if ((entry.table->mode == TableMode::kHistory) != history) continue;
      if (any_failed) {
        failed.push_back({entry.table->id, entry.row_key, Unavailable("it was not sent")});
        continue;
      }
      if (entry.is_delete) WriteRows(std::exchange(entries, {}), &failed);
      entries.push_back(&entry);
      if (entry.is_delete) WriteRows(std::exchange(entries, {}), &failed);
    }
    WriteRows(std::move(entries), &failed);
  }
  if (!failed.empty()) {
    return CommitOutcome::InPart(std::move(failed), batch->entries().size());
  }
  return WriteNotes(batch->Behind(), "behind");
}

Status RemoteDouble::WriteNotes(const std::vector<RemoteBatch::Change>& notes,
                                std::string_view when) {
  if (notes.empty()) return {};
  const Fate fate = decide_ ? decide_("", when) : Fate::kArrives;
  if (fate == Fate::kRefused) return Unavailable("the notes of the batch were not written");
  std::unique_ptr<Batch> sent = service_.NewBatch();
  for (const RemoteBatch::Change& note : notes) note(sent.get());
  Status written = service_.Commit(std::move(sent));
  if (written && fate == Fate::kUnanswered) {
    return Unavailable("nobody knows whether the notes of the batch were written");
  }
  return written;
}

void RemoteDouble::Send(const Entries& entries) {
  for (size_t begin = 0; begin < entries.size(); begin += kRowsOfCall) {
    std::unique_ptr<Batch> call = service_.NewBatch();
    const size_t end = std::min(entries.size(), begin + kRowsOfCall);
    for (size_t i = begin; i < end; ++i) {
      for (const RemoteBatch::Change& change : entries[i]->changes) change(call.get());
    }
    // The service is closed behind the last batch only.
    std::ignore = service_.Commit(std::move(call));
  }
}

void RemoteDouble::WriteRows(Entries entries, std::vector<RowFailure>* failed) {
  Entries lost;
  while (!entries.empty()) {
    {
      const std::lock_guard lock(mutex_);
      std::ranges::shuffle(entries, random_);
    }
    Entries sent;
    Entries again;
    for (RemoteBatch::Entry* entry : entries) {
      const Fate fate = decide_ ? decide_(entry->table->name, entry->row_key) : Fate::kArrives;
      if (fate == Fate::kRefused) {
        failed->push_back({entry->table->id, entry->row_key, Unavailable("it was refused")});
        continue;
      }
      if (fate == Fate::kUnanswered) {
        failed->push_back({entry->table->id, entry->row_key, Unavailable("no answer came")});
        sent.push_back(entry);
        continue;
      }
      if (Happens(kRefusedAtFirst)) {
        again.push_back(entry);
        continue;
      }
      // The service knows what adds itself up by the token that it was sent with.
      const bool is_known =
          HasAggregates(*entry->table) && std::ranges::find(lost, entry) != lost.end();
      if (!is_known) sent.push_back(entry);
      if (Happens(kLostAtFirst)) {
        again.push_back(entry);
        lost.push_back(entry);
      }
    }
    Send(sent);
    entries = std::move(again);
  }
}

Status RemoteDouble::AwaitAnswer(const ReadLimits& limits) {
  const SteadyTime at = std::chrono::steady_clock::now() + latency_.load();
  while (true) {
    if (limits.cancelled != nullptr && *limits.cancelled) {
      return Error(ErrorCode::kCancelled, "nobody waits for the answer any more");
    }
    const SteadyTime now = std::chrono::steady_clock::now();
    if (now >= limits.deadline) return Unavailable("no answer came within the deadline");
    if (now >= at) return {};
    const SteadyTime look = now + std::chrono::milliseconds(1);
    std::this_thread::sleep_until(std::min({at, limits.deadline, look}));
  }
}

std::unique_ptr<RowScan> RemoteDouble::Scan(const TablePtr& table, const ScanSpec& spec) {
  return std::make_unique<RemoteScan>(this, table, spec);
}

Result<std::vector<KeyRange>> RemoteDouble::Split(const TablePtr& table, const KeyRange& range,
                                                  const TimeRange& time, const SplitSpec& spec) {
  if (Status answered = AwaitAnswer(spec.limits); !answered) return answered.error();
  return service_.Split(table, range, time, spec);
}

Result<ScanEstimate> RemoteDouble::Estimate(const TablePtr& table, const EstimateSpec& spec) {
  if (Status answered = AwaitAnswer(spec.limits); !answered) return answered.error();
  return service_.Estimate(table, spec);
}

Result<TableStats> RemoteDouble::Stats(const TablePtr& table) {
  if (Status answered = AwaitAnswer({}); !answered) return answered.error();
  return service_.Stats(table);
}

Result<std::optional<std::string>> RemoteDouble::FindMemo(std::string_view key) {
  if (Status answered = AwaitAnswer({}); !answered) return answered.error();
  return service_.FindMemo(key);
}

Result<std::vector<Memo>> RemoteDouble::Memos(std::string_view prefix, size_t limit,
                                              std::string_view after) {
  if (Status answered = AwaitAnswer({}); !answered) return answered.error();
  return service_.Memos(prefix, limit, after);
}

StoreState RemoteDouble::State() {
  StoreState state = service_.State();
  const std::lock_guard lock(mutex_);
  state.queued_batches = sent_.size();
  return state;
}

}  // namespace tallyd
