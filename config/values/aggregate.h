// Aggregate: what the cells of an aggregate family make of the inputs that are written to them.
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
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/values/hyperloglog.h"
#include "config/values/result.h"
#include "config/values/value.h"

namespace tallyd {

// DO NOT CHANGE THESE VALUES: they are stored. 0 is that of a plain family.
enum class Aggregate : uint8_t { kSum = 1, kMin = 2, kMax = 3, kHll = 4 };

inline constexpr std::array kAggregates = {Aggregate::kSum, Aggregate::kMin, Aggregate::kMax,
                                           Aggregate::kHll};
std::string_view ToString(Aggregate kind);  // As the file spells it.
// What an input may be: "an int64 (a whole number)", "a string or bytes".
std::string_view InputsOf(Aggregate kind);

__extension__ using Int128 = __int128;

void AppendInt128(Int128 number, std::string* out);
// Digits with an optional minus, as AppendInt128 writes them; nothing where it is not one, or needs
// more than 128 bits.
std::optional<Int128> ParseInt128(std::string_view text);

// What follows makes a Value that may view *bytes, which is replaced.

// kInvalid, naming the type that came and what is accepted.
Result<Value> StateOfInput(Aggregate kind, const Value& input, std::string* bytes);
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
