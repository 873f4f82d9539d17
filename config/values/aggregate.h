// Aggregate: what the cells of an aggregate family make of the inputs that are written to them.
// The row of kAggregates says what is true of a kind, and aggregate.cc how it folds and reads;
// nobody else asks which kind it is.
//
//   Result<Value> state = StateOfInput(Aggregate::kSum, input, &bytes);  // Of one input.
//   AggregateFold fold(Aggregate::kSum);
//   for each state of the cell, in any order: if (!fold.Add(state)) it is damaged;
//   fold.Get(&bytes);                                                     // The cell's state.
//   ReadState(Aggregate::kSum, state);                                    // What is read of it.
//
// A state is a Value, so that a cell holds it as any other. Of sum an Int, or beyond int64 Bytes:
// 16, two's complement of 128 bits, the highest byte first. Of min and max an Int. Of hll Bytes
// (config/values/hyperloglog.h). Folding is commutative and associative, so no order of arrival
// matters. 2^64 inputs cannot exceed a sum's 128 bits; merged states can, and then what is kept is
// the sum modulo 2^128. States come from the disk and from clients: they are checked, never
// trusted. Pure functions; AggregateFold is not thread-safe.
#ifndef TALLYD_CONFIG_VALUES_AGGREGATE_H_
#define TALLYD_CONFIG_VALUES_AGGREGATE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "config/values/hyperloglog.h"
#include "config/values/result.h"
#include "config/values/value.h"

namespace tallyd {

// DO NOT CHANGE THESE VALUES: they are stored. 0 is that of a plain family.
enum class Aggregate : uint8_t { kSum = 1, kMin = 2, kMax = 3, kHll = 4 };

struct AggregateInfo {
  Aggregate kind;
  std::string_view name;  // As the file spells it.
  // What an input may be, and what may be merged, as messages say after "takes" and "is".
  std::string_view inputs;
  std::string_view states;
  // Inputs and states are whole numbers. Else inputs are texts or bytes, and a state is a sketch,
  // from which a number is estimated.
  bool is_numeric = false;
  bool is_wide = false;         // A state may need more than 64 bits.
  bool counts_repeats = false;  // An input that comes twice is not as if it had come once.
};

inline constexpr std::string_view kNumericInputs = "an int64 (a whole number)";
inline constexpr std::string_view kNumericStates = "an integer, or its digits as a string";

// In the order in which messages list them; a place for each value of the enum.
inline constexpr std::array kAggregates = {
    AggregateInfo{.kind = Aggregate::kSum,
                  .name = "sum",
                  .inputs = kNumericInputs,
                  .states = kNumericStates,
                  .is_numeric = true,
                  .is_wide = true,
                  .counts_repeats = true},
    AggregateInfo{.kind = Aggregate::kMin,
                  .name = "min",
                  .inputs = kNumericInputs,
                  .states = kNumericStates,
                  .is_numeric = true},
    AggregateInfo{.kind = Aggregate::kMax,
                  .name = "max",
                  .inputs = kNumericInputs,
                  .states = kNumericStates,
                  .is_numeric = true},
    AggregateInfo{.kind = Aggregate::kHll,
                  .name = "hll",
                  .inputs = "a string or bytes",
                  .states = "a state of it, as raw=1 gives it"},
};

constexpr bool EachAggregateIsAtItsPlace() {
  for (size_t i = 0; i < kAggregates.size(); ++i) {
    if (static_cast<size_t>(kAggregates[i].kind) != i + 1) return false;
  }
  return true;
}
static_assert(EachAggregateIsAtItsPlace());

constexpr const AggregateInfo& InfoOf(Aggregate kind) {
  return kAggregates[static_cast<size_t>(kind) - 1];
}

constexpr std::string_view ToString(Aggregate kind) { return InfoOf(kind).name; }

// The kind that is stored as this number; nothing where there is none such.
constexpr std::optional<Aggregate> AggregateOfNumber(uint8_t stored) {
  if (stored == 0 || stored > kAggregates.size()) return std::nullopt;
  return kAggregates[stored - 1].kind;
}

__extension__ using Int128 = __int128;

void AppendInt128(Int128 number, std::string* out);
// Digits with an optional minus, as AppendInt128 writes them; nothing where it is not one, or needs
// more than 128 bits.
std::optional<Int128> ParseInt128(std::string_view text);

inline constexpr int64_t kAnyAdded = std::numeric_limits<int64_t>::max();

// What follows makes a Value that may view *bytes, which is replaced.

// kInvalid, naming the type that came, or the number, and what is accepted. `most`: of what a sum
// takes at once, either way.
Result<Value> StateOfInput(Aggregate kind, const Value& input, std::string* bytes,
                           int64_t most = kAnyAdded);
// The state of a number that is to be merged: a sum of up to 128 bits, a min or max of 64.
Result<Value> StateOfNumber(Aggregate kind, std::string_view digits, std::string* bytes);
// The state of bytes that are to be merged, as `raw=1` gave them; a view of `state`. Of hll only.
Result<Value> StateOfBytes(Aggregate kind, std::string_view state);

bool IsState(Aggregate kind, const Value& state);
// What a reader sees: the exact sum, least, greatest, or the estimate of hll. Nothing where it is
// not a state.
std::optional<Int128> ReadState(Aggregate kind, const Value& state);

class AggregateFold {
 public:
  explicit AggregateFold(Aggregate kind) : kind_(kind) {}

  // False: it is not a state, and nothing has changed.
  bool Add(const Value& state);
  // Of what was added; null before anything was.
  Value Get(std::string* bytes) const;

 private:
  Aggregate kind_;
  bool any_ = false;
  Int128 number_ = 0;  // Of all but hll.
  HyperLogLog sketch_;
};

}  // namespace tallyd

#endif  // TALLYD_CONFIG_VALUES_AGGREGATE_H_
