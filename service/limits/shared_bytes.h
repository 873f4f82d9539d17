// SharedBytes: bytes of memory that all who ask may hold together, and of which no principal can
// take what is the others', too: once there are several, none holds more than half. Once there are
// any, those who are none of them hold a quarter at most, all together.
//
//   SharedBytes::SharePtr share = bytes.ShareOf(principal.name);
//   if (!bytes.TryTake(share.get(), 4096)) ...   // Not so much, for it or for anybody.
//   bytes.GiveBack(share.get(), 4096);
//
// Thread-safe. Taking and giving back wait for nobody; ShareOf takes a lock, once for each request.
#ifndef TALLYD_SERVICE_LIMITS_SHARED_BYTES_H_
#define TALLYD_SERVICE_LIMITS_SHARED_BYTES_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "storage/drain_rate.h"

namespace tallyd {

class SharedBytes {
 public:
  // What one principal holds.
  class Share {
    friend class SharedBytes;
    std::atomic<uint64_t> held_{0};
  };
  using SharePtr = std::shared_ptr<Share>;  // Null: of nobody in particular.

  explicit SharedBytes(uint64_t limit) : limit_(limit) {}
  SharedBytes(const SharedBytes&) = delete;
  SharedBytes& operator=(const SharedBytes&) = delete;

  // How many there are. Up to one, nobody is told apart.
  void SetPrincipals(size_t count);
  // Null while there is one principal at most.
  SharePtr ShareOf(std::string_view principal);
  // That of all who are no principal, or are not known as one yet.
  const SharePtr& ShareOfStrangers() const { return strangers_; }

  uint64_t limit() const { return limit_; }
  // The most that one who has this share may hold.
  uint64_t LimitOf(const Share* share) const;
  // What is left of it, and of all.
  uint64_t Room(const Share* share) const;
  // Whether there is room for so much in the share, whatever others hold.
  bool HasRoomInShare(const Share* share, uint64_t bytes) const;
  bool TryTake(Share* share, uint64_t bytes);
  void GiveBack(Share* share, uint64_t bytes);

  uint64_t held() const { return held_.load(std::memory_order_relaxed); }
  // Ever.
  uint64_t given_back() const { return given_back_.load(std::memory_order_relaxed); }

  // Looks at what was given back meanwhile; about once a second.
  void Sample(DrainRate::Time now);
  // When what is held now will have been given back, as of the last seconds.
  unsigned RetryAfterSeconds(DrainRate::Time now) const;

 private:
  const uint64_t limit_;
  std::atomic<uint64_t> held_{0};
  std::atomic<uint64_t> given_back_{0};
  std::atomic<bool> any_{false};  // Principals.
  std::atomic<bool> several_{false};
  const SharePtr strangers_ = std::make_shared<Share>();
  mutable std::mutex mutex_;
  std::map<std::string, std::weak_ptr<Share>, std::less<>> shares_;  // Guarded by mutex_.
  DrainRate rate_;                                                   // The same.
  uint64_t sampled_ = 0;                                             // The same.
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_LIMITS_SHARED_BYTES_H_
