// Where the tokens of a JSON text begin: simdjson's first stage, which also checks UTF-8, control
// characters in strings and that the last string is closed. What lies between is read by
// EventReader.
//
// Only the first stage is used because it is the part that vectorises (chosen at run time for the
// CPU; On-Demand would be compiled for the oldest one), and because reading the tokens ourselves is
// what lets us refuse everything malformed, tell one event's fault from a broken body, and know
// each byte offset.
//
// Keeps its memory from text to text. Not thread-safe.
#ifndef TALLYD_INGEST_DECODE_JSON_TOKENS_H_
#define TALLYD_INGEST_DECODE_JSON_TOKENS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tallyd {

// What is not JSON, and where: a byte offset into the text.
struct SyntaxError {
  size_t offset = 0;
  std::string what;  // "expected ':' after a field's name, found '}'"
};

class JsonTokens {
 public:
  enum class Scanned : uint8_t { kOk, kEmpty, kMalformed };

  JsonTokens();
  ~JsonTokens();

  // `text` has kBodyPadding readable bytes behind it.
  Scanned Scan(std::string_view text);
  // Offsets of { } [ ] : , of opening quotes, and of the first byte of numbers and words. One more
  // readable offset behind them: text.size().
  std::span<const uint32_t> offsets() const { return offsets_; }
  // What stays from text to text.
  size_t bytes() const;
  // Gives back the memory that an unusually large text took.
  void Shrink();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::span<const uint32_t> offsets_;
};

// JsonCursor: the tokens of a text one by one, and what is malformed about them. It is the base of
// whoever makes something of a text (event_reader.h, ingest/points/point_reader.h). StartAt, then
// Peek and Take what comes; what nobody asks for is skipped by SkipValue, which checks it against
// the grammar all the same. What returns bool is false where the text is no JSON: error() tells.
class JsonCursor {
 public:
  // The first byte of the next token, '\0' at the end; Take moves on.
  char Peek() const { return next_ < end_ ? text_[*next_] : '\0'; }
  char Take() { return next_ < end_ ? text_[*next_++] : '\0'; }
  bool AtEnd() const { return next_ == end_; }

  // Records "expected `what`, found ..." at the next token. Always false.
  bool Expected(std::string_view what);
  const SyntaxError& error() const { return error_; }

 protected:
  // `tokens`: as JsonTokens has them, with one more readable offset behind them.
  void StartAt(std::string_view text, std::span<const uint32_t> tokens) {
    text_ = text;
    next_ = tokens.data();
    end_ = tokens.data() + tokens.size();
  }
  size_t bytes() const { return scratch_.capacity() + nesting_.capacity() / 8; }

  bool SkipValue();
  bool SkipName();
  bool SkipScalar();
  bool SkipString();

  // The text of the string that comes next, as it stands between its quotes.
  std::string_view PeekString() const { return StringAt(next_); }
  std::string_view StringAt(const uint32_t* token) const {
    // Between a string and the next token stands nothing but space, so its closing quote is the
    // last byte before that which is not space. The first stage made sure that there is one.
    const size_t begin = token[0] + 1;
    size_t close = token[1] - 1;
    while (text_[close] != '"') --close;
    return text_.substr(begin, close - begin);
  }
  std::string_view WordAt(size_t offset) const;
  bool Malformed(size_t offset, std::string what);

  std::string_view text_;
  const uint32_t* next_ = nullptr;
  const uint32_t* end_ = nullptr;
  std::string scratch_;  // Unescaped strings.

 private:
  SyntaxError error_;
  std::vector<bool> nesting_;  // Of skipped values: true for an object.
};

// Finds what Scan calls malformed, byte by byte.
SyntaxError LocateMalformed(std::string_view text);

// Which event of a body (an array of events, or {"events": [...]}) the byte at `offset` belongs to.
size_t EventIndexAt(std::string_view body, size_t offset);

}  // namespace tallyd

#endif  // TALLYD_INGEST_DECODE_JSON_TOKENS_H_
