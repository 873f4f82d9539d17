// [tables.X]: which stream feeds it, its pattern, its row key, what its families keep.
#include <algorithm>
#include <optional>

#include "config/file/load.h"
#include "config/file/read_keys.h"
#include "config/schema/table_rules.h"

namespace tallyd {
namespace {

constexpr size_t kMaxFamilies = 65'535;  // The store numbers them with 16 bits.

bool ReadPattern(TomlReader* reader, Pattern* pattern) {
  std::vector<std::string> names;
  std::vector<NamedValue<Pattern>> patterns;
  for (const PatternInfo& info : kPatterns) {
    names.emplace_back(info.name);
    patterns.push_back({info.name, info.pattern});
  }
  if (!reader->Has("pattern")) reader->Mistake("pattern", "is needed; accepted: " + Listed(names));
  return reader->Choice<Pattern>("pattern", patterns, pattern);
}

// Where nobody said which field holds the time, the key does: under the default each event would
// have the time of its arrival.
void CheckTimeOfKey(const TomlReader& reader, const std::vector<Placed<Stream>>& streams,
                    const Table& table) {
  const auto declares = [&](const Placed<Stream>& stream) {
    return stream.item.name == table.stream && stream.item.declares_time;
  };
  if (reader.Has("time") || std::ranges::any_of(streams, declares)) return;
  if (!InfoOf(table.pattern).keeps_events()) return;
  const std::string* const other = OtherTimeOfKey(table);
  if (other == nullptr) return;
  reader.Mistake("row_key",
                 "has a time of \"" + *other + "\", while the time of events is \"" +
                     table.time_field + "\"; accepted: time = \"" + *other +
                     "\" in the table or its stream, or time = \"" + table.time_field +
                     "\" where that is meant",
                 kTimeRule);
}

void ReadRowKey(TomlReader* reader, Table* table) {
  std::string text;
  if (!reader->Has("row_key")) {
    reader->Mistake("row_key", "is needed; accepted: a template, as \"{hostname}#{ts:ms}\"");
  }
  if (!reader->String("row_key", &text)) return;
  if (text.empty()) {
    reader->Mistake("row_key", "is empty; accepted: a template, as \"{hostname}#{ts:ms}\"");
    return;
  }
  Result<RowKeyTemplate> row_key = RowKeyTemplate::Parse(text, table->time_field);
  if (row_key) {
    table->row_key = std::move(*row_key);
  } else {
    const bool is_constant = text.find_first_of("{}") == std::string::npos;
    reader->Mistake("row_key", row_key.error().message(),
                    is_constant ? 21 : RuleOfTemplate(row_key.error()));
  }
}

void CheckLatestFamily(const TomlReader& reader, const Family& family) {
  if (family.max_versions.value_or(1) != 1) {
    reader.Mistake("max_versions",
                   "a latest table keeps one version of a cell; accepted: 1, or no max_versions");
  }
  if (family.expire_by_both) {
    reader.Mistake("gc",
                   "a latest table has one version, which never expires by both; accepted: "
                   "any");
  }
}

void CheckBucket(const TomlReader& reader, Family* family) {
  if (!family->bucket_us) return;
  const int64_t bucket = *family->bucket_us;
  family->bucket_us.reset();
  if (!family->aggregate) {
    reader.Mistake("bucket",
                   "is for aggregate families; accepted: aggregate beside it, or no bucket");
  } else if (bucket % kUsPerMs != 0 || (kUsPerDay % bucket != 0 && bucket % kUsPerDay != 0)) {
    reader.Mistake("bucket",
                   "divides no day; accepted: what divides a day evenly (30m, 1h, 6h) or is whole "
                   "days (7d)",
                   14);
  } else if (family->max_age_us && bucket >= *family->max_age_us) {
    reader.Mistake("bucket", "a bucket of " + FormatDuration(bucket) +
                                 " is not shorter than max_age, " +
                                 FormatDuration(*family->max_age_us) +
                                 "; accepted: a bucket that is shorter than max_age");
  } else {
    family->bucket_us = bucket;
  }
}

void CheckAggregate(const TomlReader& reader, const PatternInfo& pattern, Family* family) {
  // A kind that nobody knows is one mistake, not another for each rule that writes here.
  const bool is_aggregate = reader.Has("aggregate");
  if (is_aggregate && !family->aggregate) family->aggregate = kAggregates.front().kind;
  CheckBucket(reader, family);
  if (family->aggregate && pattern.keeps_newest) {
    reader.Mistake("aggregate",
                   "a latest table keeps the newest values and merges none; accepted: no "
                   "aggregate, or a table of another pattern",
                   32);
    family->aggregate.reset();
  }
}

Family ReadFamily(TomlReader reader, const PatternInfo& pattern) {
  Family family;
  family.name = reader.name();
  const std::string wrong = NameMistake(family.name, "family", kMaxFamilyNameBytes);
  if (!wrong.empty()) reader.Mistake(wrong);
  ReadKeys(&reader, &family);
  if (pattern.keeps_newest) {
    CheckLatestFamily(reader, family);
  } else if (family.expire_by_both && (!reader.Has("max_age") || !reader.Has("max_versions"))) {
    reader.Mistake("gc",
                   "\"all\" needs something to expire by twice; accepted: \"all\" with "
                   "max_age and max_versions, or \"any\"");
  }
  CheckAggregate(reader, pattern, &family);
  reader.Finish();
  return family;
}

void ReadFamilies(TomlReader* reader, Table* table) {
  const std::vector<TomlReader> sections = reader->Table("families");
  for (TomlReader families : sections) {
    for (TomlReader& family : families.Members()) {
      table->families.push_back(ReadFamily(family, InfoOf(table->pattern)));
    }
  }
  if (table->families.empty() && (!sections.empty() || !reader->Has("families"))) {
    reader->Mistake("families",
                    "at least one is needed; accepted: families.NAME = {} with max_age, "
                    "max_versions, gc");
  }
  if (table->families.size() > kMaxFamilies) {
    reader->Mistake(
        "families",
        "are too many; accepted: " + std::to_string(kMaxFamilies) + " at most, and 100 are plenty",
        24);
  }
  std::sort(table->families.begin(), table->families.end(),
            [](const Family& a, const Family& b) { return a.name < b.name; });
}

std::string TimeFieldOf(const std::vector<Placed<Stream>>& streams, const std::string& name) {
  for (const Placed<Stream>& stream : streams) {
    if (stream.item.name == name) return stream.item.time_field;
  }
  return Stream().time_field;
}

// What is added up is what was measured, in a row per interval.
void CheckFlush(const TomlReader& reader, const Table& table) {
  if (!table.flush_us) return;
  if (!InfoOf(table.pattern).may_flush) {
    reader.Mistake("flush", "is for the pattern " + PatternsWith(&PatternInfo::may_flush) +
                                ", a row per interval; accepted: no flush");
  }
  for (const ColumnRule& rule : table.columns) {
    if (rule.serialize == Serialization::kNone && rule.per_field &&
        rule.value.text() == "{value}") {
      continue;
    }
    reader.Mistake("flush", "adds up what each rule measures, and a rule for family " +
                                rule.family +
                                " writes something else; accepted: rules whose value is {value}");
  }
}

Table ReadTable(TomlReader reader, const std::vector<Placed<Stream>>& streams) {
  Table table;
  table.name = reader.name();
  const std::string wrong = NameMistake(table.name, "table", kMaxTableNameBytes);
  if (!wrong.empty()) reader.Mistake(wrong);
  table.stream = table.name;
  ReadKeys(&reader, &table);
  if (table.time_field.empty()) table.time_field = TimeFieldOf(streams, table.stream);
  const bool has_pattern = ReadPattern(&reader, &table.pattern);
  ReadRowKey(&reader, &table);
  if (has_pattern) CheckTimeOfKey(reader, streams, table);
  if (has_pattern && reader.Has("keep") && !KeepsNewest(table)) {
    reader.Mistake("keep", "is for the pattern " + PatternsWith(&PatternInfo::keeps_newest) +
                               " only; what another table keeps, its families say; accepted: no "
                               "keep");
  }
  if (has_pattern && reader.Has("max_bytes") && KeepsNewest(table)) {
    reader.Mistake("max_bytes",
                   "is for tables with a history: a latest table is as large as its rows, and has "
                   "no oldest ones to let go; accepted: no max_bytes");
  }
  ReadFamilies(&reader, &table);
  ReadColumns(&reader, &table);
  ReadDaily(&reader, &table);
  CheckFlush(reader, table);
  reader.Finish();
  return table;
}

}  // namespace

void CheckTableStream(const TomlReader& table, Table* filled) {
  const std::string wrong = NameMistake(filled->stream, "stream", kMaxStreamNameBytes);
  if (!wrong.empty()) table.Mistake("stream", wrong);
}

void CheckTableTime(const TomlReader& table, Table* filled) {
  if (!filled->time_field.empty()) return;
  table.Mistake("time", "is empty; accepted: the name of the event field that holds its time");
}

std::vector<Placed<Table>> ReadTables(TomlReader tables,
                                      const std::vector<Placed<Stream>>& streams) {
  std::vector<TomlReader> members = tables.Members();
  if (members.size() > kMaxTables) {
    tables.Mistake("there are " + std::to_string(members.size()) +
                       " tables; accepted: " + std::to_string(kMaxTables) + " at most",
                   28);
    members.erase(members.begin() + kMaxTables, members.end());
  }
  std::vector<Placed<Table>> all;
  for (TomlReader& table : members) all.push_back({ReadTable(table, streams), table.line()});
  CheckNightlyNames(all, members);
  return all;
}

}  // namespace tallyd
