// Adoption: what a schema that is adopted makes of the records of its tables: from when on each of
// their rules applies, and from which event time on they therefore hold all that it takes.
//
// 1. What is new to a stream (a table, a rule, another time field) holds nothing of the stream's
//    past: it is whole from behind the latest event that any table of the stream has, orphaned ones
//    included. Where tables go by different times, of none: nobody knows that event's other time.
// 2. A rule that stays keeps its mark. One that goes is remembered, as its cells stay: until
//    the stream takes a row it may come back as if nothing had been. What it alone took of
//    events that a rule that stays might have taken is missing there, and events that entered
//    by it alone are missing where every event is wanted: for these the rules as one have a
//    mark, whose rule is empty, behind theirs.
// 3. A `when` that asks for more keeps the table whole; one that asks for less is a new membership.
// 4. A family that is to keep more has lost already what it was to forget.
// 5. What has been deleted is missing nowhere: no mark lies behind what the stream still has.
//
// One thread. With the store's own past that is the committer's, between two commits; to ask
// whether a schema changes anything (UnknownPast), any.
#ifndef TALLYD_STORAGE_CATALOGUE_ADOPTION_H_
#define TALLYD_STORAGE_CATALOGUE_ADOPTION_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/schema.h"
#include "storage/table_info.h"

namespace tallyd {

// What the store holds, between two commits.
class StoredPast {
 public:
  virtual ~StoredPast() = default;
  virtual uint64_t sequence() const = 0;  // Of the last commit.
  virtual TimeUs now() const = 0;
  // Whether the stream ever took a row.
  virtual bool EverTook(std::string_view stream) = 0;
  // Whether the table shows no row.
  virtual bool IsEmpty(const TableInfo& table) = 0;
  // Whether it shows no row, and nothing waits elsewhere to become one: it may be made anew.
  virtual bool MayDrop(const TableInfo& table) { return IsEmpty(table); }
  // Behind the latest time of its rows, at least; 0 where there are none.
  virtual TimeUs EndOf(const TableInfo& table) = 0;
  // Whether a table that is not in the file goes out of use with it.
  virtual bool MayOrphan(const TableInfo&) { return true; }
  // Whether it may have taken a row after that commit.
  virtual bool TookSince(const TableInfo& table, uint64_t sequence) = 0;
};

TableMode ModeOf(const Table& table);

// The two values of what may not change, or nothing.
std::string Difference(std::string_view what, std::string_view stored, std::string_view configured);
// What of the table may not change while it holds a row, and does; empty if nothing does.
std::string Differences(const TableInfo& stored, const Table& configured);

class Adoption {
 public:
  // All outlive it. `number`: of the adoption, for new marks.
  Adoption(const std::map<TableId, TableInfo>& stored, StoredPast* past, uint64_t number)
      : stored_(stored), past_(*past), number_(number) {}

  // Whether no table of the stream holds a row.
  bool IsEmpty(std::string_view stream);
  // A table of the stream with {labels} in its key that holds a row; null: there is none.
  const TableInfo* FindWithLabels(std::string_view stream);
  bool MayDrop(const TableInfo& table) { return past_.MayDrop(table); }
  // Makes *table, which is new or one of `stored`, what the configuration says, of a stream of that
  // unit. True: its record has changed.
  bool Configure(const Table& configured, TimeUnit unit, TableInfo* table);
  // The table is no longer in the file.
  bool Orphan(TableInfo* table);

 private:
  TimeUs EndOf(std::string_view stream, std::string_view time_field);
  TimeUs EndOf(const TableInfo& table);
  bool TookSince(std::string_view stream, uint64_t sequence);
  // A mark that had gone applies again: true if nothing was missed.
  bool MayResume(std::string_view stream, const RuleMark& mark);
  RuleMark NewMark(std::string rule, TimeUs end) const;
  void ConfigureMembership(const Table& configured, TimeUs end, TableInfo* table);
  void ConfigureRules(const Table& configured, TimeUs end, TableInfo* table);
  void JudgeGone(const Table& configured, TimeUs end, std::vector<RuleMark>* before,
                 TableInfo* table);
  void ConfigureFamilies(const Table& configured, TimeUnit unit, TimeUs end, TableInfo* table);
  void Retire(RuleMark* mark) const;
  void Resume(RuleMark* mark) const;

  const std::map<TableId, TableInfo>& stored_;
  StoredPast& past_;
  const uint64_t number_;
  std::map<TableId, TimeUs> ends_;  // Known ones: finding one may read a head.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_CATALOGUE_ADOPTION_H_
