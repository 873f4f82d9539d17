// What small records have in common: the version that they begin with, texts, and how it is told
// that one cannot be read.
#ifndef TALLYD_STORAGE_BYTES_RECORD_PARTS_H_
#define TALLYD_STORAGE_BYTES_RECORD_PARTS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "config/values/result.h"
#include "storage/bytes/coding.h"

namespace tallyd {

inline Error DamagedRecord(std::string_view what) {
  return Error(ErrorCode::kCorruption, "the record of " + std::string(what) +
                                           " is damaged, or was written by a newer tallyd");
}

inline bool GetVersion(ByteReader* in, char known) {
  uint8_t version = 0;
  return in->GetByte(&version) && version == known;
}

inline bool GetText(ByteReader* in, std::string* text) {
  std::string_view view;
  if (!in->GetString(&view)) return false;
  *text = view;
  return true;
}

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BYTES_RECORD_PARTS_H_
