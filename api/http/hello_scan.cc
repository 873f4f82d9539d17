#include "api/http/hello_scan.h"

namespace tallyd {
namespace {

constexpr unsigned char kChangeCipherSpec = 0x14;
constexpr unsigned char kHandshakeRecord = 0x16;
constexpr unsigned char kMajorVersion = 3;
constexpr unsigned char kClientHello = 1;
constexpr size_t kRecordHeadBytes = 5;
constexpr size_t kMaxRecordBytes = 16u << 10;

unsigned char ByteOf(std::string_view text, size_t at) {
  return static_cast<unsigned char>(text[at]);
}

}  // namespace

size_t HelloScan::MessageBytes() const {
  return kMessageHeadBytes + (head_[1] << 16u | head_[2] << 8u | head_[3]);
}

bool HelloScan::Takes(std::string_view part) {
  for (size_t i = 0; i < part.size() && gathered_ + i < head_.size(); ++i) {
    head_[gathered_ + i] = ByteOf(part, i);
  }
  gathered_ += part.size();
  if (head_[0] != kClientHello) return true;
  return gathered_ >= kMessageHeadBytes && gathered_ >= MessageBytes();
}

// What is no record of a handshake: where nothing of the hello has come, others say what is wrong.
HelloState HelloScan::OfOtherRecord(std::string_view record) const {
  if (gathered_ > 0) return HelloState::kMalformed;
  if (place_ == HelloPlace::kFirst) return HelloState::kNotTls;
  return record.size() < 2 ? HelloState::kIncomplete : HelloState::kWhole;
}

HelloState HelloScan::Of(std::string_view begun) {
  while (at_ < begun.size()) {
    const std::string_view rest = begun.substr(at_);
    const unsigned char kind = ByteOf(rest, 0);
    const bool is_before = place_ == HelloPlace::kAfterRetry && gathered_ == 0 && at_ == 0 &&
                           kind == kChangeCipherSpec;
    if (kind != kHandshakeRecord && !is_before) return OfOtherRecord(rest);
    if (rest.size() > 1 && ByteOf(rest, 1) != kMajorVersion) return OfOtherRecord(rest);
    if (rest.size() < kRecordHeadBytes) return HelloState::kIncomplete;
    const size_t bytes = ByteOf(rest, 3) * 256u + ByteOf(rest, 4);
    if (bytes == 0 || bytes > kMaxRecordBytes) return OfOtherRecord(rest);
    const size_t end = at_ + kRecordHeadBytes + bytes;
    if (end > kMostBytes) return HelloState::kMalformed;
    if (begun.size() < end) return HelloState::kIncomplete;
    at_ = end;
    if (is_before) continue;
    if (Takes(rest.substr(kRecordHeadBytes, bytes))) return HelloState::kWhole;
    if (gathered_ >= kMessageHeadBytes && MessageBytes() > kMostBytes) {
      return HelloState::kMalformed;
    }
  }
  return HelloState::kIncomplete;
}

}  // namespace tallyd
