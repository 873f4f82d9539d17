// bytes -> events. Decoders know no sockets: a whole decoded body in, an EventBatch out. Which
// formats there are, and by which media types they come, is one list, in decode.cc.
#ifndef TALLYD_INGEST_DECODE_DECODE_H_
#define TALLYD_INGEST_DECODE_DECODE_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/decode/body_decoder.h"

namespace tallyd {

// A row of the list. Lives for ever; formats are equal iff their addresses are.
struct BodyFormat {
  std::span<const std::string_view> media_types;  // In lower case; the first is the usual one.
  std::unique_ptr<BodyDecoder> (*make)();
};

// The format of a body with this Content-Type; without a type it is JSON. Null where none fits, and
// where its parameters ask for what no format does: a charset that is not UTF-8, CSV without a
// header line.
const BodyFormat* FindBodyFormat(std::string_view content_type);
// "application/json, application/x-ndjson"
std::string BodyMediaTypes();

// The decoders of all formats, each made when it is first asked for. Not thread-safe: one per
// connection or thread; keeps its buffers and the field order seen last.
class EventDecoder {
 public:
  // `body` has kBodyPadding readable bytes behind it. What it holds is replaced in `batch`; errors
  // are those of BodyDecoder.
  Status Decode(const BodyFormat& format, std::string_view body, ShapeRegistry& shapes,
                EventBatch* batch);
  // About how much memory stays from body to body.
  size_t bytes() const;

 private:
  std::vector<std::unique_ptr<BodyDecoder>> decoders_;  // By the format's place in the list.
};

}  // namespace tallyd

#endif  // TALLYD_INGEST_DECODE_DECODE_H_
