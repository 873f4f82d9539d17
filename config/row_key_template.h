// Row-key templates (DESIGN.md section 4): literal text and {field} or {field:spec}, rendered at
// ingest, read back to fields, and turned into key ranges for a query (config/key_ranges.h).
//
//   Result<RowKeyTemplate> t = RowKeyTemplate::Parse("{hostname}#{ts:ms}", "ts");
//   t->segments() drives ingest (one Append per placeholder) and planning.
//
// In a placeholder's text '%', control bytes and every byte equal to the first byte of the literal
// that follows are percent-encoded, so that a key reads back to exactly its fields and no value can
// forge another entity's prefix. Immutable after Parse; thread-safe.
#ifndef TALLYD_CONFIG_ROW_KEY_TEMPLATE_H_
#define TALLYD_CONFIG_ROW_KEY_TEMPLATE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/result.h"
#include "config/time.h"
#include "config/value.h"

namespace tallyd {

enum class SpecKind : uint8_t {
  kText,  // (none)
  kZero,  // zero(n)
  kPad,   // pad(n)
  kMs,
  kSeconds,
  kMicroseconds,  // 13, 10, 16 digits
  kReverseMs,     // 9223372036854775807 - ms, 19 digits
  kMinute,
  kHour,
  kDay,
  kWeek,
  kMonth,
  kBucket,    // bucket(30m): start of the bucket in ms
  kStrftime,  // %...
  kReverseDomain,
  kReverseDigits,
  kSalt,  // salt(n)
};

// One spec, parsed. `n` is the width of zero and pad, the modulus of salt; `bucket_us` the length
// of a fixed bucket.
struct Spec {
  SpecKind kind = SpecKind::kText;
  uint32_t n = 0;
  int64_t bucket_us = 0;
  std::string format;  // Of kStrftime.
  // Of time specs:
  bool is_time() const { return kind >= SpecKind::kMs && kind <= SpecKind::kStrftime; }
  bool sorts_by_time = false;  // Rendered text ascends (kReverseMs: descends) with time.
  bool bounds_time = false;    // Names the whole period: false for "%H%M", which recurs every day.
  friend bool operator==(const Spec&, const Spec&) = default;
};

// Parses what stands after the colon in {field:spec}. Empty text: kText. Errors name the spec and
// list what is accepted.
Result<Spec> ParseSpec(std::string_view text);

// Of a time spec: appends the text of the period that holds `t`, and tells that period [start,
// end). Strings that recur (bounds_time false) tell the smallest unit around `t`.
void AppendTimeSpec(const Spec& spec, TimeUs t, std::string* out);
TimeRange PeriodOf(const Spec& spec, TimeUs t);
// The number of bytes a spec always renders to; 0 when it varies.
size_t FixedWidth(const Spec& spec);
// The inverse of AppendTimeSpec: the period that `text` names, by pattern only. Empty optional-like
// error when it does not match the spec.
Result<TimeRange> ParseTimeSpec(const Spec& spec, std::string_view text);

struct Segment {
  std::string literal;  // Literal text (field empty) ...
  std::string
      field;  // ... or a placeholder. "field" and "value" are special in per-field contexts.
  Spec spec;
  bool is_time = false;  // The placeholder is the table's time: its field is the time field and the
                         // spec a time spec.
  char stop = '\0';  // First byte of the literal that follows, percent-encoded in values; '\0' when
                     // none follows.

  bool is_literal() const { return field.empty(); }
};

// One placeholder's value read back from a key. Views point into the key or into the scratch given
// to ReadBack.
struct KeyField {
  size_t segment;  // Index into segments().
  Value value;     // kText: a number where it is one's plain spelling; zero(n): an integer; times:
                   // absent (null).
};

class RowKeyTemplate {
 public:
  RowKeyTemplate() = default;

  // `time_field` decides which placeholders are the table's time (is_time).
  static Result<RowKeyTemplate> Parse(std::string_view text, std::string_view time_field);

  const std::string& text() const { return text_; }
  const std::vector<Segment>& segments() const { return segments_; }
  // Distinct placeholder fields in order, without the time field and without "field". Salts' fields
  // count only where the same field stands unsalted, too.
  const std::vector<std::string>& entity_fields() const { return entity_fields_; }
  bool names_measured_field() const { return names_measured_field_; }  // Has {field}.
  bool UsesField(std::string_view name) const;
  // Whether the key tells one event's time to the millisecond or finer; a coarser time is a bucket.
  bool has_full_time() const;

  // Appends one placeholder's text. `value` must not be null unless segment.is_time; `t` is the
  // table's time of the event. Errors (wider than its padding, empty, not an integer for zero(n),
  // ...) name the field.
  Status AppendSegment(const Segment& segment, const Value& value, TimeUs t, TimeUnit unit,
                       std::string* out) const;

  // Splits a key into its placeholders' values. `scratch` owns decoded text; it is cleared first.
  // Error: the template cannot have made this key.
  Status ReadBack(std::string_view key, std::string* scratch, std::vector<KeyField>* fields) const;

 private:
  std::string text_;
  std::vector<Segment> segments_;
  std::vector<std::string> entity_fields_;
  bool names_measured_field_ = false;
};

// Templates for qualifiers and values: same syntax, no percent-encoding (a qualifier is stored as
// it is). A template that is one placeholder keeps the type of what it names.
class ValueTemplate {
 public:
  ValueTemplate() = default;
  static Result<ValueTemplate> Parse(std::string_view text, std::string_view time_field);

  const std::string& text() const { return text_; }
  const std::vector<Segment>& segments() const { return segments_; }
  bool is_constant() const;
  bool is_one_placeholder() const { return segments_.size() == 1 && !segments_[0].is_literal(); }
  bool Names(std::string_view field) const;

  // Matches `text` against the template: literals must match, placeholders take what lies between
  // (the shortest run up to the next literal, fixed widths first). False: no match. Values come
  // back as ReadBack gives them, as views of `text`.
  bool Match(std::string_view text, std::vector<KeyField>* fields) const;

 private:
  std::string text_;
  std::vector<Segment> segments_;
};

// 1 + XXH64(text, seed 0) mod n.
uint32_t Salt(std::string_view text, uint32_t n);

}  // namespace tallyd

#endif  // TALLYD_CONFIG_ROW_KEY_TEMPLATE_H_
