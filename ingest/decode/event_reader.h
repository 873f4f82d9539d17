// One event out of a text's tokens. A grammar error ends the body; a fault (an array, a duplicate
// field, a number beyond its type, ...) refuses the event, and the rest of it is still checked
// against the grammar so that nothing malformed passes behind a fault.
//
// Start, then ReadEvent at the first token of a value, Take and Peek for what stands around events.
// Not thread-safe.
#ifndef TALLYD_INGEST_DECODE_EVENT_READER_H_
#define TALLYD_INGEST_DECODE_EVENT_READER_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/decode/event_batch.h"
#include "ingest/decode/field_order.h"
#include "ingest/decode/json_tokens.h"
#include "ingest/decode/shape.h"

namespace tallyd {

class EventReader {
 public:
  void Start(std::string_view text, std::span<const uint32_t> tokens, ShapeRegistry& shapes,
             EventBatch* batch);

  // Reads the value that comes next as an event: it is added to the batch, or its fault is. False:
  // the text is not JSON; error() tells, and nothing was added. `alone`: nothing may follow.
  bool ReadEvent(bool alone = false);

  // The first byte of the next token, '\0' at the end; Take moves on.
  char Peek() const { return next_ < end_ ? text_[*next_] : '\0'; }
  char Take() { return next_ < end_ ? text_[*next_++] : '\0'; }
  bool AtEnd() const { return next_ == end_; }
  // Whether {"events": [ comes next.
  bool OpensEnvelope() const;

  // Records "expected `what`, found ..." at the next token. Always false.
  bool Expected(std::string_view what);
  const SyntaxError& error() const { return error_; }

 private:
  bool ReadObject(size_t depth);
  bool ReadMember(size_t depth);
  bool ReadOtherName(std::string_view raw, FieldOrder::Kind kind, FieldOrder::Step step);
  bool ReadScalar(std::string_view raw_name);
  bool ReadString(std::string_view raw_name);
  bool ReadLongNumber(std::string_view raw_name, Value* value);
  bool ReadWord(std::string_view word);
  bool SkipValue();
  bool SkipName();
  bool SkipScalar();
  bool SkipString();

  // The text of the string that comes next, as it stands between its quotes.
  std::string_view PeekString() const { return StringAt(next_); }
  std::string_view StringAt(const uint32_t* token) const;
  bool Malformed(size_t offset, std::string what);
  // Refuses the event; the first reason stays.
  void Refuse(std::string_view name, std::string reason);
  // The same with the name as it stands in the text.
  void RefuseField(std::string_view raw_name, std::string reason);
  void RefuseMember(FieldOrder::Step step, std::string_view name);
  std::string_view WordAt(size_t offset) const;
  FieldOrder::Kind KindOfNext() const;

  std::string_view text_;
  const uint32_t* next_ = nullptr;
  const uint32_t* end_ = nullptr;
  ShapeRegistry* shapes_ = nullptr;
  EventBatch* batch_ = nullptr;
  FieldOrder order_;
  SyntaxError error_;
  std::string scratch_;        // Unescaped strings.
  std::vector<bool> nesting_;  // Of skipped values: true for an object.
  bool refused_ = false;
  Refusal refusal_;
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_DECODE_EVENT_READER_H_
