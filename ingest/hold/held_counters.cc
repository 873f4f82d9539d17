#include "ingest/hold/held_counters.h"

#include <algorithm>
#include <iterator>

namespace tallyd {
namespace {

// About what a row and a cell take beside their names.
constexpr size_t kRowBytes = 160;
constexpr size_t kCellBytes = 112;
// Of a table: months, at an interval of ten seconds.
constexpr size_t kRememberedIntervals = 1'000'000;

// Starts another number where one would overflow.
void AddTo(std::vector<int64_t>* numbers, int64_t increment) {
  int64_t sum = 0;
  if (!numbers->empty() && !__builtin_add_overflow(numbers->back(), increment, &sum)) {
    numbers->back() = sum;
  } else {
    numbers->push_back(increment);
  }
}

}  // namespace

void HeldIncrements::Put(std::shared_ptr<HeldInterval> interval, std::string_view row_key,
                         TimeUs time, std::span<const ColumnRef> columns,
                         std::span<const Value> values) {
  is_late_ = is_late_ || interval->is_late();
  Row row{std::move(interval), std::string(row_key), time, {}};
  for (size_t i = 0; i < columns.size(); ++i) {
    if (values[i].is_null()) continue;
    row.cells.emplace_back(Column{columns[i].family, std::string(columns[i].qualifier)},
                           values[i].AsInt());
  }
  rows_.push_back(std::move(row));
}

void HeldIncrements::Append(HeldIncrements other) {
  is_late_ = is_late_ || other.is_late_;
  rows_.insert(rows_.end(), std::make_move_iterator(other.rows_.begin()),
               std::make_move_iterator(other.rows_.end()));
}

std::shared_ptr<HeldInterval> HeldCounters::Begin(const TablePtr& table, int64_t flush_us,
                                                  TimeUs now) {
  const std::lock_guard lock(mutex_);
  if (dropped_.contains(table->id)) {
    const auto late = std::make_shared<HeldInterval>(table, flush_us, now);
    late->is_late_ = true;
    return late;
  }
  std::shared_ptr<HeldInterval>& current = current_[table->id];
  // A reload may have given the table other rules.
  const bool fits = current && current->table_ == table && current->flush_us_ == flush_us;
  if (fits) return current;
  if (current) ended_.push_back(std::move(current));
  std::set<int64_t>& used = used_[table->id];
  if (used.size() >= kRememberedIntervals || static_cast<int64_t>(used.size()) >= flush_us / 2) {
    used.clear();
  }
  while (!used.insert(now % flush_us).second) ++now;
  current = std::make_shared<HeldInterval>(table, flush_us, now);
  return current;
}

void HeldCounters::Add(HeldIncrements increments) {
  for (HeldIncrements::Row& row : increments.rows_) {
    HeldInterval& interval = *row.interval;
    const std::lock_guard lock(interval.mutex_);
    const auto [held, is_new] = interval.rows_.try_emplace({std::move(row.key), row.time});
    size_t bytes = is_new ? kRowBytes + held->first.first.size() : 0;
    held_rows_ += is_new ? 1 : 0;
    for (auto& [column, increment] : row.cells) {
      const size_t name = column.qualifier.size();
      const auto [sum, is_new_column] =
          held->second.try_emplace({column.family, std::move(column.qualifier)});
      AddTo(&sum->second, increment);
      bytes += is_new_column ? kCellBytes + name : 0;
    }
    interval.bytes_ += bytes;
    bytes_ += bytes;
  }
}

HeldCounters::Ended HeldCounters::TakeEnded(TimeUs now, bool all) {
  const std::lock_guard lock(mutex_);
  for (auto current = current_.begin(); current != current_.end();) {
    const HeldInterval& interval = *current->second;
    // A clock that went back ends it, too.
    const bool lasts = now >= interval.since_ && now - interval.since_ < interval.flush_us_;
    if (lasts && !all && !is_full()) {
      ++current;
      continue;
    }
    ended_.push_back(std::move(current->second));
    current = current_.erase(current);
  }
  // Nobody begins to hold one that is not current.
  Ended taken;
  for (const std::shared_ptr<HeldInterval>& held : ended_) {
    if (all || held.use_count() == 1) taken.push_back(held);
  }
  return taken;
}

void HeldCounters::PutRows(const HeldInterval& interval, const TableInfo& table, Batch* batch) {
  std::vector<ColumnRef> columns;
  std::vector<Value> values;
  // Nobody adds any more; but who added last let go of it by a count that orders nothing.
  const std::lock_guard lock(interval.mutex_);
  for (const auto& [row, sums] : interval.rows_) {
    // What one cell does not hold goes on in the next one, a microsecond later.
    for (size_t place = 0;; ++place) {
      columns.clear();
      values.clear();
      for (const auto& [column, numbers] : sums) {
        if (place >= numbers.size()) continue;
        columns.push_back({column.first, column.second});
        values.push_back(Value::Int(numbers[place]));
      }
      if (columns.empty()) break;
      const TimeUs time = std::min(row.second + static_cast<TimeUs>(place), kMaxTimeUs);
      batch->Put(table, row.first, time, columns, values);
    }
  }
}

void HeldCounters::Forget(const HeldInterval& interval) {
  const std::lock_guard lock(mutex_);
  {
    const std::lock_guard of_interval(interval.mutex_);
    bytes_ -= interval.bytes_;
    held_rows_ -= interval.rows_.size();
  }
  std::erase_if(ended_, [&](const auto& held) { return held.get() == &interval; });
}

// Of the map or list that has it: nobody else has it, and nothing is in it.
bool HeldCounters::IsUnused(const std::shared_ptr<HeldInterval>& interval) const {
  if (interval.use_count() > 1) return false;
  const std::lock_guard lock(interval->mutex_);
  return interval->rows_.empty();
}

bool HeldCounters::MayDrop(TableId table) {
  const std::lock_guard lock(mutex_);
  const auto is_of_table = [&](const auto& held) { return held->table_->id == table; };
  const auto current = current_.find(table);
  if (current != current_.end() && !IsUnused(current->second)) return false;
  const bool has_ended = std::any_of(ended_.begin(), ended_.end(), [&](const auto& held) {
    return is_of_table(held) && !IsUnused(held);
  });
  if (has_ended) return false;
  if (current != current_.end()) current_.erase(current);
  std::erase_if(ended_, is_of_table);
  dropped_.insert(table);
  return true;
}

void HeldCounters::Reopen(TableId table) {
  const std::lock_guard lock(mutex_);
  dropped_.erase(table);
}

uint64_t HeldCounters::Remove(const HeldRemoval& removal) {
  const std::lock_guard lock(mutex_);
  uint64_t rows = 0;
  const auto current = current_.find(removal.table);
  if (current != current_.end()) RemoveOf(*current->second, removal, &rows);
  for (const std::shared_ptr<HeldInterval>& interval : ended_) {
    if (interval->table_->id == removal.table) RemoveOf(*interval, removal, &rows);
  }
  return rows;
}

void HeldCounters::RemoveOf(HeldInterval& interval, const HeldRemoval& removal, uint64_t* rows) {
  const std::lock_guard lock(interval.mutex_);
  size_t freed = 0;
  for (auto held = interval.rows_.begin(); held != interval.rows_.end();) {
    const auto& [key, time] = held->first;
    const size_t taken = std::erase_if(held->second, [&, &key = key, &time = time](auto& sum) {
      const auto& [family, qualifier] = sum.first;
      if (!removal.takes(key, time, {family, qualifier})) return false;
      freed += kCellBytes + qualifier.size();
      return true;
    });
    *rows += taken > 0 ? 1 : 0;
    if (!held->second.empty()) {
      ++held;
      continue;
    }
    freed += kRowBytes + key.size();
    --held_rows_;
    held = interval.rows_.erase(held);
  }
  interval.bytes_ -= freed;
  bytes_ -= freed;
}

}  // namespace tallyd
