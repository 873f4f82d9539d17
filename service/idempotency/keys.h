// IdempotencyKeys: the answers to requests that came with an Idempotency-Key, so that one that is
// sent again has no second effect. An answer is a memo (storage/batch.h) of the same commit as what
// it answers for: both are there after a crash, or neither is. Nothing but the requests under way
// is in memory.
//
//   1. Claim: one request of a key at a time; a twin waits until the claim of the first is gone.
//   2. Find, of the claim: the answer given before. None: the request is handled. Where several
//      daemons have the store it is claimed there first (leases.h), and a twin that another daemon
//      is at is kUnavailable, to be sent again.
//   3. Remember, of the claim: puts the answer into the batch that it is for. What is refused, or
//      not committed, is not remembered, and the next one that comes with the key is the first.
//
// An answer is forgotten 24 hours after it was given, by a thread of its own that takes away a page
// at a time. Both clocks were noted then, and what has passed is what the one says that went on
// less: the wall clock may have been behind, and be right by now. Two memos are kept for each:
// ik/(scope)(key) is the answer; it/(the wall clock's time, 8 bytes, big-endian)(scope)(key), whose
// value is the retention clock's (the same 8 bytes; absent in what older versions kept), finds what
// is to be forgotten, oldest first. A scope is the XXH3 with 128 bits of its name. With keys of 36
// bytes and short answers both take about 110 bytes of disk, and 200 until LevelDB has merged them
// (bench/keys), so a million keys an hour take about 2.6 GB in a day.
#ifndef TALLYD_SERVICE_IDEMPOTENCY_KEYS_H_
#define TALLYD_SERVICE_IDEMPOTENCY_KEYS_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "config/values/repeating_thread.h"
#include "config/values/result.h"
#include "config/values/time.h"
#include "service/idempotency/leases.h"
#include "storage/store.h"

namespace tallyd {

inline constexpr size_t kMaxIdempotencyKeyBytes = 255;
inline constexpr int64_t kRememberedUs = kUsPerDay;

// kInvalid: empty, or longer.
Status CheckIdempotencyKey(std::string_view key);

// What a request says, in 128 bits: two that differ have different prints.
struct RequestPrint {
  uint64_t high = 0;
  uint64_t low = 0;
  friend bool operator==(const RequestPrint&, const RequestPrint&) = default;
};
// `about` is all that matters beside the body.
RequestPrint PrintOf(std::string_view about, std::string_view body);

struct KeyedAnswer {
  unsigned status = 200;
  std::string body;
  friend bool operator==(const KeyedAnswer&, const KeyedAnswer&) = default;
};

// Whose key it is, and the request that came with it.
struct KeyedRequest {
  std::string scope;  // Within which a key is one key.
  std::string key;    // At most kMaxIdempotencyKeyBytes.
  RequestPrint print;
  // The name of the token that came with it: its keys are its own. Empty: there are no tokens.
  std::string owner = {};
  // Whether an answer that was remembered before there were tokens counts for the owner. Not for
  // whoever has a scope: it may be another's, and tell of what that one sent.
  bool takes_ownerless = true;
};

// Under what the answer to a request with a key is remembered.
struct KeyIds {
  std::string own;
  // As it would be without tokens: what was remembered before there were any counts for whoever has
  // one now. Empty: that is the own, or does not count.
  std::string ownerless;
};

class IdempotencyKeys;

// The right to handle a request of a key, made by IdempotencyKeys. Goes to the next that waits when
// it is destroyed.
class KeyClaim {
 public:
  KeyClaim(IdempotencyKeys* keys, KeyIds ids, RequestPrint print)
      : keys_(*keys), ids_(std::move(ids)), print_(print) {}
  ~KeyClaim();
  KeyClaim(const KeyClaim&) = delete;
  KeyClaim& operator=(const KeyClaim&) = delete;

  // The answer given before; kUnprocessable where it was given to another request, kUnavailable
  // where another daemon is at this one, kInDoubt where one was and nobody knows whether what adds
  // up counted. May read the disk and wait for a commit.
  Result<std::optional<KeyedAnswer>> Find();
  // Remembers the answer with the batch; kUnprocessable where it is too long for that.
  Status Remember(const KeyedAnswer& answer, Batch* batch) const;

 private:
  Result<std::optional<KeyedAnswer>> FindRemembered();
  Result<std::optional<KeyedAnswer>> FindUnder(const std::string& id);

  IdempotencyKeys& keys_;
  const KeyIds ids_;
  const RequestPrint print_;
  std::optional<Claiming::Held> lease_;  // Among daemons, once Find has it.
};

class IdempotencyKeys {
 public:
  using Granted = std::function<void(std::unique_ptr<KeyClaim>)>;

  // Both outlive it.
  IdempotencyKeys(Store* store, const Clock* clock)
      : store_(*store), clock_(*clock), leases_(store->capabilities().claiming) {}
  ~IdempotencyKeys() { Stop(); }
  IdempotencyKeys(const IdempotencyKeys&) = delete;
  IdempotencyKeys& operator=(const IdempotencyKeys&) = delete;

  // Thread-safe. Calls `granted` at once, or later, on the thread that lets go of the key: it must
  // not block. After Stop it is not called.
  void Claim(const KeyedRequest& request, Granted granted);

  // Starts the thread that forgets.
  void Start();
  // Ends it, and lets go of those that wait: their `granted` are destroyed. Idempotent.
  void Stop();

  // Forgets what is due, a page at a time; how many answers it were.
  Result<size_t> Sweep();

 private:
  friend class KeyClaim;
  struct Waiting {
    RequestPrint print;
    Granted granted;
  };

  void Release(const KeyIds& ids);
  // Of both clocks what they said when the answer was given.
  struct Given {
    TimeUs wall = 0;
    std::optional<TimeUs> retention;
  };
  static Given GivenAt(TimeUs wall, std::string_view due_memo);
  bool IsDue(const Given& given) const;
  Status ForgetIfDue(const std::string& id);
  Result<size_t> SweepPage(std::string* after);

  Store& store_;
  const Clock& clock_;

  std::mutex mutex_;
  std::map<std::string, std::deque<Waiting>> claimed_;  // By KeyIds::own. Guarded by mutex_.
  bool stopping_ = false;                               // Guarded by mutex_.

  // Held from a look at what is due to the commit that forgets it: an answer that is remembered
  // under the same key after that stays.
  std::mutex sweep_mutex_;

  KeyLeases leases_;
  RepeatingThread sweeper_;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_IDEMPOTENCY_KEYS_H_
