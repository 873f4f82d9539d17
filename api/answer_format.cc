#include "api/answer_format.h"

#include <algorithm>

#include "config/values/value.h"
#include "ingest/decode/json_scalar.h"

namespace tallyd {
namespace {

// Whether a reader of CSV would take the text for a number or a bool.
bool ReadsAsScalar(std::string_view text) {
  if (text == "true" || text == "false") return true;
  Value value;
  return ReadNumber(text, &value) != NumberFault::kMalformed;
}

}  // namespace

void AppendCsvText(std::string_view text, std::string* out) {
  if (!text.empty() && text.find_first_of(",\"\r\n") == text.npos && !ReadsAsScalar(text)) {
    out->append(text);
    return;
  }
  out->push_back('"');
  for (const char c : text) {
    if (c == '"') out->push_back('"');
    out->push_back(c);
  }
  out->push_back('"');
}

void AppendTsvText(std::string_view text, std::string* out) {
  constexpr std::string_view kEscaped = "\t\n\r\\";
  constexpr std::string_view kLetters = "tnr\\";
  while (true) {
    const size_t plain = std::min(text.find_first_of(kEscaped), text.size());
    out->append(text.substr(0, plain));
    if (plain == text.size()) return;
    out->push_back('\\');
    out->push_back(kLetters[kEscaped.find(text[plain])]);
    text.remove_prefix(plain + 1);
  }
}

}  // namespace tallyd
