#include "storage/blocks/int_codec.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

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

unsigned BitsOf(uint64_t v) { return static_cast<unsigned>(std::bit_width(v)); }
uint64_t Unsigned(int64_t v) { return static_cast<uint64_t>(v); }

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

  void Add(std::span<const uint64_t> group) {
    FindFrame(group);
    out_->push_back(static_cast<char>(width_ | (outliers_ > 0 ? kHasIntOutliers : 0)));
    PutVarint(out_, ZigZag(base_));
    if (outliers_ > 0) PutOutliers(group);
    Pack(group);
  }

 private:
  // The base and width that take the fewest bits, and how many values they leave out.
  void FindFrame(std::span<const uint64_t> group) {
    int64_t least = static_cast<int64_t>(group[0]);
    int64_t greatest = least;
    for (const uint64_t v : group) {
      least = std::min(least, static_cast<int64_t>(v));
      greatest = std::max(greatest, static_cast<int64_t>(v));
    }
    base_ = least;
    width_ = BitsOf(Unsigned(greatest) - Unsigned(least));
    outliers_ = 0;
    if (width_ <= usual_width_ + 1) return;
    LeaveOutliersOut(group);
    usual_width_ = width_;
  }

  void LeaveOutliersOut(std::span<const uint64_t> group) {
    const unsigned most = CheapestBits(group);
    if (most == kMaxWidth) return;
    bool any = false;
    int64_t least = 0;
    int64_t greatest = 0;
    for (const uint64_t v : group) {
      const auto value = static_cast<int64_t>(v);
      if (ZigZag(value) >> most != 0) continue;
      least = any ? std::min(least, value) : value;
      greatest = any ? std::max(greatest, value) : value;
      any = true;
    }
    base_ = least;
    width_ = BitsOf(Unsigned(greatest) - Unsigned(least));
    for (const uint64_t v : group) outliers_ += IsOutlier(v) ? 1 : 0;
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
    size_t left_out = 0;
    size_t left_out_bits = 0;
    while (met != 0) {
      // Values of so many bits become outliers: a place and a varint each.
      const unsigned bits = BitsOf(met);
      met ^= uint64_t{1} << (bits - 1);
      left_out += with_bits[bits];
      left_out_bits += with_bits[bits] * (8 + (bits + 6) / 7 * 8);
      const unsigned left = BitsOf(met);
      const size_t cost = group.size() * left + left_out_bits;
      if (cost >= best_cost) continue;
      best_cost = cost;
      best = left;
    }
    return best;
  }

  bool IsOutlier(uint64_t v) const {
    return width_ < kMaxWidth && (v - Unsigned(base_)) >> width_ != 0;
  }

  void PutOutliers(std::span<const uint64_t> group) {
    PutVarint(out_, outliers_);
    for (size_t i = 0; i < group.size(); ++i) {
      if (!IsOutlier(group[i])) continue;
      out_->push_back(static_cast<char>(i));
      PutVarint(out_, ZigZag(static_cast<int64_t>(group[i] - Unsigned(base_))));
    }
  }

  void Pack(std::span<const uint64_t> group) {
    if (width_ == 0) return;
    std::array<uint64_t, kGroup + 1> words;
    size_t word = 0;
    uint64_t filling = 0;
    unsigned filled = 0;
    for (const uint64_t v : group) {
      const uint64_t low = outliers_ > 0 && IsOutlier(v) ? 0 : v - Unsigned(base_);
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
  int64_t base_ = 0;
  unsigned width_ = 0;
  unsigned usual_width_ = 0;
  size_t outliers_ = 0;
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
