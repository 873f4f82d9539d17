#include "storage/blocks/text_codec.h"

#include <zstd.h>

#include <memory>

namespace tallyd {
namespace {

constexpr int kLevel = 1;
// Below it a frame's own head eats what is won.
constexpr size_t kWorthCompressing = 48;
// A frame consists of blocks of at most 128 KiB each, and the smallest takes four bytes.
constexpr size_t kMaxRatio = ZSTD_BLOCKSIZE_MAX / 4;

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

}  // namespace

// Size of the text, size as stored, bytes; compressed where the sizes differ.
void AppendText(std::string_view text, std::string* out) {
  thread_local const std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
  thread_local std::string packed;
  size_t size = text.size();
  if (text.size() >= kWorthCompressing) {
    packed.resize(ZSTD_compressBound(text.size()));
    size = ZSTD_compressCCtx(context.get(), packed.data(), packed.size(), text.data(), text.size(),
                             kLevel);
    if (ZSTD_isError(size) != 0 || size >= text.size()) size = text.size();
  }
  PutVarint(out, text.size());
  PutVarint(out, size);
  out->append(size < text.size() ? packed.data() : text.data(), size);
}

bool ReadText(ByteReader* in, std::string* text) {
  thread_local const std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
  uint64_t size = 0;
  std::string_view stored;
  if (!in->GetVarint(&size) || size > kMaxTextBytes || !in->GetString(&stored)) return false;
  if (stored.size() == size) {
    text->assign(stored);
    return true;
  }
  // The frame says its size itself, but a damaged one may promise more than so few bytes can hold.
  if (ZSTD_getFrameContentSize(stored.data(), stored.size()) != size ||
      size > stored.size() * kMaxRatio) {
    return false;
  }
  text->resize(size);
  const size_t read =
      ZSTD_decompressDCtx(context.get(), text->data(), size, stored.data(), stored.size());
  return ZSTD_isError(read) == 0 && read == size;
}

}  // namespace tallyd
