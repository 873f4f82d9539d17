#include "config/values/hyperloglog.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace tallyd {
namespace {

constexpr char kSparse = 1;
constexpr char kDense = 2;
constexpr int kHashBits = 64;
constexpr int kSparseBits = 25;
constexpr int kDenseBits = 14;
constexpr int kMiddleBits = kSparseBits - kDenseBits;
constexpr int kPlaceBits = 6;
constexpr uint32_t kPlaceMask = (1u << kPlaceBits) - 1;
constexpr uint32_t kMaxSparsePlace = kHashBits - kSparseBits + 1;
constexpr uint32_t kMaxPlace = kHashBits - kDenseBits + 1;
constexpr size_t kRegisters = size_t{1} << kDenseBits;
// Four registers of six bits are three bytes.
constexpr size_t kDenseBytes = kRegisters / 4 * 3;

uint32_t IndexOf(uint32_t entry) { return entry >> kPlaceBits; }
uint32_t PlaceOf(uint32_t entry) { return entry & kPlaceMask; }

uint32_t EntryOf(std::string_view text) {
  const uint64_t hash = XXH3_64bits(text.data(), text.size());
  const uint64_t rest = hash << kSparseBits;
  const uint32_t place =
      rest == 0 ? kMaxSparsePlace : static_cast<uint32_t>(std::countl_zero(rest)) + 1;
  return static_cast<uint32_t>(hash >> (kHashBits - kSparseBits)) << kPlaceBits | place;
}

void AppendVarint(uint32_t number, std::string* out) {
  for (; number >= 0x80; number >>= 7) out->push_back(static_cast<char>(number | 0x80));
  out->push_back(static_cast<char>(number));
}

bool TakeVarint(std::string_view* in, uint32_t* number) {
  uint64_t read = 0;
  for (int shift = 0; shift < 35 && !in->empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(in->front());
    in->remove_prefix(1);
    read |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) != 0) continue;
    *number = static_cast<uint32_t>(read);
    return read <= std::numeric_limits<uint32_t>::max();
  }
  return false;
}

bool ParseSparse(std::string_view state, std::vector<uint32_t>* entries) {
  uint64_t last = 0;
  uint32_t step = 0;
  while (!state.empty()) {
    if (!TakeVarint(&state, &step)) return false;
    const uint64_t next = last + step;
    if (next >> (kSparseBits + kPlaceBits) != 0) return false;
    const auto entry = static_cast<uint32_t>(next);
    if (PlaceOf(entry) == 0 || PlaceOf(entry) > kMaxSparsePlace) return false;
    if (!entries->empty() && IndexOf(entry) <= IndexOf(entries->back())) return false;
    if (entries->size() == HyperLogLog::kMaxSparse) return false;
    entries->push_back(entry);
    last = next;
  }
  return true;
}

bool ParseDense(std::string_view state, std::vector<uint8_t>* registers) {
  if (state.size() != kDenseBytes) return false;
  registers->reserve(kRegisters);
  for (size_t at = 0; at < kDenseBytes; at += 3) {
    uint32_t four = 0;
    for (size_t i = 0; i < 3; ++i) four |= static_cast<uint8_t>(state[at + i]) << (8 * i);
    for (int i = 0; i < 4; ++i, four >>= kPlaceBits) {
      registers->push_back(static_cast<uint8_t>(four & kPlaceMask));
      if (registers->back() > kMaxPlace) return false;
    }
  }
  return true;
}

// Ertl's sigma and tau: what registers at their least and at their greatest stand for.
double Sigma(double x) {
  if (x == 1) return std::numeric_limits<double>::infinity();
  double y = 1;
  double z = x;
  for (double before = -1; before != z;) {
    before = z;
    x *= x;
    z += x * y;
    y += y;
  }
  return z;
}

double Tau(double x) {
  if (x == 0 || x == 1) return 0;
  double y = 1;
  double z = 1 - x;
  for (double before = -1; before != z;) {
    before = z;
    x = std::sqrt(x);
    y *= 0.5;
    z -= (1 - x) * (1 - x) * y;
  }
  return z / 3;
}

