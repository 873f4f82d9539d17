// The rendering half of config/schema/placeholder.h. Runs for every event.
#include <algorithm>
#include <cassert>

#include "config/schema/key_escape.h"
#include "config/schema/placeholder.h"
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
  if (Status status = AppendPlain(segment, value, time, out); !status) return status;
  if (out->size() == start && use == TemplateUse::kKey) {
    return FieldError(segment, "empty, and the row key needs it");
  }
  if (Status status = Transform(segment, start, out); !status) return status;
  if (use == TemplateUse::kKey) EscapeTail(start, segment.stop, out);
  return segment.spec.kind == SpecKind::kPad ? PadTail(segment, start, out) : Status();
}

}  // namespace tallyd
