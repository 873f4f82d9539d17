#include "service/fill/fill_record.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <array>

#include "config/values/digits.h"

namespace tallyd {
namespace {

// The value: words with a space between: the version, the source's name, and numbers in the order
// of the struct; behind the last space the row. DO NOT CHANGE: it is stored.
constexpr std::string_view kVersion = "1";
constexpr std::string_view kPrefix = "fill/";
constexpr size_t kAtOnce = 1000;
constexpr size_t kNumbers = 13;

std::optional<std::string_view> TakeWord(std::string_view* rest) {
  const size_t size = rest->find(' ');
  if (size == std::string_view::npos) return std::nullopt;
  const std::string_view word = rest->substr(0, size);
  rest->remove_prefix(size + 1);
  return word;
}

bool IsTime(int64_t us) { return us >= 0 && us <= kNeverWhole; }

}  // namespace

std::string FillKey(std::string_view table) { return std::string(kPrefix) + std::string(table); }

std::string EncodeFill(const FillRecord& record) {
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", kVersion, record.source,
                     static_cast<int64_t>(record.of), record.is_done ? 1 : 0, record.from,
                     record.before, record.through, record.slice_end, record.line, record.events,
                     record.passed, record.compared, record.tries, record.began_at, record.ended_at,
                     record.row);
}

std::optional<FillRecord> DecodeFill(std::string_view key, std::string_view value) {
  if (!key.starts_with(kPrefix) || TakeWord(&value) != kVersion) return std::nullopt;
  FillRecord record;
  record.table = key.substr(kPrefix.size());
  const std::optional<std::string_view> source = TakeWord(&value);
  if (!source) return std::nullopt;
  record.source = *source;
  std::array<int64_t, kNumbers> numbers{};
  for (int64_t& number : numbers) {
    const std::optional<std::string_view> word = TakeWord(&value);
    const std::optional<int64_t> read = word ? ParsePlainInteger(*word) : std::nullopt;
    if (!read) return std::nullopt;
    number = *read;
  }
  const auto [of, is_done, from, before, through, slice_end, line, events, passed, compared, tries,
              began_at, ended_at] = numbers;
  for (const int64_t time : {from, before, through, slice_end, began_at, ended_at}) {
    if (!IsTime(time)) return std::nullopt;
  }
  for (const int64_t count : {is_done, line, events, passed, compared, tries}) {
    if (count < 0) return std::nullopt;
  }
  record.of = static_cast<uint64_t>(of);
  record.is_done = is_done != 0;
  record.from = from;
  record.before = before;
  record.through = through;
  record.slice_end = slice_end;
  record.line = static_cast<uint64_t>(line);
  record.events = static_cast<uint64_t>(events);
  record.passed = static_cast<uint64_t>(passed);
  record.compared = static_cast<uint64_t>(compared);
  record.tries = static_cast<uint64_t>(tries);
  record.began_at = began_at;
  record.ended_at = ended_at;
  record.row = value;
  return record;
}

Result<uint64_t> EmptiedBehind(Store& store, std::string_view table) {
  const std::string key = FillKey(table);
  const Result<std::optional<std::string>> memo = store.FindMemo(key);
  if (!memo) return memo.error();
  const std::optional<FillRecord> record = *memo ? DecodeFill(key, **memo) : std::nullopt;
  return record ? record->line : 0;
}

Result<std::vector<FillRecord>> ReadFillRecords(Store& store) {
  std::vector<FillRecord> records;
  std::string after;
  while (true) {
    const Result<std::vector<Memo>> memos = store.Memos(kPrefix, kAtOnce, after);
    if (!memos) return memos.error();
    for (const auto& [key, value] : *memos) {
      std::optional<FillRecord> record = DecodeFill(key, value);
      if (record) {
        records.push_back(std::move(*record));
      } else {
        spdlog::warn("filling: the record {} cannot be read", key);
      }
    }
    if (memos->size() < kAtOnce) return records;
    after = memos->back().first;
  }
}

Result<std::string> WhoNeeds(Store& store, std::string_view source) {
  const Result<std::vector<FillRecord>> records = ReadFillRecords(store);
  if (!records) return records.error();
  for (const FillRecord& record : *records) {
    if (record.line > 0 && !record.is_done && record.source == source) return record.table;
  }
  return std::string();
}

}  // namespace tallyd
