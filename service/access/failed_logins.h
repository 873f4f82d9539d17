// FailedLogins: how often an address came with credentials that are none, so that whoever tries
// many is told to wait. A fixed number of addresses is remembered, each for a second; where more
// come at once the oldest of those that share a place is forgotten. Of IPv6 the first 64 bits
// count, which are one host's or one network's.
//
// Thread-safe; asked only about requests that are refused anyway.
#ifndef TALLYD_SERVICE_ACCESS_FAILED_LOGINS_H_
#define TALLYD_SERVICE_ACCESS_FAILED_LOGINS_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>

namespace tallyd {

class FailedLogins {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr uint32_t kMostASecond = 10;
  static constexpr size_t kAddresses = 4096;

  FailedLogins();
  FailedLogins(const FailedLogins&) = delete;
  FailedLogins& operator=(const FailedLogins&) = delete;

  // `peer` is "127.0.0.1:40312". Whether the address has failed more than kMostASecond times within
  // the second, this time included, if it failed: whoever brings nothing has not tried.
  bool Exceeds(std::string_view peer, bool failed, Time now);
  bool Exceeds(std::string_view peer, bool failed) {
    return Exceeds(peer, failed, std::chrono::steady_clock::now());
  }

 private:
  static constexpr size_t kWays = 4;  // Addresses of one place.
  struct Slot {
    uint64_t address = 0;  // Its hash, under a seed of this process.
    Time begin;            // Of its second.
    uint32_t failed = 0;   // 0: the slot is free.
  };
  using Set = std::array<Slot, kWays>;

  Slot& SlotOf(uint64_t address);  // REQUIRES: mutex_.

  const uint64_t seed_;
  std::mutex mutex_;
  const std::unique_ptr<Set[]> sets_;  // Guarded by mutex_.
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_ACCESS_FAILED_LOGINS_H_
