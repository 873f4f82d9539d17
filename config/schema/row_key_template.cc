#include "config/schema/row_key_template.h"

#include <algorithm>

#include "config/escape/key_escape.h"
#include "config/escape/labels.h"
#include "config/schema/placeholder.h"
#include "config/values/calendar_format.h"
#include "config/values/daily.h"
#include "config/values/digits.h"

namespace tallyd {
namespace {

bool IsDigitsOfVaryingNumber(const Spec& spec) {
  const bool ends_in_bare_day = spec.info().is_calendar && spec.format.ends_with("%-d");
  return spec.info().is_salt || ends_in_bare_day;
}

// Where a value of varying width ends must be seen from the literal that follows it.
Status CheckEnd(const Segment& segment) {
  if (segment.is_literal() || segment.stop == '\0' || FixedWidth(segment.spec) != 0) return {};
  if (IsDigitsOfVaryingNumber(segment.spec) && IsDigit(segment.stop)) {
    return Error(ErrorCode::kUnprocessable,
                 "the text after {" + segment.field + "} must not begin with a digit");
  }
  // '%' also begins the escapes within the value.
  if (segment.stop == '%') {
    return Error(ErrorCode::kUnprocessable,
                 "the text after {" + segment.field + "} must not begin with '%'");
  }
  // Between labels they stand as they are.
  if (segment.is_labels && (segment.stop == ',' || segment.stop == '=')) {
    return Error(ErrorCode::kUnprocessable,
                 "the text after {labels} must not begin with ',' or '=', which stand in it");
  }
  return {};
}

Error Misfit(const RowKeyTemplate& row_key, const std::string& what) {
  return Invalid("the key is not one of " + row_key.text() + ": " + what);
}

bool TellsDay(const Segment& segment) {
  if (!segment.is_time || !segment.spec.bounds_time) return false;
  if (segment.spec.bucket_us > 0) return kUsPerDay % segment.spec.bucket_us == 0;
  return (TimeUnitsOf(segment.spec) & (kUnitDay | kUnitYearDay)) != 0;
}

}  // namespace

Result<RowKeyTemplate> RowKeyTemplate::Parse(std::string_view text, std::string_view time_field) {
  Result<std::vector<Segment>> segments = ParseSegments(text, time_field);
  if (!segments) return segments.error();
  RowKeyTemplate row_key;
  row_key.text_ = text;
  row_key.time_field_ = time_field;
  row_key.segments_ = std::move(*segments);
  bool has_placeholder = false;
  for (const Segment& segment : row_key.segments_) {
    if (Status status = CheckEnd(segment); !status) {
      return status.error().Prefixed("row key \"" + row_key.text_ + "\"");
    }
    if (segment.is_literal()) continue;
    has_placeholder = true;
    if (segment.is_labels) {
      if (row_key.holds_labels_) {
        return Error(ErrorCode::kUnprocessable,
                     "row key \"" + row_key.text_ + "\": {labels} stands in it twice");
      }
      row_key.holds_labels_ = true;
    } else if (segment.field == kFieldPlaceholder) {
      row_key.names_measured_field_ = true;
    } else if (GivesBackInKey(segment) &&
               std::ranges::count(row_key.entity_fields_, segment.field) == 0) {
      row_key.entity_fields_.push_back(segment.field);
    }
  }
  if (!has_placeholder) {
    return Invalid("row key \"" + row_key.text_ +
                   "\": it needs a placeholder such as {hostname} or {ts:ms}, or every event "
                   "would be the same row");
  }
  return row_key;
}

bool RowKeyTemplate::UsesField(std::string_view name) const {
  return std::ranges::any_of(segments_, [name](const Segment& segment) {
    return !segment.is_literal() && !segment.is_labels && segment.field == name;
  });
}

bool RowKeyTemplate::HoldsAsLabel(std::string_view field) const {
  return holds_labels_ && field != time_field_ && std::ranges::count(entity_fields_, field) == 0;
}

bool RowKeyTemplate::has_full_time() const {
  uint32_t units = 0;
  for (const Segment& segment : segments_) {
    if (segment.is_time) units |= TimeUnitsOf(segment.spec);
  }
  return UnitsTellMillisecond(units);
}

bool RowKeyTemplate::has_time_of(TimeUnit unit) const {
  if (unit == TimeUnit::kSeconds || unit == TimeUnit::kMilliseconds) return has_full_time();
  return std::ranges::any_of(segments_, [](const Segment& segment) {
    return segment.is_time && segment.spec.info().digits > 0 && TextStep(segment.spec) == 1;
  });
}

Status RowKeyTemplate::AppendSegment(const Segment& segment, const Value& value, TimeUs t,
                                     TimeUnit unit, std::string* out) const {
  return AppendPlaceholder(segment, value, {t, unit}, TemplateUse::kKey, out);
}

Status RowKeyTemplate::ReadBack(std::string_view key, std::string* scratch,
                                std::vector<KeyField>* fields) const {
  fields->clear();
  scratch->clear();
  scratch->reserve(key.size());  // Views into it must not move.
  std::string_view rest = key;
  for (size_t i = 0; i < segments_.size(); ++i) {
    const Segment& segment = segments_[i];
    if (segment.is_literal()) {
      if (!rest.starts_with(segment.literal)) {
        return Misfit(*this, "\"" + segment.literal + "\" is missing");
      }
      rest.remove_prefix(segment.literal.size());
      continue;
    }
    size_t extent = ExtentByForm(segment, rest);
    if (extent == 0) {
      const bool last = i + 1 == segments_.size();
      extent = last ? rest.size() : FindStop(rest, segment.stop);
    }
    Value value;
    const bool fits =
        extent != std::string_view::npos &&
        (segment.is_labels ? TakeLabels(i, rest.substr(0, extent), scratch, fields)
                           : ReadPlaceholder(segment, rest.substr(0, extent), scratch, &value));
    if (!fits) return Misfit(*this, "nothing that {" + segment.field + "} would write");
    if (!segment.is_labels) fields->push_back({i, value, rest.substr(0, extent)});
    rest.remove_prefix(extent);
  }
  if (!rest.empty()) return Misfit(*this, "more bytes follow");
  return {};
}

// A label that another placeholder gives back is not written there, nor the time.
bool RowKeyTemplate::TakeLabels(size_t segment, std::string_view raw, std::string* scratch,
                                std::vector<KeyField>* fields) const {
  thread_local std::vector<ReadLabel> labels;
  labels.clear();
  if (!ReadLabels(raw, segments_[segment].stop, scratch, &labels)) return false;
  for (const ReadLabel& label : labels) {
    if (!HoldsAsLabel(label.name)) return false;
    fields->push_back({segment, Value::String(label.value), label.raw, label.name});
  }
  return true;
}

bool RowKeyTemplate::tells_day() const { return std::ranges::any_of(segments_, TellsDay); }

std::optional<TimeUs> RowKeyTemplate::FindDay(std::string_view key) const {
  std::string scratch;
  std::vector<KeyField> fields;
  if (!ReadBack(key, &scratch, &fields)) return std::nullopt;
  for (const KeyField& field : fields) {
    const Segment& segment = segments_[field.segment];
    if (!TellsDay(segment)) continue;
    const std::optional<TimeRange> period = FindPeriod(segment.spec, field.raw);
    if (!period) return std::nullopt;
    return DayOf(period->from);
  }
  return std::nullopt;
}

size_t RowKeyTemplate::StemSize(std::string_view key) const {
  std::string_view rest = key;
  for (const Segment& segment : segments_) {
    if (segment.ends_stem()) return key.size() - rest.size();
    size_t extent = segment.literal.size();
    if (segment.is_literal()) {
      if (!rest.starts_with(segment.literal)) return key.size();
    } else {
      extent = ExtentByForm(segment, rest);
      if (extent == 0) extent = FindStop(rest, segment.stop);
    }
    if (extent > rest.size()) return key.size();
    rest.remove_prefix(extent);
  }
  return key.size();
}

}  // namespace tallyd
