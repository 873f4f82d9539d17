// LateDays: the days before today into which a batch writes rows of tables that have nightly
// tables. The batch leaves a mark for each of them, a memo that is committed with it: whoever
// builds nightly tables takes marks away before it reads the day, so what comes while it reads, or
// later, is not missed, restarts included. Where the engine commits a mark and its rows one by one
// the mark comes before them and again behind them: who builds on another daemon may take the first
// away and read before the rows are there.
//
//   LateDays late(arrival);
//   late.Note(table, time);      // Of each row.
//   late.PutMarks(batch);
//
// One thread. The tables outlive it.
#ifndef TALLYD_INGEST_MAP_LATE_DAYS_H_
#define TALLYD_INGEST_MAP_LATE_DAYS_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/schema/schema.h"
#include "storage/batch.h"

namespace tallyd {

// The keys of all marks of a table; that of one day; and its day back.
std::string LateMarksOf(std::string_view table);
std::string LateMark(std::string_view table, TimeUs day);
std::optional<TimeUs> FindDayOfMark(std::string_view key);

// Of whoever changes a row by its key, with this batch: writes a cell of that time, or deletes.
//
// An event's cells have the time that its key is made of. Where a cell has another one, the table
// has strays from then on: its days are not found by the times of their cells alone.
std::string StrayMark(std::string_view table);
void NoteChange(const Table& table, std::string_view row_key, std::optional<TimeUs> cell,
                TimeUs now, Batch* batch);

class LateDays {
 public:
  // A day is over a while before its end: a batch that is mapped before midnight may be committed
  // behind it.
  static constexpr int64_t kInFlightUs = 300 * kUsPerSecond;

  explicit LateDays(TimeUs now) : today_(DayOf(now + kInFlightUs)) {}

  void Note(const Table& table, TimeUs time) {
    if (time < today_ && table.daily) Add(table, DayOf(time));
  }
  void PutMarks(Batch* batch) const;

 private:
  void Add(const Table& table, TimeUs day);

  const TimeUs today_;
  std::vector<std::pair<const Table*, TimeUs>> days_;  // Each once, the latest last.
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_MAP_LATE_DAYS_H_
