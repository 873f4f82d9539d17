#include "config/schema/placeholder.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "config/escape/key_escape.h"
#include "config/values/calendar_format.h"
#include "config/values/digits.h"

namespace tallyd {
namespace {

Error FieldError(const Segment& segment, std::string_view what) {
  return Invalid("field \"" + segment.field + "\": " + std::string(what));
}

// At most so many bytes of a value enter a message, whole UTF-8 characters only.
constexpr size_t kQuotedBytes = 64;

std::string Quoted(std::string_view text) {
  if (text.size() <= kQuotedBytes) return "\"" + std::string(text) + "\"";
  size_t size = kQuotedBytes;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xc0) == 0x80) --size;
  return "\"" + std::string(text.substr(0, size)) + "...\"";
}

std::string_view Tail(const std::string& out, size_t start) {
  return std::string_view(out).substr(start);
}

// The value's text, unescaped. The time field may be absent from an event that was given a time.
Status AppendPlain(const Segment& segment, const Value& value, const TableTime& time,
                   std::string* out) {
  if (!value.is_null()) {
    AppendText(value, out);
  } else if (segment.of_time_field) {
    AppendTime(time.t, time.unit, out);
  } else {
    return FieldError(segment, "missing, and the template needs it");
  }
  return {};
}

Status AppendSalt(const Segment& segment, const Value& value, const TableTime& time,
                  std::string* out) {
  const size_t start = out->size();
  if (segment.of_time_field) {
    AppendNumber(static_cast<uint64_t>(time.t), out);
  } else if (Status status = AppendPlain(segment, value, time, out); !status) {
    return status;
  }
  if (out->size() == start) return FieldError(segment, "empty, and the template needs it");
  const uint32_t salt = Salt(Tail(*out, start), segment.spec.n);
  out->resize(start);
  AppendNumber(salt, out);
  return {};
}

Status AppendZeroPadded(const Segment& segment, const Value& value, std::string* out) {
  std::optional<int64_t> number;
  if (value.type() == ValueType::kInt64) {
    number = value.AsInt();
  } else if (value.type() == ValueType::kString) {
    number = ParsePlainInteger(value.AsView());
  }
  if (!number || *number < 0) {
    return FieldError(segment, Quoted(ToText(value)) + " is no non-negative integer");
  }
  const auto magnitude = static_cast<uint64_t>(*number);
  if (CountDigits(magnitude) > segment.spec.n) {
    return FieldError(segment, std::to_string(magnitude) + " is wider than the " +
                                   std::to_string(segment.spec.n) + " digits of its padding");
  }
  AppendDigits(magnitude, segment.spec.n, out);
  return {};
}

Status PadTail(const Segment& segment, size_t start, std::string* out) {
  const size_t width = out->size() - start;
  if (width > segment.spec.n) {
    return FieldError(segment, Quoted(Tail(*out, start)) + " is wider than the " +
                                   std::to_string(segment.spec.n) + " bytes of its padding");
  }
  out->append(segment.spec.n - width, ' ');
  return {};
}

// A text that has no byte to be escaped, as most have.
bool IsAsIs(const Segment& segment, const Value& value, TemplateUse use) {
  if (value.type() != ValueType::kString || value.AsView().empty()) return false;
  return use != TemplateUse::kKey || !NeedsEscape(value.AsView(), segment.stop);
}

// What the spec makes of the text that `out` holds from `start` on.
Status Transform(const Segment& segment, size_t start, std::string* out) {
  char* const begin = out->data() + start;
  char* const end = out->data() + out->size();
  if (segment.spec.kind == SpecKind::kReverseDomain) {
    ReverseLabels(begin, end);
  } else if (segment.spec.kind == SpecKind::kReverseDigits) {
    if (!std::all_of(begin, end, IsDigit)) {
      return FieldError(segment, Quoted(Tail(*out, start)) + " is not only digits");
    }
    std::reverse(begin, end);
  } else if (segment.spec.kind == SpecKind::kPad && begin != end && end[-1] == ' ') {
    return FieldError(segment, Quoted(Tail(*out, start)) + " ends in a space, as padding does");
  }
  return {};
}

