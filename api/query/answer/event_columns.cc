#include "api/query/answer/event_columns.h"

#include <algorithm>
#include <limits>

#include "config/schema/table_rules.h"
#include "config/values/glob.h"
#include "service/query/ask/key_fields.h"

namespace tallyd {
namespace {

class ColumnList {
 public:
  explicit ColumnList(EventRun* run) : run_(run) {}

  // A field named "ts" that is the time is there already; one that is not must not be taken for it.
  void Add(const std::string& name) {
    const std::string& time = run_->query().stream->time_field;
    if (name == "ts" && (time == "ts" || run_->plan().table->time_field == "ts")) return;
    const uint32_t field = run_->fields().Add(name);
    if (field >= known_.size()) known_.resize(field + 1);
    if (known_[field]) return;
    known_[field] = true;
    columns_.push_back({name == "ts" ? "field.ts" : name, field});
  }
  size_t size() const { return columns_.size(); }
  std::vector<EventColumn> Take() { return std::move(columns_); }

 private:
  EventRun* run_;
  std::vector<bool> known_;  // By field.
  std::vector<EventColumn> columns_;
};

// `selectable`: in byte order. Of more than `most` columns some are left out.
std::vector<EventColumn> Columns(EventRun* run, const std::vector<std::string>& selectable,
                                 size_t most = std::numeric_limits<size_t>::max()) {
  const EventQuery& query = run->query();
  const Table& table = *run->plan().table;
  ColumnList columns(run);
  for (const std::string& field : table.row_key.entity_fields()) columns.Add(field);
  for (const std::string& name : selectable) {
    if (KeyMayTell(table, *query.known, name) && columns.size() <= most) columns.Add(name);
  }
  for (const std::string& pattern : query.fields) {
    if (IsGlob(pattern)) {
      for (const std::string& name : selectable) {
        if (columns.size() <= most && GlobMatches(pattern, name)) columns.Add(name);
      }
    } else if (!query.IsTime(table, pattern) ||
               std::find(selectable.begin(), selectable.end(), pattern) != selectable.end()) {
      columns.Add(pattern);
    }
  }
  if (query.fields.empty()) {
    for (const std::string& name : selectable) {
      if (columns.size() <= most) columns.Add(name);
    }
  }
  return columns.Take();
}

std::vector<EventColumn> ColumnsOfSteps(EventRun* run) {
  std::vector<EventColumn> columns;
  for (uint32_t field = 0; field < run->fields().size(); ++field) {
    columns.push_back({run->fields().name(field), field});
  }
  return columns;
}

}  // namespace

std::vector<EventColumn> ColumnsOfPage(EventRun* run, const std::vector<bool>& met) {
  if (run->is_downsampled()) return ColumnsOfSteps(run);
  std::vector<std::string> selectable;
  for (uint32_t field = 0; field < met.size(); ++field) {
    if (met[field]) selectable.push_back(run->fields().name(field));
  }
  std::sort(selectable.begin(), selectable.end());
  return Columns(run, selectable);
}

std::optional<std::vector<EventColumn>> ColumnsOfTable(EventRun* run) {
  if (run->is_downsampled()) return ColumnsOfSteps(run);
  std::vector<std::string> selectable;
  const Table& table = *run->plan().table;
  const StreamFields& known = *run->query().known;
  for (const std::string& name : known.names()) {
    const bool is_current = SpellingIn(table, name, known.spellings()) == name;
    const bool is_held = TableHolds(table, name) || KeyMayTell(table, known, name);
    if (is_current && is_held) selectable.push_back(name);
  }
  std::vector<EventColumn> columns = Columns(run, selectable, kMostUnmetColumns);
  if (columns.size() > kMostUnmetColumns) return std::nullopt;
  return columns;
}

}  // namespace tallyd
