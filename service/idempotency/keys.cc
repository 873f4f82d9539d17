#include "service/idempotency/keys.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace tallyd {
namespace {

constexpr std::string_view kAnswerSpace = "ik/";
constexpr std::string_view kDueSpace = "it/";
constexpr char kAnswerVersion = 1;
constexpr size_t kNumberBytes = 8;
constexpr size_t kDueHeadBytes = kDueSpace.size() + kNumberBytes;
constexpr size_t kSweptAtOnce = 500;
constexpr auto kSweepInterval = std::chrono::seconds(30);

void PutNumber(uint64_t number, std::string* out) {
  for (int shift = 56; shift >= 0; shift -= 8) out->push_back(static_cast<char>(number >> shift));
}

// REQUIRES: so many bytes are there.
uint64_t TakeNumber(std::string_view* bytes) {
  uint64_t number = 0;
  for (const char byte : bytes->substr(0, kNumberBytes)) {
    number = number << 8 | static_cast<unsigned char>(byte);
  }
  bytes->remove_prefix(kNumberBytes);
  return number;
}

std::string ScopeAndKey(std::string_view scope, std::string_view key) {
  const XXH128_hash_t print = XXH3_128bits(scope.data(), scope.size());
  std::string bytes;
  PutNumber(print.high64, &bytes);
  PutNumber(print.low64, &bytes);
  return bytes.append(key);
}

// No name of a scope or a token has the byte between the two.
KeyIds IdsOf(const KeyedRequest& request) {
  std::string ownerless = ScopeAndKey(request.scope, request.key);
  if (request.owner.empty()) return {std::move(ownerless), {}};
  const std::string owned = request.owner + '\0' + request.scope;
  if (!request.takes_ownerless) ownerless.clear();
  return {ScopeAndKey(owned, request.key), std::move(ownerless)};
}

std::string AnswerKey(std::string_view scope_and_key) {
  return std::string(kAnswerSpace).append(scope_and_key);
}

std::string DueKey(TimeUs given, std::string_view scope_and_key) {
  std::string key(kDueSpace);
  PutNumber(static_cast<uint64_t>(given), &key);
  return key.append(scope_and_key);
}

// version:u8 given:u64 print:2*u64 status:u64 body
struct StoredAnswer {
  TimeUs given = 0;
  RequestPrint print;
  KeyedAnswer answer;
};

std::string Encode(const StoredAnswer& stored) {
  std::string bytes(1, kAnswerVersion);
  PutNumber(static_cast<uint64_t>(stored.given), &bytes);
  PutNumber(stored.print.high, &bytes);
  PutNumber(stored.print.low, &bytes);
  PutNumber(stored.answer.status, &bytes);
  return bytes.append(stored.answer.body);
}

Result<StoredAnswer> Decode(std::string_view bytes) {
  constexpr size_t kHead = 1 + 4 * kNumberBytes;
  if (bytes.size() < kHead || bytes[0] != kAnswerVersion) {
    return Error(ErrorCode::kCorruption,
                 "the answer remembered for this Idempotency-Key cannot be read");
  }
  bytes.remove_prefix(1);
  StoredAnswer stored;
  stored.given = static_cast<TimeUs>(TakeNumber(&bytes));
  stored.print.high = TakeNumber(&bytes);
  stored.print.low = TakeNumber(&bytes);
  stored.answer.status = static_cast<unsigned>(TakeNumber(&bytes));
  stored.answer.body = bytes;
  return stored;
}

}  // namespace

Status CheckIdempotencyKey(std::string_view key) {
  if (!key.empty() && key.size() <= kMaxIdempotencyKeyBytes) return {};
  return Invalid(fmt::format("Idempotency-Key: it has {} bytes; 1 to {} are taken", key.size(),
                             kMaxIdempotencyKeyBytes));
}

RequestPrint PrintOf(std::string_view about, std::string_view body) {
  const XXH128_hash_t of_about = XXH3_128bits(about.data(), about.size());
  XXH128_hash_t print = XXH3_128bits(body.data(), body.size());
  const uint64_t both[] = {of_about.high64, of_about.low64, print.high64, print.low64};
  print = XXH3_128bits(both, sizeof both);
  return {print.high64, print.low64};
}

