// FillRecord: how far the filling of a table has come, kept in the store as a memo that is
// committed with each batch of it: whoever goes on behind it does nothing twice and leaves nothing
// out. When the table is filled it stays, and tells so.
#ifndef TALLYD_SERVICE_FILL_FILL_RECORD_H_
#define TALLYD_SERVICE_FILL_FILL_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/values/result.h"
#include "config/values/time.h"
#include "storage/store.h"

namespace tallyd {

struct FillRecord {
  std::string table;   // Not a part of the memo's value.
  std::string source;  // The table that the events come from.
  // Of the table's marks, and of what the source is: another one makes a filling begin anew.
  uint64_t of = 0;
  bool is_done = false;
  TimeUs from = 0;  // The times that are filled: [from, before).
  TimeUs before = 0;
  TimeUs through = 0;    // All before it is done.
  TimeUs slice_end = 0;  // Of what is being read; behind `through`.
  std::string row;       // The source's row of the slice that was read last; empty: none yet.
  uint64_t line = 0;  // What the source took behind it the table has already (aggregates); 0: none.
  uint64_t events = 0;    // Written so far.
  uint64_t passed = 0;    // Events that do not enter the table.
  uint64_t compared = 0;  // Values that were found to be those of the source.
  uint64_t tries = 0;     // Fillings of these marks that were found wanting at the end.
  TimeUs began_at = 0;
  TimeUs ended_at = 0;
  friend bool operator==(const FillRecord&, const FillRecord&) = default;
};

// The memo's key.
std::string FillKey(std::string_view table);
std::string EncodeFill(const FillRecord& record);
// Nothing: no such record.
std::optional<FillRecord> DecodeFill(std::string_view key, std::string_view value);

// The line behind which the table was emptied last, to be filled anew; 0: it never was, or its
// filling has not come as far. Reads a memo.
Result<uint64_t> EmptiedBehind(Store& store, std::string_view table);

// By table. What cannot be read is left out, and logged: such a table is filled from the start.
Result<std::vector<FillRecord>> ReadFillRecords(Store& store);

// The table that was emptied to be made anew from this one, and is not yet; empty: none.
Result<std::string> WhoNeeds(Store& store, std::string_view source);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_FILL_FILL_RECORD_H_
