#include "ingest/nightly/nightly_record.h"

#include <spdlog/spdlog.h>

#include <limits>

#include "storage/bytes/coding.h"

namespace tallyd {
namespace {

// The value: this byte, the name of the source (length and bytes), then seven varints in the
// order of the struct, the two bools as one: 1 is_built, 2 is_behind. DO NOT CHANGE: it is stored.
constexpr uint8_t kVersion = 1;
constexpr uint64_t kBuiltBit = 1;
constexpr uint64_t kBehindBit = 2;
constexpr std::string_view kPrefix = "nightly/";
constexpr size_t kAtOnce = 1000;

}  // namespace

std::string NightlyKey(std::string_view table) { return std::string(kPrefix) + std::string(table); }

std::string EncodeNightly(const NightlyRecord& record) {
  std::string value(1, static_cast<char>(kVersion));
  PutString(&value, record.source);
  PutVarint(&value, static_cast<uint64_t>(record.day));
  PutVarint(&value, (record.is_built ? kBuiltBit : 0) | (record.is_behind ? kBehindBit : 0));
  PutVarint(&value, static_cast<uint64_t>(record.lives_from));
  PutVarint(&value, static_cast<uint64_t>(record.built_at));
  PutVarint(&value, static_cast<uint64_t>(record.took_us));
  PutVarint(&value, record.rows);
  PutVarint(&value, record.cells);
  return value;
}

std::optional<NightlyRecord> DecodeNightly(std::string_view key, std::string_view value) {
  constexpr uint64_t kMaxTime = kMaxTimeUs + 1;
  constexpr uint64_t kAny = std::numeric_limits<uint64_t>::max();
  if (!key.starts_with(kPrefix)) return std::nullopt;
  NightlyRecord record;
  record.name = key.substr(kPrefix.size());
  ByteReader in(value);
  uint8_t version = 0;
  uint64_t bits = 0;
  std::string_view source;
  const bool whole =
      in.GetByte(&version) && version == kVersion && in.GetString(&source) &&
      in.GetNumber(&record.day, kMaxTime) && in.GetNumber(&bits, kBuiltBit | kBehindBit) &&
      in.GetNumber(&record.lives_from, kMaxTime) && in.GetNumber(&record.built_at, kMaxTime) &&
      in.GetNumber(&record.took_us, kMaxTime) && in.GetNumber(&record.rows, kAny) &&
      in.GetNumber(&record.cells, kAny) && in.done();
  if (!whole) return std::nullopt;
  record.source = source;
  record.is_built = (bits & kBuiltBit) != 0;
  record.is_behind = (bits & kBehindBit) != 0;
  return record;
}

Result<std::vector<NightlyRecord>> ReadNightlyRecords(Store& store) {
  std::vector<NightlyRecord> records;
  std::string after;
  while (true) {
    const Result<std::vector<Memo>> memos = store.Memos(kPrefix, kAtOnce, after);
    if (!memos) return memos.error();
    for (const auto& [key, value] : *memos) {
      after = key;
      std::optional<NightlyRecord> record = DecodeNightly(key, value);
      if (record) {
        records.push_back(std::move(*record));
      } else {
        spdlog::warn("nightly tables: the record {} cannot be read and is passed over", key);
      }
    }
    if (memos->size() < kAtOnce) return records;
  }
}

}  // namespace tallyd
