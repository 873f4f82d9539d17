#include "service/nightly/nightly_tables.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "ingest/map/late_days.h"
#include "service/nightly/nightly_schema.h"
#include "service/nightly/schedule.h"

namespace tallyd {
namespace {

constexpr auto kPaceEvery = std::chrono::milliseconds(5);
constexpr auto kLookEvery = std::chrono::milliseconds(500);
constexpr int64_t kRetryUs = 60 * kUsPerSecond;
constexpr size_t kMarksAtOnce = 1000;
// How often a daemon of several asks whether it is its turn.
constexpr int64_t kBetweenTurnsUs = 3 * kUsPerSecond;

prometheus::Gauge& MakeGauge(prometheus::Registry& registry) {
  return prometheus::BuildGauge()
      .Name("tallyd_nightly_tables")
      .Help("Nightly tables that there are.")
      .Register(registry)
      .Add({});
}

prometheus::Counter& MakeBuilds(prometheus::Registry& registry, const char* result) {
  return prometheus::BuildCounter()
      .Name("tallyd_nightly_builds_total")
      .Help("Nightly tables that were built, or were to be and failed.")
      .Register(registry)
      .Add({{"result", result}});
}

prometheus::Counter& MakeCounter(prometheus::Registry& registry, const char* name,
                                 const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

void Log(const Status& done) {
  if (!done) spdlog::warn("nightly tables: {}", done.error().message());
}

}  // namespace

NightlyTables::NightlyTables(Parts parts)
    : parts_(std::move(parts)),
      claiming_(parts_.store->capabilities().claiming),
      tables_(MakeGauge(*parts_.registry)),
      built_(MakeBuilds(*parts_.registry, "built")),
      failed_(MakeBuilds(*parts_.registry, "failed")),
      rows_(MakeCounter(*parts_.registry, "tallyd_nightly_rows_total",
                        "Rows copied into nightly tables.")),
      removed_(MakeCounter(*parts_.registry, "tallyd_nightly_removed_total",
                           "Nightly tables that went when their keep had passed.")),
      pacer_(parts_.cpu, kPaceEvery, {&mutex_, &wake_, &stopping_}) {}

NightlyTables::~NightlyTables() { Stop(); }

Status NightlyTables::Open() {
  // One name may stand for several: what was salvaged has every generation. What another daemon
  // may be making is left to whose turn it is.
  while (claiming_ == nullptr) {
    const Result<std::vector<std::string>> names = parts_.store->StagedTables();
    if (!names) return names.error();
    if (names->empty()) break;
    if (Status dropped = parts_.store->DropStaged(names->front()); !dropped) return dropped;
  }
  return ReadRecords();
}

Status NightlyTables::ReadRecords() {
  Result<std::vector<NightlyRecord>> records = ReadNightlyRecords(*parts_.store);
  if (!records) return records.error();
  const std::lock_guard lock(mutex_);
  records_.clear();
  for (NightlyRecord& record : *records) records_[record.name] = std::move(record);
  tables_.Set(static_cast<double>(records_.size()));
  return {};
}

void NightlyTables::Configure(std::shared_ptr<const Schema> configured) {
  const std::lock_guard lock(mutex_);
  configured_ = std::move(configured);
  for (const auto& [name, record] : records_) {
    const Table* const source = configured_->FindTable(record.source);
    if (source != nullptr && !source->daily) unwatched_.insert(record.source);
  }
  empty_.clear();
  failures_.clear();
}

void NightlyTables::Start() {
  thread_ = std::thread([this] { Run(); });
}

void NightlyTables::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void NightlyTables::Run() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kLookEvery, [this] { return stopping_; })) {
    lock.unlock();
    Look();
    lock.lock();
  }
}

std::vector<NightlyTables::Source> NightlyTables::Sources() const {
  const std::lock_guard lock(mutex_);
  std::vector<Source> sources;
  if (!configured_) return sources;
  for (const Table& table : configured_->tables) {
    if (!table.daily) continue;
    const Stream* stream = configured_->FindStream(table.stream);
    sources.push_back({configured_, &table, stream->unit});
  }
  return sources;
}

Result<NightlyTables::Source> NightlyTables::FindSource(const std::string& name) const {
  for (Source& source : Sources()) {
    if (source.table->name == name) return std::move(source);
  }
  const std::lock_guard lock(mutex_);
  if (configured_ && configured_->FindTable(name) != nullptr) {
    return Invalid("table " + name + " has no nightly tables: daily is not among its keys");
  }
  return Error(ErrorCode::kNotFound, "there is no table '" + name + "'");
}

