// SeriesKey: what of a table's row keys names the series: all that stands before the time. A series
// is a row key without its time; where a key has no time it is the whole key.
//
//   if (const std::optional<SeriesKey> keys = SeriesKey::OfTable(table)) {
//     std::string_view series = keys->SeriesOf(row.key);      // "cpu#host=a#"
//     keys->Read(series, &scratch, &fields);                  // measurement, host
//   }
//
// Where a key has a time no series begins as another one does: what is between values is not within
// them. Immutable; thread-safe.
#ifndef TALLYD_CONFIG_SERIES_SERIES_KEY_H_
#define TALLYD_CONFIG_SERIES_SERIES_KEY_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/key_ranges.h"
#include "config/schema/row_key_template.h"
#include "config/schema/schema.h"

namespace tallyd {

class SeriesKey {
 public:
  // Nothing where the key has no field before its time, or fields behind it, or where the time
  // spreads rows (a salt of it): rows of one series do not lie together then.
  static std::optional<SeriesKey> Of(const RowKeyTemplate& row_key, std::string_view time_field);
  // Nothing also where what the table's events write is no row of one series: its rows are written
  // by the interval (flush), or their keys name the measured field.
  static std::optional<SeriesKey> OfTable(const Table& table);

  bool IsOf(const RowKeyTemplate& row_key, std::string_view time_field) const {
    return row_key_.text() == row_key.text() && time_field_ == time_field;
  }
  bool has_time() const { return has_time_; }
  // The segments of a series: those of the template before the time, by the same indices.
  const std::vector<Segment>& segments() const { return series_.segments(); }

  // Empty: the template cannot have made the key.
  std::string_view SeriesOf(std::string_view key) const;
  // As RowKeyTemplate::ReadBack, of a series.
  Status Read(std::string_view series, std::string* scratch, std::vector<KeyField>* fields) const {
    return series_.ReadBack(series, scratch, fields);
  }
  // The name of a field that was read: a label's, or its placeholder's.
  std::string_view NameOf(const KeyField& field) const { return series_.NameOf(field); }
  // Of all rows of the series, whatever their time.
  KeyRange RangeOf(std::string_view series) const {
    return has_time_ ? PrefixRange(series) : RangeOfKey(series);
  }

 private:
  RowKeyTemplate row_key_;
  std::string time_field_;
  RowKeyTemplate series_;  // The template up to the time.
  bool has_time_ = false;
};

}  // namespace tallyd

#endif  // TALLYD_CONFIG_SERIES_SERIES_KEY_H_
