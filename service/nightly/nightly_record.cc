#include "service/nightly/nightly_record.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <limits>

#include "config/values/digits.h"
#include "ingest/map/late_days.h"

namespace tallyd {
namespace {

// The value: words with a space between, the version, the source's name, and nine numbers in the
// order of the struct; of the two bools one number, the sum of these. Older ones end before the
// numbers of tables. DO NOT CHANGE: it is stored.
constexpr std::string_view kVersion = "1";
constexpr int64_t kBuiltBit = 1;
constexpr int64_t kBehindBit = 2;
constexpr size_t kNumbers = 9;
constexpr size_t kNumbersWithoutTables = 7;

constexpr std::string_view kPrefix = "nightly/";
constexpr size_t kAtOnce = 1000;

std::string_view TakeWord(std::string_view* rest) {
  const std::string_view word = rest->substr(0, rest->find(' '));
  rest->remove_prefix(std::min(word.size() + 1, rest->size()));
  return word;
}

bool IsTime(int64_t us) { return us <= kMaxTimeUs + 1; }

bool IsTableId(int64_t number) { return number <= std::numeric_limits<TableId>::max(); }

}  // namespace

std::string NightlyKey(std::string_view table) { return std::string(kPrefix) + std::string(table); }

std::string EncodeNightly(const NightlyRecord& record) {
  const int64_t bits = (record.is_built ? kBuiltBit : 0) + (record.is_behind ? kBehindBit : 0);
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {}", kVersion, record.source, record.day,
                     bits, record.lives_from, record.built_at, record.took_us, record.rows,
                     record.cells, record.table, record.staged);
}

std::optional<NightlyRecord> DecodeNightly(std::string_view key, std::string_view value) {
  if (!key.starts_with(kPrefix) || TakeWord(&value) != kVersion) return std::nullopt;
  NightlyRecord record;
  record.name = key.substr(kPrefix.size());
  record.source = TakeWord(&value);
  std::array<int64_t, kNumbers> numbers{};
  for (size_t i = 0; i < kNumbers; ++i) {
    if (i == kNumbersWithoutTables && value.empty()) break;
    const std::optional<int64_t> read = ParsePlainInteger(TakeWord(&value));
    if (!read) return std::nullopt;
    numbers[i] = *read;
  }
  const auto [day, bits, lives_from, built_at, took_us, rows, cells, table, staged] = numbers;
  const bool in_time = IsTime(day) && IsTime(lives_from) && IsTime(built_at) && IsTime(took_us);
  if (!IsTableId(table) || !IsTableId(staged)) return std::nullopt;
  if (!value.empty() || !in_time || bits > kBuiltBit + kBehindBit) return std::nullopt;
  record.day = day;
  record.is_built = (bits & kBuiltBit) != 0;
  record.is_behind = (bits & kBehindBit) != 0;
  record.lives_from = lives_from;
  record.built_at = built_at;
  record.took_us = took_us;
  record.rows = static_cast<uint64_t>(rows);
  record.cells = static_cast<uint64_t>(cells);
  record.table = static_cast<TableId>(table);
  record.staged = static_cast<TableId>(staged);
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

// The mark goes in the commit that puts the record behind: looked for in this order, one of the two
// is always found.
Result<bool> IsBehind(Store& store, std::string_view table, const NightlyOf& of) {
  const Result<std::optional<std::string>> mark = store.FindMemo(LateMark(of.source, of.day));
  if (!mark) return mark.error();
  if (*mark) return true;
  const std::string key = NightlyKey(table);
  const Result<std::optional<std::string>> memo = store.FindMemo(key);
  if (!memo) return memo.error();
  const std::optional<NightlyRecord> record =
      *memo ? DecodeNightly(key, **memo) : std::optional<NightlyRecord>();
  return record && record->is_behind;
}

}  // namespace tallyd
