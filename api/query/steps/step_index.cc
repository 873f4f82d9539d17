#include "api/query/steps/step_index.h"

#include <algorithm>

namespace tallyd {
namespace {

// A list has room for so many steps, and so many more for each that was asked for.
constexpr uint64_t kLeastRoom = 64;
constexpr uint64_t kRoomPerStep = 4;

// How far the later one is behind the other, whatever they are.
uint64_t Apart(int64_t earlier, int64_t later) {
  return static_cast<uint64_t>(later) - static_cast<uint64_t>(earlier);
}

}  // namespace

uint32_t* StepIndex::Find(uint32_t group, int64_t step) {
  if (group >= groups_.size()) groups_.resize(group + 1);
  Group& of_group = groups_[group];
  if (!MakeRoom(step, &of_group)) return &strays_.try_emplace({group, step}, kNone).first->second;
  uint32_t& number = of_group.numbers[Apart(of_group.first, step)];
  if (number != kNone) return &number;
  // It may have come when the list did not reach so far.
  if (!strays_.empty()) {
    const auto stray = strays_.find({group, step});
    if (stray != strays_.end()) return &stray->second;
  }
  ++of_group.found;
  return &number;
}

void StepIndex::Clear() {
  groups_.clear();
  strays_.clear();
}

// Whether the list has the step, or was made to.
bool StepIndex::MakeRoom(int64_t step, Group* group) {
  std::vector<uint32_t>& numbers = group->numbers;
  if (numbers.empty()) group->first = step;
  const uint64_t most = kLeastRoom + kRoomPerStep * group->found;
  if (step >= group->first) {
    const uint64_t place = Apart(group->first, step);
    if (place < numbers.size()) return true;
    if (place >= most) return false;
    numbers.resize(std::min(std::max(place + 1, 2 * uint64_t{numbers.size()}), most), kNone);
    return true;
  }
  const uint64_t missing = Apart(step, group->first);
  if (missing >= most || missing + numbers.size() > most) return false;
  // Steps that descend would else move the list for each of them.
  const uint64_t more = std::min({missing + numbers.size(), most - numbers.size(),
                                  Apart(std::numeric_limits<int64_t>::min(), group->first)});
  numbers.insert(numbers.begin(), more, kNone);
  group->first -= static_cast<int64_t>(more);
  return true;
}

}  // namespace tallyd