std::vector<NightlyRecord> NightlyTables::RecordsOf(const std::string& source) const {
  const std::lock_guard lock(mutex_);
  std::vector<NightlyRecord> records;
  for (const auto& [name, record] : records_) {
    if (record.source == source) records.push_back(record);
  }
  return records;
}

std::map<std::string, TableId> NightlyTables::TablesOfDays() const {
  std::map<std::string, TableId> tables;
  const std::vector<Source> sources = Sources();
  if (sources.empty()) return tables;
  for (const TablePtr& table : parts_.store->Tables()) {
    const bool is_of_day = std::ranges::any_of(sources, [&](const Source& source) {
      return source.daily().FindDay(table->name).has_value();
    });
    if (is_of_day) tables.emplace(table->name, table->id);
  }
  return tables;
}

// What another daemon made or removed is in the store's tables, which it looks at by itself.
void NightlyTables::NoticeOthers() {
  if (TablesOfDays() == seen_ && !HasRefreshFailed()) return;
  if (const Status read = ReadRecords(); !read) return Log(read);
  Refresh();
}

// What is staged while nobody builds was replaced, or its builder has ended.
Status NightlyTables::LearnOfOthers() {
  const Result<std::vector<std::string>> staged = parts_.store->StagedTables();
  if (!staged) return staged.error();
  {
    const std::lock_guard lock(mutex_);
    for (const std::string& name : *staged) {
      replaced_.try_emplace(name, parts_.clock->SteadyUs() + kReplacedStaysUs);
    }
  }
  return ReadRecords();
}

bool NightlyTables::HasRefreshFailed() const {
  const std::lock_guard lock(mutex_);
  return refresh_failed_;
}

bool NightlyTables::HasLeftWork() const {
  const std::lock_guard lock(mutex_);
  return !unwatched_.empty() || !replaced_.empty();
}

void NightlyTables::Look() {
  const std::lock_guard work(work_mutex_);
  if (claiming_ == nullptr) return DoWork();
  // Who is not ready leaves it to others.
  if (!parts_.store->Trouble().empty()) return;
  NoticeOthers();
  const int64_t now_us = parts_.clock->SteadyUs();
  if (now_us < next_turn_us_ || (Sources().empty() && !HasLeftWork())) return;
  next_turn_us_ = now_us + kBetweenTurnsUs;
  Result<std::unique_ptr<BuildTurn>> turn = BuildTurn::Take(claiming_);
  if (!turn) return Log(turn.error());
  turn_ = std::move(*turn);
  if (turn_ == nullptr) return;
  if (const Status known = LearnOfOthers(); known) {
    DoWork();
  } else {
    Log(known);
  }
  turn_.reset();
}

void NightlyTables::DoWork() {
  DropReplaced();
  if (HasRefreshFailed()) Refresh();
  if (const Status marked = MarkUnwatched(); !marked) return Log(marked);
  for (const Source& source : Sources()) {
    if (parts_.store->FindTable(source.table->name) == nullptr) continue;
    const TimeUs now = parts_.store->RetentionNow();
    RemoveOver(source);
    Status done = TakeMarks(source, now);
    if (done) done = BuildDue(source, now);
    if (done) done = Rebuild(source, now);
    Log(done);
  }
}

// When `daily` is back they are made again; until then answers say that they may be behind.
Status NightlyTables::MarkUnwatched() {
  std::set<std::string> unwatched;
  {
    const std::lock_guard lock(mutex_);
    unwatched = unwatched_;
  }
  for (const std::string& source : unwatched) {
    for (NightlyRecord& record : RecordsOf(source)) {
      if (std::exchange(record.is_behind, true)) continue;
      if (Status put = PutRecord(record, false); !put) return put;
    }
    const std::lock_guard lock(mutex_);
    unwatched_.erase(source);
  }
  return {};
}

void NightlyTables::RemoveOver(const Source& source) {
  for (const NightlyRecord& record : RecordsOf(source.table->name)) {
    const std::optional<TimeUs> end = LifeEnds(source.daily(), record);
    if (end && *end <= parts_.store->RetentionNow()) Log(Remove(source, record));
  }
}