KeyClaim::~KeyClaim() {
  if (!lease_) {
    keys_.Release(ids_);
  } else {
    keys_.leases_.GiveBack(std::move(*lease_), [keys = &keys_, ids = ids_] { keys->Release(ids); });
  }
}

Result<std::optional<KeyedAnswer>> KeyClaim::Find() {
  if (!keys_.leases_.are_needed()) return FindRemembered();
  Result<KeyLeases::Taken> taken = keys_.leases_.Take(ids_.own);
  if (!taken) return taken.error();
  if (taken->fate == Claiming::Fate::kOwn) lease_ = std::move(taken->lease);
  // What somebody else has ended meanwhile is remembered.
  Result<std::optional<KeyedAnswer>> found = FindRemembered();
  const bool is_known = !found || found->has_value();
  if (is_known || taken->fate == Claiming::Fate::kOwn) return found;
  if (taken->fate == Claiming::Fate::kOthers) {
    return Error(ErrorCode::kUnavailable,
                 "another daemon is at a request with this Idempotency-Key; send it again");
  }
  return Error(ErrorCode::kInDoubt,
               "of the request that came with this Idempotency-Key nobody knows whether what it "
               "adds up has counted; it is not counted again");
}

Result<std::optional<KeyedAnswer>> KeyClaim::FindRemembered() {
  Result<std::optional<KeyedAnswer>> found = FindUnder(ids_.own);
  const bool is_known = !found || found->has_value();
  if (is_known || ids_.ownerless.empty()) return found;
  return FindUnder(ids_.ownerless);
}

Result<std::optional<KeyedAnswer>> KeyClaim::FindUnder(const std::string& id) {
  const Result<std::optional<std::string>> memo = keys_.store_.FindMemo(AnswerKey(id));
  if (!memo) return memo.error();
  if (!*memo) return std::optional<KeyedAnswer>();
  Result<StoredAnswer> stored = Decode(**memo);
  if (!stored) return stored.error();
  const Result<std::optional<std::string>> due = keys_.store_.FindMemo(DueKey(stored->given, id));
  if (!due) return due.error();
  if (keys_.IsDue(IdempotencyKeys::GivenAt(stored->given, due->value_or("")))) {
    const Status forgotten = keys_.ForgetIfDue(id);
    if (!forgotten) return forgotten.error();
    return std::optional<KeyedAnswer>();
  }
  if (stored->print != print_) {
    return Error(ErrorCode::kUnprocessable,
                 "this Idempotency-Key came with another request before; a key is for one request "
                 "and its repetitions");
  }
  return std::optional(std::move(stored->answer));
}

Status KeyClaim::Remember(const KeyedAnswer& answer, Batch* batch) const {
  const TimeUs now = std::clamp<TimeUs>(keys_.clock_.Now(), 0, kMaxTimeUs);
  const std::string memo = Encode({now, print_, answer});
  if (memo.size() > kMaxMemoValueBytes) {
    return Error(ErrorCode::kUnprocessable,
                 fmt::format("an answer of {} bytes is too long to be remembered for an "
                             "Idempotency-Key; send less at once",
                             answer.body.size()));
  }
  batch->PutMemo(AnswerKey(ids_.own), memo, NoteOrder::kAfter);
  std::string retention;
  PutNumber(static_cast<uint64_t>(keys_.store_.Retention().time), &retention);
  batch->PutMemo(DueKey(now, ids_.own), retention, NoteOrder::kAfter);
  if (lease_) batch->CountUnder(lease_->key, lease_->owner);
  return {};
}

void IdempotencyKeys::Claim(const KeyedRequest& request, Granted granted) {
  KeyIds ids = IdsOf(request);
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    const auto [waiting, is_free] = claimed_.try_emplace(ids.own);
    if (!is_free) {
      waiting->second.push_back({request.print, std::move(granted)});
      return;
    }
  }
  granted(std::make_unique<KeyClaim>(this, std::move(ids), request.print));
}

