#include "service/fill/filler.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "service/fill/fill_check.h"
#include "service/write/hand_changes.h"

namespace tallyd {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(500);
// What other tables lack may change without their records.
constexpr auto kLookAgain = std::chrono::seconds(30);
constexpr auto kRetry = std::chrono::seconds(5);
constexpr uint64_t kMostTries = 2;
constexpr auto kPaceEvery = std::chrono::milliseconds(10);

prometheus::Counter& MakeCounter(prometheus::Registry& registry, const char* name,
                                 const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

prometheus::Counter& MakeFills(prometheus::Registry& registry, const char* result) {
  return prometheus::BuildCounter()
      .Name("tallyd_fills_total")
      .Help("Tables that were filled, or were to be and failed.")
      .Register(registry)
      .Add({{"result", result}});
}

}  // namespace

Filler::Filler(Parts parts)
    : parts_(std::move(parts)),
      waiting_(prometheus::BuildGauge()
                   .Name("tallyd_fill_tables")
                   .Help("Tables that lack events of their stream's past.")
                   .Register(*parts_.registry)
                   .Add({})),
      filled_(MakeFills(*parts_.registry, "filled")),
      failed_(MakeFills(*parts_.registry, "failed")),
      events_(MakeCounter(*parts_.registry, "tallyd_fill_events_total",
                          "Events written to tables that are filled.")),
      conflicts_(MakeCounter(*parts_.registry, "tallyd_fill_conflicts_total",
                             "Batches of filling that were read again, as others had written to "
                             "the same rows, or deleted.")),
      pacer_(parts_.cpu, kPaceEvery, {&mutex_, &wake_, &stopping_}) {}

Filler::~Filler() { Stop(); }

Status Filler::Open() {
  Result<std::vector<FillRecord>> records = ReadFillRecords(*parts_.store);
  if (!records) return records.error();
  const std::lock_guard lock(mutex_);
  for (FillRecord& record : *records) {
    FillState& state = states_[record.table];
    state.kind = record.is_done ? FillState::Kind::kFilled : FillState::Kind::kWaiting;
    state.record = std::move(record);
  }
  return {};
}

void Filler::Start() {
  thread_ = std::thread([this] { Run(); });
}

void Filler::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Filler::Run() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kLookEvery, [this] { return stopping_; })) {
    lock.unlock();
    Look();
    lock.lock();
  }
}

bool Filler::IsDue() {
  Seen now{parts_.live_schema->snapshot(), parts_.store->Tables()};
  const SteadyTime time = std::chrono::steady_clock::now();
  if (now == seen_ && time < look_again_) return false;
  seen_ = std::move(now);
  look_again_ = time + kLookAgain;
  return true;
}

void Filler::Look() {
  const std::lock_guard work(work_mutex_);
  if (!IsDue()) return;
  std::vector<FillWish> wishes = FindFillWishes(*parts_.live_schema, *parts_.store, *parts_.clock);
  const Capabilities& can = parts_.store->capabilities();
  if (can.filling == nullptr || can.watching == nullptr) {
    for (FillWish& wish : wishes) {
      if (wish.declined) continue;
      wish.source = nullptr;
      wish.why = "this engine fills no tables";
    }
  }
  TellOf(wishes);
  for (const FillWish& wish : wishes) {
    if (wish.source == nullptr || !MayTry(wish)) continue;
    const Status filled = Fill(wish);
    // One at a look: what was filled may be a source itself.
    look_again_ = std::chrono::steady_clock::now();
    if (filled || filled.error().code() == ErrorCode::kCancelled) return;
    if (filled.error().code() == ErrorCode::kConflict) return;  // Others changed the schema.
    failed_.Increment();
    spdlog::warn("filling {} from {}: {}", wish.table->name, wish.source->name,
                 filled.error().message());
    look_again_ += kRetry;
    const std::lock_guard lock(mutex_);
    FillState& state = states_[wish.table->name];
    state.kind = FillState::Kind::kNotFilled;
    state.why = filled.error().message();
  }
}

void Filler::TellOf(const std::vector<FillWish>& wishes) {
  const std::lock_guard lock(mutex_);
  waiting_.Set(static_cast<double>(wishes.size()));
  std::erase_if(states_, [&](const auto& each) {
    return each.second.kind != FillState::Kind::kFilled ||
           seen_.snapshot->schema->FindTable(each.first) == nullptr;
  });
  for (const FillWish& wish : wishes) {
    FillState& state = states_[wish.table->name];
    state = {};
    state.record.table = wish.table->name;
    state.record.before = wish.before;
    state.why = wish.why;
    if (wish.source != nullptr) {
      state.record = Begin(wish);
    } else {
      state.kind = wish.declined ? FillState::Kind::kDeclined : FillState::Kind::kStuck;
    }
  }
}

// The record that there is, if it is of these marks and this source.
FillRecord Filler::Begin(const FillWish& wish) const {
  const std::string& name = wish.table->name;
  const Result<std::optional<std::string>> memo = parts_.store->FindMemo(FillKey(name));
  if (memo && *memo) {
    const std::optional<FillRecord> known = DecodeFill(FillKey(name), **memo);
    if (known && known->of == wish.Print() && !known->is_done) return *known;
  }
  return NewRecord(wish);
}

