#include "storage/blocks/presence.h"

#include <algorithm>

#include "storage/blocks/column_codec.h"

namespace tallyd {
namespace {

constexpr uint32_t kWordBits = 64;
// Bits that change less often than one in so many are worth compressing; those of a random choice
// do not compress, and trying takes longer than to write them.
constexpr uint32_t kSeldom = 4;
// What a bitmap takes about beside its bits; where they are compressed a frame, and each change.
constexpr size_t kBytesPerBitmap = 3;
constexpr size_t kBytesPerFrame = 12;
constexpr size_t kBytesPerChange = 2;

size_t BitmapBytes(uint32_t entries) { return (entries + 7) / 8; }

}  // namespace

void Presence::Reset(uint32_t entries) {
  entries_ = entries;
  words_.assign(entries / kWordBits + 1, 0);
}

void Presence::Count() {
  before_.clear();
  uint32_t count = 0;
  for (const uint64_t word : words_) {
    before_.push_back(count);
    count += static_cast<uint32_t>(std::popcount(word));
  }
  before_.push_back(count);
}

uint32_t Presence::Changes() const {
  uint32_t changes = 0;
  uint64_t last = words_.front() & 1;
  for (const uint64_t word : words_) {
    changes += static_cast<uint32_t>(std::popcount(word ^ (word << 1 | last)));
    last = word >> (kWordBits - 1);
  }
  return changes;
}

void Presence::Pick(std::span<const TimeUs> times, uint32_t first, TimeUs* to) const {
  const auto end = static_cast<uint32_t>(first + times.size());
  for (uint32_t entry = first; entry < end;) {
    uint64_t word = words_[entry / kWordBits] >> entry % kWordBits;
    const uint32_t stop = std::min(end, (entry / kWordBits + 1) * kWordBits);
    if (stop - entry < kWordBits) word &= (uint64_t{1} << (stop - entry)) - 1;
    for (const TimeUs* base = times.data() + (entry - first); word != 0; word &= word - 1) {
      *to++ = base[std::countr_zero(word)];
    }
    entry = stop;
  }
}

void Presence::Join(const Presence& other) {
  for (size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
}

size_t PresenceBytes(uint32_t entries, uint32_t count, uint32_t changes) {
  if (count == entries) return 0;
  return kBytesPerBitmap +
         std::min(BitmapBytes(entries), kBytesPerFrame + changes * kBytesPerChange);
}

void AppendPresence(const Presence& presence, std::string* out) {
  if (presence.is_whole()) return AppendText(std::string_view(), out);
  std::string bits(BitmapBytes(presence.entries()), '\0');
  for (size_t i = 0; i < bits.size(); ++i) {
    bits[i] = static_cast<char>(presence.words_[i / 8] >> i % 8 * 8);
  }
  if (presence.Changes() * kSeldom < presence.entries()) return AppendText(bits, out);
  PutVarint(out, bits.size());
  PutString(out, bits);
}

bool ReadPresence(ByteReader* in, uint32_t entries, Presence* presence) {
  thread_local std::string bits;
  if (!ReadText(in, &bits)) return false;
  presence->Reset(entries);
  if (bits.empty()) {
    std::ranges::fill(presence->words_, ~uint64_t{0});
  } else if (bits.size() != BitmapBytes(entries)) {
    return false;
  }
  for (size_t i = 0; i < bits.size(); ++i) {
    const auto byte = static_cast<uint8_t>(bits[i]);
    presence->words_[i / 8] |= static_cast<uint64_t>(byte) << i % 8 * 8;
  }
  const uint64_t beyond = ~((uint64_t{1} << entries % kWordBits) - 1);
  const bool reaches_beyond = (presence->words_.back() & beyond) != 0;
  if (bits.empty()) presence->words_.back() &= ~beyond;
  presence->Count();
  // That all have it is said by nothing.
  if (bits.empty()) return true;
  return !reaches_beyond && presence->count() > 0 && !presence->is_whole();
}

}  // namespace tallyd
