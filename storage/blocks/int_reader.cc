#include "storage/blocks/int_reader.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "storage/blocks/int_format.h"
#include "storage/blocks/int_unpack.h"

namespace tallyd {
namespace {

using enum IntOrder;

constexpr size_t kGroup = kIntGroup;
constexpr size_t kMaxPackedBytes = kGroup * sizeof(uint64_t);

uint64_t Unsigned(int64_t v) { return static_cast<uint64_t>(v); }

// Where the integers of a stream stand: the last one, and its difference to the one before.
struct Position {
  uint64_t last = 0;
  uint64_t last_delta = 0;
};

// Between which two all integers read so far lie, perhaps wider than they do; told from the groups'
// heads alone.
class Hull {
 public:
  void Add(const Extremes& group) {
    of_.least = std::min(of_.least, group.least);
    of_.greatest = std::max(of_.greatest, group.greatest);
  }
  // Where a sum may have overflowed nothing is known.
  void Lose() { Add({kLeast, kGreatest}); }
  const Extremes& Get() const { return of_; }

 private:
  static constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kGreatest = std::numeric_limits<int64_t>::max();

  Extremes of_{kGreatest, kLeast};
};

void AddUp(IntOrder order, Position* at, std::span<int64_t> group) {
  uint64_t last = at->last;
  if (order == kDelta) {
    for (int64_t& value : group) {
      last += Unsigned(value);
      value = static_cast<int64_t>(last);
    }
    at->last = last;
    return;
  }
  uint64_t delta = at->last_delta;
  for (int64_t& value : group) {
    delta += Unsigned(value);
    last += delta;
    value = static_cast<int64_t>(last);
  }
  *at = {last, delta};
}

bool ReadOrder(ByteReader* in, IntOrder* order) {
  uint8_t stored = 0;
  if (!in->GetByte(&stored) || stored > static_cast<uint8_t>(kDeltaOfDelta)) return false;
  *order = static_cast<IntOrder>(stored);
  return true;
}

// What a group says of its integers before the packed ones.
struct GroupHead {
  bool Read(ByteReader* in, size_t count);

  uint64_t base = 0;
  unsigned width = 0;
  size_t outliers = 0;
  std::array<uint8_t, kGroup> places;
  std::array<uint64_t, kGroup> values;  // Of the outliers.
};

bool GroupHead::Read(ByteReader* in, size_t count) {
  uint8_t head = 0;
  if (!in->GetByte(&head) || !in->GetVarint(&base)) return false;
  base = Unsigned(UnZigZag(base));
  width = head & ~kHasIntOutliers;
  outliers = 0;
  if (width > kMaxIntWidth) return false;
  if ((head & kHasIntOutliers) == 0) return true;
  uint64_t listed = 0;
  if (!in->GetVarint(&listed) || listed > count) return false;
  for (; outliers < listed; ++outliers) {
    uint64_t above = 0;
    if (!in->GetByte(&places[outliers]) || places[outliers] >= count || !in->GetVarint(&above)) {
      return false;
    }
    values[outliers] = base + Unsigned(UnZigZag(above));
  }
  return true;
}

// As they are stored, that is as differences where they are taken. False where they are no int64.
bool GetStoredHull(const GroupHead& head, Extremes* hull) {
  constexpr unsigned kWidest = 62;
  if (head.width > kWidest) return false;
  hull->least = static_cast<int64_t>(head.base);
  const auto more = static_cast<int64_t>((uint64_t{1} << head.width) - 1);
  if (__builtin_add_overflow(hull->least, more, &hull->greatest)) return false;
  for (size_t i = 0; i < head.outliers; ++i) {
    hull->least = std::min(hull->least, static_cast<int64_t>(head.values[i]));
    hull->greatest = std::max(hull->greatest, static_cast<int64_t>(head.values[i]));
  }
  return true;
}

// Makes bounds of differences those of what they add up to. False where it may be no int64.
bool SumUp(uint64_t from, Extremes* hull) {
  constexpr int64_t kMost = kGroup;
  const auto begin = static_cast<int64_t>(from);
  int64_t fall = 0;
  int64_t rise = 0;
  return !__builtin_mul_overflow(kMost, std::min<int64_t>(hull->least, 0), &fall) &&
         !__builtin_mul_overflow(kMost, std::max<int64_t>(hull->greatest, 0), &rise) &&
         !__builtin_add_overflow(begin, fall, &hull->least) &&
         !__builtin_add_overflow(begin, rise, &hull->greatest);
}

void WidenHull(const GroupHead& head, IntOrder order, const Position& at, Hull* hull) {
  Extremes group;
  const bool is_known = GetStoredHull(head, &group) &&
                        (order != kDeltaOfDelta || SumUp(at.last_delta, &group)) &&
                        (order == kPlain || SumUp(at.last, &group));
  if (is_known) {
    hull->Add(group);
  } else {
    hull->Lose();
  }
}

bool ReadGroup(ByteReader* in, IntOrder order, Position* at, std::span<int64_t> group, Hull* hull) {
  GroupHead head;
  if (!head.Read(in, group.size())) return false;
  if (hull != nullptr) WidenHull(head, order, *at, hull);
  std::string_view packed;
  if (!in->GetBytes((group.size() * head.width + 7) / 8, &packed)) return false;
  std::array<char, kMaxPackedBytes + kUnpackReadsBeyond> padded;
  if (in->left() < kUnpackReadsBeyond) {
    std::fill(std::copy(packed.begin(), packed.end(), padded.begin()), padded.end(), '\0');
    packed = {padded.data(), packed.size()};
  }
  const PackedInts ints{packed.data(), head.width, head.base};
  if (order == kDelta && head.outliers == 0 && head.width <= kMaxSummedWidth &&
      group.size() == kGroup) {
    UnpackSums(ints, &at->last, group.data());
    return true;
  }
  UnpackInts(ints, group);
  for (size_t i = 0; i < head.outliers; ++i) {
    group[head.places[i]] = static_cast<int64_t>(head.values[i]);
  }
  if (order != kPlain) AddUp(order, at, group);
  return true;
}

// Behind a group that is nothing but its head, which `from` begins with: how many of the next whole
// groups are the same, `most` at most. Regular times and equal numbers are mostly such.
size_t SkipSame(std::string_view from, size_t most, ByteReader* in) {
  const std::string_view rest = in->rest();
  const std::string_view head = from.substr(0, from.size() - rest.size());
  size_t same = 0;
  size_t at = 0;
  for (; same < most && rest.substr(at).starts_with(head); ++same) at += head.size();
  std::string_view skipped;
  in->GetBytes(at, &skipped);
  return same;
}

// Appends integers to stretches; false once they are too many to be worth it.
class StretchBuilder {
 public:
  explicit StretchBuilder(std::vector<EvenInts>* stretches) : stretches_(*stretches) {
    stretches_.clear();
  }

