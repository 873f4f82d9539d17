// The jobs of file_jobs.h by which files go whole: what has expired, and what is more than a table
// may take.
#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "storage/leveldb/catalogue/keyed_records.h"
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

// What lies ahead of the clock goes for no size of its own as long as it takes no more than this
// part of what the table may take.
constexpr uint64_t kAheadShare = 8;

TimeUs EndOf(const BlockFile& file) { return file.info().window + file.info().width; }

// In which order files go. `end`: with this one all that is older than it has gone.
struct CapRank {
  TimeUs time = 0;
  uint64_t arrival = 0;
  TimeUs end = 0;
  friend auto operator<=>(const CapRank&, const CapRank&) = default;
};
using RankedFiles = std::map<CapRank, View::Files>;

// CapOrder: the files of a table in the order in which they go. By the ends of their windows, from
// the oldest on, the newest left out. What lies ahead of the clock has its time from a client, and
// says nothing of how old it is: it ranks with what was the newest when it came, and where there is
// nothing else, by the order in which it came.
class CapOrder {
 public:
  CapOrder(const View::Files& files, TimeUs now, uint64_t max_bytes) : now_(now) {
    for (const BlockFilePtr& file : files) {
      (file->info().min_time > now ? ahead_ : reached_).push_back(file);
    }
    FindEnds();
    RankReached();
    if (reached_.empty() || BytesOf(ahead_) > max_bytes / kAheadShare) RankAhead();
    if (reached_.empty() && !ranked_.empty()) ranked_.erase(std::prev(ranked_.end()));
  }

  const RankedFiles& ranked() const { return ranked_; }

 private:
  void FindEnds() {
    TimeUs newest = 0;
    for (const BlockFilePtr& file : reached_) {
      ends_.insert(EndOf(*file));
      newest = std::max(newest, std::min(file->info().max_time, now_));
    }
    ends_.erase(ends_.upper_bound(newest), ends_.end());
  }

  void RankReached() {
    for (const BlockFilePtr& file : reached_) {
      const auto end = ends_.upper_bound(file->info().max_time);
      if (end != ends_.end()) ranked_[{*end, 0, *end}].push_back(file);
    }
  }

  void RankAhead() {
    for (const BlockFilePtr& file : ahead_) {
      const uint64_t arrival = file->info().max_sequence;
      TimeUs newest = 0;
      for (const BlockFilePtr& other : reached_) {
        if (other->info().min_sequence > arrival) continue;
        newest = std::max(newest, std::min(other->info().max_time, now_));
      }
      ranked_[{newest, arrival, EndOf(*file)}].push_back(file);
    }
  }

  const TimeUs now_;
  View::Files ahead_;
  View::Files reached_;
  std::set<TimeUs> ends_;  // Of windows, but for those that the newest time is in.
  RankedFiles ranked_;
};

// Spread: how many bytes of files are of which time, as their indexes tell. What lies in one block
// is taken to be spread evenly over its time; of one that reaches from before the clock's `now` to
// behind it the times are looked at, since a single event may have a time far ahead.
class Spread {
 public:
  explicit Spread(TimeUs now) : now_(now) {}

  void Add(const BlockFile& file) {
    const Result<BlockIndexPtr> index = file.Index();
    const BlockFileInfo& info = file.info();
    if (!index) return Add({info.min_time, info.max_time}, static_cast<double>(info.bytes));
    for (const BlockPlace& block : (*index)->blocks()) {
      const bool spans_now = block.min_time <= now_ && now_ < block.max_time;
      if (spans_now && Split(file, block)) continue;
      Add({block.min_time, block.max_time}, block.size);
    }
  }
  TimeUs first() const { return first_; }
  TimeUs last() const { return last_; }
  // The latest time that is not ahead; -1 where all are.
  TimeUs last_reached() const { return last_reached_; }

  double BytesIn(TimeUs from, TimeUs to) const {
    double bytes = 0;
    for (const Piece& piece : pieces_) {
      const TimeUs begin = std::max(from, piece.times.from);
      const TimeUs end = std::min(to, piece.times.to + 1);
      if (begin >= end) continue;
      bytes += piece.bytes * static_cast<double>(end - begin) /
               static_cast<double>(piece.times.to + 1 - piece.times.from);
    }
    return bytes;
  }
  // The earliest time, of those up to `to`, from which on there are no more than so many.
  TimeUs FromWhich(double most, TimeUs to) const {
    TimeUs from = first_;
    TimeUs until = to;
    while (from < until) {
      const TimeUs middle = from + (until - from) / 2;
      if (BytesIn(middle, to) > most) {
        from = middle + 1;
      } else {
        until = middle;
      }
    }
    return from;
  }
  // The latest time up to which, from `from` on, there are no more than so many.
  TimeUs UpToWhich(double most, TimeUs from) const {
    TimeUs begin = from;
    TimeUs end = last_ + 1;
    while (begin < end) {
      const TimeUs middle = begin + (end - begin + 1) / 2;
      if (BytesIn(from, middle) > most) {
        end = middle - 1;
      } else {
        begin = middle;
      }
    }
    return begin;
  }

