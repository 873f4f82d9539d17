// KeyLeases: what this daemon has claimed of the others that have the same store (Claiming), so
// that of requests with one key one is handled, by whichever daemon. A thread keeps what is held
// and gives back what is not any more; a daemon that ends otherwise leaves it to the next one
// within Claiming::kClaimLease. Thread-safe.
#ifndef TALLYD_SERVICE_IDEMPOTENCY_LEASES_H_
#define TALLYD_SERVICE_IDEMPOTENCY_LEASES_H_

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "config/values/result.h"
#include "storage/capabilities.h"

namespace tallyd {

class KeyLeases {
 public:
  struct Taken {
    Claiming::Fate fate = Claiming::Fate::kOwn;
    Claiming::Held lease;  // Where it is one's own.
  };

  // Null: nobody else has the store. Outlives it.
  explicit KeyLeases(Claiming* claiming) : claiming_(claiming) {}
  ~KeyLeases() { Stop(); }
  KeyLeases(const KeyLeases&) = delete;
  KeyLeases& operator=(const KeyLeases&) = delete;

  bool are_needed() const { return claiming_ != nullptr; }
  // Blocks. REQUIRES: they are needed.
  Result<Taken> Take(std::string_view key);
  // Does not block; `done` is called behind it, on the thread that keeps.
  void GiveBack(Claiming::Held lease, std::function<void()> done);
  // Forgets what others left.
  Status Sweep();
  // Gives back what waits for it. What is still held lapses. Idempotent.
  void Stop();

 private:
  struct Ended {
    Claiming::Held lease;
    std::function<void()> done;
  };

  void Work();

  Claiming* const claiming_;
  std::mutex mutex_;
  // What follows is guarded by mutex_.
  std::condition_variable changed_;
  std::map<std::string, std::string> held_;  // Owners by key.
  std::vector<Ended> ended_;
  bool stopping_ = false;
  std::thread keeper_;  // From the first lease on.
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_IDEMPOTENCY_LEASES_H_
