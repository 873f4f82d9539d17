#include "tools/copy/json_slices.h"

#include <algorithm>

#include "ingest/text/json.h"

namespace tallyd {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// Reads along the text; every step is false at what is not there.
class Cutter {
 public:
  explicit Cutter(std::string_view text) : text_(text) {}

  void Spaces() {
    while (at_ < text_.size() && IsSpace(text_[at_])) ++at_;
  }
  bool Take(char c) {
    Spaces();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool AtEnd() {
    Spaces();
    return at_ == text_.size();
  }

  bool String(std::string_view* slice) {
    Spaces();
    const size_t begin = at_;
    if (!Take('"')) return false;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size()) return false;
    *slice = text_.substr(begin, ++at_ - begin);
    return true;
  }

  bool Value(std::string_view* slice) {
    Spaces();
    const size_t begin = at_;
    if (at_ >= text_.size()) return false;
    if (text_[at_] == '"') return String(slice);
    if (text_[at_] == '{' || text_[at_] == '[') {
      if (!Nested()) return false;
    } else {
      while (at_ < text_.size() && !IsSpace(text_[at_]) &&
             std::string_view(",]}").find(text_[at_]) == std::string_view::npos) {
        ++at_;
      }
    }
    *slice = text_.substr(begin, at_ - begin);
    return at_ > begin;
  }

 private:
  // To behind the bracket that closes the one here.
  bool Nested() {
    size_t depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        std::string_view ignored;
        if (!String(&ignored)) return false;
        continue;
      }
      ++at_;
      if (c == '{' || c == '[') ++depth;
      if ((c == '}' || c == ']') && --depth == 0) return true;
    }
    return false;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

std::vector<std::string_view> LinesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

bool CutJson(std::string_view text, std::vector<JsonSlice>* slices) {
  slices->clear();
  Cutter cutter(text);
  const bool is_object = cutter.Take('{');
  if (!is_object && !cutter.Take('[')) return false;
  const char end = is_object ? '}' : ']';
  if (cutter.Take(end)) return cutter.AtEnd();
  while (true) {
    JsonSlice slice;
    if (is_object && !(cutter.String(&slice.name) && cutter.Take(':'))) return false;
    if (!cutter.Value(&slice.value)) return false;
    slices->push_back(slice);
    if (cutter.Take(',')) continue;
    return cutter.Take(end) && cutter.AtEnd();
  }
}

std::optional<std::string> TextOfSlice(std::string_view quoted) {
  const Json text = Json::parse(quoted, nullptr, false);
  if (!text.is_string()) return std::nullopt;
  return text.get<std::string>();
}

}  // namespace tallyd
