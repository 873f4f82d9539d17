#include "storage/bigtable/write/journal_sweep.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <optional>
#include <utility>

namespace tallyd {
namespace {

// So much is in memory at once.
constexpr size_t kBatchesAtOnce = 64;
constexpr size_t kBytesAtOnce = 16u << 20;
constexpr int kPollsUntilTriedAgain = 5;
constexpr int kPollsUntilGivenUp = 30;

}  // namespace

struct JournalSweep::Attempt {
  std::string key;
  bool may_be_given_up = false;
  bool lacks = false;
  std::future<CommitOutcome> outcome;
};

SteadyTime JournalSweep::TimeBehind(int polls) const {
  return std::chrono::steady_clock::now() +
         polls * std::chrono::microseconds(client_.config().poll_us);
}

void JournalSweep::TryLater(const std::string& key) {
  Tries& tries = tries_.try_emplace(key, Tries{{}, TimeBehind(kPollsUntilGivenUp)}).first->second;
  tries.again = TimeBehind(kPollsUntilTriedAgain);
}

bool JournalSweep::HasFailedForLong(const std::string& key) const {
  return std::chrono::steady_clock::now() >= tries_.at(key).decides;
}

void JournalSweep::Start() {
  if (!journal_.is_there()) return;
  const auto poll = std::chrono::duration_cast<RepeatingThread::Wait>(
      std::chrono::microseconds(client_.config().poll_us));
  thread_.Start(poll, [this, poll] {
    // That the service is away others tell.
    if (const Status looked = Look(); !looked) {
      spdlog::debug("bigtable: the journal: {}", looked.error().message());
    }
    return poll;
  });
}

void JournalSweep::Stop() {
  stopping_ = true;
  thread_.Stop();
}

std::map<std::string, std::string> JournalSweep::GivenUp() const {
  const std::lock_guard lock(mutex_);
  return given_up_;
}

Status JournalSweep::Look() {
  const std::vector<std::string> left = writer_.unfinished().Keys();
  const Result<std::vector<Journal::Mark>> marks = journal_.List(client_.NewDeadline());
  if (!marks) {
    tries_.clear();
    return marks.error();
  }
  ForgetFinished(left, *marks);
  Publish(*marks);
  const std::vector<std::string> due = Due(*marks);
  size_t next = 0;
  while (next < due.size() && !stopping_) {
    if (Status finished = FinishSome(due, &next); !finished) return finished;
  }
  return {};
}

std::vector<std::string> JournalSweep::Due(const std::vector<Journal::Mark>& marks) {
  const SteadyTime now = std::chrono::steady_clock::now();
  std::map<std::string, Tries> tries;
  std::vector<std::string> due;
  for (const Journal::Mark& mark : marks) {
    if (mark.failed) continue;
    const auto known = tries_.find(mark.key);
    if (known != tries_.end()) tries.insert(*known);
    const bool waits = known != tries_.end() && known->second.again > now;
    if (!waits && !journal_.IsOthers(mark)) due.push_back(mark.key);
  }
  tries_ = std::move(tries);
  return due;
}

Status JournalSweep::FinishSome(const std::vector<std::string>& due, size_t* next) {
  std::vector<Attempt> attempts;
  size_t bytes = 0;
  std::optional<Error> unreached;
  while (*next < due.size() && attempts.size() < kBatchesAtOnce && bytes < kBytesAtOnce) {
    const std::string& key = due[(*next)++];
    Result<std::optional<FoundBatch>> found = finder_.Find(key, client_.NewDeadline());
    if (!found) {
      unreached = found.error();
      break;
    }
    if (!*found) continue;
    if ((*found)->batch == nullptr) {
      GiveUpUnreadable(**found);
      continue;
    }
    bytes += (*found)->batch->bytes();
    auto told = std::make_shared<std::promise<CommitOutcome>>();
    attempts.push_back(
        {key, (*found)->may_be_given_up(), (*found)->lacks.has_value(), told->get_future()});
    writer_.Finish(std::move(**found),
                   [told](CommitOutcome ended) { told->set_value(std::move(ended)); });
  }
  for (Attempt& attempt : attempts) Settle(&attempt);
  return unreached ? Status(*unreached) : Status();
}

void JournalSweep::Settle(Attempt* attempt) {
  const CommitOutcome outcome = attempt->outcome.get();
  if (outcome) {
    writer_.unfinished().Remove(attempt->key);
    spdlog::info("bigtable: batch {} of the journal is finished", attempt->key);
    return;
  }
  const Error why = outcome.error();
  if (why.code() == ErrorCode::kCancelled) return;  // Another daemon was faster.
  TryLater(attempt->key);
  const bool is_out_of_time =
      attempt->may_be_given_up && !outcome.failed().empty() && HasFailedForLong(attempt->key);
  const bool is_lacking = attempt->lacks && why.code() == ErrorCode::kConflict;
  if (is_out_of_time || is_lacking) return GiveUp(attempt->key, why.message());
  spdlog::warn("bigtable: batch {} of the journal is not finished yet: {}", attempt->key,
               why.message());
}

void JournalSweep::GiveUpUnreadable(const FoundBatch& found) {
  const std::string& key = found.mark.key;
  TryLater(key);
  if (!found.may_be_given_up() || !HasFailedForLong(key)) return;
  const Result<std::vector<bool>> taken = journal_.Take({&found.mark, 1}, client_.NewDeadline());
  if (!taken || !taken->front()) return;
  GiveUp(key, found.lacks->message());
  journal_.LetGo({&key, 1});
}

void JournalSweep::GiveUp(const std::string& key, const std::string& why) {
  const Result<bool> given_up = journal_.GiveUp(key, why, client_.NewDeadline());
  if (!given_up) {
    spdlog::warn("bigtable: batch {} of the journal: {}", key, given_up.error().message());
  }
}

// `left`: before the journal was listed.
void JournalSweep::ForgetFinished(const std::vector<std::string>& left,
                                  const std::vector<Journal::Mark>& marks) {
  for (const std::string& key : left) {
    const auto mark = std::ranges::find(marks, key, &Journal::Mark::key);
    if (mark == marks.end() || mark->failed) writer_.unfinished().Remove(key);
  }
}

void JournalSweep::Publish(const std::vector<Journal::Mark>& marks) {
  std::map<std::string, std::string> given_up;
  for (const Journal::Mark& mark : marks) {
    if (mark.failed) given_up.emplace(mark.key, *mark.failed);
  }
  const std::lock_guard lock(mutex_);
  for (const auto& [key, why] : given_up) {
    if (given_up_.contains(key)) continue;
    spdlog::error("bigtable: batch {} of the journal was given up, and is there in part: {}", key,
                  why);
  }
  given_up_ = std::move(given_up);
}

}  // namespace tallyd
