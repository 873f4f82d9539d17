// What a RowReader makes of the rows of a table, as text: "7 host='a' v=1", fields by name, a line
// for each event. Fragments of one time and entity are merged, as queries do with keys that name
// {field}.
#ifndef TALLYD_TESTS_INGEST_READING_H_
#define TALLYD_TESTS_INGEST_READING_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ingest/unmap/row_reader.h"
#include "tests/ingest/world.h"

namespace tallyd {

class Reading {
 public:
  // Reads what the last Map of the world left.
  Reading(const World& world, std::string_view table, const std::vector<std::string>& globs = {})
      : Reading(*world.schema->FindTable(table), world.store->FindTable(table), NamesOf(world),
                globs) {
    for (const PreviewTable& preview : world.batch->preview.Tables()) {
      if (preview.table.name != table) continue;
      for (const Row& row : preview.rows) Read(row);
    }
  }
  Reading(const Table& table, TablePtr stored, const std::vector<std::string>& stream_fields,
          const std::vector<std::string>& globs = {})
      : reader_(table, std::move(stored), stream_fields, &fields_) {
    if (!globs.empty()) reader_.SelectFields(globs);
    patterns_ = reader_.Columns();
  }

  void Read(const Row& row) {
    if (!reader_.BeginRow(row)) return;
    for (const RowPart& part : row.parts) {
      size_t count = 0;
      reader_.ReadPart(row, part, &fragments_, &count);
      for (size_t i = 0; i < count; ++i) {
        Fields fields;
        for (const EventField& field : fragments_[i].fields) {
          EXPECT_TRUE(fields.emplace(fields_.name(field.field), ShowValue(field.value)).second)
              << "twice: " << fields_.name(field.field);
        }
        Merge({part.time, std::string(fragments_[i].entity)}, fields);
      }
    }
  }

  std::string Events() const {
    std::string all;
    for (const auto& [key, event] : merged_) all += Line(key.first, event);
    std::vector<std::string> lines = others_;
    std::ranges::sort(lines);
    for (const std::string& line : lines) all += line;
    return all;
  }
  std::string Patterns() const {
    std::string all;
    for (const ColumnPattern& pattern : patterns_) {
      all += fmt::format("{}:{} ", pattern.family, pattern.qualifier);
    }
    return all;
  }
  const std::vector<ColumnPattern>& patterns() const { return patterns_; }

 private:
  using Fields = std::map<std::string, std::string>;

  static std::vector<std::string> NamesOf(const World& world) {
    std::set<std::string> names;
    for (const auto& [name, types] : world.batch->fields) names.insert(name);
    for (const FieldInfo& field : world.store->fields) names.insert(field.name);
    return {names.begin(), names.end()};
  }
  void Merge(const std::pair<TimeUs, std::string>& key, const Fields& fields) {
    Fields& known = merged_[key];
    for (const auto& [name, value] : fields) {
      if (known.contains(name) && known[name] != value) {
        others_.push_back(Line(key.first, fields));
        return;
      }
    }
    known.insert(fields.begin(), fields.end());
  }
  static std::string Line(TimeUs time, const Fields& fields) {
    std::string line;
    AppendTime(time, TimeUnit::kMilliseconds, &line);
    for (const auto& [name, value] : fields) line += fmt::format(" {}={}", name, value);
    return line + "\n";
  }

  FieldTable fields_;
  RowReader reader_;
  std::vector<ColumnPattern> patterns_;
  std::vector<EventFragment> fragments_;
  std::map<std::pair<TimeUs, std::string>, Fields> merged_;
  std::vector<std::string> others_;
};

}  // namespace tallyd

#endif  // TALLYD_TESTS_INGEST_READING_H_
