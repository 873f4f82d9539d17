// BodyDecoder: one format of bodies, a class each (json_body.h, csv_body.h); the list of them is in
// decode.cc. A decoder keeps its buffers from body to body, and is one thread's at a time.
//
// A body that is no batch at all is an Error, and the batch's only error tells the same with the
// index of the event at fault (EventBatch::Break). An event that is well formed but refused is
// recorded in the batch's errors, and decoding goes on with the next.
#ifndef TALLYD_INGEST_DECODE_BODY_DECODER_H_
#define TALLYD_INGEST_DECODE_BODY_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "config/values/result.h"
#include "ingest/decode/event_batch.h"
#include "ingest/decode/shape.h"

namespace tallyd {

// Readable bytes that a body must have behind its end (SIMDJSON_PADDING).
inline constexpr size_t kBodyPadding = 64;
inline constexpr size_t kMaxDepth = 32;
inline constexpr size_t kMaxFieldNameBytes = 16'384;

// So much may the lists of names take that a body asks for, each name with kNameBytes beside its
// text: a few bytes of a body can ask for many, in CSV by leaving out ever other columns, in JSON
// by what is nested in an object of a long name.
inline constexpr size_t kNameBytes = sizeof(std::string) + sizeof(uint32_t);
inline constexpr size_t kFreeNameBytes = size_t{1} << 20;
inline constexpr size_t kNameBytesPerByte = 16;
inline size_t MostNameBytes(size_t body_bytes) {
  return kFreeNameBytes + kNameBytesPerByte * body_bytes;
}

class BodyDecoder {
 public:
  virtual ~BodyDecoder() = default;
  // `body` has kBodyPadding readable bytes behind it, and `batch` is empty.
  virtual Status Decode(std::string_view body, ShapeRegistry& shapes, EventBatch* batch) = 0;
  // About how much memory stays from body to body.
  virtual size_t bytes() const = 0;
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_DECODE_BODY_DECODER_H_
