#include "storage/leveldb/env/log_scan.h"

#include <algorithm>
#include <boost/crc.hpp>
#include <cstring>
#include <string>

#include "storage/bytes/coding.h"

namespace tallyd {
namespace {

constexpr size_t kBlockBytes = 32'768;
constexpr size_t kHeaderBytes = 7;  // crc:u32 length:u16 type:u8, little-endian
constexpr uint32_t kMaskDelta = 0xa282ead8;

enum FragmentType : uint8_t { kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

struct Fragment {
  uint8_t type = 0;
  std::string_view data;
};

uint8_t ByteAt(std::string_view log, size_t at) { return static_cast<uint8_t>(log[at]); }

#ifdef __x86_64__
__attribute__((target("sse4.2"))) uint32_t Crc32cByInstruction(std::string_view bytes) {
  uint64_t crc = 0xffffffff;
  for (; bytes.size() >= sizeof(uint64_t); bytes.remove_prefix(sizeof(uint64_t))) {
    uint64_t eight = 0;
    std::memcpy(&eight, bytes.data(), sizeof(eight));
    crc = __builtin_ia32_crc32di(crc, eight);
  }
  auto rest = static_cast<uint32_t>(crc);
  for (const char byte : bytes) {
    rest = __builtin_ia32_crc32qi(rest, static_cast<unsigned char>(byte));
  }
  return ~rest;
}
#endif

uint32_t Crc32c(std::string_view bytes) {
#ifdef __x86_64__
  static const bool has_instruction = __builtin_cpu_supports("sse4.2");
  if (has_instruction) return Crc32cByInstruction(bytes);
#endif
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

}  // namespace

bool IsChecksumOf(std::string_view bytes, const char* checksum) {
  uint32_t masked = 0;
  for (int i = 3; i >= 0; --i) masked = masked << 8 | static_cast<uint8_t>(checksum[i]);
  const uint32_t rotated = masked - kMaskDelta;
  return (rotated >> 17 | rotated << 15) == Crc32c(bytes);
}

namespace {

size_t LeftInBlock(size_t at) { return kBlockBytes - at % kBlockBytes; }

// The fragment at `at`, if a whole one is there.
std::optional<Fragment> ReadFragment(std::string_view log, size_t at) {
  if (LeftInBlock(at) < kHeaderBytes || log.size() - at < kHeaderBytes) return std::nullopt;
  const size_t length = ByteAt(log, at + 4) | static_cast<size_t>(ByteAt(log, at + 5)) << 8;
  const uint8_t type = ByteAt(log, at + 6);
  if (type < kFull || type > kLast) return std::nullopt;
  if (kHeaderBytes + length > std::min(LeftInBlock(at), log.size() - at)) return std::nullopt;
  if (!IsChecksumOf(log.substr(at + 6, 1 + length), log.data() + at)) return std::nullopt;
  return Fragment{type, log.substr(at + kHeaderBytes, length)};
}

// Whether nothing but the end of the file is wrong at `at`, so that LevelDB, which reads block by
// block, sees it as the end.
bool EndsEarly(std::string_view log, size_t at) {
  if (log.size() % kBlockBytes == 0 || log.size() / kBlockBytes != at / kBlockBytes) {
    return at == log.size();
  }
  if (log.size() - at < kHeaderBytes) return true;
  const size_t length = ByteAt(log, at + 4) | static_cast<size_t>(ByteAt(log, at + 5)) << 8;
  return kHeaderBytes + length > log.size() - at;
}

std::optional<uint64_t> FindRecordStart(std::string_view log, size_t from) {
  for (size_t at = from; at + kHeaderBytes <= log.size(); ++at) {
    const uint8_t type = ByteAt(log, at + 6);
    if (type != kFull && type != kFirst) continue;
    if (ReadFragment(log, at)) return at;
  }
  return std::nullopt;
}

// Tags of LevelDB's VersionEdit (db/version_edit.cc at 1.23).
enum EditTag : uint64_t {
  kComparator = 1,
  kLogNumber = 2,
  kNextFile = 3,
  kLastSequence = 4,
  kCompactPointer = 5,
  kDeletedFile = 6,
  kNewFile = 7,
  kPreviousLog = 9,
};

}  // namespace

LogScan ScanLog(std::string_view log, const std::function<bool(std::string_view)>& record,
                uint64_t from) {
  LogScan scan;
  scan.good_end = from;
  std::string pieces;
  bool in_record = false;
  size_t at = from;
  while (at < log.size()) {
    if (LeftInBlock(at) < kHeaderBytes) {
      at = std::min(at + LeftInBlock(at), log.size());
      if (!in_record) scan.good_end = at;
      continue;
    }
    const std::optional<Fragment> fragment = ReadFragment(log, at);
    const bool starts = fragment && (fragment->type == kFull || fragment->type == kFirst);
    if (!fragment || starts == in_record) break;
    if (starts) pieces.clear();
    pieces.append(fragment->data);
    in_record = fragment->type == kFirst || fragment->type == kMiddle;
    if (!in_record && !record(pieces)) break;
    at += kHeaderBytes + fragment->data.size();
    if (in_record) continue;
    ++scan.records;
    scan.good_end = at;
  }
  scan.clean = scan.good_end == log.size();
  if (scan.clean) return scan;
  scan.ends_early = EndsEarly(log, at);
  scan.good_after = FindRecordStart(log, std::max<size_t>(at, scan.good_end + 1));
  return scan;
}

bool ReadEdit(std::string_view edit, ManifestFacts* facts) {
  ByteReader in(edit);
  uint64_t tag = 0, number = 0;
  std::string_view text;
  bool good = true;
  while (good && !in.done()) {
    good = in.GetVarint(&tag);
    switch (tag) {
      case kLogNumber:
        good = good && in.GetVarint(&facts->oldest_log);
        break;
      case kComparator:
        good = good && in.GetString(&text);
        break;
      case kLastSequence:
        good = good && in.GetVarint(&facts->last_sequence);
        break;
      case kNextFile:
      case kPreviousLog:
        good = good && in.GetVarint(&number);
        break;
      case kCompactPointer:
        good = good && in.GetVarint(&number) && in.GetString(&text);
        break;
      case kDeletedFile:
        good = good && in.GetVarint(&number) && in.GetVarint(&number);
        break;
      case kNewFile:
        good = good && in.GetVarint(&number) && in.GetVarint(&number) && in.GetVarint(&number) &&
               in.GetString(&text) && in.GetString(&text);
        break;
      default:
        good = false;
    }
  }
  return good;
}

}  // namespace tallyd
