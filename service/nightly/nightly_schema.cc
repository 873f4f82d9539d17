#include "service/nightly/nightly_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tallyd {
namespace {

// What was copied reads back only under the shape that it was copied in.
bool IsOfShape(const TableInfo& stored, const Table& source) {
  return stored.stream == source.stream && stored.row_key == source.row_key.text() &&
         stored.pattern == ToString(source.pattern);
}

}  // namespace

Table NightlyTableOf(const Table& source, const NightlyRecord& record) {
  Table table = source;
  table.name = record.name;
  table.daily.reset();
  table.nightly = NightlyOf{source.name, record.day};
  for (Family& family : table.families) {
    family.max_age_us.reset();
    family.max_versions.reset();
    family.expire_by_both = false;
  }
  return table;
}

bool IsOf(const NightlyRecord& record, const TableInfo& stored, const Table& source) {
  if (record.table != 0 || record.staged != 0) {
    return stored.id == record.table || stored.id == record.staged;
  }
  return record.is_built && IsOfShape(stored, source);
}

Result<std::shared_ptr<const Schema>> WithNightly(std::shared_ptr<const Schema> configured,
                                                  Store& store) {
  const bool any_daily = std::ranges::any_of(
      configured->tables, [](const Table& table) { return table.daily.has_value(); });
  if (!any_daily) return configured;
  const Result<std::vector<NightlyRecord>> records = ReadNightlyRecords(store);
  if (!records) return records.error();
  auto schema = std::make_shared<Schema>(*configured);
  for (const NightlyRecord& record : *records) {
    const Table* source = configured->FindTable(record.source);
    const TablePtr stored = store.FindTable(record.name);
    if (source == nullptr || !source->daily || stored == nullptr) continue;
    if (!IsOf(record, *stored, *source)) continue;
    if (!IsOfShape(*stored, *source) || configured->FindTable(record.name) != nullptr) continue;
    schema->tables.push_back(NightlyTableOf(*source, record));
  }
  if (schema->tables.size() > kMaxTables) {
    return Error(ErrorCode::kConflict,
                 fmt::format("{} tables and {} nightly tables are more than {}; a shorter keep "
                             "removes nightly ones",
                             configured->tables.size(),
                             schema->tables.size() - configured->tables.size(), kMaxTables));
  }
  return std::shared_ptr<const Schema>(std::move(schema));
}

}  // namespace tallyd
