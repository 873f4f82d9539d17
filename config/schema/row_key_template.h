// Row-key templates (docs/configuration.md): literal text and {field} or {field:spec}, rendered at
// ingest, read back to fields, and turned into key ranges for a query (config/schema/key_ranges.h).
//
//   Result<RowKeyTemplate> t = RowKeyTemplate::Parse("{hostname}#{ts:ms}", "ts");
//   t->segments() drives ingest (one Append per placeholder) and planning.
//
// {labels} is all labels of an event that no other placeholder gives back (config/escape/labels.h):
// it names no field, and gives back as many as the event had.
//
// In a placeholder's text '%', control bytes and every byte equal to the first byte of the literal
// that follows are percent-encoded, so that a key reads back to exactly its fields and no value can
// forge another entity's prefix. Immutable after Parse; thread-safe.
#ifndef TALLYD_CONFIG_SCHEMA_ROW_KEY_TEMPLATE_H_
#define TALLYD_CONFIG_SCHEMA_ROW_KEY_TEMPLATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/spec.h"
#include "config/schema/template_segment.h"
#include "config/schema/value_template.h"
#include "config/values/result.h"
#include "config/values/time.h"
#include "config/values/value.h"

namespace tallyd {

class RowKeyTemplate {
 public:
  RowKeyTemplate() = default;

  // `time_field` decides which placeholders are the table's time (is_time). Errors are those of
  // ParseSegments.
  static Result<RowKeyTemplate> Parse(std::string_view text, std::string_view time_field);

  const std::string& text() const { return text_; }
  const std::vector<Segment>& segments() const { return segments_; }
  // The fields that a key gives back, distinct, in order. It gives none back of which it has only a
  // salt or the period of a time; the time field and "field" are no such fields.
  const std::vector<std::string>& entity_fields() const { return entity_fields_; }
  bool names_measured_field() const { return names_measured_field_; }  // Has {field}.
  bool holds_labels() const { return holds_labels_; }                  // Has {labels}.
  // Whether {labels} is where the key has a label of this name: it has {labels}, and no other
  // placeholder gives the field back, nor is it the time.
  bool HoldsAsLabel(std::string_view field) const;
  bool UsesField(std::string_view name) const;
  // Whether the key tells one event's time to the millisecond or finer; a coarser time is a bucket.
  bool has_full_time() const;
  // Whether it does so as finely as a stream of that unit brings times: where not, events of one
  // row may have several.
  bool has_time_of(TimeUnit unit) const;
  // Whether every key tells the UTC day of its row, in one placeholder; and the midnight at which
  // that begins, or nothing where the template cannot have made the key.
  bool tells_day() const;
  std::optional<TimeUs> FindDay(std::string_view key) const;

  // Appends one placeholder's text. `value` must not be null unless segment.of_time_field; `t` is
  // the table's time of the event. Errors (wider than its padding, empty, not an integer for
  // zero(n), ...) name the field; the caller then drops what was appended.
  Status AppendSegment(const Segment& segment, const Value& value, TimeUs t, TimeUnit unit,
                       std::string* out) const;

  // Splits a key into its placeholders' values. `scratch` owns decoded text; both outputs are
  // cleared first. {labels} gives a KeyField for each label, maybe none. Error: the template cannot
  // have made this key.
  Status ReadBack(std::string_view key, std::string* scratch, std::vector<KeyField>* fields) const;
  // The field that ReadBack read: a label's name, or that of the placeholder.
  std::string_view NameOf(const KeyField& field) const {
    return field.label.empty() ? std::string_view(segments_[field.segment].field) : field.label;
  }
  // The size of the key's stem: what stands before its time. All of the key where it has no time,
  // or where the template cannot have made it.
  size_t StemSize(std::string_view key) const;

 private:
  bool TakeLabels(size_t segment, std::string_view raw, std::string* scratch,
                  std::vector<KeyField>* fields) const;

  std::string text_;
  std::string time_field_;
  std::vector<Segment> segments_;
  std::vector<std::string> entity_fields_;
  bool names_measured_field_ = false;
  bool holds_labels_ = false;
};

}  // namespace tallyd

#endif  // TALLYD_CONFIG_SCHEMA_ROW_KEY_TEMPLATE_H_
