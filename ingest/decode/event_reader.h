// One event out of a text's tokens. A grammar error ends the body; a fault (an array, a duplicate
// field, a number beyond its type, ...) refuses the event, and the rest of it is still checked
// against the grammar so that nothing malformed passes behind a fault.
//
// Start, then ReadEvent at the first token of a value, Take and Peek for what stands around events.
// Or StartText, which needs no tokens, and ReadKnown for events that mostly come as others did.
// Not thread-safe.
#ifndef TALLYD_INGEST_DECODE_EVENT_READER_H_
#define TALLYD_INGEST_DECODE_EVENT_READER_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "ingest/decode/event_batch.h"
#include "ingest/decode/field_order.h"
#include "ingest/decode/json_tokens.h"
#include "ingest/decode/shape.h"

namespace tallyd {

class EventReader : public JsonCursor {
 public:
  void Start(std::string_view text, std::span<const uint32_t> tokens, ShapeRegistry& shapes,
             EventBatch* batch);

  // The text has kBodyPadding readable bytes behind it.
  void StartText(std::string_view text, ShapeRegistry& shapes, EventBatch* batch) {
    Start(text, {}, shapes, batch);
  }
  // Reads the event that begins there, where between its values stands what stood between those of
  // one that ReadEvent read, and the values are short numbers, plain texts and booleans. The place
  // behind it; null: it is not such an event, and may be none at all, nothing was added. `alone`:
  // nothing but space may follow.
  const char* ReadKnown(const char* at, bool alone = false);

  // Reads the value that comes next as an event: it is added to the batch, or its fault is. False:
  // the text is not JSON; error() tells, and nothing was added. `alone`: nothing may follow.
  bool ReadEvent(bool alone = false);

  // Whether {"events": [ comes next.
  bool OpensEnvelope() const;

  // Before the texts of a body: the names of their fields may take so much (MostNameBytes).
  void AllowNames(size_t bytes) { order_.AllowNames(bytes); }
  // What stays from text to text, once Shrink gave back what an unusual event took.
  size_t bytes() const { return order_.bytes() + JsonCursor::bytes(); }
  void Shrink() { order_.Shrink(); }

 private:
  // The names of the objects around a member, as they stand in the text; null: there are none.
  struct Way {
    const Way* outer = nullptr;
    std::string_view raw_name;
  };

  bool ReadObject(size_t depth, const Way* way);
  bool ReadMember(size_t depth, const Way* way);
  bool ReadOtherName(std::string_view raw, FieldOrder::Kind kind, FieldOrder::Step step);
  bool ReadScalar(std::string_view raw_name);
  bool ReadString(std::string_view raw_name);
  bool ReadLongNumber(std::string_view raw_name, Value* value);
  bool ReadWord(std::string_view word);

  // Refuses the event; the first reason stays.
  void Refuse(std::string_view name, std::string reason);
  // The same with the name as it stands in the text.
  void RefuseField(std::string_view raw_name, std::string reason);
  // From behind the value before this to there: what led to this member, or to an object's end.
  void NoteLead(FieldOrder::Kind kind, size_t end) {
    order_.NoteLead(kind, text_.substr(behind_, end - behind_));
  }
  // Refuses the event if the object that ended there, without a value in it, stands for a time.
  void RefuseEmptyTime(const Way& way);
  // Whether an object without a value, which the known order has just closed, may stand for one.
  bool MayBeTime() const;
  void RefuseMember(FieldOrder::Step step, std::string_view name);
  FieldOrder::Kind KindOfNext() const;

  ShapeRegistry* shapes_ = nullptr;
  EventBatch* batch_ = nullptr;
  FieldOrder order_;
  size_t behind_ = 0;  // The value read last, or the place where the event begins.
  bool refused_ = false;
  Refusal refusal_;
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_DECODE_EVENT_READER_H_
