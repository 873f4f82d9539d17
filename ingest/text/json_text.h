// Values, times and names as JSON text, appended directly: no document is built. Answers that show
// them are spelled so, and so are the bodies that the tools send.
#ifndef TALLYD_INGEST_TEXT_JSON_TEXT_H_
#define TALLYD_INGEST_TEXT_JSON_TEXT_H_

#include <string>
#include <string_view>

#include "config/values/time.h"
#include "config/values/value.h"

namespace tallyd {

// Quotes and escapes a text; bytes that are no UTF-8 become {"base64": "..."}.
void AppendJsonString(std::string_view text, std::string* out);
// The name of a member, which cannot be an object: "base64:..." where it is no text.
void AppendJsonName(std::string_view name, std::string* out);
// Bytes become {"base64": "..."}, null is null.
void AppendJsonValue(const Value& value, std::string* out);
// How answers tell times, with decimals where needed.
inline constexpr TimeUnit kAnswerTimeUnit = TimeUnit::kMilliseconds;
void AppendJsonTime(TimeUs t, std::string* out);
std::string EncodeBase64(std::string_view bytes);
// With its padding, and nothing else; false where it is not that. *bytes is replaced.
bool DecodeBase64(std::string_view text, std::string* bytes);

}  // namespace tallyd

#endif  // TALLYD_INGEST_TEXT_JSON_TEXT_H_
