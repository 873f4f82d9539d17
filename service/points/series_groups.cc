#include "service/points/series_groups.h"

#include <algorithm>
#include <map>

namespace tallyd {
namespace {

// Null goes before any value.
using GroupKey = std::vector<std::pair<bool, std::string>>;

std::vector<uint32_t> PlacesThatGroup(const SeriesQuestion& question, const PointSet& set) {
  std::vector<uint32_t> places;
  for (const TagFilter& filter : question.filters) {
    const auto found = std::ranges::lower_bound(set.tags, filter.tag);
    if (!filter.groups || found == set.tags.end() || *found != filter.tag) continue;
    places.push_back(static_cast<uint32_t>(found - set.tags.begin()));
  }
  std::ranges::sort(places);
  places.erase(std::ranges::unique(places).begin(), places.end());
  return places;
}

void TellTags(const PointSet& set, SeriesGroup* group) {
  const PointSeries& first = set.series[group->members.front()];
  for (const auto& [place, value] : first.tags) {
    bool all_have = true;
    bool all_agree = true;
    for (const size_t member : group->members) {
      const std::string* const other = set.series[member].TagAt(place);
      all_have = all_have && other != nullptr;
      all_agree = all_agree && all_have && *other == value;
    }
    if (all_agree) {
      group->tags.emplace_back(place, value);
    } else if (all_have) {
      group->joined_tags.push_back(place);
    }
  }
}

}  // namespace

std::vector<SeriesGroup> GroupSeries(const SeriesQuestion& question, const PointSet& set) {
  const std::vector<uint32_t> places = PlacesThatGroup(question, set);
  const bool stands_alone = question.joined_by == SeriesAggregation::kNone;
  std::map<std::pair<GroupKey, size_t>, SeriesGroup> by_key;
  for (size_t i = 0; i < set.series.size(); ++i) {
    GroupKey key;
    for (const uint32_t place : places) {
      const std::string* const value = set.series[i].TagAt(place);
      key.emplace_back(value != nullptr, value == nullptr ? std::string() : *value);
    }
    by_key[{std::move(key), stands_alone ? i : 0}].members.push_back(i);
  }
  std::vector<SeriesGroup> groups;
  for (auto& [key, group] : by_key) {
    TellTags(set, &group);
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace tallyd
