#include "service/series/series_scan.h"

#include <utility>

namespace tallyd {
namespace {

ScanSpec KeysOf(SeriesScan::Spec spec) {
  ScanSpec keys;
  keys.ranges = std::move(spec.ranges);
  keys.keys_only = true;
  keys.versions = 1;
  keys.now = spec.now;
  keys.limits = spec.limits;
  return keys;
}

}  // namespace

SeriesScan::SeriesScan(Store& store, const TablePtr& table, const SeriesKey& keys, Spec spec)
    : keys_(keys), rows_(ScanRows(store, table, KeysOf(spec), spec.clamp)) {}

Result<bool> SeriesScan::Next() {
  if (!series_.empty() && keys_.has_time()) {
    const std::string end = PrefixEnd(series_);
    if (end.empty()) return false;
    rows_->SkipTo(end);
  }
  while (true) {
    const Result<bool> more = rows_->Next();
    if (!more || !*more) return more;
    series_ = keys_.SeriesOf(rows_->row().key);
    if (!series_.empty() && keys_.Read(series_, &scratch_, &fields_)) return true;
  }
}

}  // namespace tallyd
