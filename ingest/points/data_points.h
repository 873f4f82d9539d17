// DataPoints: what came at once of OpenTSDB's data points (a metric's value at a time, under tags),
// and the events that they make: points of equal tags and time are one event, whose fields are its
// time, the tags as labels, and each metric.
//
//   points.Begin(form, bytes);                    // Of the stream, and how much text comes.
//   PointReader().Read(body, &points);            // Or ReadPointLine, for each line.
//   points.MakeEvents(shapes, &batch);
//   ...                                           // Some events are refused?
//   points.Split(refused);                        // Each of their points by itself, then:
//   points.MakeEvents(shapes, &batch);
//
// Of one metric that has several values in one event the last counts. Texts are views of what was
// read, or of the points' own copies: both outlive the events that are made. Keeps its memory from
// request to request. Not thread-safe.
#ifndef TALLYD_INGEST_POINTS_DATA_POINTS_H_
#define TALLYD_INGEST_POINTS_DATA_POINTS_H_

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/time.h"
#include "config/values/value.h"
#include "ingest/decode/event_batch.h"
#include "ingest/decode/field_name.h"
#include "ingest/decode/field_order.h"
#include "ingest/decode/shape.h"

namespace tallyd {

// What events of the stream look like.
struct PointEventForm {
  std::string time_field = "ts";
  TimeUnit unit = TimeUnit::kMilliseconds;
};

// A point that is refused, as it was sent, and why.
struct PointError {
  size_t index = 0;  // Among all that came.
  std::string_view source;
  std::string error;
};

class DataPoints {
 public:
  static constexpr size_t kMaxKeptErrors = 10'000;  // All are counted.

  struct Tag {
    std::string_view name;
    std::string_view value;
    friend auto operator<=>(const Tag&, const Tag&) = default;
  };

  DataPoints();

  // `text_bytes`: of all that will be read, which bounds what the names of events may take.
  void Begin(PointEventForm form, size_t text_bytes);

  // A text that outlives what it was read from.
  std::string_view Copy(std::string_view text);

  // The tags that a text spelled which was given to EndTags; nothing: they are to be read.
  std::optional<uint32_t> FindTags(std::string_view spelled) const;
  // BeginTags, AddTag for each, EndTags. Nothing: they cannot be, *why tells.
  void BeginTags() { draft_.clear(); }
  void AddTag(std::string_view name, std::string_view value) { draft_.push_back({name, value}); }
  bool has_tags() const { return !draft_.empty(); }
  std::optional<uint32_t> EndTags(std::string_view spelled, std::string* why);

  // A good point, which is refused nevertheless where its names cannot be those of fields. False:
  // it was, for what *why tells, and is for the caller to Refuse.
  bool Add(std::string_view metric, TimeUs time, const Value& value, uint32_t tags,
           std::string_view source, std::string* why);
  void Refuse(std::string_view source, std::string error);

  size_t seen() const { return seen_; }          // Points, good and bad.
  size_t refused() const { return seen_ - points_.size(); }
  const std::vector<PointError>& errors() const { return errors_; }  // Of them, in order.

  // Adds an event for each group of points to *batch, which is empty: the i-th one, or its error,
  // is what PointsOf(i) counts. `shapes` outlives this, which learns them.
  void MakeEvents(ShapeRegistry& shapes, EventBatch* batch);
  // How many points event `i` has, and what each of them is.
  size_t PointsOf(size_t event) const;
  // The same refusal for each point of the event.
  void AppendErrors(size_t event, const std::string& error, std::vector<PointError>* errors) const;
  // From now on each point of these events is an event of its own; empty: of all events.
  void Split(std::span<const size_t> events);

  size_t bytes() const;

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Point {
    std::string_view metric;
    Value value;
    std::string_view source;
    uint32_t index = 0;
    uint32_t next = kNone;  // Of the same event.
  };
  struct TagSet {
    size_t first = 0;  // In tags_.
    size_t count = 0;
    uint32_t next = kNone;  // Of the same hash.
  };
  struct Group {
    TimeUs time = 0;
    uint32_t tags = 0;
    uint32_t first = 0;
    uint32_t last = 0;
    uint32_t count = 0;
  };
  struct GroupKey {
    TimeUs time = 0;
    uint32_t tags = 0;
    friend bool operator==(const GroupKey&, const GroupKey&) = default;
    struct Hash {
      using is_avalanching = void;
      size_t operator()(const GroupKey& key) const;
    };
  };

  std::span<const Tag> TagsOf(uint32_t set) const {
    return std::span(tags_).subspan(sets_[set].first, sets_[set].count);
  }
  const std::string* WhyNoField(std::string_view name);
  uint32_t Intern(std::span<const Tag> sorted);
  Value TimeValue(TimeUs time, EventBatch* batch) const;
  void MakeEvent(const Group& group, ShapeRegistry& shapes, EventBatch* batch);
  // False: a metric comes twice.
  bool AddFields(const Group& group, std::span<const uint32_t> points, EventBatch* batch);
  void ListPoints(const Group& group, bool last_only);

  PointEventForm form_;
  size_t name_bytes_ = 0;
  size_t seen_ = 0;
  std::vector<Point> points_;
  std::vector<Group> groups_;
  boost::unordered_flat_map<GroupKey, uint32_t, GroupKey::Hash> group_of_;
  std::vector<PointError> errors_;

  std::vector<Tag> draft_;
  std::vector<Tag> tags_;
  std::vector<TagSet> sets_;
  boost::unordered_flat_map<std::string_view, uint32_t, FieldNameHash> spelled_;
  boost::unordered_flat_map<uint64_t, uint32_t> set_of_;  // By hash, the first one.
  std::deque<std::string> texts_;                         // Chunks whose addresses stay.

  FieldOrder order_;
  std::vector<uint32_t> listed_;  // Of the event at hand.
  std::string why_;
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_POINTS_DATA_POINTS_H_
