// Answers that are not hot (status, tables, errors, plans) as values: members keep the order in
// which they are given, and no text of theirs can break the JSON around it. What has many rows is
// written by the writers of ingest/text/json_text.h, which spell values the same way.
#ifndef TALLYD_INGEST_TEXT_JSON_H_
#define TALLYD_INGEST_TEXT_JSON_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "config/values/time.h"
#include "storage/store.h"

namespace tallyd {

using Json = nlohmann::ordered_json;

// The text; {"base64": ...} of bytes that are no UTF-8.
Json JsonOfText(std::string_view text);
// The name of a member, which is always text: "base64:..." of bytes that are no UTF-8.
std::string JsonName(std::string_view name);
// Milliseconds: a whole number, or with decimals where the time has microseconds.
Json JsonOfTime(TimeUs t);
// Seconds with at most three decimals.
Json JsonOfSeconds(int64_t us);
// Members with names are an object, others a list.
Json JsonOfMembers(const StoreMember::Members& members);

// On one line. Never fails: of a string that is no UTF-8 the wrong bytes become U+FFFD.
std::string Dump(const Json& value);
// The members of an object behind those that *out has: `,"name":value` each, without braces.
void AppendMembers(const Json& object, std::string* out);

}  // namespace tallyd

#endif  // TALLYD_INGEST_TEXT_JSON_H_
