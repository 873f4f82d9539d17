#include "ingest/blob/blob.h"

#include <fmt/format.h>
#include <xxhash.h>

#include "ingest/blob/blob_codec.h"

namespace tallyd {

void EncodeBlob(Serialization how, std::span<const BlobField> fields, std::string* out) {
  switch (how) {
    case Serialization::kNone:
      break;
    case Serialization::kProtobuf:
      return EncodeProtobuf(fields, out);
    case Serialization::kJson:
      return EncodeJson(fields, out);
    case Serialization::kCbor:
      return EncodeCbor(fields, out);
  }
}

Status DecodeBlob(Serialization how, std::string_view blob, std::string* scratch,
                  std::vector<BlobField>* fields) {
  auto checked = [](bool decoded, std::string_view name) -> Status {
    if (decoded) return {};
    return Error(ErrorCode::kCorruption, fmt::format("a cell does not hold {}", name));
  };
  switch (how) {
    case Serialization::kNone:
      break;
    case Serialization::kProtobuf:
      return checked(DecodeProtobuf(blob, fields), "a Measurements message of protobuf");
    case Serialization::kJson:
      // Only escapes and bytes need room: everything else is viewed where it lies.
      if (blob.find_first_of("\\{", 1) != std::string_view::npos) {
        scratch->reserve(scratch->size() + blob.size());
      }
      return checked(DecodeJson(blob, scratch, fields), "a JSON object of scalars");
    case Serialization::kCbor:
      return checked(DecodeCbor(blob, fields), "a CBOR map of scalars");
  }
  return {};
}

bool HashBlobNames(Serialization how, const Value& cell, std::vector<uint64_t>* names) {
  if (cell.type() < ValueType::kString) return false;
  std::string scratch;
  std::vector<BlobField> fields;
  if (!DecodeBlob(how, cell.AsView(), &scratch, &fields)) return false;
  for (const BlobField& field : fields) {
    names->push_back(XXH3_64bits(field.name.data(), field.name.size()));
  }
  return true;
}

}  // namespace tallyd
