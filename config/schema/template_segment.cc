#include "config/schema/template_segment.h"

namespace tallyd {
namespace {

Error At(std::string_view text, const Error& error) {
  return error.Prefixed("template \"" + std::string(text) + "\"");
}

Result<Segment> ParsePlaceholder(std::string_view inner, std::string_view time_field) {
  const size_t colon = inner.find(':');
  Segment segment;
  segment.field = inner.substr(0, colon);
  if (segment.field.empty()) {
    return Invalid("a placeholder names a field: {field} or {field:spec}");
  }
  if (colon != std::string_view::npos) {
    Result<Spec> spec = ParseSpec(inner.substr(colon + 1));
    if (!spec) return spec.error().Prefixed("{" + std::string(inner) + "}");
    segment.spec = std::move(*spec);
  }
  if (segment.field == kLabelsPlaceholder) {
    if (colon != std::string_view::npos) {
      return Invalid("{" + std::string(inner) + "}: {labels} takes no spec");
    }
    segment.is_labels = true;
    return segment;
  }
  segment.of_time_field = segment.field == time_field;
  segment.is_time = segment.of_time_field && segment.spec.is_time();
  return segment;
}

// Takes what comes up to the next brace, or one placeholder.
Result<Segment> TakeSegment(std::string_view* rest, std::string_view time_field) {
  if (rest->front() != '{') {
    const size_t size = std::min(rest->find_first_of("{}"), rest->size());
    if (size == 0) return Invalid("'}' without '{'");
    Segment literal;
    literal.literal = rest->substr(0, size);
    rest->remove_prefix(size);
    return literal;
  }
  const size_t close = rest->find_first_of("{}", 1);
  if (close == std::string_view::npos) return Invalid("'{' without '}'");
  if ((*rest)[close] == '{') return Invalid("'{' within a placeholder");
  const std::string_view inner = rest->substr(1, close - 1);
  rest->remove_prefix(close + 1);
  return ParsePlaceholder(inner, time_field);
}

}  // namespace

bool GivesBackInKey(const Segment& segment) {
  const GivesBack gives_back = segment.spec.info().gives_back;
  return !segment.is_literal() && !segment.is_labels && !segment.of_time_field &&
         (gives_back == GivesBack::kValue || gives_back == GivesBack::kValueOfKeys);
}

bool GivesBackInColumn(const Segment& segment) {
  return !segment.is_literal() && segment.spec.info().gives_back == GivesBack::kValue;
}

Result<std::vector<Segment>> ParseSegments(std::string_view text, std::string_view time_field) {
  std::vector<Segment> segments;
  for (std::string_view rest = text; !rest.empty();) {
    Result<Segment> segment = TakeSegment(&rest, time_field);
    if (!segment) return At(text, segment.error());
    if (!segments.empty() && !segments.back().is_literal()) {
      Segment& before = segments.back();
      if (segment->is_literal()) {
        before.stop = segment->literal[0];
      } else if (FixedWidth(before.spec) == 0) {
        return At(text, Error(ErrorCode::kUnprocessable,
                              "{" + before.field + "} has no fixed width, so literal text must " +
                                  "stand between it and {" + segment->field + "}"));
      }
    }
    segments.push_back(std::move(*segment));
  }
  return segments;
}

}  // namespace tallyd