// The name is free first: what a crash leaves is a record without a table, which goes as well.
Status NightlyTables::Remove(const Source& source, const NightlyRecord& record) {
  {
    const RemovalGate::Alone alone = parts_.writer->gate().EnterAlone();
    // What has the name by now may be another's.
    const TablePtr stored = parts_.store->FindTable(record.name);
    if (stored != nullptr && IsOf(record, *stored, *source.table)) {
      const Result<std::vector<std::string>> staged = parts_.store->StagedTables();
      if (!staged) return staged.error();
      if (std::ranges::find(*staged, record.name) != staged->end()) {
        if (Status dropped = parts_.store->DropStaged(record.name); !dropped) return dropped;
      }
      Status hidden = parts_.store->SwapStaged(NightlyTableOf(*source.table, record), 0);
      if (!hidden) return hidden;
    }
  }
  if (Status dropped = DropRecord(record); !dropped) return dropped;
  Refresh();
  removed_.Increment();
  spdlog::info("nightly tables: {} goes, its keep has passed", record.name);
  const std::lock_guard lock(mutex_);
  replaced_[record.name] = parts_.clock->SteadyUs() + kReplacedStaysUs;
  return {};
}

void NightlyTables::DropReplaced() {
  std::vector<std::string> due;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, at_us] : replaced_) {
      if (at_us <= parts_.clock->SteadyUs()) due.push_back(name);
    }
  }
  for (const std::string& name : due) {
    const Status dropped = parts_.store->DropStaged(name);
    if (!dropped && dropped.error().code() != ErrorCode::kNotFound) {
      Log(dropped);
      continue;
    }
    const std::lock_guard lock(mutex_);
    replaced_.erase(name);
  }
}

// A mark of a day that has a table tells that it is behind; one of a day that is due, that it has
// rows; any other day's needs none.
Status NightlyTables::TakeMarks(const Source& source, TimeUs now) {
  const std::string& name = source.table->name;
  const Result<std::vector<Memo>> marks = parts_.store->Memos(LateMarksOf(name), kMarksAtOnce);
  if (!marks) return marks.error();
  const std::vector<NightlyRecord> records = RecordsOf(name);
  const std::vector<TimeUs> due = DueDays(source.daily(), records, now);
  std::unique_ptr<Batch> batch = parts_.store->NewBatch();
  bool any_dropped = false;
  for (const auto& [key, value] : *marks) {
    const std::optional<TimeUs> day = FindDayOfMark(key);
    if (day && *day > NewestDueDay(source.daily(), now)) continue;
    const auto record =
        std::ranges::find_if(records, [&](const NightlyRecord& each) { return day == each.day; });
    if (record != records.end()) {
      if (record->is_behind) continue;
      NightlyRecord behind = *record;
      behind.is_behind = true;
      if (Status put = PutRecord(behind, true); !put) return put;
    } else if (day && std::ranges::find(due, *day) != due.end()) {
      const std::lock_guard lock(mutex_);
      empty_.erase({name, *day});
    } else {
      batch->DropMemo(key);
      any_dropped = true;
    }
  }
  return any_dropped ? parts_.store->Commit(std::move(batch)) : Status();
}

// One at a look: others may be more urgent by then.
Status NightlyTables::BuildDue(const Source& source, TimeUs now) {
  const std::string& name = source.table->name;
  for (const TimeUs day : DueDays(source.daily(), RecordsOf(name), now)) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_ || empty_.contains({name, day})) continue;
    }
    if (!MayTry(source.daily().NameOf(day))) continue;
    const Result<DayCopy> copy = CopyOf(source, day, nullptr);
    if (!copy) return copy.error();
    auto since = std::chrono::steady_clock::now();
    const Result<bool> has_day = HasDay(*parts_.store, *copy, [&] { return pacer_.Pace(&since); });
    if (!has_day && has_day.error().code() == ErrorCode::kCancelled) return {};
    if (!has_day) return has_day.error();
    const Status whole = *has_day ? CheckDay(source, day) : Status();
    if (!whole) spdlog::warn("nightly tables: no table is made: {}", whole.error().message());
    if (*has_day && whole) {
      Attempt(source, day);
      return {};
    }
    const std::lock_guard lock(mutex_);
    empty_.insert({name, day});
  }
  return {};
}

