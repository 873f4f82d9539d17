#include "storage/blocks/int_codec.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

#include "config/values/integers.h"
#include "storage/blocks/int_format.h"
#include "storage/bytes/coding.h"

namespace tallyd {
namespace {

using enum IntOrder;

constexpr size_t kGroup = kIntGroup;
constexpr unsigned kMaxWidth = kMaxIntWidth;
// Of what a sample of the values is made.
constexpr size_t kPieces = 8;
constexpr size_t kPieceValues = 34;
// One value in so many is seldom.
constexpr size_t kFewOutliers = 8;

unsigned BitsOf(uint64_t v) { return static_cast<unsigned>(std::bit_width(v)); }
uint64_t Unsigned(int64_t v) { return static_cast<uint64_t>(v); }
// The most of any that lies between.
unsigned ZigZagBits(const Extremes& of) {
  return BitsOf(std::max(ZigZag(of.least), ZigZag(of.greatest)));
}

// The range that the values of a piece span decides, as it does in a group. Of all pieces the worst
// quarter does not count: jumps are outliers there, too.
IntOrder ChooseOrder(std::span<const int64_t> values) {
  constexpr size_t kOrders = 3;
  const size_t pieces = values.size() >= kPieces * kPieceValues ? kPieces : 1;
  const size_t stride = values.size() / pieces;
  std::array<std::array<unsigned, kPieces>, kOrders> bits{};
  for (size_t piece = 0; piece < pieces; ++piece) {
    const size_t begin = piece * stride;
    const size_t end = pieces == 1 ? values.size() : begin + kPieceValues;
    std::array<int64_t, kOrders> least;
    std::array<int64_t, kOrders> greatest;
    least.fill(std::numeric_limits<int64_t>::max());
    greatest.fill(std::numeric_limits<int64_t>::min());
    for (size_t i = begin + 2; i < end; ++i) {
      const uint64_t delta = Unsigned(values[i]) - Unsigned(values[i - 1]);
      const uint64_t before = Unsigned(values[i - 1]) - Unsigned(values[i - 2]);
      const int64_t by_order[] = {values[i], static_cast<int64_t>(delta),
                                  static_cast<int64_t>(delta - before)};
      for (size_t order = 0; order < kOrders; ++order) {
        least[order] = std::min(least[order], by_order[order]);
        greatest[order] = std::max(greatest[order], by_order[order]);
      }
    }
    for (size_t order = 0; end > begin + 2 && order < kOrders; ++order) {
      bits[order][piece] = BitsOf(Unsigned(greatest[order]) - Unsigned(least[order]));
    }
  }
  std::array<unsigned, kOrders> cost{};
  for (size_t order = 0; order < kOrders; ++order) {
    const auto end = bits[order].begin() + static_cast<std::ptrdiff_t>(pieces);
    std::sort(bits[order].begin(), end);
    cost[order] =
        std::accumulate(bits[order].begin(), end - static_cast<std::ptrdiff_t>(pieces / 4), 0u);
  }
  const auto cheapest = std::min_element(cost.begin(), cost.end());
  return static_cast<IntOrder>(cheapest - cost.begin());
}

class Encoder {
 public:
  explicit Encoder(std::string* out) : out_(out) {}

  // The values of the group are used up.
  void Add(std::span<uint64_t> group) {
    all_ = ExtremesOf({reinterpret_cast<const int64_t*>(group.data()), group.size()});
    if (!TakeAsUsual(group)) TakeCheapest(group);
    out_->push_back(static_cast<char>(width_ | (aside_ > 0 ? kHasIntOutliers : 0)));
    PutVarint(out_, ZigZag(base_));
    if (aside_ > 0) PutOutliers(group);
    Pack(group);
  }

 private:
  // Groups are mostly like the last one of which all numbers of bits were looked at. False: this
  // one deserves such a look, too. It is measured by none that had none, or each group might be a
  // little wider than the one before.
  bool TakeAsUsual(std::span<const uint64_t> group) {
    if (usual_bits_ == kMaxWidth) return false;
    Take(group, usual_bits_ + 1);
    if (width_ > usual_width_ + 1 || aside_ > group.size() / kFewOutliers) return false;
    if (aside_ == 0) return true;
    if (!IsCheaperThanAll(group)) return false;
    LeaveFittingIn(group);
    return true;
  }

  void TakeCheapest(std::span<const uint64_t> group) {
    Take(group, kMaxWidth);
    const unsigned most = CheapestBits(group);
    if (most < kMaxWidth) Take(group, most);
    usual_bits_ = bits_;
    usual_width_ = width_;
    LeaveFittingIn(group);
  }

