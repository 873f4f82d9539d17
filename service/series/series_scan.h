// SeriesScan: the series of a table that have a row, in key order, by skipping from one to the
// next: each costs a seek, however many rows it has.
//
//   SeriesScan scan(store, stored, keys, spec);
//   for (Result<bool> more = scan.Next(); more && *more; more = scan.Next()) Use(scan.series());
//
// As any reading it blocks, and is not to be kept for long (storage/scan.h). Rows whose keys the
// template cannot have made are passed over. Not thread-safe.
#ifndef TALLYD_SERVICE_SERIES_SERIES_SCAN_H_
#define TALLYD_SERVICE_SERIES_SERIES_SCAN_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "config/series/series_key.h"
#include "config/values/result.h"
#include "service/access/row_clamp.h"
#include "storage/store.h"

namespace tallyd {

class SeriesScan {
 public:
  struct Spec {
    std::vector<KeyRange> ranges = {KeyRange{}};  // Disjoint, in key order.
    TimeUs now = 0;
    const RowClamp* clamp = nullptr;  // Null: of every row.
    ReadLimits limits = {};
  };

  // `keys` and the clamp outlive it.
  SeriesScan(Store& store, const TablePtr& table, const SeriesKey& keys, Spec spec);

  // False at the end.
  Result<bool> Next();
  // Both valid until the scan moves.
  std::string_view series() const { return series_; }
  const std::vector<KeyField>& fields() const { return fields_; }

 private:
  const SeriesKey& keys_;
  const std::unique_ptr<RowScan> rows_;
  std::string series_;
  std::string scratch_;
  std::vector<KeyField> fields_;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_SERIES_SERIES_SCAN_H_
