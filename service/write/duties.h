// What a write must remember beside its rows: for each kind of write and each duty what is done, or
// why nothing is. The writer (writer.h) does it, and asks here where kinds share a step; a test
// walks the table (tests/service/write/duties_test.cc). Whoever adds a kind or a duty fills it in.
#ifndef TALLYD_SERVICE_WRITE_DUTIES_H_
#define TALLYD_SERVICE_WRITE_DUTIES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tallyd {

enum class WriteKind : uint8_t {
  kEvents,        // Events of one stream or many.
  kRow,           // Mutations of one row, by its key.
  kRemoveRows,    // Rows and cells of one table, by their keys.
  kRemoveEvents,  // Events of a stream, from all of its tables.
  kNightly,       // A day's rows copied into the table that is to be its nightly one.
  kFill,          // Rows of a table made of another one's.
  kFillAnew,      // What a table holds goes before it is filled.
  kRestore,       // Latest rows brought back to what history implies.
};
inline constexpr size_t kWriteKinds = 8;

enum class Duty : uint8_t {
  kScope,          // Who asks is held to what it may write.
  kSizeCheck,      // What would make a row too large is refused.
  kFields,         // The stream learns which fields it has.
  kArrivals,       // Times of arrival that were given are noted.
  kNightlyTables,  // Nightly tables of what is written do not stay as they were.
  kHandMarks,      // Fillings know that rows are in no event, or are gone (hand_changes.h).
  kGate,           // A job brings nothing back that goes meanwhile (removal_gate.h).
  kKey,            // The answer is remembered for the Idempotency-Key.
  kHeldCounters,   // What tables with `flush` hold in memory is added to, or goes as well.
  kMetrics,        // Rows and cells count, in the metrics and in the heat map.
  kRowSizes,       // The sizes of rows that are followed grow or shrink.
  kSeries,         // New series are known before their rows, gone ones are looked for.
};
inline constexpr size_t kDuties = 12;

struct DutyRule {
  bool is_owed = false;
  std::string_view what;  // What is done; or why nothing is.
};

namespace duties {

constexpr DutyRule Yes(std::string_view what) { return {true, what}; }
constexpr DutyRule No(std::string_view why) { return {false, why}; }

inline constexpr std::string_view kOfTheDaemon = "the daemon's own, whom nothing narrows";
inline constexpr std::string_view kWasChecked = "what it puts was written once, and checked then";
inline constexpr std::string_view kOnlyTakes = "it only takes away";
inline constexpr std::string_view kKnown =
    "events told of their fields when they came; what a table misses its mapper notes";
inline constexpr std::string_view kHasTimes = "its cells have times already";
inline constexpr std::string_view kOfEvents = "what it does is in the stream's events as well";
inline constexpr std::string_view kNoRequest = "no request that could be sent again";
inline constexpr std::string_view kSameTwice = "removing twice is removing once";
inline constexpr std::string_view kCountedOnce = "load is what comes from outside";
inline constexpr std::string_view kNoFlush = "tables with flush are neither filled nor latest";

// By kind and duty, in the order of the enums.
inline constexpr std::array<std::array<DutyRule, kDuties>, kWriteKinds> kTable = {{
    // kEvents
    {Yes("an event outside of the scope is an error of that event"),
     Yes("the batch is refused"),
     Yes("by the mapper, with what tables missed and how fields are spelt"),
     Yes("in the same commit, a block for each request and stream"),
     Yes("a mark for each past day of a table with daily"),
     No(kOfEvents),
     No("what a removal forgets came before it: later events stay, and no job wrote them"),
     Yes("in the same commit"),
     Yes("what is to be held is held once the rest is durable"),
     Yes("behind the commit"),
     Yes("they grow behind the commit"),
     Yes("held to max_series and max_fields")},
    // kRow
    {Yes("a row outside of the scope is refused"),
     Yes("all mutations are refused"),
     Yes("a column may be the first of its field"),
     No(kHasTimes),
     Yes("a mark for the day of the key where it is past, and one for cells of other times"),
     Yes("written, deleted, or both"),
     Yes("holds it; deletes are refused while the table is being filled"),
     Yes("in the same commit"),
     Yes("deletes take what is held of the row"),
     Yes("behind the commit"),
     Yes("they grow behind the commit, and shrink first where something was deleted"),
     Yes("whatever max_series says; what was deleted is looked for")},
    // kRemoveRows
    {Yes("rows outside of the scope stay"),
     No(kOnlyTakes),
     No(kOnlyTakes),
     No(kOnlyTakes),
     Yes("the same goes from the table's nightly ones, in the same commit"),
     Yes("deleted"),
     Yes("holds it; refused while the table is being filled"),
     No(kSameTwice),
     Yes("takes what is held of the rows"),
     No(kOnlyTakes),
     Yes("they shrink behind the commit"),
     Yes("looked for behind the commit")},
    // kRemoveEvents
    {Yes("only events of the scope are looked for"),
     No(kOnlyTakes),
     No(kOnlyTakes),
     No(kOnlyTakes),
     Yes("they are tables of the stream as others: the same goes from them, in the same commit"),
     No(kOfEvents),
     Yes("held from before it looks for what is to go until that is committed"),
     No(kSameTwice),
     Yes("takes what is held of the events"),
     No(kOnlyTakes),
     Yes("they shrink behind the commit"),
     Yes("looked for behind the commit")},
    // kNightly
    {No(kOfTheDaemon),
     No(kWasChecked),
     No(kKnown),
     No(kHasTimes),
     No("no nightly table is made of a nightly table"),
     No("nobody fills a nightly table"),
     Yes("enters it when the table takes its name, and copies again where something went"),
     No(kNoRequest),
     No("increments are copied once they are written"),
     No(kCountedOnce),
     No("the table is another one until it takes its name"),
     No("no nightly table is followed")},
    // kFill
    {No(kOfTheDaemon),
     No(kWasChecked),
     No(kKnown),
     No(kHasTimes),
     Yes("a mark for each past day of a table with daily"),
     No(kOfEvents),
     Yes("enters it for each commit, and reads again where something went"),
     No(kNoRequest),
     No(kNoFlush),
     No(kCountedOnce),
     No("they are followed from the next event on, and measured"),
     Yes("whatever max_series says")},
    // kFillAnew
    {No(kOfTheDaemon),
     No(kOnlyTakes),
     No(kOnlyTakes),
     No(kOnlyTakes),
     Yes("a mark for each day that has a nightly table"),
     No(kOfEvents),
     Yes("enters it, and begins over where rows were changed by hand meanwhile"),
     No(kNoRequest),
     No(kNoFlush),
     No(kOnlyTakes),
     Yes("they shrink behind the commit"),
     Yes("looked for behind the commit")},
    // kRestore
    {No(kOfTheDaemon),
     No(kWasChecked),
     No(kKnown),
     No(kHasTimes),
     No("a latest table has no days"),
     No(kOfEvents),
     Yes("enters it for each commit, and reads again where something went"),
     No(kNoRequest),
     No(kNoFlush),
     No(kCountedOnce),
     No("what comes back was there before"),
     Yes("whatever max_series says")},
}};

}  // namespace duties

constexpr const DutyRule& RuleOf(WriteKind kind, Duty duty) {
  return duties::kTable[static_cast<size_t>(kind)][static_cast<size_t>(duty)];
}
constexpr bool Owes(WriteKind kind, Duty duty) { return RuleOf(kind, duty).is_owed; }

}  // namespace tallyd

#endif  // TALLYD_SERVICE_WRITE_DUTIES_H_
