#include "config/escape/labels.h"

#include "config/escape/key_escape.h"

namespace tallyd {
namespace {

// Takes the next label of a text that is not empty, and the comma behind it. False: a comma at the
// end, behind which a label is missing.
bool TakeRawLabel(std::string_view* rest, std::string_view* label) {
  const size_t end = rest->find(',');
  *label = rest->substr(0, end);
  *rest = end == std::string_view::npos ? std::string_view() : rest->substr(end + 1);
  return end == std::string_view::npos || !rest->empty();
}

}  // namespace

std::string LabelHead(std::string_view name, char stop) {
  std::string head(name);
  EscapeTail(0, LabelStops{stop}, &head);
  head.push_back('=');
  return head;
}

void AppendLabels(std::span<const Label> labels, char stop, std::string* out) {
  const LabelStops stops{stop};
  bool is_first = true;
  for (const Label& label : labels) {
    if (!is_first) out->push_back(',');
    is_first = false;
    size_t start = out->size();
    out->append(label.name);
    EscapeTail(start, stops, out);
    out->push_back('=');
    start = out->size();
    out->append(label.value);
    EscapeTail(start, stops, out);
  }
}

bool ReadLabels(std::string_view raw, char stop, std::string* scratch,
                std::vector<ReadLabel>* labels) {
  const size_t first = labels->size();
  while (!raw.empty()) {
    std::string_view text;
    if (!TakeRawLabel(&raw, &text)) return false;
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string_view::npos) return false;
    ReadLabel label;
    label.raw = text.substr(equals + 1);
    if (!Unescape(text.substr(0, equals), LabelStops{stop}, scratch, &label.name) ||
        !Unescape(label.raw, LabelStops{stop}, scratch, &label.value)) {
      return false;
    }
    if (labels->size() > first && labels->back().name >= label.name) return false;
    labels->push_back(label);
  }
  return true;
}

}  // namespace tallyd