void IdempotencyKeys::Release(const KeyIds& ids) {
  Waiting next;
  {
    const std::lock_guard lock(mutex_);
    const auto claimed = claimed_.find(ids.own);
    if (claimed->second.empty()) {
      claimed_.erase(claimed);
      return;
    }
    next = std::move(claimed->second.front());
    claimed->second.pop_front();
  }
  next.granted(std::make_unique<KeyClaim>(this, ids, next.print));
}

IdempotencyKeys::Given IdempotencyKeys::GivenAt(TimeUs wall, std::string_view due_memo) {
  Given given{wall, std::nullopt};
  if (due_memo.size() == kNumberBytes) given.retention = static_cast<TimeUs>(TakeNumber(&due_memo));
  return given;
}

// What has passed since is what the clock that went on less says: the wall clock may have been
// behind then. The retention clock does not count while it stands still, since the wall clock is
// behind it, nor once it was told to trust that, and went back.
bool IdempotencyKeys::IsDue(const Given& given) const {
  int64_t passed = store_.RetentionNow() - given.wall;
  const RetentionClock::State retention = store_.Retention();
  const bool stands_still = retention.lag_us < -RetentionClock::kToleranceUs;
  if (given.retention && !stands_still && retention.time >= *given.retention) {
    passed = std::min(passed, retention.time - *given.retention);
  }
  return passed >= kRememberedUs;
}

Status IdempotencyKeys::ForgetIfDue(const std::string& id) {
  const std::lock_guard sweeping(sweep_mutex_);
  const Result<std::optional<std::string>> memo = store_.FindMemo(AnswerKey(id));
  if (!memo) return memo.error();
  if (!*memo) return {};
  const Result<StoredAnswer> stored = Decode(**memo);
  if (!stored) return stored.error();
  std::unique_ptr<Batch> batch = store_.NewBatch();
  batch->DropMemo(AnswerKey(id));
  batch->DropMemo(DueKey(stored->given, id));
  return store_.Commit(std::move(batch));
}

Result<size_t> IdempotencyKeys::Sweep() {
  size_t all = 0;
  std::string after;
  while (true) {
    const Result<size_t> swept = SweepPage(&after);
    if (!swept) return swept;
    all += *swept;
    const std::lock_guard lock(mutex_);
    if (*swept < kSweptAtOnce || stopping_) return all;
  }
}

Result<size_t> IdempotencyKeys::SweepPage(std::string* after) {
  const std::lock_guard sweeping(sweep_mutex_);
  const Result<std::vector<Memo>> oldest = store_.Memos(kDueSpace, kSweptAtOnce, *after);
  if (!oldest) return oldest.error();
  std::unique_ptr<Batch> batch = store_.NewBatch();
  size_t due = 0;
  for (const auto& [key, retention] : *oldest) {
    if (key.size() < kDueHeadBytes) continue;
    std::string_view rest = std::string_view(key).substr(kDueSpace.size());
    if (!IsDue(GivenAt(static_cast<TimeUs>(TakeNumber(&rest)), retention))) break;
    batch->DropMemo(AnswerKey(rest));
    batch->DropMemo(key);
    *after = key;
    ++due;
  }
  if (due == 0) return due;
  const Status committed = store_.Commit(std::move(batch));
  if (!committed) return committed.error();
  return due;
}

void IdempotencyKeys::Start() {
  sweeper_.Start(kSweepInterval, [this] {
    const Result<size_t> swept = Sweep();
    if (!swept) spdlog::warn("Idempotency-Keys are kept for now: {}", swept.error().message());
    if (const Status gone = leases_.Sweep(); !gone) {
      spdlog::warn("claims of Idempotency-Keys are kept for now: {}", gone.error().message());
    }
    return kSweepInterval;
  });
}

void IdempotencyKeys::Stop() {
  std::vector<Waiting> dropped;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (auto& [id, waiting] : claimed_) {
      for (Waiting& one : waiting) dropped.push_back(std::move(one));
      waiting.clear();
    }
  }
  sweeper_.Stop();
}

}  // namespace tallyd
