#include "service/query/run/held_event.h"

#include <string_view>

namespace tallyd {
namespace {

bool HasText(const Value& value) {
  return value.type() == ValueType::kString || value.type() == ValueType::kBytes;
}

}  // namespace

HeldEvent::HeldEvent(std::span<const EventField> fields) : fields_(fields.begin(), fields.end()) {
  for (const EventField& field : fields_) {
    if (HasText(field.value)) text_bytes_ += field.value.AsView().size();
  }
  if (text_bytes_ > 0) text_ = std::make_unique_for_overwrite<char[]>(text_bytes_);
  char* to = text_.get();
  for (EventField& field : fields_) {
    if (!HasText(field.value)) continue;
    const std::string_view text = field.value.AsView();
    text.copy(to, text.size());  // An empty one may be nowhere.
    const std::string_view copy(to, text.size());
    field.value =
        field.value.type() == ValueType::kString ? Value::String(copy) : Value::Bytes(copy);
    to += text.size();
  }
}

}  // namespace tallyd
