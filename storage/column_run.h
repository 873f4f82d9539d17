// Cells column by column: the values of one column in many entries, and runs of entries whose keys
// differ by nothing but their time. What a store that keeps columns gives to those who aggregate
// (run_scan.h) and what column blocks are decoded to. Plain values; nothing here reads files.
#ifndef TALLYD_STORAGE_COLUMN_RUN_H_
#define TALLYD_STORAGE_COLUMN_RUN_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/time.h"
#include "config/values/value.h"
#include "storage/column_set.h"

namespace tallyd {

// The values of one column, in the order of the entries that have it.
struct ColumnData {
  enum class Kind : uint8_t {
    kInt,      // numbers
    kDecimal,  // numbers / 10^scale
    kDouble,   // doubles
    kBool,     // numbers, 0 or 1
    kString,   // texts
    kBytes,    // texts
    kMixed,    // values
  };
  Kind kind = Kind::kInt;
  uint8_t scale = 0;
  std::vector<int64_t> numbers;
  std::vector<double> doubles;
  std::vector<std::string_view> texts;  // Into `owned`.
  std::vector<Value> values;            // Text is in `owned`.
  std::string owned;

  size_t size() const;
  Value At(size_t index) const {
    if (kind == Kind::kDecimal) return Value::Decimal(numbers[index], scale);
    if (kind == Kind::kInt) return Value::Int(numbers[index]);
    return OtherAt(index);
  }

 private:
  Value OtherAt(size_t index) const;
};

// The values of one column in the entries of a run: data->At(begin + i) is that of entry i.
struct RunColumn {
  ColumnRef column;
  const ColumnData* data = nullptr;
  uint32_t begin = 0;
};

// How the keys of neighbouring entries differ by nothing but their time: the key of each is its
// run's stem with the entry's time written into it at one place.
enum class KeyTime : uint8_t {
  kNone = 0,       // All entries of the run have one key: the stem.
  kMs = 1,         // 13 digits
  kS = 2,          // 10 digits
  kUs = 3,         // 16 digits
  kReverseMs = 4,  // 19 digits, 2^63 - 1 - ms
};

// Valid until the scan moves. Entry i has the time times[i] and a value in every column of
// `columns`, which are those that the spec selects, in no particular order.
struct ColumnRun {
  std::string_view first_key;  // Of the first and the last entry. All keys between them differ from
  std::string_view last_key;   // these in the digits of their time only (KeyTime).
  KeyTime key_time = KeyTime::kNone;
  uint32_t key_place = 0;  // Where the time is in the keys, in bytes.
  std::span<const TimeUs> times;
  std::span<const RunColumn> columns;
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_COLUMN_RUN_H_
