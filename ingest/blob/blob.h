// Serialized cells: a rule's fields in one value, as protobuf (ingest/blob/measurements.proto),
// JSON or CBOR (RFC 8949). Exact to the type: what was an integer comes back an integer. Decoding
// is bounded and never trusts its input.
#ifndef TALLYD_INGEST_BLOB_BLOB_H_
#define TALLYD_INGEST_BLOB_BLOB_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/schema/schema.h"
#include "config/values/result.h"
#include "config/values/value.h"

namespace tallyd {

struct BlobField {
  std::string_view name;
  Value value;
};

// Appends. The cell's Value is Bytes for protobuf and CBOR, String for JSON.
void EncodeBlob(Serialization how, std::span<const BlobField> fields, std::string* out);
// Views point into `blob` or into `scratch` (which is appended to and must not move: reserve is
// done inside).
Status DecodeBlob(Serialization how, std::string_view blob, std::string* scratch,
                  std::vector<BlobField>* fields);
// Hashes of the names of the fields that the cell holds; false: it holds none (FieldsOfCell of
// storage/event_teller.h).
bool HashBlobNames(Serialization how, const Value& cell, std::vector<uint64_t>* names);

}  // namespace tallyd

#endif  // TALLYD_INGEST_BLOB_BLOB_H_
