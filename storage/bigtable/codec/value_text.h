// What a cell on Bigtable holds of a value: the text that `cbt read` shows, and from which the
// value comes back, type and all.
//
//   42, -1.5, 1e+16, true      numbers and booleans in the spelling of AppendText
//   any other text             as it is
//   '42, 'true, ''quoted       a text that would read as one of the above, or begins with a quote
//   'bAAEC                     bytes, in base64
//
// One-to-one: each value has one text, and no other value has it. What others wrote that is no
// UTF-8, or no base64 behind 'b, comes back as the bytes that it is. Pure functions.
#ifndef TALLYD_STORAGE_BIGTABLE_CODEC_VALUE_TEXT_H_
#define TALLYD_STORAGE_BIGTABLE_CODEC_VALUE_TEXT_H_

#include <string>
#include <string_view>

#include "config/values/value.h"
#include "storage/batch.h"

namespace tallyd {

// REQUIRES: not null.
void AppendCellText(const Value& value, std::string* out);
// Views `text`, or what it puts into the arena; both outlive the value.
Value ValueOfCellText(std::string_view text, Arena* arena);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_CODEC_VALUE_TEXT_H_