 private:
  struct Piece {
    TimeRange times;  // The last included.
    double bytes = 0;
  };

  void Add(const TimeRange& times, double bytes) {
    pieces_.push_back({times, bytes});
    first_ = std::min(first_, times.from);
    last_ = std::max(last_, times.to);
    if (times.from <= now_) last_reached_ = std::max(last_reached_, std::min(times.to, now_));
  }

  // False: the block cannot be read.
  bool Split(const BlockFile& file, const BlockPlace& place) {
    const Result<BytesPtr> head = file.ReadPart(place, 0, place.head_size, 0, BlockReads::kOnce);
    if (!head || !block_.Open(*head.value())) return false;
    TimeRange reached{place.min_time, place.min_time};
    TimeRange ahead{place.max_time, place.max_time};
    size_t entries = 0;
    for (const TimeUs time : block_.times().All()) {
      if (time > now_) {
        ahead.from = std::min(ahead.from, time);
      } else {
        reached.to = std::max(reached.to, time);
        ++entries;
      }
    }
    const double share = static_cast<double>(entries) / static_cast<double>(place.entries);
    Add(reached, share * place.size);
    Add(ahead, (1 - share) * place.size);
    return true;
  }

  const TimeUs now_;
  ColumnBlock block_;
  std::vector<Piece> pieces_;
  TimeUs first_ = kMaxTimeUs;
  TimeUs last_ = 0;
  TimeUs last_reached_ = -1;
};

bool HidesAllAt(const DeleteRange& deleted, TimeUs time) {
  return deleted.what.rows == KeyRange{} && !deleted.what.family &&
         deleted.what.cells.Contains(time);
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
  const CapOrder order(files, context_.retention_now(), table.max_bytes);
  View::Files before;
  View::Files going;
  TimeUs until = 0;
  for (const auto& [rank, ranked] : order.ranked()) {
    before.insert(before.end(), ranked.begin(), ranked.end());
    View::Files in_order;
    std::ranges::copy_if(files, std::back_inserter(in_order), [&](const BlockFilePtr& file) {
      return std::ranges::find(before, file) != before.end();
    });
    going = MayGo(std::move(in_order), files, HasAggregates(table));
    until = std::max(until, rank.end);
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

// The windows that are left are more than the table may take: their oldest part is deleted, as if
// somebody had, and purged as such. What lies ahead of the clock is not what is newest: it takes no
// room that the rest needs, but for half of all, and of more what is furthest ahead goes.
Result<Progress> CapJob::CutWindow(const TableInfo& table, const View& view) {
  Spread spread(context_.retention_now());
  for (const BlockFilePtr& file : view.FilesOf(table.id)) spread.Add(*file);
  const TimeUs end = spread.last() + 1;
  // Where all is ahead only its times tell.
  const TimeUs newest = spread.last_reached() < 0 ? spread.last() : spread.last_reached();
  const TimeUs now = newest + 1;
  // What was cut off before is still to be purged.
  const bool is_cut = std::ranges::any_of(view.DeletesOf(table.id), [&](const auto& deleted) {
    return HidesAllAt(*deleted, spread.first()) || HidesAllAt(*deleted, spread.last());
  });
  if (is_cut || spread.first() >= spread.last()) return Progress::kNone;
  const double keep = kLeftOfWindow * static_cast<double>(table.max_bytes);
  const double ahead = spread.BytesIn(now, end);
  const double reached = spread.BytesIn(spread.first(), now);
  const double keep_ahead = std::min(ahead, std::max(keep / 2, keep - reached));
  auto batch = context_.NewBatch();
  TimeUs whole_from = 0;
  const auto cut = [&](const TimeRange& times, TimeUs lacks_until) {
    batch->Delete(table, {KeyRange{}, {}, {}, times});
    whole_from = std::max(whole_from, lacks_until);
  };
  if (reached > keep - keep_ahead) {
    const TimeUs until = std::min(spread.FromWhich(keep - keep_ahead, now), newest);
    if (until > spread.first()) cut({0, until}, until);
  }
  if (ahead > keep_ahead) cut({spread.UpToWhich(keep_ahead, now), kMaxTimeUs + 1}, end);
  if (batch->empty()) return Progress::kNone;
  LetGo(table, whole_from, batch.get());
  const Status committed = context_.Commit(std::move(batch));
  if (!committed) return committed.error();
  context_.metrics().capped_cuts.Increment();
  return Progress::kSome;
}

void CapJob::LetGo(const TableInfo& table, TimeUs until, LevelDbBatch* batch) {
  batch->CommitAlone([this, id = table.id, until, batch]() -> Status {
    const CatalogueRecords records = context_.state().catalogue.LetGo(id, until);
    for (const auto& [key, record] : KeyedRecords(records)) batch->PutRecord(key, record);
    return {};
  });
}

}  // namespace tallyd
