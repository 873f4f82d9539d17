// The jobs of file_jobs.h by which files go whole: what has expired, and what is more than a table
// may take.
#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/seal/file_jobs.h"

namespace tallyd {
namespace {

constexpr TimeUs kEver = std::numeric_limits<TimeUs>::max();

uint64_t BytesOf(const View::Files& files) {
  uint64_t bytes = 0;
  for (const BlockFilePtr& file : files) bytes += file->info().bytes;
  return bytes;
}

// How long after its newest cell a file of this table has nothing to give; kEver: always something.
TimeUs LifeOf(const TableInfo& table) {
  TimeUs life = table.families.empty() ? kEver : 0;
  for (const StoredFamily& family : table.families) {
    const std::optional<int64_t> age = AgeAlone(family.rules);
    // An age beyond all times is none, and no sum with one may overflow.
    const bool ends = family.configured && age && *age <= kMaxTimeUs;
    life = std::max(life, ends ? TimeUs{*age} : kEver);
  }
  return life;
}

// Of these files, which are in the order of `all`, only those that cover no write in one that
// stays: what has expired by clock and rules of today may not have by those of tomorrow, and then
// no value may be seen that was corrected. Of a cell to which inputs are `folded`, none may go
// before the others.
View::Files MayGo(View::Files expired, const View::Files& all, bool folded) {
  View::Files staying;
  auto next = expired.begin();
  for (const BlockFilePtr& file : all) {
    if (next != expired.end() && *next == file) {
      ++next;
    } else {
      staying.push_back(file);
    }
  }
  for (size_t kept = 0; kept < staying.size(); ++kept) {
    for (size_t i = 0; i < expired.size();) {
      const BlockFileInfo& gone = expired[i]->info();
      const BlockFileInfo& stays = staying[kept]->info();
      if (gone.MayCover(stays) || (folded && stays.MayCover(gone))) {
        staying.push_back(expired[i]);
        expired.erase(expired.begin() + static_cast<ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
  }
  return expired;
}

}  // namespace

Result<Progress> ExpiryJob::Work(const ViewPtr& view) {
  const uint64_t version = context_.state().catalogue.version();  // Before its tables are read.
  const bool same = idle_.lock() == view && catalogue_ == version;
  const bool is_due = std::chrono::steady_clock::now() >= next_ || context_.settle.active;
  if (same && !is_due) return Progress::kNone;
  idle_.reset();
  const View::Files expired = FindExpired(*view);
  if (expired.empty()) {
    idle_ = view;
    catalogue_ = version;
    return Progress::kNone;
  }
  const Status dropped = context_.Replace(context_.NewBatch(), expired, {}, nullptr);
  if (!dropped) return dropped.error();
  context_.metrics().expired_files.Increment(static_cast<double>(expired.size()));
  context_.metrics().expired_bytes.Increment(static_cast<double>(BytesOf(expired)));
  return Progress::kSome;
}

View::Files ExpiryJob::FindExpired(const View& view) {
  std::map<TableId, TimeUs> lives;
  std::set<TableId> folded;
  for (const TablePtr& table : context_.state().catalogue.Tables()) {
    lives[table->id] = LifeOf(*table);
    if (HasAggregates(*table)) folded.insert(table->id);
  }
  const TimeUs now = context_.retention_now();
  TimeUs least_left = kEver;
  View::Files expired;
  for (const auto& [table, files] : view.files) {
    const auto life = lives.find(table);
    View::Files of_table;
    for (const BlockFilePtr& file : *files) {
      if (life == lives.end()) {
        of_table.push_back(file);  // Of a table that was dropped.
      } else if (life->second != kEver && file->info().max_time < now - life->second) {
        of_table.push_back(file);
      } else if (life->second != kEver) {
        least_left = std::min(least_left, file->info().max_time + life->second - now + 1);
      }
    }
    if (of_table.empty()) continue;
    of_table = MayGo(std::move(of_table), *files, folded.contains(table));
    expired.insert(expired.end(), of_table.begin(), of_table.end());
  }
  next_ = least_left == kEver ? kNever : LookAgain(least_left);
  return expired;
}

namespace {

// Of what a table may take, so much is left of a window that alone takes more: the next cut is not
// due at once, and what is cut off is worth writing the files again.
constexpr double kLeftOfWindow = 0.7;

// The end of each window but the newest, in order.
std::set<TimeUs> EndsOfWindows(const View::Files& files) {
  std::set<TimeUs> ends;
  TimeUs newest = 0;
  for (const BlockFilePtr& file : files) {
    ends.insert(file->info().window + file->info().width);
    newest = std::max(newest, file->info().max_time);
  }
  ends.erase(ends.upper_bound(newest), ends.end());
  return ends;
}

bool HidesAllBefore(const DeleteRange& deleted, TimeUs time) {
  return deleted.what.rows == KeyRange{} && !deleted.what.family && deleted.what.cells.from <= 0 &&
         deleted.what.cells.to > time;
}

}  // namespace

Result<Progress> CapJob::Work(const ViewPtr& view) {
  const uint64_t version = context_.state().catalogue.version();  // Before its tables are read.
  if (idle_.lock() == view && catalogue_ == version) return Progress::kNone;
  for (const TablePtr& table : context_.state().catalogue.Tables()) {
    const View::Files& files = view->FilesOf(table->id);
    if (table->max_bytes == 0 || BytesOf(files) <= table->max_bytes) continue;
    const Result<Progress> worked = DropWindows(*table, files);
    if (!worked || *worked == Progress::kSome) return worked;
    const Result<Progress> cut = CutWindow(*table, *view);
    if (!cut || *cut == Progress::kSome) return cut;
  }
  idle_ = view;
  catalogue_ = version;
  return Progress::kNone;
}

// The fewest of the oldest windows that make room enough.
Result<Progress> CapJob::DropWindows(const TableInfo& table, const View::Files& files) {
  const uint64_t bytes = BytesOf(files);
  View::Files going;
  TimeUs until = 0;
  for (const TimeUs end : EndsOfWindows(files)) {
    View::Files before;
    std::ranges::copy_if(files, std::back_inserter(before),
                         [&](const BlockFilePtr& file) { return file->info().max_time < end; });
    going = MayGo(std::move(before), files, HasAggregates(table));
    until = end;
    if (bytes - BytesOf(going) <= table.max_bytes) break;
  }
  if (going.empty()) return Progress::kNone;
  auto batch = context_.NewBatch();
  LetGo(table, until, batch.get());
  const Status dropped = context_.Replace(std::move(batch), going, {}, nullptr);
  if (!dropped) return dropped.error();
  context_.metrics().capped_files.Increment(static_cast<double>(going.size()));
  context_.metrics().capped_bytes.Increment(static_cast<double>(BytesOf(going)));
  return Progress::kSome;
}

// One window is more than the table may take: its oldest part is deleted, as if somebody had, and
// purged as such. What lies in it is taken to be spread evenly over its time.
Result<Progress> CapJob::CutWindow(const TableInfo& table, const View& view) {
  const View::Files& files = view.FilesOf(table.id);
  TimeRange times{kMaxTimeUs, 0};
  for (const BlockFilePtr& file : files) {
    times.from = std::min(times.from, file->info().min_time);
    times.to = std::max(times.to, file->info().max_time);
  }
  // What was cut off before is still to be purged.
  const bool is_cut = std::ranges::any_of(view.DeletesOf(table.id), [&](const auto& deleted) {
    return HidesAllBefore(*deleted, times.from);
  });
  if (is_cut || times.from >= times.to) return Progress::kNone;
  const double share =
      kLeftOfWindow * static_cast<double>(table.max_bytes) / static_cast<double>(BytesOf(files));
  const auto left = static_cast<int64_t>(share * static_cast<double>(times.to - times.from));
  const TimeUs until = std::max(times.to - left, times.from + 1);
  auto batch = context_.NewBatch();
  batch->Delete(table, {KeyRange{}, {}, {}, TimeRange{0, until}});
  LetGo(table, until, batch.get());
  const Status cut = context_.Commit(std::move(batch));
  if (!cut) return cut.error();
  context_.metrics().capped_cuts.Increment();
  return Progress::kSome;
}

void CapJob::LetGo(const TableInfo& table, TimeUs until, LevelDbBatch* batch) {
  batch->CommitAlone([this, id = table.id, until, batch]() -> Status {
    for (const auto& [key, record] : context_.state().catalogue.LetGo(id, until)) {
      batch->PutRecord(key, record);
    }
    return {};
  });
}

}  // namespace tallyd
