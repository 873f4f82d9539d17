#include "service/query/run/event_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_set.hpp>
#include <limits>
#include <utility>

#include "config/schema/table_rules.h"
#include "config/values/glob.h"
#include "service/limits/pages.h"
#include "service/query/ask/key_fields.h"
#include "service/query/ask/ranges_within.h"
#include "service/query/run/top_events.h"
#include "service/query/scan/field_walk.h"
#include "service/query/scan/gathered_groups.h"
#include "service/query/steps/step_scan.h"

namespace tallyd {
namespace {

// Ranges that are merged are open at once, and each holds blocks of the store in memory: of more
// the time is taken in slices.
constexpr size_t kMaxOpenScans = 16;
// Peeking behind the page, and a group that the page before had answered already.
constexpr size_t kGroupsBeyondLimit = 2;
// Fewer entries that are read whole, or values of columns, are read before a helper has woken up.
constexpr uint64_t kLeastEntries = 8192;
constexpr uint64_t kLeastValues = 8 * kLeastEntries;
// Of any answer: a chunk that waits for its reader, once as it is and once compressed.
constexpr uint64_t kLeastBytes = 2 * kChunkBytes;
// Steps of the fields that rows have are read again where other rows came meanwhile, so often.
constexpr int kMostReads = 5;

// Whether these names are among those. REQUIRES: both are parts of one list, in its order.
bool AreAmong(const std::vector<std::string>& names, const std::vector<std::string>& those) {
  auto at = those.begin();
  return std::ranges::all_of(names, [&](const std::string& name) {
    at = std::find(at, those.end(), name);
    return at != those.end();
  });
}

}  // namespace

EventRun::EventRun(EventQuery query, TablePlan plan, const ReadParts& parts, ReadMemoryPtr memory)
    : query_(InTermsOf(*plan.table, std::move(query))),
      plan_(std::move(plan)),
      parts_(parts),
      filter_(query_, *plan_.table, &fields_),
      charge_(memory) {
  input_.memory = std::move(memory);
  input_.store = &parts.store;
  input_.plan = &plan_;
  input_.unit = query_.stream->unit;
  input_.table = plan_.table;
  input_.stored = plan_.stored;
  input_.clamp = query_.ClampOf(*plan_.table);
  input_.fields = &fields_;
  input_.filter = &filter_;
  input_.counters = &counters_;
  input_.stream_fields = &query_.known->spellings();
  input_.read_globs = filter_.ReadGlobs();
  input_.now = query_.now;
  input_.is_one_answer = true;
}

EventRun::~EventRun() {
  parts_.metrics.rows_read.Increment(static_cast<double>(counters_.rows_read));
  parts_.metrics.rows_returned.Increment(static_cast<double>(returned_));
  parts_.metrics.unreadable_rows.Increment(static_cast<double>(counters_.unreadable_rows));
  if (plan_.standing == Standing::kPartial) parts_.metrics.incomplete.Increment();
  parts_.heat.Add(HeatMetric::kReads, counters_.stems, parts_.clock.Now());
}

Status EventRun::Start() {
  const uint64_t least = std::min(kLeastBytes, BytesOfScan(input_.memory.get()));
  if (!charge_.Covers(least)) return charge_.refusal();
  if (query_.step_us > 0) return Downsample();
  if (query_.top > 0) return FindTop();
  if (query_.cursor) resume_ = query_.cursor->position;
  const size_t max_groups = query_.is_page
                                ? query_.limit.value_or(kDefaultLimit) + kGroupsBeyondLimit
                                : std::numeric_limits<size_t>::max();
  is_resumable_ = true;
  return Reopen(max_groups);
}

Status EventRun::Reopen(size_t max_groups) {
  if (query_.order == Order::kKey && !input_.whole_rows()) {
    auto stream = OpenByKey(resume_);
    if (!stream) return stream.error();
    stream_ = std::move(*stream);
  } else {
    stream_ = OpenEvents(resume_, max_groups, descending());
  }
  return {};
}

Result<bool> EventRun::Next() {
  if (stream_ == nullptr) {
    if (Status opened = Reopen(std::numeric_limits<size_t>::max()); !opened) return opened.error();
  }
  const Result<bool> more = stream_->Next();
  is_behind_start_ = is_behind_start_ || (more && *more);
  return more;
}

void EventRun::Release() {
  if (!is_resumable_ || stream_ == nullptr) return;
  if (is_behind_start_) resume_ = stream_->Position();
  stream_.reset();
  is_behind_start_ = false;
  holds_scans_ = false;
}

EventCursor EventRun::Cursor() const {
  return {plan_.table->name, query_.time, stream_->Position()};
}

void EventRun::Refresh() {
  const auto age = std::chrono::steady_clock::now() - opened_;
  if (holds_scans_ && age >= std::chrono::microseconds(kMaxScanAgeUs)) Release();
}

TimeRange EventRun::TimeBehind(const std::optional<EventPosition>& start, int64_t width_us) const {
  TimeRange time = query_.time;
  if (!start || input_.whole_rows()) return time;
  if (descending()) {
    time.to = std::min(time.to, start->time + width_us);
  } else {
    time.from = std::max(time.from, start->time);
  }
  return time;
}

std::unique_ptr<GroupSource> EventRun::OpenGroups(const GroupOptions& options, size_t max_groups) {
  opened_ = std::chrono::steady_clock::now();
  const Result<std::vector<KeyRange>> ranges = RangesWithin(plan_, input_.unit, options.time);
  holds_scans_ = true;
  if (ranges && input_.whole_rows() && !input_.spreads_events()) {
    return std::make_unique<SequentialGroups>(input_, *ranges, options);
  }
  const bool merges = ranges && !plan_.is_scan() && plan_.ranges.time_ordered &&
                      !input_.whole_rows() && ranges->size() <= kMaxOpenScans;
  if (merges) {
    return std::make_unique<MergedGroups>(input_, *ranges, plan_.ranges.time_descends, options);
  }
  holds_scans_ = false;
  // An event that is spread over rows can be filtered only when it is whole: how many groups a page
  // takes is then unknown.
  const size_t groups = input_.spreads_events() ? std::numeric_limits<size_t>::max() : max_groups;
  return std::make_unique<GatheredGroups>(input_, options, groups);
}

std::unique_ptr<EventStream> EventRun::OpenEvents(const std::optional<EventPosition>& start,
                                                  size_t max_groups, bool descends) {
  GroupOptions options;
  options.time = TimeBehind(start, 1);
  options.descending = descends;
  if (start) options.start = GroupKey{start->time, start->tie};
  const bool filters_late = input_.spreads_events() || input_.whole_rows();
  return std::make_unique<EventScan>(OpenGroups(options, max_groups),
                                     filters_late ? &filter_ : nullptr, descends, start);
}

Result<std::unique_ptr<EventStream>> EventRun::OpenByKey(
    const std::optional<EventPosition>& start) {
  if (input_.spreads_events()) {
    return Error(ErrorCode::kUnprocessable,
                 "order: an event of table " + plan_.table->name +
                     " is spread over rows, since its key names {field}; it comes in order of "
                     "time, asc or desc");
  }
  Result<std::vector<KeyRange>> ranges = RangesWithin(plan_, input_.unit, query_.time);
  if (!ranges) return ranges.error();
  std::optional<GroupKey> first;
  if (start) first = GroupKey{start->time, start->tie};
  opened_ = std::chrono::steady_clock::now();
  holds_scans_ = true;
  auto groups =
      std::make_unique<KeyGroups>(input_, std::move(*ranges), query_.time, std::move(first));
  return std::make_unique<EventScan>(std::move(groups), nullptr, false, start);
}

// What it takes to see every event once, in whatever order is read the fastest.
Result<std::unique_ptr<EventStream>> EventRun::OpenAnyOrder() {
  if (input_.whole_rows() || input_.spreads_events()) {
    return OpenEvents(std::nullopt, std::numeric_limits<size_t>::max(), descending());
  }
  return OpenByKey(std::nullopt);
}

Status EventRun::FindTop() {
  const std::vector<std::string> fields = AggregatedFields();
  const Result<size_t> field = TopField(fields);
  if (!field) return field.error();
  TopSpec spec = {.count = query_.top,
                  .field = fields_.Add(fields[*field]),
                  .descending = descending(),
                  .start = std::nullopt};
  if (query_.cursor) spec.start = query_.cursor->position;
  auto top = std::make_unique<TopEvents>(std::move(spec), input_.memory);
  const auto events = OpenAnyOrder();
  if (!events) return events.error();
  if (Status status = top->TakeAll(events->get()); !status) return status;
  stream_ = std::move(top);
  holds_scans_ = false;
  return {};
}

// What a downsampling query aggregates: what it names, or every number that is measured; where it
// only counts, every value.
std::vector<std::string> EventRun::AggregatedFields() const {
  std::vector<std::string> names;
  boost::unordered_flat_set<std::string> added;
  const auto add = [&](const std::string& known) {
    std::string name = SpellingIn(*plan_.table, known, query_.known->spellings());
    if (added.insert(name).second) names.push_back(std::move(name));
  };
  const auto is_measured = [&](const std::string& name) {
    return TableHolds(*plan_.table, name) &&
           !KeyAlwaysTells(*plan_.table, *query_.known, name) &&
           !query_.IsTime(*plan_.table, name);
  };
  for (const std::string& pattern : query_.fields) {
    if (!IsGlob(pattern)) add(pattern);
    for (const std::string& name : query_.known->Matching(pattern)) {
      if (is_measured(name)) add(name);
    }
  }
  if (!query_.fields.empty()) return names;
  const bool only_counts = query_.aggregations == std::vector{Aggregation::kCount};
  for (const std::string& name : query_.known->names()) {
    const bool grouped = std::find(query_.by.begin(), query_.by.end(), name) != query_.by.end();
    const bool fits = only_counts ? query_.known->WasSeen(name) : query_.known->IsNumber(name);
    if (fits && is_measured(name) && !grouped) add(name);
  }
  return names;
}

// The field of these whose numbers `top` compares; where it counts, any will do.
Result<size_t> EventRun::TopField(const std::vector<std::string>& fields) const {
  const bool counts = query_.aggregations == std::vector{Aggregation::kCount};
  std::vector<size_t> found;
  for (size_t i = 0; i < fields.size(); ++i) {
    const bool may_have_numbers =
        query_.known->IsNumber(fields[i]) || !query_.known->WasSeen(fields[i]);
    if (counts || may_have_numbers) found.push_back(i);
  }
  if (found.size() == 1) return found.front();
  return Invalid(
      fmt::format("top: it compares the numbers of one field, and here are {}; name one, as in "
                  "fields=CPU/CPU1_USR",
                  found.size()));
}

Result<DownsampleSpec> EventRun::StepsAsked() const {
  DownsampleSpec spec;
  spec.step_us = query_.step_us;
  spec.aggregations = query_.aggregations;
  spec.fields = AggregatedFields();
  spec.by = query_.by;
  spec.descending = descending();
  spec.fill = query_.fill;
  if (query_.fills_range) spec.fill_range = query_.time;
  spec.top = query_.top;
  if (spec.top > 0) {
    const Result<size_t> field = TopField(spec.fields);
    if (!field) return field.error();
    spec.top_field = *field;
  }
  if (query_.cursor) spec.start = query_.cursor->position;
  spec.memory = input_.memory;
  return spec;
}

Result<std::vector<bool>> EventRun::MeetFields() {
  const Result<std::vector<KeyRange>> ranges = RangesWithin(plan_, input_.unit, query_.time);
  if (!ranges) return ranges.error();
  FieldWalk walk(input_);
  if (Status read = walk.Read(*ranges, query_.time); !read) return read.error();
  return walk.met();
}

Status EventRun::Downsample() {
  const Result<DownsampleSpec> asked = StepsAsked();
  if (!asked) return asked.error();
  if (asked->fields.size() > kMostUnmetColumns) return DownsampleMet(*asked);
  return MakeSteps(*asked);
}

// Rows that come while steps are made of those before them may have fields that none had: no value
// is left out for that.
Status EventRun::DownsampleMet(const DownsampleSpec& asked) {
  for (int reads = 0; reads < kMostReads; ++reads) {
    stream_.reset();
    downsampler_ = nullptr;
    const Result<DownsampleSpec> met = OfMetFields(asked);
    if (!met) return met.error();
    if (Status made = MakeSteps(*met); !made) return made;
    const Result<DownsampleSpec> met_since = OfMetFields(asked);
    if (!met_since) return met_since.error();
    if (AreAmong(met_since->fields, met->fields)) return {};
  }
  return Error(ErrorCode::kUnavailable,
               "events with other fields keep coming while they are read; ask again, for a time "
               "that has ended, or name the fields");
}

// Of what a glob or nothing selects, what the query's rows have; one field at least.
Result<DownsampleSpec> EventRun::OfMetFields(DownsampleSpec spec) {
  const Result<std::vector<bool>> met = MeetFields();
  if (!met) return met.error();
  const std::string first = spec.fields.front();
  const std::string top = spec.fields[spec.top_field];
  std::erase_if(spec.fields, [&](const std::string& name) {
    const int found = fields_.Find(name);
    const auto field = static_cast<size_t>(std::max(found, 0));
    const bool is_met = found >= 0 && field < met->size() && (*met)[field];
    return !is_met && !(spec.top > 0 && name == top) &&
           std::ranges::find(query_.fields, name) == query_.fields.end();
  });
  if (spec.fields.empty()) spec.fields.push_back(first);
  if (spec.top > 0) {
    const auto place = std::ranges::find(spec.fields, top);
    spec.top_field = static_cast<size_t>(place - spec.fields.begin());
  }
  return spec;
}

Status EventRun::MakeSteps(const DownsampleSpec& spec) {
  const auto is_key = [&](const std::string& field) {
    return KeyAlwaysTells(*plan_.table, *query_.known, field);
  };
  const auto may_be_key = [&](const std::string& field) {
    return KeyMayTell(*plan_.table, *query_.known, field);
  };
  const bool whole_events =
      input_.spreads_events() &&
      !(std::ranges::all_of(spec.by, is_key) && std::ranges::none_of(spec.fields, may_be_key) &&
        std::ranges::all_of(query_.FilteredFields(), is_key));
  // Where a step depends on others, each page takes all of them.
  const bool stands_alone = spec.fill == Fill::kNone && spec.top == 0 &&
                            std::ranges::none_of(spec.aggregations, FollowsSteps);
  const TimeRange time = stands_alone ? TimeBehind(spec.start, query_.step_us) : query_.time;
  const ScanCounters before = counters_;
  auto steps = whole_events ? StepsOfEvents(spec, time) : StepsOfParts(spec, time);
  if (steps && !(*steps)->in_order()) {
    counters_ = before;
    steps->reset();  // What cannot be used is not held beside what comes instead.
    steps = StepsOfEvents(spec, time);
  }
  if (!steps) return steps.error();
  if (Status status = (*steps)->Finish(); !status) return status;
  step_columns_ = (*steps)->columns();
  downsampler_ = steps->get();
  stream_ = std::move(*steps);
  holds_scans_ = false;
  return {};
}

Result<std::unique_ptr<Downsampler>> EventRun::StepsOfEvents(const DownsampleSpec& spec,
                                                             const TimeRange& time) {
  auto steps = std::make_unique<Downsampler>(spec, &fields_);
  const auto events = OpenEvents(std::nullopt, std::numeric_limits<size_t>::max(), false);
  while (true) {
    const Result<bool> more = events->Next();
    if (!more) return more.error();
    if (!*more) return steps;
    const EventView& event = events->event();
    if (!time.Contains(event.time)) continue;
    if (Status status = steps->Add(event.time, event.fields); !status) return status.error();
  }
}

// Cuts the ranges into as many pieces, one behind the other, as there are threads to take one each.
// `least_entries`: of a piece of the only range; several ranges are told off as they are.
Result<std::vector<std::vector<KeyRange>>> EventRun::Divide(const std::vector<KeyRange>& ranges,
                                                            const TimeRange& time,
                                                            uint64_t least_entries) const {
  const size_t parts = input_.whole_rows() ? 1 : parts_.helpers.threads() + 1;
  if (parts == 1 || ranges.empty()) return std::vector<std::vector<KeyRange>>{ranges};
  std::vector<std::vector<KeyRange>> pieces;
  if (ranges.size() == 1) {
    const SplitSpec spec = {parts, least_entries};
    Result<std::vector<KeyRange>> split =
        parts_.store.Split(plan_.stored, ranges.front(), time, spec);
    if (!split) return split.error();
    for (KeyRange& piece : *split) pieces.push_back({std::move(piece)});
    return pieces;
  }
  const size_t each = (ranges.size() + parts - 1) / parts;
  for (size_t begin = 0; begin < ranges.size(); begin += each) {
    const auto first = ranges.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto count = std::min(each, ranges.size() - begin);
    pieces.emplace_back(first, first + static_cast<std::ptrdiff_t>(count));
  }
  return pieces;
}

Result<std::unique_ptr<Downsampler>> EventRun::StepsOfParts(const DownsampleSpec& spec,
                                                            const TimeRange& time) {
  const Result<std::vector<KeyRange>> ranges = RangesWithin(plan_, input_.unit, time);
  if (!ranges) return ranges.error();
  const bool by_runs = StepScan::TakesRuns(query_, input_, filter_, spec.fields);
  const uint64_t by_values = by_runs ? kLeastValues / std::max<size_t>(spec.fields.size(), 1) : 0;
  const Result<std::vector<std::vector<KeyRange>>> pieces =
      Divide(*ranges, time, std::max(kLeastEntries, by_values));
  if (!pieces) return pieces.error();
  const ScanCounters before = counters_;
  auto steps = StepsOfPieces(*pieces, spec, time);
  if (steps || steps.error().code() != ErrorCode::kUnprocessable || pieces->size() == 1) {
    return steps;
  }
  // Steps that are in all pieces were held once for each: one alone may have room for them.
  counters_ = before;
  return StepsOfPieces({*ranges}, spec, time);
}

Result<std::unique_ptr<Downsampler>> EventRun::StepsOfPieces(
    const std::vector<std::vector<KeyRange>>& pieces, DownsampleSpec spec, const TimeRange& time) {
  spec.shares = pieces.size();
  // Opened one right after the other, so that they see nearly the same state.
  std::vector<std::unique_ptr<StepScan>> scans;
  for (const std::vector<KeyRange>& piece : pieces) {
    scans.push_back(std::make_unique<StepScan>(query_, input_, spec, piece, time));
  }
  std::vector<Status> results(scans.size());
  parts_.helpers.Run(scans.size(), [&](size_t i) { results[i] = scans[i]->Scan(); });
  for (const auto& scan : scans) {
    counters_.rows_read += scan->counters().rows_read;
    counters_.unreadable_rows += scan->counters().unreadable_rows;
    counters_.stems.Append(scan->counters().stems);
  }
  std::unique_ptr<Downsampler> steps;
  for (size_t i = 0; i < scans.size(); ++i) {
    if (!results[i]) return results[i].error();
    if (i == 0) {
      steps = scans[i]->TakeSteps();
    } else if (Status status = steps->Absorb(scans[i]->steps()); !status) {
      return status.error();
    }
    scans[i].reset();
  }
  return steps;
}

}  // namespace tallyd