double EstimateDense(const std::vector<uint8_t>& registers) {
  std::array<uint32_t, kMaxPlace + 1> counts{};
  for (const uint8_t place : registers) ++counts[place];
  constexpr auto kAll = static_cast<double>(kRegisters);
  double z = kAll * Tau(1 - counts[kMaxPlace] / kAll);
  for (size_t place = kMaxPlace - 1; place > 0; --place) z = 0.5 * (z + counts[place]);
  z += kAll * Sigma(counts[0] / kAll);
  return kAll * kAll / (2 * std::numbers::ln2 * z);
}

}  // namespace

void HyperLogLog::Add(std::string_view text) {
  const uint32_t entry = EntryOf(text);
  is_dense() ? Raise(entry) : AddSparse(entry);
}

void HyperLogLog::AddSparse(uint32_t entry) {
  const auto at = std::lower_bound(sparse_.begin(), sparse_.end(), entry & ~kPlaceMask);
  if (at != sparse_.end() && IndexOf(*at) == IndexOf(entry)) {
    *at = std::max(*at, entry);
    return;
  }
  sparse_.insert(at, entry);
  if (sparse_.size() > kMaxSparse) MakeDense();
}

void HyperLogLog::MergeSparse(const std::vector<uint32_t>& entries) {
  std::vector<uint32_t> both;
  both.reserve(sparse_.size() + entries.size());
  std::merge(sparse_.begin(), sparse_.end(), entries.begin(), entries.end(),
             std::back_inserter(both));
  // Of those of one index the greatest place comes last, and stays.
  size_t size = 0;
  for (const uint32_t entry : both) {
    if (size > 0 && IndexOf(both[size - 1]) == IndexOf(entry)) --size;
    both[size++] = entry;
  }
  both.resize(size);
  sparse_ = std::move(both);
  if (sparse_.size() > kMaxSparse) MakeDense();
}

void HyperLogLog::Raise(uint32_t entry) {
  const uint32_t middle = IndexOf(entry) & ((1u << kMiddleBits) - 1);
  const uint32_t place =
      middle == 0 ? kMiddleBits + PlaceOf(entry)
                  : static_cast<uint32_t>(std::countl_zero(middle)) - (32 - kMiddleBits) + 1;
  uint8_t& kept = registers_[IndexOf(entry) >> kMiddleBits];
  kept = std::max(kept, static_cast<uint8_t>(place));
}

void HyperLogLog::MakeDense() {
  registers_.assign(kRegisters, 0);
  for (const uint32_t entry : sparse_) Raise(entry);
  sparse_ = {};
}

bool HyperLogLog::Merge(std::string_view state) {
  if (state.empty()) return false;
  if (state[0] == kSparse) {
    std::vector<uint32_t> entries;
    if (!ParseSparse(state.substr(1), &entries)) return false;
    if (is_dense()) {
      for (const uint32_t entry : entries) Raise(entry);
    } else if (entries.size() == 1) {
      AddSparse(entries[0]);
    } else {
      MergeSparse(entries);
    }
    return true;
  }
  std::vector<uint8_t> registers;
  if (state[0] != kDense || !ParseDense(state.substr(1), &registers)) return false;
  if (!is_dense()) MakeDense();
  for (size_t i = 0; i < kRegisters; ++i) registers_[i] = std::max(registers_[i], registers[i]);
  return true;
}

void HyperLogLog::Encode(std::string* out) const {
  if (!is_dense()) {
    out->push_back(kSparse);
    uint32_t last = 0;
    for (const uint32_t entry : sparse_) AppendVarint(entry - std::exchange(last, entry), out);
    return;
  }
  out->reserve(out->size() + 1 + kDenseBytes);
  out->push_back(kDense);
  for (size_t at = 0; at < kRegisters; at += 4) {
    uint32_t four = 0;
    for (size_t i = 0; i < 4; ++i) {
      four |= static_cast<uint32_t>(registers_[at + i]) << (kPlaceBits * i);
    }
    for (int i = 0; i < 3; ++i, four >>= 8) out->push_back(static_cast<char>(four));
  }
}

uint64_t HyperLogLog::Estimate() const {
  if (is_dense()) return static_cast<uint64_t>(std::llround(EstimateDense(registers_)));
  // What so many of 2^25 places that are taken stand for: linear counting.
  const auto all = static_cast<double>(1u << kSparseBits);
  const auto taken = static_cast<double>(sparse_.size());
  return static_cast<uint64_t>(std::llround(-all * std::log1p(-taken / all)));
}

}  // namespace tallyd
