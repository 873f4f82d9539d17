#include "storage/leveldb/env/log_scan.h"

#include <algorithm>
#include <boost/crc.hpp>
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

uint32_t Crc32c(std::string_view bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

size_t LeftInBlock(size_t at) { return kBlockBytes - at % kBlockBytes; }

// The fragment at `at`, if a whole one is there.
std::optional<Fragment> ReadFragment(std::string_view log, size_t at) {
  if (LeftInBlock(at) < kHeaderBytes || log.size() - at < kHeaderBytes) return std::nullopt;
  const size_t length = ByteAt(log, at + 4) | static_cast<size_t>(ByteAt(log, at + 5)) << 8;
  const uint8_t type = ByteAt(log, at + 6);
  if (type < kFull || type > kLast) return std::nullopt;
  if (kHeaderBytes + length > std::min(LeftInBlock(at), log.size() - at)) return std::nullopt;
  uint32_t masked = 0;
  for (size_t i = 0; i < 4; ++i) masked |= static_cast<uint32_t>(ByteAt(log, at + i)) << (8 * i);
  const uint32_t rotated = masked - kMaskDelta;
  const uint32_t crc = rotated >> 17 | rotated << 15;
  if (crc != Crc32c(log.substr(at + 6, 1 + length))) return std::nullopt;
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
