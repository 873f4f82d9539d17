#include "ingest/decode/decompress.h"

#include <fmt/format.h>
#include <snappy.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cctype>
#include <memory>

namespace tallyd {
namespace {

constexpr size_t kFreeBytes = 1u << 20;  // Up to here any ratio is fine.
constexpr size_t kMaxRatio = 100;
constexpr size_t kFirstChunk = 64u << 10;
constexpr int kMaxWindowLog = 23;  // 8 MiB: what RFC 8878 asks decoders for.

Error Corrupt(std::string_view what) {
  return Invalid(fmt::format("the body is not {} as its Content-Encoding says", what));
}

// Room that grows as bytes come, and never beyond what the limits grant.
class BoundedOutput {
 public:
  BoundedOutput(size_t wire_bytes, size_t max_bytes, std::string* out)
      : max_bytes_(max_bytes),
        limit_(std::min(max_bytes, std::max(kFreeBytes, RatioLimit(wire_bytes)))),
        out_(out) {
    out_->clear();
    Grow();
  }

  char* free() { return out_->data() + used_; }
  size_t free_bytes() const { return out_->size() - used_; }
  void Take(size_t bytes) { used_ += bytes; }
  bool full() const { return used_ == out_->size(); }
  // False: one more byte would be too much.
  bool Grow() {
    if (out_->size() == limit_) return false;
    const size_t wanted = std::max({kFirstChunk, out_->capacity(), out_->size() * 2});
    out_->resize(std::min(limit_, wanted));
    return true;
  }
  void Finish() { out_->resize(used_); }

  size_t limit() const { return limit_; }
  Error TooLarge() const {
    if (limit_ == max_bytes_) {
      return Error(ErrorCode::kTooLarge,
                   fmt::format("the body decodes to more than {} bytes", max_bytes_));
    }
    return Error(ErrorCode::kTooLarge,
                 fmt::format("the body decodes to more than {} times its {} bytes on the wire",
                             kMaxRatio, limit_ / kMaxRatio));
  }

 private:
  static size_t RatioLimit(size_t wire_bytes) {
    return wire_bytes > SIZE_MAX / kMaxRatio ? SIZE_MAX : wire_bytes * kMaxRatio;
  }

  const size_t max_bytes_;
  const size_t limit_;
  std::string* const out_;
  size_t used_ = 0;
};

class Inflater {
 public:
  ~Inflater() {
    if (open_) inflateEnd(&stream_);
  }
  bool Open(int window_bits) {
    open_ = inflateInit2(&stream_, window_bits) == Z_OK;
    return open_;
  }
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
  bool open_ = false;
};

// `members`: several streams may follow each other, as gzip's do.
Status Inflate(int window_bits, bool members, std::string_view wire, std::string_view name,
               BoundedOutput* out) {
  Inflater inflater;
  if (!inflater.Open(window_bits)) return Error(ErrorCode::kIo, "zlib has no memory");
  z_stream& stream = inflater.stream();
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(wire.data()));
  stream.avail_in = static_cast<uInt>(wire.size());
  while (true) {
    // zlib reports the end of a stream only when asked once more behind its last byte.
    const bool probing = out->full() && !out->Grow();
    Bytef probe = 0;
    const size_t room = probing ? 1 : std::min<size_t>(out->free_bytes(), UINT32_MAX);
    stream.next_out = probing ? &probe : reinterpret_cast<Bytef*>(out->free());
    stream.avail_out = static_cast<uInt>(room);
    const int result = inflate(&stream, Z_NO_FLUSH);
    const size_t made = room - stream.avail_out;
    if (probing && made > 0) return out->TooLarge();
    if (!probing) out->Take(made);
    if (result == Z_STREAM_END) {
      if (stream.avail_in == 0) return {};
      if (!members || inflateReset(&stream) != Z_OK) return Corrupt(name);
    } else if (result != Z_OK || (made == 0 && stream.avail_in == 0)) {
      return Corrupt(name);  // Also when it ends too early (Z_BUF_ERROR).
    }
  }
}

// RFC 9110 means zlib's format; some senders leave its header out.
Status InflateDeflate(std::string_view wire, BoundedOutput* out) {
  const bool has_header =
      wire.size() >= 2 && (wire[0] & 0x0F) == Z_DEFLATED &&
      (static_cast<unsigned char>(wire[0]) * 256u + static_cast<unsigned char>(wire[1])) % 31 == 0;
  return Inflate(has_header ? MAX_WBITS : -MAX_WBITS, /*members=*/false, wire, "deflate", out);
}

Status DecompressZstd(std::string_view wire, BoundedOutput* out) {
  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  std::unique_ptr<ZSTD_DCtx, Free> context(ZSTD_createDCtx());
  if (!context) return Error(ErrorCode::kIo, "zstd has no memory");
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, kMaxWindowLog);
  ZSTD_inBuffer in{wire.data(), wire.size(), 0};
  size_t left = 1;  // 0: a frame is complete.
  while (in.pos < in.size || left != 0) {
    const bool probing = out->full() && !out->Grow();
    char probe = 0;
    ZSTD_outBuffer room{probing ? &probe : out->free(), probing ? 1 : out->free_bytes(), 0};
    const size_t before = in.pos;
    left = ZSTD_decompressStream(context.get(), &room, &in);
    if (ZSTD_isError(left)) {
      if (ZSTD_getErrorCode(left) == ZSTD_error_frameParameter_windowTooLarge) {
        return Error(ErrorCode::kTooLarge, fmt::format("its zstd window is larger than {} MiB",
                                                       1 << (kMaxWindowLog - 20)));
      }
      return Corrupt("zstd");
    }
    if (probing && room.pos > 0) return out->TooLarge();
    if (!probing) out->Take(room.pos);
    if (left != 0 && in.pos == in.size && in.pos == before && room.pos == 0) return Corrupt("zstd");
  }
  return {};
}

