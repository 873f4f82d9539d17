#include "service/series/series_keeper.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "service/series/series_scan.h"

namespace tallyd {
namespace {

using std::chrono::milliseconds;

// A reading holds back space for so many steps at most.
constexpr size_t kStepsAtOnce = 50'000;
constexpr size_t kMaxRemoved = 256;
constexpr milliseconds kRetry(1000);
constexpr milliseconds kLook(2);
constexpr int kTries = 5;
// What expires makes room, too.
constexpr std::chrono::minutes kLookForExpired(10);
constexpr std::chrono::seconds kPatience(30);

// Of more nobody knows which: all of the table is looked at.
void AddRemoved(const KeyRange& rows, std::vector<KeyRange>* removed) {
  if (removed->size() >= kMaxRemoved) *removed = {KeyRange{}};
  const bool has_all = removed->size() == 1 && removed->front() == KeyRange{};
  if (!has_all) removed->push_back(rows);
}

// In key order, disjoint.
std::vector<KeyRange> Merged(std::vector<KeyRange> ranges) {
  std::ranges::sort(ranges, {}, &KeyRange::start);
  std::vector<KeyRange> merged;
  for (KeyRange& range : ranges) {
    if (merged.empty() || (!merged.back().end.empty() && merged.back().end < range.start)) {
      merged.push_back(std::move(range));
    } else if (!merged.back().end.empty() &&
               (range.end.empty() || merged.back().end < range.end)) {
      merged.back().end = std::move(range.end);
    }
  }
  return merged;
}

// Ranges that hold all of every series of which these hold a row.
std::vector<KeyRange> WholeSeries(const SeriesKey& keys, std::vector<KeyRange> ranges) {
  for (KeyRange& range : ranges) {
    if (!keys.has_time()) break;
    const std::string_view first = keys.SeriesOf(range.start);
    if (!first.empty()) range.start.resize(first.size());
    const std::string_view last = keys.SeriesOf(range.end);
    if (!last.empty()) range.end = keys.RangeOf(last).end;
  }
  return Merged(std::move(ranges));
}

bool ForgetsBySelf(const TableInfo& table) {
  return table.max_bytes > 0 ||
         std::ranges::any_of(table.families, [](const StoredFamily& family) {
           return family.rules.max_age_us.has_value();
         });
}

}  // namespace

std::shared_ptr<const SeriesIndexes> SeriesKeeper::IndexesOf(const Schema& schema) {
  auto indexes = std::make_shared<SeriesIndexes>();
  // An engine that others share has no snapshots.
  indexes->knows_all_writes = store_.capabilities().snapshots;
  const std::lock_guard lock(mutex_);
  for (const Stream& stream : schema.streams) {
    SeriesIndexes::OfStream of;
    if (stream.max_fields) of.fields = std::make_shared<FieldLimit>(store_, stream.name);
    for (const size_t at : stream.tables) {
      const Table& table = schema.tables[at];
      const bool is_asked = table.row_key.holds_labels() && indexes->knows_all_writes;
      const bool is_wanted = is_asked || stream.max_series;
      if (!is_wanted) continue;
      std::optional<SeriesKey> keys = SeriesKey::OfTable(table);
      const TablePtr stored = store_.FindTable(table.name);
      if (!keys || stored == nullptr) continue;
      Kept& kept = kept_[stored->id];
      if (kept.index == nullptr || !kept.index->keys().IsOf(table.row_key, table.time_field)) {
        kept.index = std::make_shared<SeriesIndex>(stored, std::move(*keys));
        if (!indexes->knows_all_writes) kept.index->SetComplete();
      }
      kept.forgets = indexes->knows_all_writes && ForgetsBySelf(*stored);
      of.tables.push_back(kept.index);
    }
    if (of.fields != nullptr || !of.tables.empty()) {
      indexes->streams.emplace(stream.name, std::move(of));
    }
  }
  std::erase_if(kept_, [this](const auto& kept) {
    const TablePtr stored = store_.FindTable(kept.second.index->table()->name);
    return stored == nullptr || stored->id != kept.first;
  });
  if (indexes->streams.empty()) return nullptr;
  return indexes;
}

SeriesWrite SeriesKeeper::Begin() const {
  const std::lock_guard lock(mutex_);
  return SeriesWrite(writes_);
}

void SeriesKeeper::NoteRemoved(TableId table, const KeyRange& rows) {
  if (!store_.capabilities().snapshots) return;
  {
    const std::lock_guard lock(mutex_);
    const auto kept = kept_.find(table);
    if (kept == kept_.end()) return;
    AddRemoved(rows, &kept->second.removed);
  }
  Wake();
}

void SeriesKeeper::InForce(milliseconds wait) {
  const auto all_complete = [this] {
    return std::ranges::all_of(
        kept_, [](const auto& kept) { return kept.second.index->is_complete(); });
  };
  {
    const std::lock_guard lock(mutex_);
    if (all_complete()) return;
  }
  Wake();
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, wait, all_complete);
}

