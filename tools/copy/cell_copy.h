// CellCopy: a stream's tables cell by cell, for what no event carries: the states of aggregates,
// and rows of which the source cannot say that they are all of the stream's events. Only into
// tables of the same key, pattern and rules, where a cell belongs in the same place.
//
//   CellCopy copy(ends, stream, tables, time, id, keep);  // or copy.Resume(told, chunk)
//   copy.Run(&progress);  copy.Check();
//
// A chunk is a page of rows. Each row goes as mutations with keys of their own, several rows at a
// time. Memory is bounded by a page. Blocks; used by one thread.
#ifndef TALLYD_TOOLS_COPY_CELL_COPY_H_
#define TALLYD_TOOLS_COPY_CELL_COPY_H_

#include <string>
#include <string_view>
#include <vector>

#include "tools/console.h"
#include "tools/copy/copy_plan.h"
#include "tools/copy/event_sums.h"
#include "tools/copy/stream_copy.h"

namespace tallyd {

// The target's tables of the stream, all of which the source has with the same key, pattern and
// rules. kConflict names the one that stands in the way.
Result<std::vector<std::string>> TablesForCells(const CopyEnds& ends, const std::string& stream);

class CellCopy {
 public:
  CellCopy(const CopyEnds& ends, std::string stream, std::vector<std::string> tables,
           const TimeRange& time, std::string id, StreamCopy::Keep keep);

  static bool IsToldBy(const Json& told);  // Rather than by a StreamCopy.
  static std::vector<std::string> TablesIn(const Json& told);
  Status Resume(const Json& told, std::string chunk);
  Status Run(ToolProgress* progress);
  // What an end gives back now of all of these tables.
  Result<EventSums> ReadBack(const PatientClient& end) const;
  Json Told() const;  // What Resume needs.

  const std::vector<std::string>& tables() const { return tables_; }
  uint64_t rows() const { return rows_; }
  const EventSums& sums() const { return sums_; }  // By cells.

 private:
  std::string FirstPage(const std::string& table) const;
  Status Send(ToolProgress* progress);
  Status SendRow(std::string_view row, size_t index) const;
  Status SendMutations(const std::string& path, const std::string& key,
                       const std::vector<std::string>& mutations) const;

  const CopyEnds& ends_;
  const std::string stream_;
  const std::vector<std::string> tables_;
  const TimeRange time_;
  const std::string id_;
  const StreamCopy::Keep keep_;
  size_t table_ = 0;  // The one whose rows the chunk has.
  std::string next_;  // The path of the page behind it; empty: the table has no more.
  uint64_t sequence_ = 0;
  uint64_t rows_ = 0;
  std::string chunk_;
  EventSums sums_;
};

}  // namespace tallyd

#endif  // TALLYD_TOOLS_COPY_CELL_COPY_H_
