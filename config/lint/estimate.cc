// How it is reckoned:
//
// 1. A rule makes so many cells of an event: its `fields` where it names them one by one, else its
//    share of the measured fields; one if it runs once per event or serializes.
// 2. A row takes the events of one period of the time in its key. A full time, or a period that is
//    no longer than the interval, is a row for each event; no time is a row for each entity.
// 3. Names with a time or the reading in them make a column for each event of the row, at most one
//    for each period of that time; others a cell in the same column.
#include "config/lint/estimate.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "config/lint/table_facts.h"
#include "config/values/glob.h"

namespace tallyd {
namespace {

constexpr double kTextBytes = 16;
constexpr double kCellBytes = 9;
constexpr double kDayUs = static_cast<double>(kUsPerDay);
constexpr double kSecondUs = static_cast<double>(kUsPerSecond);

bool IsOpen(const ColumnRule& rule) {
  return rule.fields.empty() || std::ranges::any_of(rule.fields, IsGlob);
}

double KeyBytes(const Table& table) {
  double bytes = 0;
  for (const Segment& segment : table.row_key.segments()) {
    const size_t width = FixedWidth(segment.spec);
    bytes += static_cast<double>(segment.literal.size());
    if (segment.is_literal()) continue;
    bytes += width > 0 ? static_cast<double>(width) : segment.is_salt() ? 2 : kTextBytes;
  }
  return bytes;
}

class Reckoning {
 public:
  Reckoning(const Table& table, double every_us, const EstimateInput& input)
      : table_(table),
        every_us_(every_us),
        entities_(static_cast<double>(input.entities)),
        fields_(static_cast<double>(input.fields)),
        time_(TimeInKeyOf(table)) {
    if (!KeepsEvents(table)) {
      events_ = 1;
    } else if (time_.period_us > 0) {
      events_ = std::max(1.0, static_cast<double>(time_.period_us) / every_us);
    }
  }

  TableEstimate Run() {
    const double events_per_s = entities_ * kSecondUs / every_us_;
    const double rows_per_event = table_.row_key.names_measured_field() ? fields_ : 1;
    TableEstimate out;
    out.table = table_.name;
    out.stream = table_.stream;
    out.pattern = ToString(table_.pattern);
    out.every_us = static_cast<int64_t>(every_us_);
    out.rows_per_s = events_per_s * rows_per_event;
    out.rows_per_day = NewRows() * rows_per_event;
    AddColumns(rows_per_event, &out);
    for (const ColumnRule& rule : table_.columns) out.cells_per_s += events_per_s * CellsOf(rule);
    if (out.cells_per_row) {
      out.bytes_per_row = KeyBytes(table_) + *out.cells_per_row * kCellBytes + blob_bytes_;
    }
    out.bytes_per_day = out.rows_per_day * KeyBytes(table_) + NewCellBytes(out);
    return out;
  }

 private:
  // Of one event, in all of its rows.
  double CellsOf(const ColumnRule& rule) const {
    if (!rule.per_field || rule.serialize != Serialization::kNone) return 1;
    return FieldsOf(rule);
  }

  double FieldsOf(const ColumnRule& rule) const {
    if (!IsOpen(rule)) {
      std::set<std::string> names;
      for (const std::string& field : rule.fields) {
        names.insert(rule.compact_names ? CompactName(field) : field);
      }
      return static_cast<double>(names.size());
    }
    const auto open = std::ranges::count_if(
        table_.columns, [](const ColumnRule& other) { return other.per_field && IsOpen(other); });
    return fields_ / static_cast<double>(open);
  }

  // New rows a day of all entities, one measured field each.
  double NewRows() const {
    if (KeepsNewest(table_) || time_.period_us == 0) return 0;
    const double period = std::max(every_us_, static_cast<double>(time_.period_us));
    return entities_ * kDayUs / period;
  }

  static bool AddsColumns(const ColumnRule& rule) { return NamesTime(rule) || NamesReading(rule); }

  // How many columns of one row come of a column of one event.
  double Spread(const ColumnRule& rule) const {
    if (!AddsColumns(rule) || !events_) return 1;
    double columns = *events_;
    for (const Segment& segment : rule.name.segments()) {
      if (!TellsTime(segment) || !segment.spec.is_time() || time_.period_us == 0) continue;
      const TimeRange period = PeriodOf(segment.spec, 0);
      const auto length = static_cast<double>(std::max<int64_t>(1, period.to - period.from));
      columns = std::min(columns, static_cast<double>(time_.period_us) / length);
    }
    return std::max(1.0, columns);
  }

  void AddColumns(double rows_per_event, TableEstimate* out) {
    const bool any_adds = std::ranges::any_of(table_.columns, AddsColumns);
    double cells = 0;
    for (const ColumnRule& rule : table_.columns) {
      const double columns = CellsOf(rule) / rows_per_event * Spread(rule);
      const bool is_fixed = any_adds && !AddsColumns(rule);
      (is_fixed ? out->fixed_columns_per_row : out->columns_per_row) += columns;
      if (!events_) continue;
      const double cells_of_rule = CellsOf(rule) / rows_per_event * *events_;
      cells += cells_of_rule;
      if (rule.serialize != Serialization::kNone) {
        blob_bytes_ += cells_of_rule * std::max(0.0, FieldsOf(rule) - 1) * kCellBytes;
      }
      if (is_fixed || columns == 0) continue;
      const double each = cells_of_rule / columns;
      out->cells_per_column = std::max(out->cells_per_column.value_or(0), each);
    }
    if (events_) out->cells_per_row = cells;
  }

  double NewCellBytes(const TableEstimate& out) const {
    if (KeepsNewest(table_)) return 0;
    if (MergesInputs(table_)) return NewBuckets() * kCellBytes;
    const double blobs = events_ && *out.cells_per_row > 0 ? blob_bytes_ / *out.cells_per_row : 0;
    return out.cells_per_s * kDayUs / kSecondUs * (kCellBytes + blobs);
  }

  // New cells a day of an aggregate table.
  double NewBuckets() const {
    double cells = 0;
    for (const ColumnRule& rule : table_.columns) {
      const Family* family = FamilyOf(table_, rule);
      double period = static_cast<double>(time_.period_us);
      if (family != nullptr && family->bucket_us) {
        const auto bucket = static_cast<double>(*family->bucket_us);
        period = period > 0 ? std::min(period, bucket) : bucket;
      }
      if (period > 0) cells += CellsOf(rule) * entities_ * kDayUs / std::max(period, every_us_);
    }
    return cells;
  }

  const Table& table_;
  const double every_us_;
  const double entities_;
  const double fields_;
  const TimeInKey time_;
  std::optional<double> events_;  // Of one complete row; none: nothing completes it.
  double blob_bytes_ = 0;         // Of one row, beyond a cell's.
};

}  // namespace

Result<std::vector<TableEstimate>> EstimateTables(const Schema& schema,
                                                  const EstimateInput& input) {
  std::vector<TableEstimate> estimates;
  for (const Table& table : schema.tables) {
    const Stream* stream = schema.FindStream(table.stream);
    const std::optional<int64_t> declared = stream == nullptr ? std::nullopt : stream->every_us;
    const std::optional<int64_t> every = input.every_us ? input.every_us : declared;
    if (!every) {
      return Invalid("stream " + Quoted(table.stream) +
                     " declares no `every`: give --every, as in --every 5s");
    }
    estimates.push_back(Reckoning(table, static_cast<double>(*every), input).Run());
  }
  return estimates;
}

}  // namespace tallyd