void SeriesKeeper::Wake() {
  const std::lock_guard lock(mutex_);
  if (stopped_) return;
  is_due_ = true;
  if (!thread_.joinable()) {
    thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
  }
  changed_.notify_all();
}

void SeriesKeeper::Run(const std::stop_token& stop) {
  milliseconds rest(0);
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(mutex_);
      if (rest > milliseconds(0)) {
        changed_.wait_for(lock, stop, rest, [] { return false; });
      } else {
        changed_.wait_for(lock, stop, kLookForExpired, [this] { return is_due_; });
        if (!is_due_) NoteExpired();
      }
      is_due_ = false;
    }
    if (stop.stop_requested()) return;
    rest = Work() ? milliseconds(0) : kRetry;
    const std::lock_guard lock(mutex_);  // Or whoever is about to wait misses it.
    changed_.notify_all();
  }
}

// False: something is to be tried again.
bool SeriesKeeper::Work() {
  const std::lock_guard working(work_mutex_);
  std::vector<Kept> all;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [table, kept] : kept_) all.push_back({kept.index, kept.forgets, kept.removed});
    for (auto& [table, kept] : kept_) kept.removed.clear();
  }
  bool done = true;
  for (Kept& kept : all) {
    Status status;
    if (!kept.index->is_complete()) status = Fill(kept.index.get());
    if (status && !kept.removed.empty()) {
      std::vector<KeyRange> again;
      status = Sweep(kept.index.get(), kept.removed, &again);
      if (status) kept.removed = std::move(again);
    }
    if (status && kept.removed.empty()) continue;
    if (!status) {
      spdlog::debug("series of {}: {}", kept.index->table()->name, status.error().message());
    }
    done = false;
    const std::lock_guard lock(mutex_);
    const auto again = kept_.find(kept.index->table()->id);
    if (again == kept_.end()) continue;
    for (const KeyRange& range : kept.removed) AddRemoved(range, &again->second.removed);
  }
  return done;
}

// All that began before now have ended. False: one does not.
bool SeriesKeeper::WaitForWrites() {
  std::weak_ptr<const void> before;
  {
    const std::lock_guard lock(mutex_);
    before = std::exchange(writes_, std::make_shared<int>());
  }
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!before.expired()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(kLook);
    const std::lock_guard lock(mutex_);
    if (stopped_) return false;
  }
  return true;
}

template <class Use>
Status SeriesKeeper::ReadSeries(const SeriesIndex& index, const std::vector<KeyRange>& ranges,
                                const Use& use) {
  const TablePtr table = store_.FindTable(index.table()->name);
  if (table == nullptr || table->id != index.table()->id) return {};  // It is gone.
  for (KeyRange rest : ranges) {
    bool more = true;
    while (more) {
      SeriesScan scan(store_, table, index.keys(), {{rest}, clock_.Now(), nullptr, {}});
      size_t steps = 0;
      more = false;
      while (true) {
        const Result<bool> next = scan.Next();
        if (!next) return next.error();
        if (!*next) break;
        use(scan.series());
        if (++steps < kStepsAtOnce) continue;
        rest.start = index.keys().RangeOf(scan.series()).end;
        more = !rest.start.empty() && (rest.end.empty() || rest.start < rest.end);
        break;
      }
      const std::lock_guard lock(mutex_);
      if (stopped_) return Error(ErrorCode::kCancelled, "the daemon stops");
    }
  }
  return {};
}

Status SeriesKeeper::Fill(SeriesIndex* index) {
  if (!WaitForWrites()) return Error(ErrorCode::kUnavailable, "a write does not end");
  const auto add = [index](std::string_view series) { index->AddFound(series); };
  if (Status read = ReadSeries(*index, {KeyRange{}}, add); !read) return read;
  index->SetComplete();
  return {};
}

Status SeriesKeeper::Sweep(SeriesIndex* index, std::vector<KeyRange> ranges,
                           std::vector<KeyRange>* again) {
  const std::vector<KeyRange> whole = WholeSeries(index->keys(), std::move(ranges));
  index->Doubt(whole);
  Status read = Error(ErrorCode::kUnavailable, "a write does not end");
  if (WaitForWrites()) {
    const auto clear = [index](std::string_view series) { index->ClearDoubt(series); };
    read = ReadSeries(*index, whole, clear);
  }
  index->EndDoubt(read.has_value(), again);
  return read;
}

// REQUIRES: mutex_ is held.
void SeriesKeeper::NoteExpired() {
  for (auto& [table, kept] : kept_) {
    if (kept.forgets) kept.removed = {KeyRange{}};
  }
}

Status SeriesKeeper::Settle() {
  {
    const std::lock_guard lock(mutex_);
    NoteExpired();
  }
  // What is written meanwhile may have to be looked at once more.
  for (int tries = 0; tries < kTries; ++tries) {
    if (Work()) return {};
  }
  return Error(ErrorCode::kUnavailable, "some series that are gone could not be told yet");
}

void SeriesKeeper::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

}  // namespace tallyd
