// The text of {labels} in a row key: `name=value` of each label, sorted by the bytes of the names,
// joined by ','; empty where there are none. In names and values '%', ',', '=', control bytes and
// the first byte of the literal that follows are percent-encoded (config/escape/key_escape.h), so
// that two sets of labels never have one text, and no text is the beginning of another set's up to
// that literal. A value may be empty ("rack="), a name may not.
//
//   AppendLabels(labels, '#', &key);                   // "host=a,rack=3"
//   ReadLabels("host=a,rack=3", '#', &scratch, &labels);
//
// Pure and thread-safe.
#ifndef TALLYD_CONFIG_ESCAPE_LABELS_H_
#define TALLYD_CONFIG_ESCAPE_LABELS_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tallyd {

struct Label {
  std::string_view name;
  std::string_view value;
  friend bool operator==(const Label&, const Label&) = default;
};

// REQUIRES: in ascending order of their names, which are distinct and not empty. `stop` is the
// first byte of the literal that follows, '\0' where none does.
void AppendLabels(std::span<const Label> labels, char stop, std::string* out);

// The text of a label up to its value: "host=".
std::string LabelHead(std::string_view name, char stop);

// One label as it stands in a text.
struct ReadLabel : Label {
  std::string_view raw;  // The value's text in the key.
};

// Appends the labels of `raw`. Views are into it, or into `scratch`, whose capacity must hold
// raw.size() bytes more. False: AppendLabels cannot have made it.
bool ReadLabels(std::string_view raw, char stop, std::string* scratch,
                std::vector<ReadLabel>* labels);

}  // namespace tallyd

#endif  // TALLYD_CONFIG_ESCAPE_LABELS_H_