  // The frame of the values of up to so many bits, and the places of the others.
  void Take(std::span<const uint64_t> group, unsigned most) {
    aside_ = 0;
    if (ZigZagBits(all_) <= most) return TakeFrame(all_);
    const uint64_t limit = (uint64_t{1} << most) - 1;
    Extremes taken{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
    for (size_t i = 0; i < group.size(); ++i) {
      const auto value = static_cast<int64_t>(group[i]);
      if (ZigZag(value) > limit) {
        places_[aside_++] = static_cast<uint8_t>(i);
        continue;
      }
      taken.least = std::min(taken.least, value);
      taken.greatest = std::max(taken.greatest, value);
    }
    TakeFrame(aside_ < group.size() ? taken : Extremes{0, 0});
  }

  void TakeFrame(const Extremes& values) {
    bits_ = ZigZagBits(values);
    base_ = values.least;
    width_ = BitsOf(Unsigned(values.greatest) - Unsigned(values.least));
  }

  // A value that was put aside may lie in the frame of the others.
  void LeaveFittingIn(std::span<const uint64_t> group) {
    size_t left = 0;
    for (size_t i = 0; i < aside_; ++i) {
      const uint64_t low = group[places_[i]] - Unsigned(base_);
      if (width_ < kMaxWidth && low >> width_ != 0) places_[left++] = places_[i];
    }
    aside_ = left;
  }

  // Whether a frame of all values would take more than the outliers do.
  bool IsCheaperThanAll(std::span<const uint64_t> group) const {
    int64_t least = base_;
    int64_t greatest = base_;
    size_t bits = group.size() * width_;
    for (size_t i = 0; i < aside_; ++i) {
      const uint64_t v = group[places_[i]];
      least = std::min(least, static_cast<int64_t>(v));
      greatest = std::max(greatest, static_cast<int64_t>(v));
      bits += 8 + 8 * VarintSize(ZigZag(static_cast<int64_t>(v - Unsigned(base_))));
    }
    return bits < group.size() * BitsOf(Unsigned(greatest) - Unsigned(least));
  }

  // Values of more bits are better left out; kMaxWidth: none is.
  unsigned CheapestBits(std::span<const uint64_t> group) const {
    std::array<uint16_t, kMaxWidth + 1> with_bits{};
    uint64_t met = 0;  // Bit n: some value has n + 1 bits.
    for (const uint64_t v : group) {
      const unsigned bits = BitsOf(ZigZag(static_cast<int64_t>(v)));
      ++with_bits[bits];
      if (bits > 0) met |= uint64_t{1} << (bits - 1);
    }
    size_t best_cost = group.size() * width_;
    unsigned best = kMaxWidth;
    size_t left_out_bits = 0;
    while (met != 0) {
      // Values of so many bits become outliers: a place and a varint each.
      const unsigned bits = BitsOf(met);
      met ^= uint64_t{1} << (bits - 1);
      left_out_bits += with_bits[bits] * (8 + (bits + 6) / 7 * 8);
      const unsigned left = BitsOf(met);
      const size_t cost = group.size() * left + left_out_bits;
      if (cost >= best_cost) continue;
      best_cost = cost;
      best = left;
    }
    return best;
  }

  void PutOutliers(std::span<uint64_t> group) {
    PutVarint(out_, aside_);
    for (size_t i = 0; i < aside_; ++i) {
      uint64_t& v = group[places_[i]];
      out_->push_back(static_cast<char>(places_[i]));
      PutVarint(out_, ZigZag(static_cast<int64_t>(v - Unsigned(base_))));
      v = Unsigned(base_);
    }
  }

  void Pack(std::span<const uint64_t> group) {
    if (width_ == 0) return;
    std::array<uint64_t, kGroup + 1> words;
    size_t word = 0;
    uint64_t filling = 0;
    unsigned filled = 0;
    for (const uint64_t v : group) {
      const uint64_t low = v - Unsigned(base_);
      filling |= low << filled;
      filled += width_;
      if (filled < 64) continue;
      words[word++] = filling;
      filled -= 64;
      filling = filled == 0 ? 0 : low >> (width_ - filled);
    }
    words[word] = filling;
    if constexpr (std::endian::native == std::endian::big) {
      for (uint64_t& w : words) w = __builtin_bswap64(w);
    }
    const size_t bytes = (group.size() * width_ + 7) / 8;
    out_->append(reinterpret_cast<const char*>(words.data()), bytes);
  }

  std::string* const out_;
  Extremes all_;
  int64_t base_ = 0;
  unsigned width_ = 0;
  std::array<uint8_t, kGroup> places_;  // Of the values outside the frame, `aside_` of them.
  size_t aside_ = 0;
  unsigned bits_ = 0;  // The most that a value has that was not put aside.
  // Of the last group that was looked at as a whole; no width of the first one is usual.
  unsigned usual_bits_ = kMaxWidth;
  unsigned usual_width_ = 0;
};

template <IntOrder kOrder>
void AppendGroups(std::span<const int64_t> values, std::string* out) {
  Encoder encoder(out);
  std::array<uint64_t, kGroup> group;
  uint64_t last = 0;
  uint64_t last_delta = 0;
  for (size_t begin = 0; begin < values.size(); begin += kGroup) {
    const size_t count = std::min(kGroup, values.size() - begin);
    for (size_t i = 0; i < count; ++i) {
      const uint64_t value = Unsigned(values[begin + i]);
      const uint64_t delta = value - last;
      group[i] = kOrder == kPlain ? value : kOrder == kDelta ? delta : delta - last_delta;
      last = value;
      last_delta = delta;
    }
    encoder.Add({group.data(), count});
  }
}

}  // namespace

void AppendInts(std::span<const int64_t> values, std::string* out) {
  const IntOrder order = ChooseOrder(values);
  out->push_back(static_cast<char>(order));
  switch (order) {
    case kPlain:
      return AppendGroups<kPlain>(values, out);
    case kDelta:
      return AppendGroups<kDelta>(values, out);
    case kDeltaOfDelta:
      return AppendGroups<kDeltaOfDelta>(values, out);
  }
}

}  // namespace tallyd
