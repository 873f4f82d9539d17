#include "service/points/read_series.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "service/points/metrics.h"
#include "service/points/series_rate.h"
#include "service/query/ask/event_query.h"
#include "service/query/ask/key_fields.h"
#include "service/query/ask/planner.h"
#include "service/query/run/event_run.h"

namespace tallyd {
namespace {

constexpr uint32_t kUnwanted = std::numeric_limits<uint32_t>::max();
// Of a tag: more values make more ranges than reading on and leaving out costs.
constexpr size_t kMostBoundingValues = 1000;
constexpr uint64_t kSeriesBytes = 160;  // Beside its tags and points: of vectors and the index.
constexpr uint64_t kTagBytes = 48;
// What a field of events is to a series, beside the place of a tag.
constexpr int kUnknown = -1;
constexpr int kNumber = -2;
constexpr int kOther = -3;

// Whether few series may match, none of them without the tag, and no list says which.
bool NarrowsByLooking(TagMatch match) {
  switch (match) {
    case TagMatch::kOneOfAnyCase:
    case TagMatch::kWildcard:
    case TagMatch::kWildcardAnyCase:
    case TagMatch::kRegexp:
      return true;
    case TagMatch::kOneOf:  // It bounds by its values, or has too many.
    case TagMatch::kNoneOf:
    case TagMatch::kNoneOfAnyCase:
    case TagMatch::kAbsent:
      return false;
  }
  return false;
}

// What is made of the points of a step, where they are read one by one.
struct PointFold {
  SeriesSteps steps;
  SeriesAggregation aggregation;
};

// By what points of one series that are told at one time become one: of one it is that.
SeriesAggregation OneOf(SeriesAggregation joined_by) {
  switch (joined_by) {
    case SeriesAggregation::kNone:
    case SeriesAggregation::kCount:
      return SeriesAggregation::kLast;
    case SeriesAggregation::kDev:
      return SeriesAggregation::kAvg;
    default:
      return joined_by;
  }
}

PointFold FoldOf(const SeriesQuestion& question) {
  if (question.downsample) return {question.downsample->steps, question.downsample->aggregation};
  return {SeriesSteps::Of(question.resolution_us), OneOf(question.joined_by)};
}

// The aggregation of `step` that makes the same of steps; nothing: points are read one by one.
std::optional<Aggregation> StepsOf(const SeriesQuestion& question) {
  if (question.newest || !question.downsample || question.downsample->steps.width_us() == 0)
    return std::nullopt;
  return InfoOf(question.downsample->aggregation).of_steps;
}

class SeriesReader {
 public:
  SeriesReader(const SeriesQuestion& question, const Access& access, const ReadParts& parts,
               const ReadMemoryPtr& memory)
      : question_(question),
        access_(access),
        parts_(parts),
        memory_(memory),
        by_steps_(StepsOf(question)),
        point_fold_(FoldOf(question)),
        fold_(point_fold_.aggregation) {
    set_.held = MemoryCharge(memory);
  }

  Result<PointSet> Read() {
    for (const TagFilter& filter : question_.filters) {
      Result<TagMatcher> matcher = TagMatcher::Make(filter);
      if (!matcher) return matcher.error();
      matchers_.push_back(std::move(*matcher));
    }
    Result<EventQuery> query = Ask();
    if (!query) return query.error();
    if (!can_match_ || query->stream->tables.empty()) return std::move(set_);
    if (Status status = Answer(std::move(*query)); !status) return status.error();
    std::ranges::sort(set_.series, {}, &PointSeries::tags);
    return std::move(set_);
  }

 private:
  struct Pending {
    TimeUs start = 0;
    std::vector<Value> numbers;
  };

