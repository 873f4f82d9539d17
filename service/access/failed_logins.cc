#include "service/access/failed_logins.h"

#include <arpa/inet.h>
#include <xxhash.h>

#include <algorithm>
#include <random>
#include <string>

namespace tallyd {

namespace {

constexpr auto kSecond = std::chrono::seconds(1);
constexpr size_t kIpV4Bytes = 4;
constexpr size_t kNetworkBytes = 8;  // Of an IPv6 address.
constexpr std::string_view kV4InV6("\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);

uint64_t MakeSeed() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

// What of an address tells its owner; the text itself where it is none.
std::string OwnerOf(std::string_view peer) {
  std::string text(peer.substr(0, peer.rfind(':')));
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  std::array<char, 16> bytes{};
  if (inet_pton(AF_INET, text.c_str(), bytes.data()) == 1) return {bytes.data(), kIpV4Bytes};
  if (inet_pton(AF_INET6, text.c_str(), bytes.data()) != 1) return text;
  const bool is_v4 = std::string_view(bytes.data(), kV4InV6.size()) == kV4InV6;
  if (is_v4) return {bytes.data() + kV4InV6.size(), kIpV4Bytes};
  return {bytes.data(), kNetworkBytes};
}

}  // namespace

FailedLogins::FailedLogins()
    : seed_(MakeSeed()), sets_(std::make_unique<Set[]>(kAddresses / kWays)) {}

// The address's own slot, or the one that another address that fails may take.
FailedLogins::Slot& FailedLogins::SlotOf(uint64_t address) {
  Set& set = sets_[address % (kAddresses / kWays)];
  Slot* best = &set[0];
  for (Slot& slot : set) {
    if (slot.failed > 0 && slot.address == address) return slot;
    const bool is_free = slot.failed == 0;
    if (is_free || (best->failed > 0 && slot.begin < best->begin)) best = &slot;
  }
  return *best;
}

bool FailedLogins::Exceeds(std::string_view peer, bool failed, Time now) {
  const std::string owner = OwnerOf(peer);
  const uint64_t address = XXH3_64bits_withSeed(owner.data(), owner.size(), seed_);
  const std::lock_guard lock(mutex_);
  Slot& slot = SlotOf(address);
  const bool counts = slot.failed > 0 && slot.address == address && now - slot.begin < kSecond;
  if (!failed) return counts && slot.failed > kMostASecond;
  if (!counts) slot = {address, now, 0};
  slot.failed = std::min(slot.failed + 1, kMostASecond + 1);
  return slot.failed > kMostASecond;
}

}  // namespace tallyd
