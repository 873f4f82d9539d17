// Text of a column block (storage/FORMAT.md, Text): bytes, compressed by zstd where that helps.
#ifndef TALLYD_STORAGE_BLOCKS_TEXT_CODEC_H_
#define TALLYD_STORAGE_BLOCKS_TEXT_CODEC_H_

#include <string>
#include <string_view>

#include "storage/bytes/coding.h"

namespace tallyd {

// The most that a text may take when it is read back.
inline constexpr size_t kMaxTextBytes = size_t{1} << 30;

void AppendText(std::string_view text, std::string* out);
// *text is replaced. False if the bytes are malformed.
bool ReadText(ByteReader* in, std::string* text);

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BLOCKS_TEXT_CODEC_H_
