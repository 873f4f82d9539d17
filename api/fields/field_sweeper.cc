#include "api/fields/field_sweeper.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "config/schema/field_columns.h"
#include "config/schema/gone_rule.h"

namespace tallyd {
namespace {

constexpr std::chrono::milliseconds kLeastPause(1000);
constexpr std::chrono::milliseconds kLongestPause(600'000);
// Looking takes at most this part of the time.
constexpr int kShare = 20;

// The table with all rules by which cells may have come to it; nothing where one cannot be read.
std::optional<Table> WithAllRules(const Schema& schema, const TableInfo& stored) {
  Table table;
  if (const Table* const configured = schema.FindTable(stored.name)) {
    table = *configured;
  } else {
    Result<RowKeyTemplate> row_key = RowKeyTemplate::Parse(stored.row_key, stored.time_field);
    if (!row_key) return std::nullopt;
    table.name = stored.name;
    table.row_key = std::move(*row_key);
    table.time_field = stored.time_field;
    table.when = stored.when;
  }
  for (const RuleMark& mark : stored.rules) {
    if (mark.rule.empty()) continue;
    std::optional<ColumnRule> rule = FromCanonicalText(mark.rule, table.time_field);
    if (!rule) return std::nullopt;
    table.columns.push_back(std::move(*rule));
  }
  return table;
}

// What is looked for in one table, and of which field each is.
struct Wanted {
  std::vector<Column> columns;
  std::vector<size_t> fields;
};

}  // namespace

void FieldSweeper::Start() {
  thread_.Start(kLeastPause, [this] {
    const auto start = std::chrono::steady_clock::now();
    Look();
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - start);
    return std::clamp(took * kShare, kLeastPause, kLongestPause);
  });
}

void FieldSweeper::Look() {
  const std::lock_guard work(work_mutex_);
  const std::shared_ptr<const SchemaSnapshot> snapshot = context_.snapshot();
  // What is being made behind its name is in no list.
  if (keeper_ == nullptr || !snapshot || !context_.store.StagedTables().empty()) return;
  const Status looked = round_.doubted.empty() ? Begin(*snapshot) : GoOn(*snapshot);
  if (looked) return;
  spdlog::debug("names of fields stay: {}", looked.error().message());
  End();
}

Status FieldSweeper::Begin(const SchemaSnapshot& snapshot) {
  for (const Stream& stream : snapshot.schema->streams) {
    Result<Names> unused = Unused(snapshot, stream.name, keeper_->SettledFields(stream.name));
    if (!unused) return unused.error();
    if (unused->empty()) continue;
    keeper_->DoubtFields(stream.name, *unused);
    round_.doubted[stream.name] = std::move(*unused);
  }
  if (!round_.doubted.empty()) RenewMappers();
  return {};
}

Status FieldSweeper::GoOn(const SchemaSnapshot& snapshot) {
  // A reload may have put mappers in force that were made before: begin anew.
  if (round_.maps_by.lock().get() != &snapshot) {
    End();
    return {};
  }
  if (!round_.mapped_by.expired()) return {};
  bool is_over = true;
  for (const auto& [stream, names] : round_.doubted) {
    is_over = keeper_->DoubtIsOver(stream) && is_over;
  }
  // What is sealed may be seen as such a moment before its files are.
  if (!std::exchange(round_.is_over, is_over) || !is_over) return {};
  for (auto& [stream, names] : round_.doubted) {
    if (Status done = Forget(snapshot, stream, std::move(names)); !done) return done;
  }
  End();
  return {};
}

Status FieldSweeper::Forget(const SchemaSnapshot& snapshot, const std::string& stream,
                            Names names) {
  const Result<Names> unused = Unused(snapshot, stream, std::move(names));
  if (!unused) return unused.error();
  if (unused->empty()) return {};
  const Result<size_t> forgotten = keeper_->ForgetFields(stream, *unused);
  if (!forgotten) return forgotten.error();
  if (*forgotten > 0) {
    spdlog::info("stream {}: {} names of fields that nothing stored has are forgotten", stream,
                 *forgotten);
  }
  return {};
}

void FieldSweeper::End() {
  for (const auto& [stream, names] : round_.doubted) keeper_->DoubtFields(stream, {});
  round_ = {};
}

Result<FieldSweeper::Names> FieldSweeper::Unused(const SchemaSnapshot& snapshot,
                                                 const std::string& stream, Names names) {
  std::vector<bool> stays(names.size());
  std::vector<bool> taken(names.size());
  std::vector<TablePtr> tables = context_.store.Tables();
  // Of latest tables all rows may have to be looked at, for what no history has.
  std::ranges::stable_sort(
      tables, {}, [](const TablePtr& table) { return table->mode != TableMode::kHistory; });
  for (const TablePtr& stored : tables) {
    if (stored->stream != stream) continue;
    const std::optional<Table> table = WithAllRules(*snapshot.schema, *stored);
    if (!table) return Names();
    Wanted wanted;
    for (size_t i = 0; i < names.size(); ++i) {
      if (stays[i]) continue;
      const FieldColumns found = ColumnsOfField(*table, names[i]);
      stays[i] = found.is_named || found.anywhere;
      taken[i] = taken[i] || !found.columns.empty();
      for (const auto& [family, qualifier] : found.columns) {
        const std::optional<FamilyId> id = stored->FindFamily(family);
        if (!id || stays[i]) continue;
        wanted.columns.push_back({*id, qualifier});
        wanted.fields.push_back(i);
      }
    }
    if (wanted.columns.empty()) continue;
    const Result<std::vector<bool>> has = keeper_->HaveColumns(stored, wanted.columns);
    if (!has) return has.error();
    for (size_t i = 0; i < has->size(); ++i) {
      if ((*has)[i]) stays[wanted.fields[i]] = true;
    }
  }
  // What no table takes is in no answer; it would come again with the next event that has it.
  Names unused;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!stays[i] && taken[i]) unused.push_back(std::move(names[i]));
  }
  return unused;
}

void FieldSweeper::RenewMappers() {
  std::shared_ptr<const SchemaSnapshot> old = context_.snapshot();
  while (true) {
    auto next = std::make_shared<SchemaSnapshot>();
    next->schema = old->schema;
    next->findings = old->findings;
    for (const Stream& stream : old->schema->streams) {
      next->mappers.emplace(stream.name,
                            std::make_unique<Mapper>(old->schema, stream, context_.store));
    }
    round_.maps_by = next;
    if (context_.replace_snapshot(&old, std::move(next))) break;
  }
  round_.mapped_by = old;
}

}  // namespace tallyd