Status DecompressSnappy(std::string_view wire, size_t max_bytes, std::string* out) {
  size_t size = 0;
  if (!snappy::GetUncompressedLength(wire.data(), wire.size(), &size)) return Corrupt("snappy");
  // The length is only a claim: nothing is allocated by it before the block proves valid.
  BoundedOutput bounds(wire.size(), max_bytes, out);
  if (size > bounds.limit()) return bounds.TooLarge();
  if (!snappy::IsValidCompressedBuffer(wire.data(), wire.size())) return Corrupt("snappy");
  out->resize(size);
  if (!snappy::RawUncompress(wire.data(), wire.size(), out->data())) return Corrupt("snappy");
  return {};
}

}  // namespace

std::optional<ContentEncoding> ParseContentEncoding(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lower.empty() || lower == "identity") return ContentEncoding::kIdentity;
  if (lower == "gzip" || lower == "x-gzip") return ContentEncoding::kGzip;
  if (lower == "zstd") return ContentEncoding::kZstd;
  if (lower == "snappy") return ContentEncoding::kSnappy;
  if (lower == "deflate") return ContentEncoding::kDeflate;
  return std::nullopt;
}

Status Decompress(ContentEncoding encoding, std::string_view wire, size_t max_bytes,
                  std::string* out) {
  if (encoding == ContentEncoding::kSnappy) return DecompressSnappy(wire, max_bytes, out);
  BoundedOutput bounded(wire.size(), max_bytes, out);
  if (wire.size() > UINT32_MAX) return bounded.TooLarge();  // zlib counts with 32 bits.
  Status status;
  switch (encoding) {
    case ContentEncoding::kIdentity:
      if (wire.size() > max_bytes) return bounded.TooLarge();
      out->assign(wire);
      return {};
    case ContentEncoding::kGzip:
      status = Inflate(MAX_WBITS + 16, /*members=*/true, wire, "gzip", &bounded);
      break;
    case ContentEncoding::kDeflate:
      status = InflateDeflate(wire, &bounded);
      break;
    case ContentEncoding::kZstd:
      status = DecompressZstd(wire, &bounded);
      break;
    case ContentEncoding::kSnappy:
      break;
  }
  bounded.Finish();
  return status;
}

}  // namespace tallyd
