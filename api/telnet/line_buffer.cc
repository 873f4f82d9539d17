#include "api/telnet/line_buffer.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace tallyd {

void LineBuffer::Resize(size_t capacity) {
  assert(capacity >= waiting() && capacity >= kLeastBytes);
  auto bytes = std::make_unique<char[]>(capacity + kPadding);
  if (waiting() > 0) std::memcpy(bytes.get(), bytes_.get() + begin_, waiting());
  bytes_ = std::move(bytes);
  capacity_ = capacity;
  searched_ -= begin_;
  end_ -= begin_;
  begin_ = 0;
}

std::span<char> LineBuffer::Room() {
  if (waiting() > kMaxLineBytes + 1) {  // A carriage return may be of the line's end.
    skips_ = true;
    begin_ = searched_ = end_;
  }
  if (begin_ > 0) {
    std::memmove(bytes_.get(), bytes_.get() + begin_, waiting());
    searched_ -= begin_;
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == capacity_) Resize(std::max(2 * capacity_, kMaxLineBytes + kLeastBytes));
  return {bytes_.get() + end_, capacity_ - end_};
}

std::optional<LineBuffer::Line> LineBuffer::TakeLine() {
  const std::string_view all(bytes_.get(), end_);
  const size_t end = all.find('\n', searched_);
  if (end == all.npos) {
    searched_ = end_;
    return std::nullopt;
  }
  return TakeUpTo(end, end + 1);
}

std::optional<LineBuffer::Line> LineBuffer::TakeRest() {
  if (!has_rest()) return std::nullopt;
  return TakeUpTo(end_, end_);
}

LineBuffer::Line LineBuffer::TakeUpTo(size_t end, size_t next) {
  std::string_view text(bytes_.get() + begin_, end - begin_);
  begin_ = searched_ = next;
  if (text.ends_with('\r')) text.remove_suffix(1);
  if (std::exchange(skips_, false) || text.size() > kMaxLineBytes) return Line{{}, true};
  return Line{text, false};
}

}  // namespace tallyd