  Result<EventQuery> Ask();
  void BoundBy(EventQuery* query);
  void BoundByNames(EventQuery* query);
  Status Answer(EventQuery query);
  Result<TablePlan> Plan(EventQuery* query);
  Status Run(EventRun* run);
  void NameTags(const std::vector<std::string>& names, size_t from);
  Status TakeAll(EventRun* run);
  Status TakeStep(const EventView& step);
  Status TakeEvent(EventRun* run, const EventView& event);
  int RoleOf(EventRun* run, uint32_t field);
  Result<uint32_t> SeriesOf();
  bool IsNamed(const PointSeries& series) const;
  bool IsWanted(const PointSeries& series) const;
  Status KeepNewest(uint32_t index, TimeUs time, const Value& number);
  Status AddPoint(uint32_t index, TimeUs time, const Value& number);
  Status Append(const SeriesPoint& point, std::vector<SeriesPoint>* points);
  Status FlushStep(uint32_t index);
  Status FinishAll(const TablePlan& plan);
  Status FinishPoints(uint32_t index);
  Status FillSteps(std::vector<SeriesPoint>* points);
  void Coarsen(std::vector<SeriesPoint>* points);
  Status Hold(uint64_t bytes);
  Error Bounded(const Error& error, const TablePlan& plan) const;