  // `count` more, each greater by `step` than the one before it.
  bool Add(uint64_t step, uint32_t count) {
    if (count == 0) return true;
    EvenInts* const last = stretches_.empty() ? nullptr : &stretches_.back();
    if (last != nullptr && (last->count == 1 || Unsigned(last->step) == step)) {
      last->step = static_cast<int64_t>(step);
      last->count += count;
    } else {
      stretches_.push_back({static_cast<int64_t>(last_ + step), static_cast<int64_t>(step), count});
    }
    last_ += step * count;
    return stretches_.size() <= kMaxStretches;
  }

 private:
  static constexpr size_t kMaxStretches = 32;

  std::vector<EvenInts>& stretches_;
  uint64_t last_ = 0;
};

bool AddStretches(const GroupHead& head, IntOrder order, size_t count, uint64_t* delta,
                  StretchBuilder* to) {
  size_t done = 0;
  for (size_t i = 0; i <= head.outliers; ++i) {
    const bool is_end = i == head.outliers;
    const size_t place = is_end ? count : head.places[i];
    if (place < done) return false;
    if (order == kDelta) *delta = head.base;
    if (!to->Add(*delta, static_cast<uint32_t>(place - done))) return false;
    if (is_end) break;
    *delta = order == kDelta ? head.values[i] : *delta + head.values[i];
    if (!to->Add(*delta, 1)) return false;
    done = place + 1;
  }
  return true;
}

}  // namespace

bool ReadInts(ByteReader* in, std::span<int64_t> values, Extremes* within) {
  IntOrder order{};
  if (!ReadOrder(in, &order)) return false;
  Position at;
  Hull hull;
  Hull* const wanted = within != nullptr ? &hull : nullptr;
  for (size_t begin = 0; begin < values.size(); begin += kGroup) {
    const std::span<int64_t> group = values.subspan(begin, std::min(kGroup, values.size() - begin));
    if (!ReadGroup(in, order, &at, group, wanted)) return false;
  }
  if (within != nullptr) *within = hull.Get();
  return true;
}

bool ReadEvenInts(ByteReader* in, size_t count, std::vector<EvenInts>* stretches) {
  ByteReader ahead = *in;
  IntOrder order{};
  if (!ReadOrder(&ahead, &order) || order == kPlain) return false;
  StretchBuilder builder(stretches);
  uint64_t delta = 0;
  GroupHead head;
  for (size_t begin = 0; begin < count;) {
    const size_t of_group = std::min(kGroup, count - begin);
    const std::string_view from = ahead.rest();
    if (!head.Read(&ahead, of_group) || head.width != 0) return false;
    if (order == kDeltaOfDelta && head.base != 0) return false;
    if (!AddStretches(head, order, of_group, &delta, &builder)) return false;
    begin += of_group;
    if (head.outliers > 0) continue;
    const size_t same = kGroup * SkipSame(from, (count - begin) / kGroup, &ahead);
    if (!builder.Add(delta, static_cast<uint32_t>(same))) return false;
    begin += same;
  }
  *in = ahead;
  return true;
}

bool ReadEqualInts(ByteReader* in, size_t count, size_t most, std::vector<EqualInts>* stretches) {
  ByteReader ahead = *in;
  IntOrder order{};
  if (!ReadOrder(&ahead, &order)) return false;
  stretches->clear();
  const auto add = [&](int64_t value, size_t more) {
    if (stretches->empty() || stretches->back().value != value) stretches->push_back({value, 0});
    stretches->back().count += static_cast<uint32_t>(more);
  };
  Position at;
  std::array<int64_t, kGroup> group;
  for (size_t begin = 0; begin < count;) {
    const size_t of_group = std::min(kGroup, count - begin);
    const std::string_view from = ahead.rest();
    ByteReader behind_head = ahead;
    GroupHead head;
    if (!head.Read(&behind_head, of_group)) return false;
    begin += of_group;
    if (order == kPlain && head.width == 0 && head.outliers == 0) {
      ahead = behind_head;
      const size_t same = kGroup * SkipSame(from, (count - begin) / kGroup, &ahead);
      add(static_cast<int64_t>(head.base), of_group + same);
      begin += same;
    } else {
      if (!ReadGroup(&ahead, order, &at, std::span(group).first(of_group), nullptr)) return false;
      for (size_t i = 0; i < of_group; ++i) add(group[i], 1);
    }
    if (stretches->size() > most) return false;
  }
  *in = ahead;
  return true;
}

}  // namespace tallyd
