// The three serializations behind ingest/blob/blob.h. Encoders append; decoders tell false when the
// bytes are not theirs, and may have added fields by then.
#ifndef TALLYD_INGEST_BLOB_BLOB_CODEC_H_
#define TALLYD_INGEST_BLOB_BLOB_CODEC_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/blob/blob.h"

namespace tallyd {

void EncodeProtobuf(std::span<const BlobField> fields, std::string* out);
bool DecodeProtobuf(std::string_view blob, std::vector<BlobField>* fields);

// One object, names flattened as the event's are; bytes as {"base64": "..."}.
void EncodeJson(std::span<const BlobField> fields, std::string* out);
// `scratch` has room for blob.size() more bytes.
bool DecodeJson(std::string_view blob, std::string* scratch, std::vector<BlobField>* fields);

// RFC 8949: one map of text to scalars, of definite lengths; floats always 64 bits wide.
void EncodeCbor(std::span<const BlobField> fields, std::string* out);
bool DecodeCbor(std::string_view blob, std::vector<BlobField>* fields);

}  // namespace tallyd

#endif  // TALLYD_INGEST_BLOB_BLOB_CODEC_H_
