// RowBytes: about how much a batch writes to which rows, for whoever keeps rows below their limits
// (service/limits). Only rows that take many events are followed, and of these a sample: what
// brings kSampleBytes itself counts as it is, of the rest about every kSampleBytes the row that
// they end in, so that a large row is met as often as it grows, and a small event costs an
// addition. Whoever wants every row asks for it (RowSampling).
//
// Beside it the sizes that are recommended, and how many values of a batch exceed theirs. Not
// thread-safe.
#ifndef TALLYD_INGEST_MAP_ROW_BYTES_H_
#define TALLYD_INGEST_MAP_ROW_BYTES_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/values/time.h"
#include "config/values/value.h"
#include "storage/table_info.h"

namespace tallyd {

// Bigtable's recommended limits, and the hard one of a row; others are in storage/batch.h.
inline constexpr size_t kRecommendedValueBytes = 10'485'760;
inline constexpr uint64_t kRecommendedRowBytes = 104'857'600;
inline constexpr uint64_t kMaxRowBytes = 268'435'456;
inline constexpr size_t kRecommendedFamilies = 100;

// What values take, by their length; a number takes eight bytes.
inline uint64_t BytesOf(std::span<const Value> values) {
  uint64_t bytes = 0;
  for (const Value& value : values) {
    if (value.type() >= ValueType::kString) {
      bytes += value.AsView().size();
    } else if (!value.is_null()) {
      bytes += sizeof(int64_t);
    }
  }
  return bytes;
}

inline bool IsLarge(const Value& value) {
  return value.type() >= ValueType::kString && value.AsView().size() > kRecommendedValueBytes;
}

struct RowSampling {
  bool every_row = false;
  uint64_t phase = 0;  // How much of the first sample has passed already: any number below it.
};

class RowBytes {
 public:
  static constexpr uint64_t kSampleBytes = 64u << 10;

  struct Entry {
    TablePtr table;
    std::string key;
    TimeUs time = 0;
    uint64_t bytes = 0;
  };

  RowBytes() = default;
  explicit RowBytes(const RowSampling& sampling)
      : every_row_(sampling.every_row), passed_(sampling.phase) {}

  void Add(const TablePtr& table, std::string_view key, TimeUs time, uint64_t bytes) {
    uint64_t counted = bytes;
    if (!every_row_ && bytes < kSampleBytes) {
      passed_ += bytes;
      if (passed_ < kSampleBytes) return;
      counted = std::exchange(passed_, 0);
    }
    entries_.push_back({table, std::string(key), time, counted});
  }
  void Append(const RowBytes& other) {
    entries_.insert(entries_.end(), other.entries_.begin(), other.entries_.end());
  }

  const std::vector<Entry>& entries() const { return entries_; }

 private:
  bool every_row_ = false;
  uint64_t passed_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_MAP_ROW_BYTES_H_
