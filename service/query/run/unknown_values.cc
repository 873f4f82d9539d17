#include "service/query/run/unknown_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "config/values/glob.h"
#include "service/query/run/key_values.h"

namespace tallyd {
namespace {

constexpr size_t kMostShown = 60;  // Bytes of a value.

std::string ShownValue(std::string_view text) {
  std::string shown(text.substr(0, kMostShown));
  if (shown.size() < text.size()) shown += "...";
  return "'" + shown + "'";
}

// The values of one key field.
class KnownValues {
 public:
  KnownValues(const EventQuery& query, const Table& table, const std::string& field, Store& store,
              ReadMemoryPtr memory)
      : query_(query), table_(table), field_(field), store_(store), memory_(std::move(memory)) {}

  // Nothing: more would have to be read.
  std::optional<bool> Has(const std::string& value) const {
    const auto found = Read(value, kMostValuesLooked);
    if (!found) return std::nullopt;
    if (std::ranges::count(found->values, value, &KeyValue::text) > 0) return true;
    return found->is_whole && !found->last ? std::optional(false) : std::nullopt;
  }

  // Of those that begin as the value does, as far as any do.
  std::vector<std::string> Near(const std::string& value) const {
    std::string begin = value.substr(0, value.find_first_of("*?,"));
    while (true) {
      std::vector<std::string> texts;
      if (const auto found = Read(begin, kMostValuesLooked)) {
        for (const KeyValue& known : found->values) texts.push_back(known.text);
      }
      if (!texts.empty() || begin.empty()) return NearestNames(value, texts);
      begin.resize(begin.size() / 2);
    }
  }

 private:
  std::optional<KeyValues> Read(const std::string& prefix, size_t limit) const {
    KeyValuesQuery query;
    query.table = &table_;
    query.clamp = query_.ClampOf(table_);
    query.unit = query_.stream->unit;
    query.field = field_;
    query.prefix = prefix;
    query.limit = limit;
    query.most_rows = kMostValuesLooked;
    Result<KeyValues> read = ReadKeyValues(query, store_, query_.now, memory_);
    if (!read) return std::nullopt;
    return std::move(*read);
  }

  const EventQuery& query_;
  const Table& table_;
  const std::string& field_;
  Store& store_;
  const ReadMemoryPtr memory_;
};

// What whoever asks may have meant.
std::string OtherMeaning(const std::string& field, std::string_view value) {
  if (value.find_first_of("*?") != value.npos) {
    return "; a filter is a whole value, in which * and ? stand for themselves";
  }
  if (value.find(',') == value.npos) return {};
  return fmt::format("; a filter is a whole value: {0}=A&{0}=B finds either of two", field);
}

std::string HintAt(const std::string& field, const std::string& value, const KnownValues& known) {
  std::string hint = fmt::format("{}: there is no {}", field, ShownValue(value));
  const char* between = "; the nearest are ";
  for (const std::string& near : known.Near(value)) {
    hint += std::exchange(between, ", ") + ShownValue(near);
  }
  return hint + OtherMeaning(field, value);
}

}  // namespace

std::string HintAtUnknownValues(const EventQuery& query, Store& store,
                                const ReadMemoryPtr& memory) {
  for (const FieldFilter& filter : query.filters) {
    const Result<const Table*> table =
        TableOfValues(query.schema(), *query.stream, *query.known, filter.field);
    if (!table || filter.values.empty()) continue;
    const KnownValues known(query, **table, filter.field, store, memory);
    const bool has_none = std::ranges::all_of(filter.values, [&](const std::string& value) {
      return known.Has(value) == std::optional(false);
    });
    if (has_none) return HintAt(filter.field, filter.values.front(), known);
  }
  return {};
}

}  // namespace tallyd
