// CsvSpelling: what a daemon answers as CSV, spelled as its stream takes it. An answer calls the
// time of an event `ts`, in milliseconds; a stream may go by another name, and by another unit.
// Whoever sends the answer back as it came would have events of other times. Thread-safe.
#ifndef TALLYD_TOOLS_TRANSFER_CSV_SPELLING_H_
#define TALLYD_TOOLS_TRANSFER_CSV_SPELLING_H_

#include <string>
#include <string_view>
#include <utility>

#include "config/values/result.h"
#include "config/values/time.h"

namespace tallyd {

// The first record of CSV with its line end, which may have others between quotes; all of a text
// that has no end of one.
std::string_view FirstRecord(std::string_view csv);

class CsvSpelling {
 public:
  CsvSpelling() = default;
  CsvSpelling(std::string time_field, TimeUnit unit)
      : time_field_(std::move(time_field)), unit_(unit) {}

  // The header line: that of an answer, with the names that the events have. kConflict where two
  // columns would have one name, kIo where it is no header of events.
  Result<std::string> Header(std::string_view header) const;
  // Appends the lines behind a header. kIo where one does not begin with a time.
  Status AppendLines(std::string_view lines, std::string* out) const;

  const std::string& time_field() const { return time_field_; }
  TimeUnit unit() const { return unit_; }

 private:
  std::string time_field_ = "ts";
  TimeUnit unit_ = TimeUnit::kMilliseconds;
};

}  // namespace tallyd

#endif  // TALLYD_TOOLS_TRANSFER_CSV_SPELLING_H_
