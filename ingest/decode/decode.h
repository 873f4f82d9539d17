// bytes -> events. Decoders know no sockets: a whole decoded body in, an EventBatch out.
//
// A body that is no batch at all (truncated JSON, trailing bytes, invalid UTF-8) is an Error that
// says where, and the batch's only error has the index of the event at fault. An event that is well
// formed but refused (an array, a duplicate field, an integer beyond 64 bits, too deep) is recorded
// in the batch's errors, and decoding goes on with the next, also after a bad line of NDJSON.
#ifndef TALLYD_INGEST_DECODE_DECODE_H_
#define TALLYD_INGEST_DECODE_DECODE_H_

#include <memory>
#include <string_view>

#include "config/values/result.h"
#include "ingest/decode/event_batch.h"
#include "ingest/decode/shape.h"

namespace tallyd {

enum class BodyFormat : uint8_t { kJson, kNdjson };

inline constexpr size_t kBodyPadding =
    64;  // Readable bytes that a body must have behind its end (SIMDJSON_PADDING).
inline constexpr size_t kMaxDepth = 32;
inline constexpr size_t kMaxFieldNameBytes = 16'384;

// Not thread-safe: one per connection or thread; keeps its buffers and the field order seen last.
class EventDecoder {
 public:
  EventDecoder();
  ~EventDecoder();

  // `body` has kBodyPadding readable bytes behind it. JSON: one object, an array of objects, or
  // {"events": [...]} (an object whose only member is "events" holding an array). Nested objects
  // flatten with '/'; null members are absent.
  Status Decode(BodyFormat format, std::string_view body, ShapeRegistry& shapes, EventBatch* batch);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_DECODE_DECODE_H_
