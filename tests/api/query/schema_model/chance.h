// Reproducible random choices: the same seed makes the same choices everywhere.
#ifndef TALLYD_TESTS_API_QUERY_SCHEMA_MODEL_CHANCE_H_
#define TALLYD_TESTS_API_QUERY_SCHEMA_MODEL_CHANCE_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace tallyd {

class Chance {
 public:
  explicit Chance(uint64_t seed) : random_(seed) {}

  size_t Below(size_t n) { return random_() % n; }
  bool Is(double share) { return static_cast<double>(random_() % 10'000) < share * 10'000; }
  template <class T>
  const T& Of(const std::vector<T>& items) {
    return items[Below(items.size())];
  }
  std::string Text(const std::vector<std::string>& items) { return Of(items); }
  std::vector<std::string> Some(const std::vector<std::string>& items, double share) {
    std::vector<std::string> some;
    for (const std::string& item : items) {
      if (Is(share)) some.push_back(item);
    }
    return some;
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace tallyd

#endif  // TALLYD_TESTS_API_QUERY_SCHEMA_MODEL_CHANCE_H_
