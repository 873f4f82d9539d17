// JSON text cut into its parts, which stay as they are spelled: what is copied from one daemon to
// another must not pass through a number or a text of another precision. Only for what a daemon
// answered: nothing is checked beyond what cutting needs.
#ifndef TALLYD_TOOLS_COPY_JSON_SLICES_H_
#define TALLYD_TOOLS_COPY_JSON_SLICES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tallyd {

// The lines of NDJSON without their ends; empty ones are left out. They view `text`.
std::vector<std::string_view> LinesOf(std::string_view text);

struct JsonSlice {
  std::string_view name;   // With its quotes; empty in a list.
  std::string_view value;  // As it is spelled, of any kind.
};

// The members of an object, or the elements of a list. False where the text is neither. The slices
// view `text`; *slices is replaced.
bool CutJson(std::string_view text, std::vector<JsonSlice>* slices);
// The text that a JSON string spells, of a slice with its quotes; none where it is no string.
std::optional<std::string> TextOfSlice(std::string_view quoted);

}  // namespace tallyd

#endif  // TALLYD_TOOLS_COPY_JSON_SLICES_H_