// Appends the time that any field but the table's time holds.
Status AppendTimeOf(const Segment& segment, const Value& value, TimeUnit unit, std::string* out) {
  const Result<TimeUs> t = ParseEventTime(value, unit);
  if (!t) return t.error().Prefixed("field \"" + segment.field + "\"");
  AppendTimeSpec(segment.spec, *t, out);
  return {};
}

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

void ReverseLabels(char* begin, char* end) {
  std::reverse(begin, end);
  while (begin != end) {
    char* dot = std::find(begin, end, '.');
    std::reverse(begin, dot);
    begin = dot == end ? end : dot + 1;
  }
}

Status AppendPlaceholder(const Segment& segment, const Value& value, const TableTime& time,
                         TemplateUse use, std::string* out) {
  assert(!segment.is_literal());
  if (segment.is_time) {
    AppendTimeSpec(segment.spec, time.t, out);
    return {};
  }
  if (segment.is_salt()) return AppendSalt(segment, value, time, out);
  if (value.is_null() && !segment.of_time_field) {
    return FieldError(segment, "missing, and the template needs it");
  }
  if (segment.spec.is_time()) return AppendTimeOf(segment, value, time.unit, out);
  if (segment.spec.kind == SpecKind::kZero) return AppendZeroPadded(segment, value, out);

  const size_t start = out->size();
  const bool as_is = IsAsIs(segment, value, use);
  if (as_is) {
    out->append(value.AsView());
    if (segment.spec.kind == SpecKind::kText) return {};
  } else {
    if (Status status = AppendPlain(segment, value, time, out); !status) return status;
    if (out->size() == start && use == TemplateUse::kKey) {
      return FieldError(segment, "empty, and the row key needs it");
    }
  }
  if (Status status = Transform(segment, start, out); !status) return status;
  if (!as_is && use == TemplateUse::kKey) EscapeTail(start, segment.stop, out);
  return segment.spec.kind == SpecKind::kPad ? PadTail(segment, start, out) : Status();
}

namespace {

// Of a value that is written without a string.
constexpr size_t kPlainBytes = 64;
constexpr std::string_view kSpaces = "        ";

}  // namespace

size_t PlainRoom(const Segment& segment) {
  switch (segment.spec.kind) {
    case SpecKind::kText:
      return kPlainBytes;
    case SpecKind::kZero:
      return segment.spec.n;
    case SpecKind::kPad:
      return segment.spec.n + kSpaces.size();
    default:
      return 0;
  }
}

char* WritePlain(const Segment& segment, const Value& value, TemplateUse use, char* to) {
  const Spec& spec = segment.spec;
  if (spec.kind == SpecKind::kZero) {
    if (value.type() != ValueType::kInt64 || value.AsInt() < 0) return nullptr;
    const auto number = static_cast<uint64_t>(value.AsInt());
    if (CountDigits(number) > spec.n) return nullptr;
    WriteLastDigits(spec.n, number, to + spec.n);
    return to + spec.n;
  }
  const bool is_number = value.type() == ValueType::kInt64 && value.AsInt() >= 0;
  if (is_number && spec.kind == SpecKind::kText && !IsDigit(segment.stop)) {
    const auto number = static_cast<uint64_t>(value.AsInt());
    const size_t digits = CountDigits(number);
    WriteLastDigits(digits, number, to + digits);
    return to + digits;
  }
  if (!IsAsIs(segment, value, use)) return nullptr;
  const std::string_view text = value.AsView();
  if (spec.kind != SpecKind::kPad) {
    if (text.size() > kPlainBytes) return nullptr;
    std::memcpy(to, text.data(), text.size());
    return to + text.size();
  }
  if (text.size() > spec.n || text.back() == ' ') return nullptr;
  for (size_t at = text.size(); at < spec.n; at += kSpaces.size()) {
    std::memcpy(to + at, kSpaces.data(), kSpaces.size());
  }
  std::memcpy(to, text.data(), text.size());
  return to + spec.n;
}

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
