#include "api/endpoint/compress.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <optional>

#include "api/preference.h"

namespace tallyd {

namespace {

constexpr size_t kMinBytes = 1024;
constexpr int kGzipLevel = 3;  // Answers are made once and read once: speed over the last percent.
constexpr int kZstdLevel = 1;
constexpr int kGzipWindowBits = 15 + 16;

// What is to be in the output with a piece: what is ready, all so far, or all there is.
enum class Until : uint8_t { kReady, kFlushed, kFinished };

class Compressor {
 public:
  virtual ~Compressor() = default;
  virtual bool Add(std::string_view in, Until until, std::string* out) = 0;
};

class GzipCompressor final : public Compressor {
 public:
  GzipCompressor() {
    ok_ = deflateInit2(&stream_, kGzipLevel, Z_DEFLATED, kGzipWindowBits, 8, Z_DEFAULT_STRATEGY) ==
          Z_OK;
  }
  ~GzipCompressor() override { deflateEnd(&stream_); }
  GzipCompressor(const GzipCompressor&) = delete;
  GzipCompressor& operator=(const GzipCompressor&) = delete;

  bool Add(std::string_view in, Until until, std::string* out) override {
    if (!ok_) return false;
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream_.avail_in = static_cast<uInt>(in.size());
    const int flush = until == Until::kFinished  ? Z_FINISH
                      : until == Until::kFlushed ? Z_SYNC_FLUSH
                                                 : Z_NO_FLUSH;
    int result = Z_OK;
    do {
      const size_t before = out->size();
      out->resize(before + (16u << 10));
      stream_.next_out = reinterpret_cast<Bytef*>(out->data() + before);
      stream_.avail_out = static_cast<uInt>(out->size() - before);
      result = deflate(&stream_, flush);
      out->resize(out->size() - stream_.avail_out);
      if (result == Z_STREAM_ERROR) return false;
    } while (stream_.avail_out == 0 && result != Z_STREAM_END);
    return true;
  }

 private:
  z_stream stream_{};
  bool ok_ = false;
};

class ZstdCompressor final : public Compressor {
 public:
  ZstdCompressor() : context_(ZSTD_createCCtx()) {
    ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, kZstdLevel);
  }
  ~ZstdCompressor() override { ZSTD_freeCCtx(context_); }
  ZstdCompressor(const ZstdCompressor&) = delete;
  ZstdCompressor& operator=(const ZstdCompressor&) = delete;

  bool Add(std::string_view in, Until until, std::string* out) override {
    const ZSTD_EndDirective directive = until == Until::kFinished  ? ZSTD_e_end
                                        : until == Until::kFlushed ? ZSTD_e_flush
                                                                   : ZSTD_e_continue;
    ZSTD_inBuffer input{in.data(), in.size(), 0};
    size_t left = 0;
    do {
      const size_t before = out->size();
      out->resize(before + ZSTD_CStreamOutSize());
      ZSTD_outBuffer output{out->data() + before, out->size() - before, 0};
      left = ZSTD_compressStream2(context_, &output, &input, directive);
      out->resize(before + output.pos);
      if (ZSTD_isError(left)) return false;
    } while (until == Until::kReady ? input.pos < input.size : left != 0);
    return true;
  }

 private:
  ZSTD_CCtx* context_;
};

std::unique_ptr<Compressor> MakeCompressor(AcceptedEncoding encoding) {
  if (encoding == AcceptedEncoding::kGzip) return std::make_unique<GzipCompressor>();
  return std::make_unique<ZstdCompressor>();
}

class CompressedSource final : public AnswerSource {
 public:
  // `holds`: the compressor may hold back some of what it was given.
  CompressedSource(std::unique_ptr<Compressor> compressor, std::unique_ptr<AnswerSource> plain,
                   bool holds)
      : compressor_(std::move(compressor)), plain_(std::move(plain)), holds_(holds) {}

  Result<Pulled> Pull(std::string* chunk, const Wake& wake) override {
    const size_t before = chunk->size();
    Pulled pulled = Pulled::kMore;
    while (pulled == Pulled::kMore && chunk->size() - before < kChunkBytes / 4) {
      buffer_.clear();
      const Result<Pulled> next = plain_->Pull(&buffer_, wake);
      if (!next) return next;
      pulled = *next;
      holds_ |= !buffer_.empty();
      // Whoever waits for more has all that there is so far.
      if (pulled == Pulled::kWaits && !holds_) break;
      if (!compressor_->Add(buffer_, UntilOf(pulled), chunk)) {
        return Error(ErrorCode::kIo, "compressing the answer failed");
      }
      if (pulled == Pulled::kWaits) holds_ = false;
    }
    return pulled;
  }

  void Release() override { plain_->Release(); }

 private:
  static Until UntilOf(Pulled pulled) {
    if (pulled == Pulled::kEnd) return Until::kFinished;
    return pulled == Pulled::kWaits ? Until::kFlushed : Until::kReady;
  }

  std::unique_ptr<Compressor> compressor_;
  std::unique_ptr<AnswerSource> plain_;
  std::string buffer_;
  bool holds_;
};

}  // namespace

AcceptedEncoding NegotiateEncoding(std::string_view accept_encoding) {
  std::optional<int> gzip;
  std::optional<int> zstd;
  std::optional<int> identity;
  int others = 0;  // "*": what is not named.
  for (const Preference& preference : ParsePreferences(accept_encoding)) {
    if (preference.name == "gzip" || preference.name == "x-gzip") gzip = preference.weight;
    if (preference.name == "zstd") zstd = preference.weight;
    if (preference.name == "identity") identity = preference.weight;
    if (preference.name == "*") others = preference.weight;
  }
  const int of_gzip = gzip.value_or(others);
  const int of_zstd = zstd.value_or(others);
  const int best = std::max(of_gzip, of_zstd);
  // Identity needs no naming, and whoever does name it says how much it is preferred.
  if (best == 0 || identity.value_or(0) > best) return AcceptedEncoding::kIdentity;
  return of_zstd == best ? AcceptedEncoding::kZstd : AcceptedEncoding::kGzip;
}

void CompressResponse(AcceptedEncoding encoding, Response* response) {
  if (!response->source && response->body.size() < kMinBytes) return;
  response->headers.emplace_back("Vary", "Accept-Encoding");
  if (encoding == AcceptedEncoding::kIdentity) return;
  std::unique_ptr<Compressor> compressor = MakeCompressor(encoding);
  const bool has_begun = !response->body.empty();
  if (has_begun) {
    const Until until = response->source ? Until::kReady : Until::kFinished;
    std::string compressed;
    if (!compressor->Add(response->body, until, &compressed)) return;
    response->body = std::move(compressed);
  }
  if (response->source) {
    response->source = std::make_unique<CompressedSource>(std::move(compressor),
                                                          std::move(response->source), has_begun);
  }
  response->headers.emplace_back("Content-Encoding",
                                 encoding == AcceptedEncoding::kGzip ? "gzip" : "zstd");
}

}  // namespace tallyd
