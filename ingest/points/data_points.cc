#include "ingest/points/data_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ingest/decode/body_decoder.h"

namespace tallyd {
namespace {

constexpr size_t kTextChunkBytes = 16u << 10;
// Memory beyond this is given back by Begin: one huge request must not stay with its connection.
constexpr size_t kKeptPoints = 1u << 16;

template <class Vector>
void ClearOrShrink(Vector* vector) {
  if (vector->capacity() > kKeptPoints) *vector = Vector();
  vector->clear();
}

}  // namespace

size_t DataPoints::GroupKey::Hash::operator()(const GroupKey& key) const {
  return FieldNameHash()({reinterpret_cast<const char*>(&key.time), sizeof key.time}) ^
         (uint64_t{key.tags} + 1) * 0x9E3779B97F4A7C15;
}

DataPoints::DataPoints() { order_.MarkLabels(); }

void DataPoints::Begin(PointEventForm form, size_t text_bytes) {
  form_ = std::move(form);
  name_bytes_ = MostNameBytes(text_bytes);
  seen_ = 0;
  ClearOrShrink(&points_);
  ClearOrShrink(&groups_);
  ClearOrShrink(&tags_);
  ClearOrShrink(&sets_);
  ClearOrShrink(&errors_);
  const bool was_large = group_of_.size() > kKeptPoints || spelled_.size() > kKeptPoints;
  if (was_large) {
    group_of_ = {};
    spelled_ = {};
    set_of_ = {};
  }
  group_of_.clear();
  spelled_.clear();
  set_of_.clear();
  texts_.clear();
}

std::string_view DataPoints::Copy(std::string_view text) {
  if (texts_.empty() || texts_.back().capacity() - texts_.back().size() < text.size()) {
    texts_.emplace_back().reserve(std::max(kTextChunkBytes, text.size()));
  }
  std::string& chunk = texts_.back();
  const size_t begin = chunk.size();
  chunk.append(text);
  return std::string_view(chunk).substr(begin);
}

std::optional<uint32_t> DataPoints::FindTags(std::string_view spelled) const {
  const auto found = spelled_.find(spelled);
  return found == spelled_.end() ? std::nullopt : std::optional(found->second);
}

// Null: it can be one. What is told stays until the next call.
const std::string* DataPoints::WhyNoField(std::string_view name) {
  if (name.size() > kMaxFieldNameBytes) {
    why_ = fmt::format("\"{}\": its name is longer than {} bytes", Shown(name), kMaxFieldNameBytes);
    return &why_;
  }
  if (name == form_.time_field) {
    why_ = fmt::format("\"{}\" is the field of the time, and neither a metric nor a tag",
                       Shown(name));
    return &why_;
  }
  return nullptr;
}

std::optional<uint32_t> DataPoints::EndTags(std::string_view spelled, std::string* why) {
  std::ranges::sort(draft_);
  const auto twice = std::ranges::adjacent_find(draft_, {}, &Tag::name);
  if (twice != draft_.end()) {
    *why = fmt::format("duplicate tag: {}", Shown(twice->name));
    return std::nullopt;
  }
  for (const Tag& tag : draft_) {
    if (tag.name.empty()) {
      *why = "the name of a tag is empty";
      return std::nullopt;
    }
    if (const std::string* const no_field = WhyNoField(tag.name)) {
      *why = *no_field;
      return std::nullopt;
    }
  }
  const uint32_t set = Intern(draft_);
  spelled_.emplace(spelled, set);
  return set;
}

uint32_t DataPoints::Intern(std::span<const Tag> sorted) {
  uint64_t hash = sorted.size();
  for (const Tag& tag : sorted) {
    hash = hash * 31 + FieldNameHash()(tag.name);
    hash = hash * 31 + FieldNameHash()(tag.value);
  }
  const auto number = static_cast<uint32_t>(sets_.size());
  const auto [at, is_new] = set_of_.emplace(hash, number);
  TagSet set{tags_.size(), sorted.size()};
  if (!is_new) {
    for (uint32_t other = at->second; other != kNone; other = sets_[other].next) {
      if (std::ranges::equal(TagsOf(other), sorted)) return other;
    }
    set.next = std::exchange(at->second, number);
  }
  tags_.insert(tags_.end(), sorted.begin(), sorted.end());
  sets_.push_back(set);
  return number;
}

bool DataPoints::Add(std::string_view metric, TimeUs time, const Value& value, uint32_t tags,
                     std::string_view source, std::string* why) {
  if (const std::string* const no_field = WhyNoField(metric)) {
    *why = *no_field;
    return false;
  }
  if (std::ranges::binary_search(TagsOf(tags), metric, {}, &Tag::name)) {
    *why = fmt::format("tag \"{}\" has the name of the point's own metric", Shown(metric));
    return false;
  }
  const auto number = static_cast<uint32_t>(points_.size());
  points_.push_back({metric, value, source, static_cast<uint32_t>(seen_++), kNone});
  // What came last is mostly of the same event.
  if (!groups_.empty() && groups_.back().time == time && groups_.back().tags == tags) {
    Group& group = groups_.back();
    points_[std::exchange(group.last, number)].next = number;
    ++group.count;
    return true;
  }
  const auto [at, is_new] =
      group_of_.emplace(GroupKey{time, tags}, static_cast<uint32_t>(groups_.size()));
  if (is_new) {
    groups_.push_back({time, tags, number, number, 1});
    return true;
  }
  Group& group = groups_[at->second];
  points_[std::exchange(group.last, number)].next = number;
  ++group.count;
  return true;
}

void DataPoints::Refuse(std::string_view source, std::string error) {
  const size_t index = seen_++;
  if (errors_.size() < kMaxKeptErrors) errors_.push_back({index, source, std::move(error)});
}

// Whole in the stream's unit, or else as a text, which is a time in every unit.
Value DataPoints::TimeValue(TimeUs time, EventBatch* batch) const {
  switch (form_.unit) {
    case TimeUnit::kSeconds:
      if (time % kUsPerSecond == 0) return Value::Int(time / kUsPerSecond);
      break;
    case TimeUnit::kMilliseconds:
      if (time % 1000 == 0) return Value::Int(time / 1000);
      break;
    case TimeUnit::kMicroseconds:
      return Value::Int(time);
    case TimeUnit::kNanoseconds:
      if (time <= INT64_MAX / 1000) return Value::Int(time * 1000);
      break;
  }
  return Value::String(batch->Copy(FormatRfc3339(time)));
}

void DataPoints::MakeEvents(ShapeRegistry& shapes, EventBatch* batch) {
  order_.AllowNames(name_bytes_);
  for (const Group& group : groups_) MakeEvent(group, shapes, batch);
  order_.Shrink();
}

void DataPoints::MakeEvent(const Group& group, ShapeRegistry& shapes, EventBatch* batch) {
  ListPoints(group, /*last_only=*/false);
  if (!AddFields(group, listed_, batch)) {
    ListPoints(group, /*last_only=*/true);
    AddFields(group, listed_, batch);
  }
  std::unique_ptr<const Shape> owned;
  const Shape* const shape = order_.End(shapes, &owned);
  if (shape != nullptr) {
    batch->EndEvent(shape, order_.places());
  } else if (owned) {
    batch->EndEvent(std::move(owned));
  } else {
    batch->DropEvent({{}, "the names of metrics and tags take too much together; send fewer points "
                          "at once"});
  }
}

void DataPoints::ListPoints(const Group& group, bool last_only) {
  listed_.clear();
  for (uint32_t i = group.first; i != kNone; i = points_[i].next) listed_.push_back(i);
  if (!last_only) return;
  boost::unordered_flat_map<std::string_view, uint32_t, FieldNameHash> place_of;
  size_t kept = 0;
  for (const uint32_t point : listed_) {
    const auto [at, is_new] =
        place_of.emplace(points_[point].metric, static_cast<uint32_t>(kept));
    listed_[at->second] = point;
    kept += is_new;
  }
  listed_.resize(kept);
}

bool DataPoints::AddFields(const Group& group, std::span<const uint32_t> points,
                           EventBatch* batch) {
  using Kind = FieldOrder::Kind;
  const auto add = [&](std::string_view name, Kind kind, const Value& value) {
    const FieldOrder::Step step = order_.Member(name, /*raw=*/false, kind);
    batch->AddValue(value);
    return step != FieldOrder::Step::kDuplicate;
  };
  batch->BeginEvent();
  order_.Begin();
  add(form_.time_field, Kind::kValue, TimeValue(group.time, batch));
  for (const Tag& tag : TagsOf(group.tags)) add(tag.name, Kind::kLabel, Value::String(tag.value));
  for (const uint32_t point : points) {
    if (add(points_[point].metric, Kind::kValue, points_[point].value)) continue;
    batch->ForgetEvent();
    return false;
  }
  return true;
}

size_t DataPoints::PointsOf(size_t event) const { return groups_[event].count; }

void DataPoints::AppendErrors(size_t event, const std::string& error,
                              std::vector<PointError>* errors) const {
  for (uint32_t i = groups_[event].first; i != kNone; i = points_[i].next) {
    if (errors->size() == kMaxKeptErrors) return;
    errors->push_back({points_[i].index, points_[i].source, error});
  }
}

void DataPoints::Split(std::span<const size_t> events) {
  std::vector<bool> splits(groups_.size(), events.empty());
  for (const size_t event : events) splits[event] = true;
  std::vector<Group> groups;
  for (size_t i = 0; i < groups_.size(); ++i) {
    const Group& group = groups_[i];
    if (!splits[i]) {
      groups.push_back(group);
      continue;
    }
    for (uint32_t point = group.first; point != kNone;) {
      groups.push_back({group.time, group.tags, point, point, 1});
      point = std::exchange(points_[point].next, kNone);
    }
  }
  groups_ = std::move(groups);
}

size_t DataPoints::bytes() const {
  size_t bytes = points_.capacity() * sizeof(Point) + groups_.capacity() * sizeof(Group) +
                 tags_.capacity() * sizeof(Tag) + sets_.capacity() * sizeof(TagSet) +
                 errors_.capacity() * sizeof(PointError) + order_.bytes();
  bytes += group_of_.size() * 2 * sizeof(std::pair<GroupKey, uint32_t>);
  bytes += spelled_.size() * 2 * sizeof(std::pair<std::string_view, uint32_t>);
  for (const std::string& chunk : texts_) bytes += chunk.capacity();
  return bytes;
}

}  // namespace tallyd
