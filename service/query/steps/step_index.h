// StepIndex: which number each step of each group has. Steps of one group that lie near each other
// stand in a list, where one is found by its place; those that lie far from them are found by a
// hash.
//
//   uint32_t* number = index.Find(group, step);
//   if (*number == StepIndex::kNone) *number = ...;  // It is new.
//
// Not thread-safe.
#ifndef TALLYD_SERVICE_QUERY_STEPS_STEP_INDEX_H_
#define TALLYD_SERVICE_QUERY_STEPS_STEP_INDEX_H_

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace tallyd {

class StepIndex {
 public:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  // The step's number, to be set where it is kNone. Until the next call. Groups are numbered from 0
  // on; their numbers are dense.
  uint32_t* Find(uint32_t group, int64_t step) {
    uint32_t* const listed = group < groups_.size() ? FindInList(group, step) : nullptr;
    return listed != nullptr ? listed : FindAnywhere(group, step);
  }
  void Clear();

 private:
  struct Group {
    int64_t first = 0;
    std::vector<uint32_t> numbers;  // Of the steps from the first on.
    size_t found = 0;
  };
  using Step = std::pair<uint32_t, int64_t>;
  struct Hash {
    size_t operator()(const Step& step) const {
      return static_cast<size_t>(step.second) * 0x9e3779b97f4a7c15u ^
             step.first * 0xc2b2ae3d27d4eb4fu;
    }
  };

  // How far the later one is behind the other, whatever they are.
  static uint64_t Apart(int64_t earlier, int64_t later) {
    return static_cast<uint64_t>(later) - static_cast<uint64_t>(earlier);
  }
  // Null where the group's list does not have the step.
  uint32_t* FindInList(uint32_t group, int64_t step) {
    Group& of_group = groups_[group];
    const uint64_t place = Apart(of_group.first, step);
    if (place >= of_group.numbers.size()) return nullptr;
    uint32_t& number = of_group.numbers[place];
    if (number != kNone) return &number;
    // It may have come when the list did not reach so far.
    if (!strays_.empty()) {
      const auto stray = strays_.find({group, step});
      if (stray != strays_.end()) return &stray->second;
    }
    ++of_group.found;
    return &number;
  }
  uint32_t* FindAnywhere(uint32_t group, int64_t step);
  static bool MakeRoom(int64_t step, Group* group);

  std::vector<Group> groups_;
  boost::unordered_flat_map<Step, uint32_t, Hash> strays_;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_STEPS_STEP_INDEX_H_
