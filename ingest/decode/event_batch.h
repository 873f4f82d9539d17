// EventBatch: the events of one stream in a request, decoded. Values view the request's body or the
// batch's own arena, so the body must outlive the batch. Reused from request to request (Clear
// keeps the memory).
//
// RequestEvents: the batches of one request, by stream. A body that is one stream's fills one; a
// decoder of a protocol that names a stream with each event asks for that stream's batch, and the
// events are counted together, so that an error tells which of the request it is.
#ifndef TALLYD_INGEST_DECODE_EVENT_BATCH_H_
#define TALLYD_INGEST_DECODE_EVENT_BATCH_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/values/value.h"
#include "ingest/decode/shape.h"

namespace tallyd {

// Why an event is refused, for people. `field` is the one at fault; empty where none is.
struct Refusal {
  std::string field;
  std::string detail;
};

// A text from outside, short enough for a message, never cut inside a character.
std::string Shown(std::string_view text);

struct EventError : Refusal {
  size_t index = 0;  // Of the event in the batch, from 0; of lines, blank ones are not counted.
};

// All refused events are counted, the first kMaxKept are kept.
class EventErrors {
 public:
  static constexpr size_t kMaxKept = 100;
  void Add(size_t index, Refusal refusal);
  // Adds those of `other`; both are in order of index, and so is the result.
  void Merge(const EventErrors& other);
  void Clear();
  size_t count() const { return count_; }
  bool empty() const { return count_ == 0; }
  const std::vector<EventError>& kept() const { return kept_; }

 private:
  size_t count_ = 0;
  std::vector<EventError> kept_;
};

class EventBatch;

struct Event {
  size_t index = 0;  // In the batch, bad events counted.
  const Shape* shape = nullptr;
  std::span<const Value> values;  // None is null.
  // Of a superset's shape, of whose fields the event has a choice: where among them each value
  // stands. Empty where there is a value for each field of the shape, in its order.
  std::span<const uint16_t> places;
  const EventBatch* batch = nullptr;  // Whose event it is; null of one that was made of others.

  bool is_choice() const { return !places.empty(); }
  size_t PlaceOf(size_t value) const { return is_choice() ? places[value] : value; }
  // The text of the number at this place of the shape, where its batch was told of it.
  std::string_view DigitsOf(size_t place) const;
  const std::string& FieldOf(size_t value) const { return shape->fields[PlaceOf(value)]; }
  // Linear: not for each event of a stream.
  const Value* Find(std::string_view field) const;
};

class EventBatch {
 public:
  EventBatch() = default;
  // `next_index` counts the events of all batches of a request, and outlives the batch.
  explicit EventBatch(size_t* next_index) : next_index_(next_index) {}
  EventBatch(const EventBatch&) = delete;
  EventBatch& operator=(const EventBatch&) = delete;

  // Drops all events; the next one is the first of its request.
  void Clear();

  // Decoders: Begin, Add per field, then End (keeps the event) or Drop. Strings passed as `copy` go
  // to the arena.
  void BeginEvent();
  std::string_view Copy(std::string_view text);
  void AddValue(const Value& value) { values_.push_back(value); }
  // A null to be filled in at once: what is written in place need not be copied.
  Value* NewValue() { return &values_.emplace_back(); }
  // The text of the value that came last, a number that has more digits than a double. It views the
  // body, or the arena.
  void NoteDigits(std::string_view text) { digits_.emplace_back(values_.size() - 1, text); }
  void EndEvent(const Shape* shape, std::span<const uint16_t> places = {});
  // An event whose shape is not interned.
  void EndEvent(std::unique_ptr<const Shape> shape);
  void ForgetEvent();               // As if it had not begun.
  void DropEvent(Refusal refusal);  // Records the error at this event's index.
  // Something about the whole batch that its sender should know. Not of each event.
  void Warn(std::string warning) { warnings_.push_back(std::move(warning)); }
  // The text is no batch from the event at `index` on: no event stays, and this is the only error.
  void Break(size_t index, std::string detail);

  size_t size() const { return events_.size(); }  // Good events.
  // What NoteDigits was told of a value of one of these events; empty: nothing.
  std::string_view DigitsOf(const Value& value) const;
  size_t bytes() const;                           // Of memory, but for what is wrong with events.
  size_t seen() const { return *next_index_; }    // Good and bad; of the request.
  Event event(size_t i) const;
  const EventErrors& errors() const { return errors_; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  size_t values_of_event() const { return values_.size() - event_begin_; }  // Of the one at hand.

 private:
  struct Stored {
    size_t index;
    const Shape* shape;
    size_t first;
    size_t first_place;  // Of a choice; else kNone.
  };
  static constexpr size_t kNone = SIZE_MAX;
  std::vector<Stored> events_;
  std::vector<Value> values_;
  std::vector<uint16_t> places_;
  std::vector<std::pair<size_t, std::string_view>> digits_;  // By the index among values_.
  size_t event_begin_ = 0;
  size_t own_index_ = 0;
  size_t* next_index_ = &own_index_;
  std::deque<std::string> arena_;  // Chunks whose addresses stay.
  std::vector<std::unique_ptr<const Shape>> owned_shapes_;
  EventErrors errors_;
  std::vector<std::string> warnings_;
};

class RequestEvents {
 public:
  RequestEvents() = default;
  RequestEvents(const RequestEvents&) = delete;
  RequestEvents& operator=(const RequestEvents&) = delete;

  struct Part {
    std::string stream;
    std::unique_ptr<EventBatch> events;
  };

  void Clear();
  // Records the error of an event of no stream, or of one that there is not.
  void DropEvent(Refusal refusal) { errors_.Add(next_index_++, std::move(refusal)); }
  const EventErrors& errors() const { return errors_; }  // Of DropEvent alone.
  // The batch of the stream's events, new or known; valid until Clear.
  EventBatch& Of(std::string_view stream);
  std::span<const Part> parts() const { return std::span(parts_).first(used_); }
  size_t bytes() const;                        // Of memory.
  size_t seen() const { return next_index_; }  // Events of all streams, good and bad.

 private:
  size_t next_index_ = 0;
  EventErrors errors_;
  std::vector<Part> parts_;  // Those behind used_ are kept for their memory.
  size_t used_ = 0;
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_DECODE_EVENT_BATCH_H_
