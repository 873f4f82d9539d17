#include "config/schema/value_template.h"

#include <algorithm>

#include "config/schema/placeholder.h"

namespace tallyd {
namespace {

// One pass over a template and a text. As with globs, only the last placeholder of varying width
// has to be tried longer when something after it does not fit: a longer run of an earlier one
// leaves less for the rest.
class Matcher {
 public:
  Matcher(const std::vector<Segment>& segments, std::string_view text,
          std::vector<KeyField>* fields)
      : segments_(segments), text_(text), fields_(fields) {}

  bool Run() {
    while (true) {
      const bool at_end = at_ == segments_.size();
      if (at_end && pos_ == text_.size()) return true;
      if ((at_end || !TakeSegment()) && !TryLonger()) return false;
    }
  }

 private:
  bool TakeSegment() {
    const Segment& segment = segments_[at_];
    const std::string_view rest = text_.substr(pos_);
    if (segment.is_literal()) {
      if (!rest.starts_with(segment.literal)) return false;
      return Advance(segment.literal.size());
    }
    const size_t extent = ExtentByForm(segment, rest);
    if (extent == std::string_view::npos) return false;
    if (extent != 0) return Read(extent);
    open_ = at_;
    open_begin_ = pos_;
    open_fields_ = fields_->size();
    return Read(at_ + 1 == segments_.size() ? rest.size() : 0);
  }

  bool TryLonger() {
    if (open_ == kNone) return false;
    const size_t end = FindNext();
    if (end == kNone) return false;
    fields_->resize(open_fields_);
    at_ = open_;
    pos_ = open_begin_;
    open_end_ = end;
    if (Read(end - open_begin_)) return true;
    open_ = kNone;
    return false;
  }

  // The next end of the open placeholder: where the literal after it stands.
  size_t FindNext() const {
    if (open_ + 1 == segments_.size()) return kNone;
    return text_.find(segments_[open_ + 1].literal, open_end_ + 1);
  }

  bool Read(size_t extent) {
    Value value;
    if (!ReadPlaceholder(segments_[at_], text_.substr(pos_, extent), nullptr, &value)) return false;
    fields_->push_back({at_, value});
    if (open_ == at_) open_end_ = pos_ + extent;
    return Advance(extent);
  }

  bool Advance(size_t size) {
    pos_ += size;
    ++at_;
    return true;
  }

  static constexpr size_t kNone = std::string_view::npos;

  const std::vector<Segment>& segments_;
  const std::string_view text_;
  std::vector<KeyField>* const fields_;
  size_t at_ = 0;
  size_t pos_ = 0;
  size_t open_ = kNone;  // The last placeholder of varying width, and what it took so far.
  size_t open_begin_ = 0;
  size_t open_end_ = 0;
  size_t open_fields_ = 0;
};

}  // namespace

Result<ValueTemplate> ValueTemplate::Parse(std::string_view text, std::string_view time_field) {
  Result<std::vector<Segment>> segments = ParseSegments(text, time_field);
  if (!segments) return segments.error();
  if (std::ranges::any_of(*segments, &Segment::is_labels)) {
    return Invalid("template \"" + std::string(text) +
                   "\": {labels} stands in row keys only, where it is all labels of the event");
  }
  ValueTemplate result;
  result.text_ = text;
  result.segments_ = std::move(*segments);
  return result;
}

bool ValueTemplate::is_constant() const {
  return std::ranges::all_of(segments_, &Segment::is_literal);
}

bool ValueTemplate::Names(std::string_view field) const {
  return std::ranges::any_of(segments_, [field](const Segment& segment) {
    return !segment.is_literal() && segment.field == field;
  });
}

Status ValueTemplate::AppendSegment(const Segment& segment, const Value& value, TimeUs t,
                                    TimeUnit unit, std::string* out) const {
  return AppendPlaceholder(segment, value, {t, unit}, TemplateUse::kValue, out);
}

bool ValueTemplate::Match(std::string_view text, std::vector<KeyField>* fields) const {
  fields->clear();
  return Matcher(segments_, text, fields).Run();
}

}  // namespace tallyd
