#include "ingest/decode/superset_learner.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace tallyd {
namespace {

constexpr size_t kMaxNames = 2048;
// Of a period's events about so many are counted, so that names cost little where nothing recurs.
constexpr uint64_t kCounted = 1024;
// A field joins that one event of so many has.
constexpr uint64_t kJoins = 64;
// A superset has so many times the fields of a mean event at most, so that most are served by it.
constexpr uint64_t kTimesTheMean = 6;

bool IsOrdinary(std::string_view name) {
  return name.size() <= Superset::kMaxNameBytes && name.find_first_of("\"\\") == name.npos;
}

}  // namespace

std::unique_ptr<const Superset> SupersetLearner::Count(std::span<const std::string_view> fields,
                                                       const Superset* last, uint32_t number) {
  if (made_ == kMaxSupersets) return nullptr;
  const uint64_t stride = std::max<uint64_t>(1, awaited_ / kCounted);
  if (events_++ % stride == 0) CountNames(fields);
  if (events_ < awaited_) return nullptr;
  std::unique_ptr<const Superset> made = Make(last, number);
  if (made) ++made_;
  awaited_ *= 2;
  seen_ = {};
  events_ = counted_ = fields_ = 0;
  return made;
}

void SupersetLearner::CountNames(std::span<const std::string_view> fields) {
  ++counted_;
  fields_ += fields.size();
  bool made_room = false;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (!IsOrdinary(fields[i])) continue;
    auto found = seen_.find(fields[i]);
    if (found == seen_.end()) {
      if (seen_.size() == kMaxNames && !std::exchange(made_room, true)) {
        boost::unordered::erase_if(seen_, [](const auto& seen) { return seen.second.times == 1; });
      }
      if (seen_.size() == kMaxNames) continue;
      found = seen_.try_emplace(std::string(fields[i])).first;
    }
    ++found->second.times;
    found->second.places += i;
  }
}

size_t SupersetLearner::Most() const {
  return std::min<size_t>(Superset::kMaxFields, kTimesTheMean * fields_ / counted_);
}

// In the order of their mean places, which is theirs in the events where these agree.
std::vector<std::string> SupersetLearner::OftenSeen() const {
  using Name = std::pair<std::string_view, Seen>;
  std::vector<Name> often;
  for (const auto& [name, seen] : seen_) {
    if (seen.times > 1 && seen.times * kJoins >= counted_) often.emplace_back(name, seen);
  }
  std::ranges::sort(often, [](const Name& a, const Name& b) {
    return std::tie(b.second.times, a.first) < std::tie(a.second.times, b.first);
  });
  if (often.size() > Most()) often.resize(Most());
  const auto mean = [](const Name& name) {
    return static_cast<double>(name.second.places) / static_cast<double>(name.second.times);
  };
  std::ranges::stable_sort(often, {}, mean);
  std::vector<std::string> names;
  for (const Name& name : often) names.emplace_back(name.first);
  return names;
}

// Null: it would have no field more than the last, which is in use.
std::unique_ptr<const Superset> SupersetLearner::Make(const Superset* last, uint32_t number) const {
  std::vector<std::string> fields = OftenSeen();
  if (fields.size() < 2) return nullptr;
  if (last != nullptr) {
    const bool more = std::ranges::any_of(fields, [&](const std::string& field) {
      return last->PlaceOf(field) == Superset::kNoPlace;
    });
    if (!more && !last->shape().terms->refused()) return nullptr;
    // What the tables refused would be refused with these as well.
    const bool served = !last->shape().terms->refused();
    for (const std::string& field : last->shape().fields) {
      if (!served || fields.size() >= Most()) break;
      if (std::ranges::count(fields, field) == 0) fields.push_back(field);
    }
  }
  return std::make_unique<const Superset>(std::move(fields), number);
}

}  // namespace tallyd
