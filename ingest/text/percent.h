// Percent-decoding of request targets (RFC 3986), once.
#ifndef TALLYD_INGEST_TEXT_PERCENT_H_
#define TALLYD_INGEST_TEXT_PERCENT_H_

#include <optional>
#include <string>
#include <string_view>

namespace tallyd {

enum class PlusIs { kPlus, kSpace };  // In a path '+' is itself; in a query it is a space.

// Empty when an escape is malformed. The bytes may be anything, NUL included.
std::optional<std::string> DecodePercent(std::string_view text, PlusIs plus);

// Everything but unreserved characters escaped: for cursors and links.
std::string EncodePercent(std::string_view text);

}  // namespace tallyd

#endif  // TALLYD_INGEST_TEXT_PERCENT_H_
