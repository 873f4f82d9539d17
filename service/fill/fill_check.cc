#include "service/fill/fill_check.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "config/schema/table_rules.h"
#include "config/values/value.h"
#include "service/fill/table_reading.h"

namespace tallyd {
namespace {

constexpr int kAttempts = 3;
// What is near to its age may go between two readings.
constexpr int64_t kNearAgeUs = 3600 * kUsPerSecond;
constexpr uint64_t kPauseEvery = 1000;
// A slice with fewer values is followed by one that is twice as long.
constexpr uint64_t kFewValues = 10'000;

uint64_t HashOf(std::string_view text, uint64_t seed) {
  return XXH3_64bits_withSeed(text.data(), text.size(), seed);
}

TimeUs OldestToCompare(const FillWish& wish, TimeUs now) {
  TimeUs oldest = wish.from;
  for (const Table* table : {wish.table, wish.source}) {
    for (const Family& family : table->families) {
      if (family.max_age_us) oldest = std::max(oldest, now - *family.max_age_us + kNearAgeUs);
    }
  }
  return oldest;
}

}  // namespace

// What is read of one of the two tables.
struct FillCheck::Side : TableReading {
  using TableReading::TableReading;
  std::string text;
};

FillCheck::FillCheck(Store& store, const Clock& clock, const FillWish& wish, int64_t slice_us,
                     std::function<Status()> pause)
    : wish_(wish),
      slice_us_(slice_us),
      pause_(std::move(pause)),
      source_(std::make_unique<Side>(store, clock, wish, *wish.source, wish.source_stored)),
      target_(std::make_unique<Side>(store, clock, wish, *wish.table, wish.stored)),
      mapper_(std::make_unique<EventMapper>(SourceOf(wish, *source_), *wish.table, wish.stored,
                                            clock.Now(), &store)),
      watch_(store.WatchRows(*wish.stored, wish.before)) {
  for (const std::string& field : source_->query.known->names()) {
    const bool is_time = field == wish.table->time_field;
    if (!is_time && KeyHolds(*wish.source, field)) entity_.insert(field);
  }
}

FillCheck::~FillCheck() = default;

std::string FillCheck::WhyNot() const {
  const Table& table = *wish_.table;
  if (!KeepsEvents(table)) return "it does not keep events";
  for (const std::string& field : entity_) {
    const bool may_tell = KeyHolds(table, field) || table.row_key.HoldsAsLabel(field);
    if (!may_tell) return "its keys do not tell " + field;
  }
  for (const Family& family : table.families) {
    if (family.max_versions && !table.row_key.has_time_of(wish_.stream->unit)) {
      return "it keeps some versions only";
    }
  }
  return {};
}

Status FillCheck::Run() {
  const TimeUs oldest = OldestToCompare(wish_, target_->query.now);
  int64_t width = slice_us_;
  for (TimeUs from = oldest; from < wish_.before;) {
    const TimeUs to = std::min(from / slice_us_ * slice_us_ + width, wish_.before);
    const uint64_t before = values_;
    if (Status same = Compare({from, to}); !same) return same;
    width = values_ - before < kFewValues ? std::min(width * 2, kMaxTimeUs) : slice_us_;
    from = to;
  }
  return {};
}

Status FillCheck::Compare(const TimeRange& slice) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    watch_->Restart();
    const Result<FillSum> of_source = SumOf(source_.get(), slice);
    if (!of_source) return of_source.error();
    const Result<FillSum> of_target = SumOf(target_.get(), slice);
    if (!of_target) return of_target.error();
    if (*of_source == *of_target) {
      values_ += of_source->values;
      return {};
    }
    if (watch_->WasAnyTouched()) continue;
    return Error(
        ErrorCode::kCorruption,
        fmt::format("from {} to {} it gives back {} values, and {} gives {}",
                    FormatRfc3339(slice.from), FormatRfc3339(std::min(slice.to, kMaxTimeUs)),
                    of_target->values, wish_.source->name, of_source->values));
  }
  return {};  // Whoever writes to it all the time keeps it from being compared.
}

Result<FillSum> FillCheck::SumOf(Side* side, const TimeRange& time) {
  FillSum sum;
  PartScan scan(side->input);
  scan.Open(side->KeysOf(time), time, {});
  for (uint64_t parts = 1;; ++parts) {
    const Result<bool> more = scan.Next();
    if (!more) return more.error();
    if (!*more) return sum;
    for (const EventFragment* event : scan.fragments()) Add(side, *event, &sum);
    if (parts % kPauseEvery != 0) continue;
    if (Status go_on = pause_(); !go_on) return go_on.error();
  }
}

// Where both keys have {labels}, labels do, and what one of them names beside.
bool FillCheck::TellsWhose(const Side& side, const EventFragment& event, size_t field) const {
  const std::string& name = side.fields.name(event.fields[field].field);
  if (entity_.contains(name)) return true;
  const RowKeyTemplate& source = wish_.source->row_key;
  if (!source.holds_labels() || !wish_.table->row_key.holds_labels()) return false;
  return event.labels.Has(field) || (source.HoldsAsLabel(name) && KeyHolds(*wish_.table, name));
}

void FillCheck::Add(Side* side, const EventFragment& event, FillSum* sum) {
  const bool is_source = side == source_.get();
  if (is_source && !mapper_->Enters(event)) return;
  uint64_t entity = static_cast<uint64_t>(event.time);
  uint64_t of_event = 0;
  for (size_t i = 0; i < event.fields.size(); ++i) {
    const EventField& field = event.fields[i];
    if (field.value.is_null() || !TellsWhose(*side, event, i)) continue;
    side->text.clear();
    AppendText(field.value, &side->text);
    of_event += HashOf(side->text, HashOf(side->fields.name(field.field), 0));
  }
  entity += of_event * 0x9e3779b97f4a7c15;
  for (size_t i = 0; i < event.fields.size(); ++i) {
    const EventField& field = event.fields[i];
    if (field.value.is_null()) continue;
    const std::string& name = side->fields.name(field.field);
    if (TellsWhose(*side, event, i) || name == wish_.table->time_field) continue;
    // A field that stands in a template beside another one comes back with it alone.
    if (KeyHolds(*wish_.table, name) || !AnyRuleTakes(*wish_.table, name)) continue;
    if (GivenBack(*wish_.table, name) == Fidelity::kNone) continue;
    side->text.clear();
    AppendText(field.value, &side->text);
    ++sum->values;
    sum->sum += HashOf(side->text, HashOf(name, entity));
  }
}

}  // namespace tallyd
