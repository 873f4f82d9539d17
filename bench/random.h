#ifndef TALLYD_BENCH_RANDOM_H_
#define TALLYD_BENCH_RANDOM_H_

// Random: SplitMix64. Small enough to keep one per entity, so that an entity's values depend on the
// seed and its own number alone and not on how the load is dealt out to connections; and the same
// on every machine, which the distributions of <random> are not.

#include <cstdint>

namespace tallyd::bench {

class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t entity) : state_(seed * 0x9e3779b97f4a7c15u + entity) {
    Next();
  }

  std::uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
  }

  // An integer in [0, bound), by multiplication: the bias is below 2^-32 for the bounds used here.
  std::int64_t Below(std::uint32_t bound) {
    return static_cast<std::int64_t>(((Next() >> 32) * bound) >> 32);
  }

  std::int64_t Between(std::int64_t low, std::int64_t high) {
    return low + Below(static_cast<std::uint32_t>(high - low + 1));
  }

  double Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace tallyd::bench

#endif  // TALLYD_BENCH_RANDOM_H_
