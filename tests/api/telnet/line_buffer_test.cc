#include "api/telnet/line_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tallyd {
namespace {

// The lines of a text that comes in pieces of so many bytes; "(long)" for one that is too long.
std::vector<std::string> LinesOf(std::string_view text, size_t piece, LineBuffer* buffer) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::span<char> room = buffer->Room();
    EXPECT_FALSE(room.empty());
    const size_t bytes = std::min({piece, text.size(), room.size()});
    std::copy_n(text.data(), bytes, room.data());
    buffer->Took(bytes);
    text.remove_prefix(bytes);
    while (const auto line = buffer->TakeLine()) {
      lines.push_back(line->is_too_long ? "(long)" : std::string(line->text));
    }
  }
  return lines;
}

TEST(LineBuffer, GivesTheSameLinesHoweverTheyCome) {
  const std::string longest(LineBuffer::kMaxLineBytes, 'x');
  const std::string text = "a\n\nbc\r\n" + longest + "\n" + longest + "\r\n" + longest + "y\nd\n" +
                           longest + longest + longest + "\ne\nrest";
  const std::vector<std::string> lines = {"a",      "",  "bc",     longest, longest,
                                          "(long)", "d", "(long)", "e"};
  for (const size_t piece : {1, 2, 3, 7, 100, 4096, 100'000}) {
    LineBuffer buffer;
    EXPECT_EQ(LinesOf(text, piece, &buffer), lines) << piece;
    EXPECT_TRUE(buffer.has_rest());
    EXPECT_EQ(buffer.waiting(), 4u);
    EXPECT_EQ(buffer.TakeRest()->text, "rest");
    EXPECT_FALSE(buffer.TakeRest());
  }
}

TEST(LineBuffer, StaysSmallWhateverComes) {
  LineBuffer buffer;
  EXPECT_TRUE(LinesOf(std::string(10'000'000, 'x'), 65'536, &buffer).empty());
  EXPECT_LE(buffer.capacity(), 4 * LineBuffer::kMaxLineBytes);
  EXPECT_TRUE(buffer.has_rest());
  EXPECT_TRUE(buffer.TakeRest()->is_too_long);
  EXPECT_TRUE(LinesOf(std::string(100'000, 'x'), 65'536, &buffer).empty());
  EXPECT_EQ(LinesOf("x\ny\n", 10, &buffer), (std::vector<std::string>{"(long)", "y"}));
  EXPECT_FALSE(buffer.has_rest());
}

TEST(LineBuffer, KeepsWhatWaitsWhenItIsResized) {
  LineBuffer buffer;
  EXPECT_EQ(LinesOf("a\nbc", 10, &buffer), (std::vector<std::string>{"a"}));
  buffer.Resize(LineBuffer::kMostBytes);
  EXPECT_EQ(LinesOf("d\n", 10, &buffer), (std::vector<std::string>{"bcd"}));
  buffer.Resize(LineBuffer::kLeastBytes);
  EXPECT_EQ(LinesOf("e\n", 10, &buffer), (std::vector<std::string>{"e"}));
}

}  // namespace
}  // namespace tallyd
