// EntryTimes: the times of entries that follow each other: evenly apart, as regular ones are, or
// one by one. A view; what it was made of outlives it.
#ifndef TALLYD_STORAGE_ENTRY_TIMES_H_
#define TALLYD_STORAGE_ENTRY_TIMES_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "config/values/integers.h"
#include "config/values/time.h"

namespace tallyd {

class EntryTimes {
 public:
  EntryTimes() = default;
  explicit EntryTimes(std::span<const TimeUs> each) : each_(each.data()), size_(each.size()) {}
  // first, first + step, ... REQUIRES: all of them are times.
  EntryTimes(TimeUs first, int64_t step, size_t count) : first_(first), step_(step), size_(count) {}

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  TimeUs operator[](size_t index) const {
    return each_ != nullptr ? each_[index] : first_ + step_ * static_cast<int64_t>(index);
  }
  // Known to be so, then step() apart; else they may be.
  bool are_even() const { return each_ == nullptr; }
  int64_t step() const { return step_; }
  // Whether each is greater than the one before it.
  bool Ascend() const {
    return are_even() ? step_ > 0 || size_ < 2 : tallyd::Ascend({each_, size_});
  }

 private:
  const TimeUs* each_ = nullptr;
  TimeUs first_ = 0;
  int64_t step_ = 0;
  size_t size_ = 0;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_ENTRY_TIMES_H_
