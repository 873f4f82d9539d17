// The pieces of a template: literal text and {field} or {field:spec}. Row keys, qualifiers and
// values share this syntax; they differ in percent-encoding, which only keys need.
#ifndef TALLYD_CONFIG_SCHEMA_TEMPLATE_SEGMENT_H_
#define TALLYD_CONFIG_SCHEMA_TEMPLATE_SEGMENT_H_

#include <string>
#include <string_view>
#include <vector>

#include "config/schema/spec.h"
#include "config/values/result.h"
#include "config/values/value.h"

namespace tallyd {

// The names that stand for the measured field: {field} in row keys, both in rules per field.
inline constexpr std::string_view kFieldPlaceholder = "field";
inline constexpr std::string_view kValuePlaceholder = "value";
// All labels of the event that no other placeholder of the key gives back; in row keys only.
inline constexpr std::string_view kLabelsPlaceholder = "labels";

struct Segment {
  std::string literal;  // Literal text (field empty) ...
  // ... or a placeholder. "field" and "value" are special in per-field contexts.
  std::string field;
  Spec spec;
  // The placeholder is the table's time: its field is the time field and the spec a time spec.
  bool is_time = false;
  bool of_time_field = false;  // Its field is the time field, whatever the spec (salt(n), none).
  bool is_labels = false;      // {labels}, which names no field: config/escape/labels.h
  // The first byte of the literal that follows, percent-encoded in values; '\0' when none follows.
  char stop = '\0';

  bool is_literal() const { return field.empty(); }
  bool is_salt() const { return spec.info().is_salt; }
  // A key's stem is what stands before its time. A salt of the time spreads rows, as a field does.
  bool ends_stem() const { return of_time_field && !is_salt(); }
};

// Whether the text of this placeholder gives back a value of an event: of a salt it does not, nor
// of the period of a time. In a key the table's own time is none; in a column reversed text is not
// read back.
bool GivesBackInKey(const Segment& segment);
bool GivesBackInColumn(const Segment& segment);

// One placeholder's value read back from a key. Views point into the key or into the scratch given
// to ReadBack.
struct KeyField {
  size_t segment;  // Index into segments().
  Value value;     // kText: a number where it is one's plain spelling; zero(n): an integer; times
                   // and salts: absent (null).
  std::string_view raw = {};  // The text as it stands in a key; of a column's name empty.
  // Of {labels}, which gives a KeyField for each label: its name. Its value is a string, whatever
  // it spells, and `raw` the value's text.
  std::string_view label = {};
};

// Splits a template. A placeholder that another one follows without a literal between must be of
// fixed width. Literals and placeholders come in order, no two literals side by side. kInvalid:
// malformed; kUnprocessable: well formed, but what it makes could not be read back.
Result<std::vector<Segment>> ParseSegments(std::string_view text, std::string_view time_field);

}  // namespace tallyd

#endif  // TALLYD_CONFIG_SCHEMA_TEMPLATE_SEGMENT_H_