  const SeriesQuestion& question_;
  const Access& access_;
  const ReadParts& parts_;
  const ReadMemoryPtr& memory_;
  const std::optional<Aggregation> by_steps_;
  const PointFold point_fold_;
  SeriesFold fold_;
  std::vector<TagMatcher> matchers_;  // By filter.
  std::vector<bool> is_asked_;        // By filter: events that come have passed it.
  bool can_match_ = true;
  std::shared_ptr<const StreamFields> known_;
  std::vector<std::string> tags_;  // Of the stream, in byte order.
  PointSet set_;
  std::vector<uint32_t> tag_places_;  // By place in the query's list of tags: that in set_.tags.
  std::vector<int> roles_;            // By field of events: as RoleOf has them.
  boost::unordered_flat_map<std::string, uint32_t> index_;  // By the text of tags.
  std::vector<Pending> pending_;                            // By series.
  std::vector<const Value*> tag_values_;  // Of the event at hand, by place in set_.tags.
  std::string tags_text_;
};

// What is known without reading: names, bounds, and whether anything can match.
Result<EventQuery> SeriesReader::Ask() {
  Result<EventQuery> begun =
      BeginEventQuery(access_, parts_.store, question_.metric.stream, parts_.clock.Now());
  if (!begun) return begun;
  EventQuery& query = *begun;
  known_ = query.known;
  tags_ = TagsOf(query.schema(), *query.stream, *known_);
  // A name may be a tag of other events.
  std::erase(tags_, question_.metric.field);
  for (const TagFilter& filter : question_.filters) {
    const bool is_tag = std::ranges::binary_search(tags_, filter.tag);
    if (!is_tag && filter.match != TagMatch::kAbsent) can_match_ = false;
  }
  query.time =
      by_steps_ || question_.downsample ? point_fold_.steps.Whole(question_.time) : question_.time;
  query.scan = true;
  is_asked_.assign(question_.filters.size(), false);
  if (can_match_) BoundBy(&query);
  if (by_steps_) {
    query.step_us = question_.downsample->steps.width_us();
    query.aggregations = {*by_steps_};
    query.fields = {question_.metric.field};
    query.by = tags_;
  } else {
    query.fields = {question_.metric.field};
    query.fields.insert(query.fields.end(), tags_.begin(), tags_.end());
  }
  return begun;
}

// Values that are named bound what is read; all else is judged when a series is met.
void SeriesReader::BoundBy(EventQuery* query) {
  for (size_t i = 0; i < question_.filters.size(); ++i) {
    const TagFilter& filter = question_.filters[i];
    const bool is_bounded =
        std::ranges::find(query->filters, filter.tag, &FieldFilter::field) != query->filters.end();
    if (filter.match != TagMatch::kOneOf || is_bounded ||
        filter.values.size() > kMostBoundingValues) {
      continue;
    }
    query->filters.push_back({filter.tag, filter.values});
    is_asked_[i] = true;
  }
  for (size_t i = 0; i < question_.filters.size(); ++i) {
    if (!NarrowsByLooking(question_.filters[i].match)) continue;
    const auto wants = [matcher = &matchers_[i]](std::string_view text) {
      return matcher->Wants(text);
    };
    query->only_series.push_back({.field = question_.filters[i].tag, .wants = wants});
  }
  if (!question_.only.empty()) BoundByNames(query);
  // Some value is none that the tag ever had: then each series is looked at.
  if (!SettleFilters(query)) {
    query->filters.clear();
    is_asked_.assign(is_asked_.size(), false);
  }
}

// Series that are named agree in which tags bound them where each of them has the tag.
void SeriesReader::BoundByNames(EventQuery* query) {
  for (const auto& [tag, value] : question_.only.front()) {
    FieldFilter filter{tag, {}};
    for (const SeriesTags& tags : question_.only) {
      const auto found = std::ranges::find(tags, tag, &SeriesTags::value_type::first);
      if (found == tags.end()) break;
      filter.values.push_back(found->second);
    }
    const bool is_bounded =
        std::ranges::find(query->filters, tag, &FieldFilter::field) != query->filters.end();
    const bool all_have = filter.values.size() == question_.only.size();
    if (!std::ranges::binary_search(tags_, tag)) continue;
    if (all_have && !is_bounded && filter.values.size() <= kMostBoundingValues) {
      query->filters.push_back(std::move(filter));
    }
  }
}

Status SeriesReader::Answer(EventQuery query) {
  const Table* const latest =
      question_.newest ? FindLatest(access_.schema(), question_.metric, parts_.store) : nullptr;
  if (latest != nullptr) {
    query.table = latest->name;
    query.time = {};
  } else if (query.time.is_empty()) {
    return {};
  }
  while (true) {
    Result<TablePlan> chosen = latest == nullptr ? Plan(&query) : PlanLatest(query, parts_.store);
    if (!chosen) return chosen.error();
    const TablePlan plan = *chosen;
    set_.complete = plan.standing == Standing::kWhole;
    EventRun run(query, std::move(*chosen), parts_, memory_);
    if (Status status = Run(&run); !status) return Bounded(status.error(), plan);
    // It may have met events that fell on one cell: then that is known of the table, and it is
    // planned anew. So each table is tried once.
    if (!run.HasMetMerged()) return FinishAll(plan);
    set_.series.clear();
    set_.bytes = 0;
    index_.clear();
    pending_.clear();
  }
}

Result<TablePlan> SeriesReader::Plan(EventQuery* query) {
  while (true) {
    Result<QueryPlan> plan = PlanEvents(*query, parts_.store, Estimates::kWhereNeeded);
    if (!plan) return plan.error();
    if (!plan->refusal) return std::move(plan->candidates[*plan->chosen]);
    if (query->filters.empty()) return Invalid(plan->refusal->message());
    // Values of tags and periods of time may make too many ranges together.
    query->filters.clear();
    is_asked_.assign(is_asked_.size(), false);
  }
}

Status SeriesReader::Run(EventRun* run) {
  if (Status status = run->Start(); !status) return status;
  // In the names by which the table gives them back.
  if (by_steps_) {
    NameTags(run->query().by, 0);
  } else {
    NameTags(run->query().fields, 1);
  }
  return TakeAll(run);
}

// The names behind the first `from` are those of tags.
void SeriesReader::NameTags(const std::vector<std::string>& names, size_t from) {
  set_.tags.assign(names.begin() + static_cast<ptrdiff_t>(from), names.end());
  std::ranges::sort(set_.tags);
  tag_places_.clear();
  for (size_t i = from; i < names.size(); ++i) {
    const auto place = std::ranges::lower_bound(set_.tags, names[i]) - set_.tags.begin();
    tag_places_.push_back(static_cast<uint32_t>(place));
  }
  tag_values_.assign(set_.tags.size(), nullptr);
  roles_.clear();
}

Status SeriesReader::TakeAll(EventRun* run) {
  while (true) {
    const Result<bool> more = run->Next();
    if (!more) return more.error();
    if (!*more) return {};
    run->CountReturned();
    if (Status taken = by_steps_ ? TakeStep(run->event()) : TakeEvent(run, run->event()); !taken) {
      return taken;
    }
  }
}

// Groups come first, in the order in which they were asked for; then what is told of the metric.
Status SeriesReader::TakeStep(const EventView& step) {
  if (step.fields.size() <= tag_places_.size()) return {};
  const Value& number = step.fields[tag_places_.size()].value;
  if (!number.is_number()) return {};
  for (size_t i = 0; i < tag_places_.size(); ++i) {
    tag_values_[tag_places_[i]] = &step.fields[i].value;
  }
  const Result<uint32_t> index = SeriesOf();
  if (!index) return index.error();
  return *index == kUnwanted ? Status() : AddPoint(*index, step.time, number);
}

int SeriesReader::RoleOf(EventRun* run, uint32_t field) {
  if (field >= roles_.size()) roles_.resize(run->fields().size(), kUnknown);
  int& role = roles_[field];
  if (role != kUnknown) return role;
  const std::string& name = run->fields().name(field);
  const auto tag = std::ranges::lower_bound(set_.tags, name);
  if (tag != set_.tags.end() && *tag == name) {
    role = static_cast<int>(tag - set_.tags.begin());
  } else {
    role = name == run->query().fields.front() ? kNumber : kOther;
  }
  return role;
}

Status SeriesReader::TakeEvent(EventRun* run, const EventView& event) {
  const Value* number = nullptr;
  TimeUs time = event.time;
  std::ranges::fill(tag_values_, nullptr);
  for (size_t i = 0; i < event.fields.size(); ++i) {
    const EventField& field = event.fields[i];
    const int role = RoleOf(run, field.field);
    if (role >= 0) tag_values_[static_cast<size_t>(role)] = &field.value;
    if (role != kNumber || !field.value.is_number()) continue;
    number = &field.value;
    if (!event.field_times.empty()) time = event.field_times[i];
  }
  if (number == nullptr) return {};
  const Result<uint32_t> index = SeriesOf();
  if (!index) return index.error();
  if (*index == kUnwanted) return {};
  if (question_.newest) return KeepNewest(*index, time, *number);
  Pending& pending = pending_[*index];
  const TimeUs start = point_fold_.steps.StartOf(time);
  if (!pending.numbers.empty() && pending.start != start) {
    if (Status flushed = FlushStep(*index); !flushed) return flushed;
  }
  pending.start = start;
  if (pending.numbers.size() == pending.numbers.capacity()) {
    const size_t more = std::max<size_t>(pending.numbers.size(), 1);
    if (Status held = Hold(more * sizeof(Value)); !held) return held;
    pending.numbers.reserve(pending.numbers.size() + more);
  }
  pending.numbers.push_back(*number);
  return {};
}

// Of the tags at hand; a new one, if need be. kUnwanted: some filter does not want it.
Result<uint32_t> SeriesReader::SeriesOf() {
  tags_text_.clear();
  for (const Value* value : tag_values_) {
    const size_t before = tags_text_.size();
    tags_text_.append(sizeof(uint32_t), '\0');
    uint32_t size = 0;  // One more than the text has; 0: there is no such tag.
    if (value != nullptr && !value->is_null()) {
      AppendText(*value, &tags_text_);
      size = static_cast<uint32_t>(tags_text_.size() - before - sizeof(size)) + 1;
    }
    std::memcpy(tags_text_.data() + before, &size, sizeof(size));
  }
  const auto found = index_.find(tags_text_);
  if (found != index_.end()) return found->second;
  uint64_t bytes = kSeriesBytes + 2 * tags_text_.size();
  PointSeries series;
  for (uint32_t place = 0; place < tag_values_.size(); ++place) {
    const Value* const value = tag_values_[place];
    if (value == nullptr || value->is_null()) continue;
    series.tags.emplace_back(place, ToText(*value));
    bytes += kTagBytes;
  }
  if (Status held = Hold(bytes); !held) return held.error();
  uint32_t index = kUnwanted;
  if (IsWanted(series)) {
    index = static_cast<uint32_t>(set_.series.size());
    set_.series.push_back(std::move(series));
    pending_.emplace_back();
  }
  index_.emplace(tags_text_, index);
  return index;
}

// Whether the question names the series by all of its tags.
bool SeriesReader::IsNamed(const PointSeries& series) const {
  return std::ranges::any_of(question_.only, [&](const SeriesTags& tags) {
    return std::ranges::equal(tags, series.tags, [&](const auto& named, const auto& tag) {
      return named.first == set_.tags[tag.first] && named.second == tag.second;
    });
  });
}

bool SeriesReader::IsWanted(const PointSeries& series) const {
  const auto place_of = [this](const std::string& tag) {
    const auto found = std::ranges::lower_bound(set_.tags, tag);
    const bool is_known = found != set_.tags.end() && *found == tag;
    return is_known ? static_cast<uint32_t>(found - set_.tags.begin()) : kUnwanted;
  };
  for (size_t i = 0; i < matchers_.size(); ++i) {
    const std::string* const tag = series.TagAt(place_of(question_.filters[i].tag));
    if (is_asked_[i] && tag != nullptr) continue;
    if (!matchers_[i].Wants(tag == nullptr ? std::nullopt
                                           : std::optional<std::string_view>(*tag))) {
      return false;
    }
  }
  if (!question_.only.empty() && !IsNamed(series)) return false;
  if (!question_.explicit_tags) return true;
  return std::ranges::all_of(series.tags, [&](const auto& tag) {
    return std::ranges::find(question_.filters, set_.tags[tag.first], &TagFilter::tag) !=
           question_.filters.end();
  });
}

// A row of a latest table may be several events, in no order of time.
Status SeriesReader::KeepNewest(uint32_t index, TimeUs time, const Value& number) {
  std::vector<SeriesPoint>* const points = &set_.series[index].points;
  if (!points->empty() && points->back().time > time) return {};
  points->clear();
  return AddPoint(index, time, number);
}

Status SeriesReader::AddPoint(uint32_t index, TimeUs time, const Value& number) {
  return Append({time, number}, &set_.series[index].points);
}

Status SeriesReader::Append(const SeriesPoint& point, std::vector<SeriesPoint>* points) {
  if (points->size() == points->capacity()) {
    const size_t more = std::max<size_t>(points->size(), 4);
    if (Status held = Hold(more * sizeof(SeriesPoint)); !held) return held;
    points->reserve(points->size() + more);
  }
  points->push_back(point);
  return {};
}

Status SeriesReader::FlushStep(uint32_t index) {
  Pending& pending = pending_[index];
  if (pending.numbers.empty()) return {};
  const Value made = fold_.Of(pending.numbers);
  pending.numbers.clear();
  return made.is_null() ? Status() : AddPoint(index, pending.start, made);
}

Status SeriesReader::FinishAll(const TablePlan& plan) {
  for (uint32_t i = 0; i < set_.series.size(); ++i) {
    if (Status status = FinishPoints(i); !status) return Bounded(status.error(), plan);
  }
  return {};
}

Status SeriesReader::FinishPoints(uint32_t index) {
  if (Status flushed = FlushStep(index); !flushed) return flushed;
  if (question_.newest) return {};
  std::vector<SeriesPoint>* const points = &set_.series[index].points;
  if (question_.downsample) {
    if (Status filled = FillSteps(points); !filled) return filled;
    const int64_t width = question_.downsample->steps.width_us();
    if (width > 0 && width % question_.resolution_us != 0) Coarsen(points);
  }
  if (question_.rate) TellRates(*question_.rate, points);
  return {};
}

Status SeriesReader::FillSteps(std::vector<SeriesPoint>* points) {
  const StepFill& fill = question_.downsample->fill;
  if (!fill.fills) return {};
  const SeriesSteps& steps = question_.downsample->steps;
  const TimeRange range = steps.Whole(question_.time);
  std::vector<SeriesPoint> filled;
  auto next = points->begin();
  for (TimeUs time = range.from; time < range.to; time = steps.StartBehind(time)) {
    const bool has_point = next != points->end() && next->time == time;
    if (Status status = Append(has_point ? *next++ : SeriesPoint{time, fill.value}, &filled);
        !status) {
      return status;
    }
  }
  *points = std::move(filled);
  return {};
}

// Steps finer than times are told become one point each time that is told.
void SeriesReader::Coarsen(std::vector<SeriesPoint>* points) {
  SeriesFold fold(OneOf(question_.joined_by));
  const SeriesSteps told = SeriesSteps::Of(question_.resolution_us);
  std::vector<Value> numbers;
  size_t kept = 0;
  for (size_t i = 0; i < points->size();) {
    const TimeUs start = told.StartOf((*points)[i].time);
    numbers.clear();
    for (; i < points->size() && told.StartOf((*points)[i].time) == start; ++i) {
      if (!(*points)[i].value.is_null()) numbers.push_back((*points)[i].value);
    }
    (*points)[kept++] = {start, fold.Of(numbers)};
  }
  points->resize(kept);
}

Status SeriesReader::Hold(uint64_t bytes) {
  set_.bytes += bytes;
  if (!set_.held.Covers(set_.bytes)) return set_.held.refusal();
  return {};
}

// What is too much to hold, now and ever, is told with what would make it less.
Error SeriesReader::Bounded(const Error& error, const TablePlan& plan) const {
  if (error.code() != ErrorCode::kUnprocessable) return error;
  std::string message = error.message() + "; ask for a shorter time or longer steps";
  for (const std::string& tag : tags_) {
    const bool is_named = std::ranges::any_of(question_.filters, [&](const TagFilter& filter) {
      return filter.tag == tag && filter.match == TagMatch::kOneOf;
    });
    if (is_named || !KeyMayTell(*plan.table, *known_, tag)) continue;
    message += ", or name values of tag '" + tag + "', which bounds what is read";
    break;
  }
  return Error(ErrorCode::kTooLarge, std::move(message));
}

}  // namespace

const Table* FindLatest(const Schema& schema, const MetricField& metric, const Store& store) {
  const Stream* const found = schema.FindStream(metric.stream);
  if (found == nullptr) return nullptr;
  const StreamFields known(schema, *found, store);
  // Of a tag that no event ever had no table has to tell.
  std::vector<std::string> tags = TagsOf(schema, *found, known);
  std::erase_if(tags, [&](const std::string& tag) {
    return !known.WasSeen(tag) && known.SpellingsOf(tag).empty();
  });
  for (const size_t index : found->tables) {
    const Table& table = schema.tables[index];
    const bool tells_all = std::ranges::all_of(tags, [&](const std::string& tag) {
      return tag == metric.field || KeyMayTell(table, known, tag);
    });
    const bool has_metric = TableHolds(table, metric.field) && KeepsNewest(table);
    if (has_metric && tells_all && store.FindTable(table.name) != nullptr) return &table;
  }
  return nullptr;
}

Result<PointSet> ReadSeries(const SeriesQuestion& question, const Access& access,
                            const ReadParts& parts, const ReadMemoryPtr& memory) {
  return SeriesReader(question, access, parts, memory).Read();
}

}  // namespace tallyd