FillRecord Filler::NewRecord(const FillWish& wish) const {
  FillRecord record;
  record.of = wish.Print();
  record.table = wish.table->name;
  record.source = wish.source->name;
  record.from = wish.from;
  record.through = wish.from;
  record.before = wish.before;
  record.began_at = parts_.clock->Now();
  return record;
}

bool Filler::MayTry(const FillWish& wish) {
  if (Begin(wish).tries < kMostTries) return true;
  const std::lock_guard lock(mutex_);
  FillState& state = states_[wish.table->name];
  state.kind = FillState::Kind::kNotFilled;
  state.why = "it was filled twice and did not give back what " + wish.source->name +
              " does: the log tells where";
  return false;
}

Status Filler::Fill(const FillWish& wish) {
  const std::string& name = wish.table->name;
  FillRecord record = Begin(wish);
  const RemovalGate::Filling filling(&parts_.writer->gate(), name);
  // Until now nobody knew, and deleted what would come back.
  if (WasChangedByHand(name, parts_.store)) {
    return Error(ErrorCode::kConflict, "rows of " + name + " were changed by their keys");
  }
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return Error(ErrorCode::kCancelled, "the daemon is stopping");
    states_[name] = {FillState::Kind::kFilling, record, {}};
  }
  spdlog::info("filling {} from {}: events before {}{}", name, wish.source->name,
               wish.before >= kNeverWhole ? "now" : FormatRfc3339(wish.before),
               record.through > record.from ? ", from where it ended" : "");
  SteadyTime since = std::chrono::steady_clock::now();
  FillPass::Parts parts;
  parts.store = parts_.store;
  parts.clock = parts_.clock;
  parts.writer = parts_.writer;
  parts.before_commit = [&]() -> Status {
    if (parts_.before_commit) parts_.before_commit();
    const std::lock_guard lock(mutex_);
    if (stopping_) return Error(ErrorCode::kCancelled, "the daemon is stopping");
    return {};
  };
  parts.after_commit = [&](const FillRecord& done) { return Progress(done, &since); };
  parts.on_conflict = [&] { conflicts_.Increment(); };
  parts.slice_us = parts_.slice_us;
  parts.batch_bytes = parts_.batch_bytes;
  FillPass pass(std::move(parts), wish, std::move(record));
  if (Status passed = pass.Run(); !passed) return passed;
  record = pass.record();
  if (Status checked = Check(wish, &record, &since); !checked) return checked;
  const Result<TimeUs> from = WholeFrom(wish);
  if (!from) return from.error();
  if (Status whole = parts_.store->SetWhole(*wish.stored, *from); !whole) return whole;
  record.is_done = true;
  record.ended_at = parts_.clock->Now();
  if (Status put = PutRecord(record); !put) return put;
  filled_.Increment();
  spdlog::info("filled {} from {}: {} events", name, wish.source->name, record.events);
  const std::lock_guard lock(mutex_);
  states_[name] = {FillState::Kind::kFilled, record, {}};
  return {};
}

// What the source lacks by now the table may lack, too.
Result<TimeUs> Filler::WholeFrom(const FillWish& wish) const {
  for (const FillWish& now : FindFillWishes(*parts_.live_schema, *parts_.store, *parts_.clock)) {
    if (now.table->name != wish.table->name) continue;
    if (now.source != nullptr && now.Print() == wish.Print()) return std::max(wish.from, now.from);
  }
  return Error(ErrorCode::kConflict, "the rules of its stream's tables have changed meanwhile");
}

// What differs is filled again from the start, once; a table that differs then stays as it is.
Status Filler::Check(const FillWish& wish, FillRecord* record, SteadyTime* since) {
  FillCheck check(*parts_.store, *parts_.clock, wish, parts_.slice_us,
                  [&] { return pacer_.Pace(since); });
  if (const std::string why = check.WhyNot(); !why.empty()) {
    spdlog::info("filling {}: it is not compared with {}: {}", record->table, record->source, why);
    return {};
  }
  {
    const std::lock_guard lock(mutex_);
    states_[record->table].kind = FillState::Kind::kChecking;
  }
  const Status same = check.Run();
  record->compared = check.values();
  if (same || same.error().code() != ErrorCode::kCorruption) return same;
  const uint64_t tries = record->tries + 1;
  FillRecord again = NewRecord(wish);
  again.tries = tries;
  if (Status put = PutRecord(again); !put) return put;
  return same.error().Prefixed("it is not what it should be");
}

Status Filler::PutRecord(const FillRecord& record) {
  std::unique_ptr<Batch> batch = parts_.store->NewBatch();
  batch->PutMemo(FillKey(record.table), EncodeFill(record), NoteOrder::kAfter);
  return parts_.store->Commit(std::move(batch));
}

Status Filler::Progress(const FillRecord& record, SteadyTime* since) {
  {
    const std::lock_guard lock(mutex_);
    FillRecord& known = states_[record.table].record;
    events_.Increment(static_cast<double>(record.events - std::min(known.events, record.events)));
    known = record;
  }
  return pacer_.Pace(since);
}

std::vector<FillState> Filler::States() const {
  const std::lock_guard lock(mutex_);
  std::vector<FillState> states;
  for (const auto& [table, state] : states_) states.push_back(state);
  return states;
}

}  // namespace tallyd
