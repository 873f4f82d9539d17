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

// Finds what Scan calls malformed, byte by byte.
SyntaxError LocateMalformed(std::string_view text);

// Which event of a body (an array of events, or {"events": [...]}) the byte at `offset` belongs to.
size_t EventIndexAt(std::string_view body, size_t offset);

}  // namespace tallyd

#endif  // TALLYD_INGEST_DECODE_JSON_TOKENS_H_
