#include "service/removal/removal_note.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <limits>

#include "config/values/digits.h"

namespace tallyd {
namespace {

// The key ends in the number, twenty digits. The value: texts, each behind its size and a colon:
// the version, from, to, the stream, in version 2 how many tables and their numbers, and of each
// filter the field, how many values, the values. DO NOT CHANGE: it is stored.
constexpr std::string_view kPrefix = "removed/";
constexpr std::string_view kVersion = "1";
constexpr std::string_view kVersionWithTables = "2";
constexpr size_t kAtOnce = 1000;

void PutText(std::string_view text, std::string* to) {
  to->append(std::to_string(text.size())).append(1, ':').append(text);
}

void PutNumber(int64_t number, std::string* to) { PutText(std::to_string(number), to); }

std::optional<std::string_view> TakeText(std::string_view* rest) {
  const size_t colon = rest->find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::optional<int64_t> size = ParsePlainInteger(rest->substr(0, colon));
  rest->remove_prefix(colon + 1);
  if (!size || *size < 0 || static_cast<uint64_t>(*size) > rest->size()) return std::nullopt;
  const std::string_view text = rest->substr(0, static_cast<size_t>(*size));
  rest->remove_prefix(text.size());
  return text;
}

std::optional<int64_t> TakeNumber(std::string_view* rest) {
  const std::optional<std::string_view> text = TakeText(rest);
  return text ? ParsePlainInteger(*text) : std::nullopt;
}

std::optional<FieldFilter> TakeFilter(std::string_view* rest) {
  const std::optional<std::string_view> field = TakeText(rest);
  const std::optional<int64_t> count = TakeNumber(rest);
  if (!field || !count) return std::nullopt;
  FieldFilter filter{std::string(*field), {}};
  for (int64_t i = 0; i < *count; ++i) {
    const std::optional<std::string_view> value = TakeText(rest);
    if (!value) return std::nullopt;
    filter.values.emplace_back(*value);
  }
  return filter;
}

bool TakeTables(std::string_view* rest, std::vector<TableId>* tables) {
  const std::optional<int64_t> count = TakeNumber(rest);
  if (!count || *count == 0) return false;
  for (int64_t i = 0; i < *count; ++i) {
    const std::optional<int64_t> table = TakeNumber(rest);
    if (!table || *table > std::numeric_limits<TableId>::max()) return false;
    tables->push_back(static_cast<TableId>(*table));
  }
  return true;
}

}  // namespace

std::string RemovalNoteKey(uint64_t number) { return fmt::format("{}{:020}", kPrefix, number); }

std::string EncodeRemovalNote(const RemovalNote& note) {
  std::string value;
  PutText(note.tables.empty() ? kVersion : kVersionWithTables, &value);
  PutNumber(note.time.from, &value);
  PutNumber(note.time.to, &value);
  PutText(note.stream, &value);
  if (!note.tables.empty()) {
    PutNumber(static_cast<int64_t>(note.tables.size()), &value);
    for (const TableId table : note.tables) PutNumber(table, &value);
  }
  for (const FieldFilter& filter : note.filters) {
    PutText(filter.field, &value);
    PutNumber(static_cast<int64_t>(filter.values.size()), &value);
    for (const std::string& text : filter.values) PutText(text, &value);
  }
  return value;
}

std::optional<RemovalNote> DecodeRemovalNote(std::string_view key, std::string_view value) {
  if (!key.starts_with(kPrefix)) return std::nullopt;
  key.remove_prefix(kPrefix.size());
  const size_t digits = std::min(key.find_first_not_of('0'), key.size());
  const std::optional<int64_t> number =
      digits == key.size() ? std::optional<int64_t>(0) : ParsePlainInteger(key.substr(digits));
  const std::optional<std::string_view> version = TakeText(&value);
  if (!number || (version != kVersion && version != kVersionWithTables)) return std::nullopt;
  const std::optional<int64_t> from = TakeNumber(&value);
  const std::optional<int64_t> to = TakeNumber(&value);
  const std::optional<std::string_view> stream = TakeText(&value);
  if (!from || !to || !stream) return std::nullopt;
  RemovalNote note;
  note.number = static_cast<uint64_t>(*number);
  note.stream = *stream;
  note.time = {*from, *to};
  if (version == kVersionWithTables && !TakeTables(&value, &note.tables)) return std::nullopt;
  while (!value.empty()) {
    std::optional<FieldFilter> filter = TakeFilter(&value);
    if (!filter) return std::nullopt;
    note.filters.push_back(std::move(*filter));
  }
  return note;
}

Result<std::vector<RemovalNote>> ReadRemovalNotes(Store& store) {
  std::vector<RemovalNote> notes;
  std::string after;
  while (true) {
    const Result<std::vector<Memo>> memos = store.Memos(kPrefix, kAtOnce, after);
    if (!memos) return memos.error();
    for (const auto& [key, value] : *memos) {
      std::optional<RemovalNote> note = DecodeRemovalNote(key, value);
      if (note) {
        notes.push_back(std::move(*note));
      } else {
        spdlog::warn("removals: the note {} cannot be read", key);
      }
    }
    if (memos->size() < kAtOnce) return notes;
    after = memos->back().first;
  }
}

}  // namespace tallyd
