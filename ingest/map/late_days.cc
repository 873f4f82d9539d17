#include "ingest/map/late_days.h"

#include <algorithm>

namespace tallyd {

std::string LateMarksOf(std::string_view table) { return "late/" + std::string(table) + "/"; }

std::string LateMark(std::string_view table, TimeUs day) {
  return LateMarksOf(table) + CompactDate(day);
}

std::optional<TimeUs> FindDayOfMark(std::string_view key) {
  return ParseCompactDate(key.substr(key.rfind('/') + 1));
}

std::string StrayMark(std::string_view table) { return "stray/" + std::string(table); }

void NoteChange(const Table& table, std::string_view row_key, std::optional<TimeUs> cell,
                TimeUs now, Batch* batch) {
  const std::optional<TimeUs> day =
      table.daily ? table.row_key.FindDay(row_key) : std::optional<TimeUs>();
  if (!day) return;
  LateDays late(now);
  late.Note(table, *day);
  late.PutMarks(batch);
  const bool strays = cell && !RangeOfDay(*day).Contains(*cell);
  if (strays) batch->PutMemo(StrayMark(table.name), "1", NoteOrder::kBefore);
}

void LateDays::Add(const Table& table, TimeUs day) {
  const std::pair noted(&table, day);
  const auto found = std::find(days_.rbegin(), days_.rend(), noted);
  if (found == days_.rend()) {
    days_.push_back(noted);
  } else {
    std::swap(*found, days_.back());
  }
}

void LateDays::PutMarks(Batch* batch) const {
  for (const auto& [table, day] : days_) {
    batch->PutMemo(LateMark(table->name, day), "1", NoteOrder::kAround);
  }
}

}  // namespace tallyd
