// Percent-encoding within row keys: '%', control bytes and stop bytes, uppercase hex. A value has
// one stop byte, the first of the literal that follows it; names and values of {labels} have ','
// and '=' beside it (LabelStops). Canonical: a text has one encoding, and decoding accepts no
// other. An encoded text never holds a stop byte outside of an escape.
#ifndef TALLYD_CONFIG_ESCAPE_KEY_ESCAPE_H_
#define TALLYD_CONFIG_ESCAPE_KEY_ESCAPE_H_

#include <string>
#include <string_view>

namespace tallyd {

// The stop bytes of a label's name and value: these, and what stands between labels.
struct LabelStops {
  char stop = '\0';
};

// Whether the text holds a byte that is escaped.
bool NeedsEscape(std::string_view text, char stop);
bool NeedsEscape(std::string_view text, LabelStops stops);

// Encodes in place what `out` holds from `start` on. Stop '\0': none (NUL is a control byte).
void EscapeTail(size_t start, char stop, std::string* out);
void EscapeTail(size_t start, LabelStops stops, std::string* out);

// How many bytes of `text` come before the first unescaped `stop`; npos when there is none.
size_t FindStop(std::string_view text, char stop);

// Decodes. `*text` views `raw` where nothing is escaped, else what was appended to `scratch`, whose
// capacity must hold raw.size() bytes more. False when `raw` is not what EscapeTail makes.
bool Unescape(std::string_view raw, char stop, std::string* scratch, std::string_view* text);
bool Unescape(std::string_view raw, LabelStops stops, std::string* scratch, std::string_view* text);

}  // namespace tallyd

#endif  // TALLYD_CONFIG_ESCAPE_KEY_ESCAPE_H_
