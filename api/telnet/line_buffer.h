// Bytes as they come -> lines. What is read goes to Room and is told by Took; TakeLine gives one
// line after the other until none is whole, and TakeRest, once all has come, what stands behind
// the last end of a line. A line beyond kMaxLineBytes is dropped to its end,
// however long it is, and told in its place. Not thread-safe.
#ifndef TALLYD_API_TELNET_LINE_BUFFER_H_
#define TALLYD_API_TELNET_LINE_BUFFER_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace tallyd {

class LineBuffer {
 public:
  static constexpr size_t kMaxLineBytes = 8u << 10;  // Without its end.
  static constexpr size_t kLeastBytes = 4u << 10;
  static constexpr size_t kMostBytes = 256u << 10;
  // Whoever uses the lines may read so far behind them.
  static constexpr size_t kPadding = 64;

  struct Line {
    std::string_view text;     // Without "\n" or "\r\n". Stays until Room.
    bool is_too_long = false;  // Then the text is none.
  };

  LineBuffer() { Resize(kLeastBytes); }

  // Where the next bytes go, never empty. REQUIRES: TakeLine found no line any more.
  std::span<char> Room();
  void Took(size_t bytes) { end_ += bytes; }
  std::optional<Line> TakeLine();
  // REQUIRES: TakeLine found no line any more.
  std::optional<Line> TakeRest();

  size_t waiting() const { return end_ - begin_; }
  bool has_rest() const { return waiting() > 0 || skips_; }  // The beginning of a line.
  size_t capacity() const { return capacity_; }
  // Whether what came last filled it: more waits, perhaps.
  bool was_full() const { return end_ == capacity_; }
  // REQUIRES: not less than what waits, nor than kLeastBytes.
  void Resize(size_t capacity);

 private:
  // The line ends before `end`; the next one begins at `next`.
  Line TakeUpTo(size_t end, size_t next);

  std::unique_ptr<char[]> bytes_;
  size_t capacity_ = 0;
  size_t begin_ = 0;
  size_t searched_ = 0;  // No line ends before it.
  size_t end_ = 0;
  bool skips_ = false;  // A line that is too long, until it ends.
};

}  // namespace tallyd

#endif  // TALLYD_API_TELNET_LINE_BUFFER_H_
