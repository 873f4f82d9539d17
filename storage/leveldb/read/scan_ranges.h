// ScanRanges: the key ranges of a scan, one after the other in its direction, as far as SkipTo has
// not passed over them. A plain value.
#ifndef TALLYD_STORAGE_LEVELDB_READ_SCAN_RANGES_H_
#define TALLYD_STORAGE_LEVELDB_READ_SCAN_RANGES_H_

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "storage/scan.h"

namespace tallyd {

class ScanRanges {
 public:
  explicit ScanRanges(const ScanSpec& spec) : reverse_(spec.reverse), ranges_(spec.ranges) {
    if (reverse_) std::reverse(ranges_.begin(), ranges_.end());
    DropEmpty();
  }

  bool done() const { return at_ == ranges_.size(); }
  // The range at hand, which is not empty. REQUIRES for these: !done().
  const KeyRange& at() const { return ranges_[at_]; }
  bool IsBeforeEnd(std::string_view key) const { return at().end.empty() || key < at().end; }
  void Next() {
    ++at_;
    DropEmpty();
  }
  // From the first key of the range at hand, or of the last one, to the end of the other.
  KeyRange Hull() const {
    const KeyRange& last = ranges_.back();
    return reverse_ ? KeyRange{last.start, at().end} : KeyRange{at().start, last.end};
  }

  // Nothing before `key` (reverse: behind it) is wanted any more.
  void SkipTo(std::string_view key) { reverse_ ? Clip(After(key)) : Clip(key); }
  // Nor the row with that key itself.
  void Passed(std::string_view key) { reverse_ ? Clip(key) : Clip(After(key)); }

 private:
  static std::string After(std::string_view key) { return std::string(key).append(1, '\0'); }

  void Clip(std::string_view bound) {
    for (size_t i = at_; i < ranges_.size(); ++i) {
      KeyRange& range = ranges_[i];
      if (!reverse_ && range.start < bound) {
        range.start = bound;
      } else if (reverse_ && (range.end.empty() || bound < range.end)) {
        range.end = bound;
      } else {
        break;
      }
    }
    DropEmpty();
  }

  void DropEmpty() {
    while (!done() && !at().end.empty() && at().start >= at().end) ++at_;
  }

  bool reverse_;
  std::vector<KeyRange> ranges_;  // In the direction of the scan.
  size_t at_ = 0;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_READ_SCAN_RANGES_H_
