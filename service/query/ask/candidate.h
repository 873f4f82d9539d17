// A candidate: one table of a query's stream, and what it can answer of the query. Its standing and
// the reason for it are all that is known of its fitness; cost() is the work of reading it, by
// which the planner chooses among equals.
//
// A table is whole for a query when it holds every event of the range with every field asked for,
// each in the type that it came in:
// - what it takes it has taken since before the first event of the range (storage/table_info.h);
// - no family's GC may have removed some of it;
// - it goes by the time by which the others go, and no event with these fields stayed outside;
// - it keeps none of the fields as text that was ever a bool, bytes, or a string that reads as a
//   number;
// - it does not keep apart what another that could answer keeps as spellings of one compact name;
// - its key has not let different events fall on one cell, as far as anybody knows.
// What is not asked for does not matter; where no field is asked for, all are that any candidate
// holds.
#ifndef TALLYD_SERVICE_QUERY_ASK_CANDIDATE_H_
#define TALLYD_SERVICE_QUERY_ASK_CANDIDATE_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/key_ranges.h"
#include "service/query/ask/event_query.h"
#include "storage/store.h"

namespace tallyd {

enum class Standing : uint8_t {
  kUnfit,    // It cannot answer.
  kPartial,  // Its answer may lack something.
  kWhole,
};

// What is known of events that fell on one cell of a table (config/schema/merge_risk.h).
enum class Merging : uint8_t {
  kNone,
  kUnknown,  // Some may have: in what was stored before it was counted, or as nothing tells.
  kMet,
};

// What a partial candidate may lack. Compared member by member: the least is the fullest.
struct Lack {
  bool other_time = false;  // Others go by the stream's time, and it does not.
  size_t fields = 0;        // Fields asked for that it does not hold.
  size_t spelt_apart = 0;   // Compact names whose spellings it keeps apart.
  TimeUs whole_from = 0;    // From this time on it holds all the rest.
  Merging merging = Merging::kNone;
  size_t changed = 0;  // Fields whose values may come back in another type.
  uint64_t since = 0;  // The commit after which the last of its rules began to apply.
  friend auto operator<=>(const Lack&, const Lack&) = default;
};

struct TablePlan {
  const Table* table = nullptr;  // In the query's snapshot.
  TablePtr stored;
  KnownFields known;
  // Set unless the table is unfit. Where they are not bounded it is read whole, by a scan.
  KeyRanges ranges;
  Standing standing = Standing::kUnfit;
  std::string reason;  // Why it is not whole.
  Lack lack;
  // Where merging is unknown: of events of earlier times; kNeverWhole: of all.
  TimeUs merging_unknown_before = 0;
  bool at_risk = false;  // Events may turn out to have fallen on one cell while it is read.
  double column_share = 1;  // How much of the columns of these rows is read, about.
  std::optional<ScanEstimate> estimate;

  // The work of reading it, in bytes: what is stored, and what a row, an entry, a column of a block
  // and a range cost beside their bytes. REQUIRES: it was estimated.
  uint64_t cost() const;

  bool is_scan() const { return !ranges.bounded; }
};

// What is asked for, by name, and which events have it. A field that the key of some table of the
// stream holds tells whose event it is, whichever table answers: beside others it is no reason to
// want an event. Nor is the time.
struct Wanted {
  // `query` is in terms of the table.
  Wanted(const EventQuery& query, const Table& table);

  std::vector<std::string> fields;   // That the query's names and globs stand for.
  std::vector<std::string> others;   // Filtered or grouped by; not in `fields`.
  std::vector<std::string> reasons;  // Of `fields`: an event that has one is wanted.
  bool any_event = false;            // Every event is wanted, whatever it has.
  bool every_row = false;            // Every event that the table has is wanted.
};

// Whether the table gives the field back, or it is the time.
bool Holds(const EventQuery& query, const Table& table, std::string_view field);
// Names for a message, not too many.
std::string FirstNames(const std::vector<std::string>& names);

// The candidates of a query, in the file's order. Of a nightly table that is asked for the store's
// memos are read, which may read the disk.
std::vector<TablePlan> Candidates(const EventQuery& query, Store& store);

// The one for a latest table, which is read whole.
TablePlan LatestCandidate(const EventQuery& query, Store& store, const Table& latest);

}  // namespace tallyd

#endif  // TALLYD_SERVICE_QUERY_ASK_CANDIDATE_H_
