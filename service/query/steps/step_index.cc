#include "service/query/steps/step_index.h"

#include <algorithm>

namespace tallyd {
namespace {

// A list has room for so many steps, and so many more for each that was asked for.
constexpr uint64_t kLeastRoom = 64;
constexpr uint64_t kRoomPerStep = 4;

}  // namespace

uint32_t* StepIndex::FindAnywhere(uint32_t group, int64_t step) {
  if (group >= groups_.size()) groups_.resize(group + 1);
  if (MakeRoom(step, &groups_[group])) return FindInList(group, step);
  return &strays_.try_emplace({group, step}, kNone).first->second;
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
