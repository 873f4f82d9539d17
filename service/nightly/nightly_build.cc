// One build of one nightly table:
//
// 1. The record is stored as one that is behind, and the mark of late readings goes, in one commit:
//    what comes late from then on leaves a new mark, and a crash from then on leaves a record that
//    asks for another build.
// 2. The day is copied into a staged table.
// 3. The record tells the staged table's number, the table takes the name, and the record is stored
//    as built: whatever a crash leaves under the name, the record tells whether it is its table.
//    Where rows were deleted from the stream's tables meanwhile, the copy may have what is
//    forgotten: it is made again.
//
// Of several daemons that have the store the one builds whose turn it is. What another one removes
// meanwhile it tells by a mark, for the next build (NoteRemoved).
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "ingest/map/late_days.h"
#include "service/nightly/nightly_schema.h"
#include "service/nightly/nightly_tables.h"
#include "service/nightly/schedule.h"

namespace tallyd {
namespace {

constexpr int kMostCopies = 5;

Error Conflict(std::string message) { return Error(ErrorCode::kConflict, std::move(message)); }

// From which time on the table has forgotten nothing.
TimeUs RemembersFrom(const Table& table, const TableInfo& stored, TimeUs now) {
  TimeUs from = 0;
  for (const Family& family : table.families) {
    if (family.max_age_us) from = std::max(from, now - *family.max_age_us);
    if (const auto known = stored.FindFamily(family.name)) {
      from = std::max(from, stored.families[*known].whole_from);
    }
  }
  return from;
}

}  // namespace

Result<NightlyRecord> NightlyTables::Build(const std::string& source, TimeUs day) {
  const Result<Source> found = FindSource(source);
  if (!found) return found.error();
  if (day + kUsPerDay > parts_.clock->Now()) {
    return Invalid(fmt::format("date: {} is not over yet", FormatDate(day)));
  }
  const std::lock_guard work(work_mutex_);
  if (claiming_ == nullptr) return BuildNow(*found, day);
  if (Status taken = WaitForTurn(); !taken) return taken.error();
  Status known = LearnOfOthers();
  Result<NightlyRecord> built =
      known ? BuildNow(*found, day) : Result<NightlyRecord>(known.error());
  turn_.reset();
  return built;
}

Status NightlyTables::WaitForTurn() {
  constexpr auto kPatience = std::chrono::seconds(30);
  constexpr auto kBetweenTries = std::chrono::milliseconds(250);
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (true) {
    Result<std::unique_ptr<BuildTurn>> taken = BuildTurn::Take(claiming_);
    if (!taken) return taken.error();
    turn_ = std::move(*taken);
    if (turn_ != nullptr) return {};
    if (std::chrono::steady_clock::now() >= until) {
      return Error(ErrorCode::kUnavailable, "another daemon builds nightly tables just now");
    }
    std::unique_lock lock(mutex_);
    if (wake_.wait_for(lock, kBetweenTries, [this] { return stopping_; })) {
      return Error(ErrorCode::kCancelled, "the daemon is stopping");
    }
  }
}

Status NightlyTables::CheckTurn() const {
  if (turn_ == nullptr || !turn_->IsOver()) return {};
  return Error(ErrorCode::kUnavailable,
               "the store was not reached for so long that another daemon may have begun");
}

// A day of which something has expired, or may have, is no more what it was.
Status NightlyTables::CheckDay(const Source& source, TimeUs day) const {
  const TablePtr stored = parts_.store->FindTable(source.table->name);
  if (stored == nullptr) {
    return Error(ErrorCode::kUnavailable, source.table->name + " is not in the store yet");
  }
  const TimeUs from = RemembersFrom(*source.table, *stored, parts_.clock->Now());
  if (from <= day) return {};
  return Conflict(fmt::format("{} has begun to expire in {}, which forgets what is before {}",
                              FormatDate(day), source.table->name,
                              FormatRfc3339(std::min(from, kMaxTimeUs))));
}

Status NightlyTables::CheckName(const Source& source, const NightlyRecord& record) const {
  const TablePtr stored = parts_.store->FindTable(record.name);
  const bool is_there = stored != nullptr;
  if (is_there && !IsOf(record, *stored, *source.table)) {
    return Conflict("table " + record.name + " is there already, and is no nightly table");
  }
  const size_t tables = parts_.store->Tables().size();
  if (!is_there && tables >= kMaxTables) {
    return Conflict(
        fmt::format("there are {} tables, and no more than {}; a shorter keep removes "
                    "nightly ones",
                    tables, kMaxTables));
  }
  return {};
}

NightlyRecord NightlyTables::RecordFor(const Source& source, TimeUs day) const {
  NightlyRecord record;
  record.name = source.daily().NameOf(day);
  record.source = source.table->name;
  record.day = day;
  record.lives_from = LifeBegins(source.daily(), day, parts_.store->RetentionNow());
  const std::lock_guard lock(mutex_);
  const auto known = records_.find(record.name);
  const bool is_same =
      known != records_.end() && known->second.source == record.source && known->second.day == day;
  return is_same ? known->second : record;
}

Result<NightlyRecord> NightlyTables::BuildNow(const Source& source, TimeUs day) {
  NightlyRecord record = RecordFor(source, day);
  Status done = CheckDay(source, day);
  if (done) done = CheckName(source, record);
  if (!done) return done.error();
  {
    const std::lock_guard lock(mutex_);
    replaced_.erase(record.name);
    building_ = NightlyState{
        NightlyState::Kind::kBuilding, record.name, record.source, day, {}, record.built_at, {}};
  }
  const auto begin = std::chrono::steady_clock::now();
  // The table that has the name is the record's, as CheckName found.
  const TablePtr stored = parts_.store->FindTable(record.name);
  record.table = stored == nullptr ? 0 : stored->id;
  record.staged = 0;
  record.is_behind = true;
  done = PutRecord(record, true);
  if (done) done = CopyAndSwap(source, &record);
  const std::lock_guard lock(mutex_);
  building_.reset();
  if (!done) {
    failed_.Increment();
    return done.error();
  }
  built_.Increment();
  failures_.erase(record.name);
  const auto took = std::chrono::steady_clock::now() - begin;
  spdlog::info("nightly tables: {} has {} rows and {} cells of {}, in {:.1f} s", record.name,
               record.rows, record.cells, record.source,
               std::chrono::duration<double>(took).count());
  return record;
}

Status NightlyTables::CopyAndSwap(const Source& source, NightlyRecord* record) {
  const Table table = NightlyTableOf(*source.table, *record);
  RemovalGate& gate = parts_.writer->gate();
  const auto begin = std::chrono::steady_clock::now();
  Status done;
  for (int copies = 0; copies < kMostCopies; ++copies) {
    const uint64_t removals = gate.Removals(table.stream);
    const Result<DayCounts> counts = Copy(source, record);
    done = counts ? CheckDay(source, record->day) : Status(counts.error());
    if (!done) break;
    const std::optional<RemovalGate::Alone> alone = gate.Enter(table.stream, removals);
    if (!alone) {
      done = Error(ErrorCode::kUnavailable, "deletes came all the time; try again");
      continue;
    }
    done = CheckTurn();
    if (done) done = PutRecord(*record, false);
    if (done) done = parts_.store->SwapStaged(table, record->staged);
    if (!done) break;
    record->table = std::exchange(record->staged, 0);
    const auto took = std::chrono::steady_clock::now() - begin;
    record->rows = counts->rows;
    record->cells = counts->cells;
    record->is_built = true;
    record->is_behind = false;
    record->built_at = parts_.store->RetentionNow();
    record->took_us = std::chrono::duration_cast<std::chrono::microseconds>(took).count();
    done = PutRecord(*record, false);
    Refresh();
    const std::lock_guard lock(mutex_);
    replaced_[record->name] = parts_.clock->SteadyUs() + kReplacedStaysUs;
    return done;
  }
  if (!CheckTurn()) {
    // What is staged by now may be another daemon's, and what was written late may be in its table:
    // the day is built again.
    std::unique_ptr<Batch> mark = parts_.store->NewBatch();
    mark->PutMemo(LateMark(record->source, record->day), "1", NoteOrder::kBefore);
    if (Status marked = parts_.store->Commit(std::move(mark)); !marked) {
      spdlog::debug("nightly tables: {}: {}", record->name, marked.error().message());
    }
    return done;
  }
  if (Status dropped = parts_.store->DropStaged(record->name); !dropped) {
    spdlog::debug("nightly tables: {}: {}", record->name, dropped.error().message());
  }
  if (!record->is_built) {
    if (Status dropped = DropRecord(*record); !dropped) {
      spdlog::debug("nightly tables: {}: {}", record->name, dropped.error().message());
    }
  }
  return done;
}

Result<DayCopy> NightlyTables::CopyOf(const Source& source, TimeUs day, TablePtr to) const {
  const std::string& name = source.table->name;
  const Result<std::optional<std::string>> strays = parts_.store->FindMemo(StrayMark(name));
  if (!strays) return strays.error();
  TablePtr from = parts_.store->FindTable(name);
  if (from == nullptr) return Error(ErrorCode::kUnavailable, name + " is not in the store yet");
  // A cell of a bucket of days begins before its day.
  const bool by_days = std::ranges::any_of(source.table->families, [](const Family& family) {
    return family.bucket_us.value_or(0) > kUsPerDay;
  });
  return DayCopy{*source.table,
                 source.unit,
                 std::move(from),
                 std::move(to),
                 day,
                 parts_.clock->Now(),
                 strays->has_value() || by_days};
}

Result<DayCounts> NightlyTables::Copy(const Source& source, NightlyRecord* record) {
  Result<TablePtr> to = parts_.store->StageTable(NightlyTableOf(*source.table, *record));
  if (!to) return to.error();
  record->staged = (*to)->id;
  const Result<DayCopy> copy = CopyOf(source, record->day, *to);
  if (!copy) return copy.error();
  auto since = std::chrono::steady_clock::now();
  uint64_t rows = 0;
  return CopyDay(*parts_.store, *parts_.writer, *copy, [&](const DayCounts& counts) {
    rows_.Increment(static_cast<double>(counts.rows - rows));
    rows = counts.rows;
    {
      const std::lock_guard lock(mutex_);
      if (building_) building_->done = counts;
    }
    if (Status is_own = CheckTurn(); !is_own) return is_own;
    return pacer_.Pace(&since);
  });
}

Status NightlyTables::PutRecord(const NightlyRecord& record, bool drop_mark) {
  std::unique_ptr<Batch> batch = parts_.store->NewBatch();
  batch->PutMemo(NightlyKey(record.name), EncodeNightly(record), NoteOrder::kBefore);
  if (drop_mark) batch->DropMemo(LateMark(record.source, record.day));
  if (Status put = parts_.store->Commit(std::move(batch)); !put) return put;
  const std::lock_guard lock(mutex_);
  records_[record.name] = record;
  tables_.Set(static_cast<double>(records_.size()));
  return {};
}

Status NightlyTables::DropRecord(const NightlyRecord& record) {
  std::unique_ptr<Batch> batch = parts_.store->NewBatch();
  batch->DropMemo(NightlyKey(record.name));
  if (Status dropped = parts_.store->Commit(std::move(batch)); !dropped) return dropped;
  const std::lock_guard lock(mutex_);
  records_.erase(record.name);
  tables_.Set(static_cast<double>(records_.size()));
  return {};
}

void NightlyTables::Refresh() {
  seen_ = TablesOfDays();
  const Status refreshed = parts_.refresh();
  if (!refreshed) spdlog::warn("nightly tables: {}", refreshed.error().message());
  const std::lock_guard lock(mutex_);
  refresh_failed_ = !refreshed;
}

}  // namespace tallyd
