// The reading half of config/schema/placeholder.h.
#include <algorithm>

#include "config/schema/key_escape.h"
#include "config/schema/placeholder.h"
#include "config/values/calendar_format.h"
#include "config/values/digits.h"

namespace tallyd {
namespace {

constexpr size_t kNoMatch = std::string_view::npos;

bool ReadSalt(const Spec& spec, std::string_view raw) {
  const std::optional<int64_t> salt = ParsePlainInteger(raw);
  return salt && *salt >= 1 && *salt <= spec.n;
}

// Reverses `text` at the end of `scratch`, where it is already if it was decoded.
bool Reverse(SpecKind kind, bool decoded, std::string* scratch, std::string_view* text) {
  const bool digits = kind == SpecKind::kReverseDigits;
  if (digits && LeadingDigits(*text) != text->size()) return false;
  if (!decoded) scratch->append(*text);
  char* const end = scratch->data() + scratch->size();
  char* const begin = end - text->size();
  if (digits) {
    std::reverse(begin, end);
  } else {
    ReverseLabels(begin, end);
  }
  *text = std::string_view(begin, text->size());
  return true;
}

bool IsReversed(SpecKind kind) {
  return kind == SpecKind::kReverseDomain || kind == SpecKind::kReverseDigits;
}

// Text of a qualifier or value, which is not encoded.
bool ReadPlain(const Segment& segment, std::string_view raw, Value* value) {
  const SpecKind kind = segment.spec.kind;
  if (kind == SpecKind::kReverseDigits && LeadingDigits(raw) != raw.size()) return false;
  *value = IsReversed(kind) ? Value() : ValueFromText(raw);
  return true;
}

}  // namespace

size_t ExtentByForm(const Segment& segment, std::string_view rest) {
  const Spec& spec = segment.spec;
  if (const size_t width = FixedWidth(spec); width != 0) {
    return rest.size() < width ? kNoMatch : width;
  }
  if (spec.is_time()) return MatchCalendar(spec.format, rest);
  if (segment.is_salt()) {
    const size_t digits = LeadingDigits(rest.substr(0, CountDigits(kMaxSalts)));
    return digits == 0 ? kNoMatch : digits;
  }
  return 0;
}

bool ReadPlaceholder(const Segment& segment, std::string_view raw, std::string* scratch,
                     Value* value) {
  const Spec& spec = segment.spec;
  *value = Value();
  if (segment.is_salt()) return ReadSalt(spec, raw);
  if (spec.is_time()) return FindPeriod(spec, raw).has_value();
  if (spec.kind == SpecKind::kZero) {
    const std::optional<int64_t> number = ParseDigits(raw);
    if (number) *value = Value::Int(*number);
    return number.has_value();
  }
  if (spec.kind == SpecKind::kPad) raw = raw.substr(0, raw.find_last_not_of(' ') + 1);
  if (scratch == nullptr) return ReadPlain(segment, raw, value);

  std::string_view text;
  if (raw.empty() || !Unescape(raw, segment.stop, scratch, &text)) return false;
  // An escaped space at the end: the padding would have been refused.
  if (spec.kind == SpecKind::kPad && text.back() == ' ') return false;
  const bool decoded = text.data() != raw.data();
  if (IsReversed(spec.kind) && !Reverse(spec.kind, decoded, scratch, &text)) return false;
  *value = ValueFromText(text);
  return true;
}

}  // namespace tallyd
