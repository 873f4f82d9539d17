// What a time range must not cut: the buckets of tables whose cells hold what all events of a span
// of time came to. Nothing can be taken out of such a cell; it goes whole or stays.
//
//   BucketCut cut(range);
//   for each table of the removal: cut.Add(table, *stored);
//   if (const auto why = cut.Why(*stored)) ...           // This table's cells would be cut.
#ifndef TALLYD_SERVICE_REMOVAL_BUCKET_CUT_H_
#define TALLYD_SERVICE_REMOVAL_BUCKET_CUT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "config/schema/schema.h"
#include "config/values/time.h"
#include "storage/table_info.h"

namespace tallyd {

// Whether cells of the table hold more than one event brought: it has an aggregate family, or adds
// up counters (`flush`).
bool AddsUp(const Table& table, const TableInfo& stored);

class BucketCut {
 public:
  explicit BucketCut(const TimeRange& range) : range_(range) {}

  // The bounds that are named are to do for this table, too.
  void Add(const Table& table, const TableInfo& stored);
  // Why the range cannot be removed from the table, with the bounds that could; nothing: it can.
  std::optional<std::string> Why(const Table& table, const TableInfo& stored) const;

 private:
  std::string Bounds(int64_t period) const;

  const TimeRange range_;
  int64_t period_ = 1;  // That all buckets divide; 0: there is none, of times that can be.
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_REMOVAL_BUCKET_CUT_H_
