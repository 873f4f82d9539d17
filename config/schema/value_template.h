// Templates for qualifiers and values: the syntax of row keys, no percent-encoding (a qualifier is
// stored as it is). A template that is one placeholder keeps the type of what it names.
//
//   ValueTemplate name = *ValueTemplate::Parse("{ts:%H%M}", "ts");
//   for each segment: literal, or name.AppendSegment(...);   // "0015"
//   name.Match("0015", &fields);                             // true; "ID": false
//
// Immutable after Parse; thread-safe.
#ifndef TALLYD_CONFIG_SCHEMA_VALUE_TEMPLATE_H_
#define TALLYD_CONFIG_SCHEMA_VALUE_TEMPLATE_H_

#include <string>
#include <string_view>
#include <vector>

#include "config/schema/template_segment.h"

namespace tallyd {

class ValueTemplate {
 public:
  ValueTemplate() = default;
  // Empty text is a template, too: the empty string.
  static Result<ValueTemplate> Parse(std::string_view text, std::string_view time_field);

  const std::string& text() const { return text_; }
  const std::vector<Segment>& segments() const { return segments_; }
  bool is_constant() const;
  bool is_one_placeholder() const { return segments_.size() == 1 && !segments_[0].is_literal(); }
  bool Names(std::string_view field) const;

  // Does as RowKeyTemplate::AppendSegment, without percent-encoding; an empty value is empty text.
  Status AppendSegment(const Segment& segment, const Value& value, TimeUs t, TimeUnit unit,
                       std::string* out) const;

  // Matches `text` against the template: literals must match, placeholders take what lies between
  // (the shortest run up to the next literal, fixed widths first). False: no match. Values come
  // back as ReadBack gives them, as views of `text`; reversed ones, of which `text` has no view,
  // come back null.
  bool Match(std::string_view text, std::vector<KeyField>* fields) const;

 private:
  std::string text_;
  std::vector<Segment> segments_;
};

}  // namespace tallyd

#endif  // TALLYD_CONFIG_SCHEMA_VALUE_TEMPLATE_H_
