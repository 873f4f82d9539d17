// One placeholder's text in both directions, for the two kinds of templates: in keys it is
// percent-encoded and never empty, in qualifiers and values it is taken as it is.
#ifndef TALLYD_CONFIG_SCHEMA_PLACEHOLDER_H_
#define TALLYD_CONFIG_SCHEMA_PLACEHOLDER_H_

#include <string>
#include <string_view>

#include "config/schema/template_segment.h"

namespace tallyd {

enum class TemplateUse { kKey, kValue };

// The time by which an event stands in a table, and the unit of times in its other fields.
struct TableTime {
  TimeUs t = 0;
  TimeUnit unit;
};

// Allocates nothing beyond `out`. After an error `out` may end in part of the text.
Status AppendPlaceholder(const Segment& segment, const Value& value, const TableTime& time,
                         TemplateUse use, std::string* out);

// Most values are short, and stand as they are or are padded. PlainRoom: how much room that takes,
// 0 where the spec is of another kind. WritePlain writes there what AppendPlaceholder would append,
// and returns its end, behind which the room may be overwritten, too; null where the value is
// another one, or none.
size_t PlainRoom(const Segment& segment);
char* WritePlain(const Segment& segment, const Value& value, TemplateUse use, char* to);

// How many bytes at the start of `rest` are the placeholder's by their form alone (fixed width,
// time, salt); 0 when only what follows it tells, npos when `rest` has not that form.
size_t ExtentByForm(const Segment& segment, std::string_view rest);

// The value that `raw` says; false when AppendPlaceholder cannot have made it. `scratch` takes text
// that `raw` has no view of, and must have room for raw.size() bytes more; null: such values come
// back null, and text is not decoded.
bool ReadPlaceholder(const Segment& segment, std::string_view raw, std::string* scratch,
                     Value* value);

// "drive.google.com" <-> "com.google.drive", in place.
void ReverseLabels(char* begin, char* end);

}  // namespace tallyd

#endif  // TALLYD_CONFIG_SCHEMA_PLACEHOLDER_H_
