#include "api/http/compress.h"

#include <zlib.h>
#include <zstd.h>

#include <boost/beast/core/string.hpp>
#include <charconv>
#include <cstring>

namespace tallyd {

namespace {

constexpr size_t kMinBytes = 1024;
constexpr int kGzipLevel = 3;  // Answers are made once and read once: speed over the last percent.
constexpr int kZstdLevel = 1;
constexpr int kGzipWindowBits = 15 + 16;

class Compressor {
 public:
  virtual ~Compressor() = default;
  // Appends to *out what is ready; with `finish` everything.
  virtual bool Add(std::string_view in, bool finish, std::string* out) = 0;
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

  bool Add(std::string_view in, bool finish, std::string* out) override {
    if (!ok_) return false;
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream_.avail_in = static_cast<uInt>(in.size());
    int result = Z_OK;
    do {
      const size_t before = out->size();
      out->resize(before + (16u << 10));
      stream_.next_out = reinterpret_cast<Bytef*>(out->data() + before);
      stream_.avail_out = static_cast<uInt>(out->size() - before);
      result = deflate(&stream_, finish ? Z_FINISH : Z_NO_FLUSH);
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

  bool Add(std::string_view in, bool finish, std::string* out) override {
    ZSTD_inBuffer input{in.data(), in.size(), 0};
    size_t left = 0;
    do {
      const size_t before = out->size();
      out->resize(before + ZSTD_CStreamOutSize());
      ZSTD_outBuffer output{out->data() + before, out->size() - before, 0};
      left = ZSTD_compressStream2(context_, &output, &input, finish ? ZSTD_e_end : ZSTD_e_continue);
      out->resize(before + output.pos);
      if (ZSTD_isError(left)) return false;
    } while (finish ? left != 0 : input.pos < input.size);
    return true;
  }

 private:
  ZSTD_CCtx* context_;
};

std::unique_ptr<Compressor> MakeCompressor(AcceptedEncoding encoding) {
  if (encoding == AcceptedEncoding::kGzip) return std::make_unique<GzipCompressor>();
  return std::make_unique<ZstdCompressor>();
}

class CompressedSource final : public BodySource {
 public:
  CompressedSource(std::unique_ptr<Compressor> compressor, std::unique_ptr<BodySource> plain)
      : compressor_(std::move(compressor)), plain_(std::move(plain)) {}

  Result<bool> Next(std::string* chunk) override {
    const size_t before = chunk->size();
    bool more = true;
    while (more && chunk->size() - before < kChunkBytes / 4) {
      buffer_.clear();
      Result<bool> next = plain_->Next(&buffer_);
      if (!next) return next.error();
      more = *next;
      if (!compressor_->Add(buffer_, !more, chunk)) {
        return Error(ErrorCode::kIo, "compressing the answer failed");
      }
    }
    return more;
  }

 private:
  std::unique_ptr<Compressor> compressor_;
  std::unique_ptr<BodySource> plain_;
  std::string buffer_;
};

std::string_view Trim(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

// "gzip;q=0.5" -> 500 thousandths. Malformed weights count as 0.
int Weight(std::string_view parameters) {
  const size_t at = parameters.find("q=");
  if (at == std::string_view::npos) return 1000;
  const std::string_view text = Trim(parameters.substr(at + 2));
  double weight = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), weight);
  if (ec != std::errc() || !(weight >= 0 && weight <= 1)) return 0;
  return static_cast<int>(weight * 1000);
}

}  // namespace

AcceptedEncoding NegotiateEncoding(std::string_view accept_encoding) {
  int gzip = 0;
  int zstd = 0;
  while (!accept_encoding.empty()) {
    const size_t comma = accept_encoding.find(',');
    const std::string_view item = Trim(accept_encoding.substr(0, comma));
    accept_encoding =
        comma == std::string_view::npos ? std::string_view() : accept_encoding.substr(comma + 1);
    const size_t semicolon = item.find(';');
    const std::string_view coding = Trim(item.substr(0, semicolon));
    const int weight = semicolon == std::string_view::npos ? 1000 : Weight(item.substr(semicolon));
    if (boost::beast::iequals(coding, "gzip") || boost::beast::iequals(coding, "x-gzip")) {
      gzip = weight;
    } else if (boost::beast::iequals(coding, "zstd")) {
      zstd = weight;
    }
  }
  if (zstd > 0 && zstd >= gzip) return AcceptedEncoding::kZstd;
  return gzip > 0 ? AcceptedEncoding::kGzip : AcceptedEncoding::kIdentity;
}

void CompressResponse(AcceptedEncoding encoding, Response* response) {
  if (!response->source && response->body.size() < kMinBytes) return;
  response->headers.emplace_back("Vary", "Accept-Encoding");
  if (encoding == AcceptedEncoding::kIdentity) return;
  std::unique_ptr<Compressor> compressor = MakeCompressor(encoding);
  if (response->source) {
    response->source =
        std::make_unique<CompressedSource>(std::move(compressor), std::move(response->source));
  } else {
    std::string compressed;
    if (!compressor->Add(response->body, true, &compressed)) return;
    response->body = std::move(compressed);
  }
  response->headers.emplace_back("Content-Encoding",
                                 encoding == AcceptedEncoding::kGzip ? "gzip" : "zstd");
}

}  // namespace tallyd