Status NightlyTables::Rebuild(const Source& source, TimeUs now) {
  for (NightlyRecord& record : RecordsOf(source.table->name)) {
    const TablePtr stored = parts_.store->FindTable(record.name);
    const bool is_there = stored != nullptr && IsOf(record, *stored, *source.table);
    const bool is_gone = record.is_built && !is_there;
    if (is_gone) {
      if (Status dropped = DropRecord(record); !dropped) return dropped;
      continue;
    }
    if (is_there && record.table == 0 && record.staged == 0) {
      record.table = stored->id;
      if (Status put = PutRecord(record, false); !put) return put;
    }
    if (!record.is_behind || !MayTry(record.name)) continue;
    if (!IsRebuildDue(source.daily(), record, now)) continue;
    const Status whole = CheckDay(source, record.day);
    if (whole) {
      Attempt(source, record.day);
      return {};
    }
    spdlog::warn("nightly tables: {} is not built again: {}", record.name, whole.error().message());
    record.is_behind = false;
    Status settled = record.is_built ? PutRecord(record, true) : DropRecord(record);
    if (!settled) return settled;
    Refresh();
  }
  return {};
}

Status NightlyTables::NoteRemoved(const std::string& stream) {
  // Within which every daemon knows a table that was made.
  constexpr int64_t kKnownUs = 60 * kUsPerSecond;
  const std::vector<Source> sources = Sources();
  if (claiming_ == nullptr || sources.empty()) return {};
  const Result<std::vector<NightlyRecord>> records = ReadNightlyRecords(*parts_.store);
  if (!records) return records.error();
  std::unique_ptr<Batch> batch = parts_.store->NewBatch();
  const TimeUs now = parts_.store->RetentionNow();
  for (const NightlyRecord& record : *records) {
    const bool is_of_stream = std::ranges::any_of(sources, [&](const Source& source) {
      return source.table->name == record.source && source.table->stream == stream;
    });
    if (!is_of_stream || (!record.is_behind && record.built_at + kKnownUs <= now)) continue;
    batch->PutMemo(LateMark(record.source, record.day), "1", NoteOrder::kBefore);
  }
  return batch->empty() ? Status() : parts_.store->Commit(std::move(batch));
}

Status NightlyTables::Forget(const std::string& table) {
  NightlyRecord record;
  {
    const std::lock_guard lock(mutex_);
    const auto known = records_.find(table);
    if (known == records_.end() || (building_ && building_->table == table)) return {};
    record = known->second;
  }
  return DropRecord(record);
}

bool NightlyTables::MayTry(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto failed = failures_.find(name);
  return !stopping_ &&
         (failed == failures_.end() || failed->second.at_us + kRetryUs <= parts_.clock->SteadyUs());
}

void NightlyTables::Attempt(const Source& source, TimeUs day) {
  const Result<NightlyRecord> built = BuildNow(source, day);
  if (built || built.error().code() == ErrorCode::kCancelled) return;
  const std::string name = source.daily().NameOf(day);
  spdlog::warn("nightly tables: {} was not built, and is tried again: {}", name,
               built.error().message());
  const std::lock_guard lock(mutex_);
  failures_[name] = {source.table->name, day, built.error().message(), parts_.clock->SteadyUs()};
}

std::vector<NightlyState> NightlyTables::States() const {
  using Kind = NightlyState::Kind;
  const std::lock_guard lock(mutex_);
  std::vector<NightlyState> states;
  if (building_) states.push_back(*building_);
  for (const auto& [name, failure] : failures_) {
    states.push_back({Kind::kNotBuilt, name, failure.source, failure.day, {}, 0, failure.why});
  }
  std::map<std::string, const NightlyRecord*> newest;  // By source.
  for (const auto& [name, record] : records_) {
    const bool is_told = (building_ && building_->table == name) || failures_.contains(name);
    const NightlyRecord*& best = newest[record.source];
    if (best == nullptr || best->day < record.day) best = &record;
    if (record.is_behind && !is_told) {
      states.push_back({Kind::kBehind,
                        name,
                        record.source,
                        record.day,
                        {record.rows, record.cells},
                        record.built_at,
                        {}});
    }
  }
  for (const auto& [source, record] : newest) {
    if (record->is_behind || (building_ && building_->table == record->name)) continue;
    states.push_back({Kind::kBuilt,
                      record->name,
                      source,
                      record->day,
                      {record->rows, record->cells},
                      record->built_at,
                      {}});
  }
  return states;
}

}  // namespace tallyd
