#include "tools/copy/target_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "config/schema/table_rules.h"
#include "ingest/text/percent.h"
#include "tools/copy/event_pages.h"
#include "tools/transfer/export_plan.h"
#include "tools/transfer/state_file.h"

namespace tallyd {
namespace {

std::string PathOf(const std::string& table) { return "/v1/tables/" + EncodePercent(table); }

bool AddsUp(const Table& table) {
  return table.flush_us || std::ranges::any_of(table.families, IsAggregate);
}

Error NotInForce(const std::string& what) {
  return Error(ErrorCode::kConflict, "the daemon that serves the target has " + what +
                                         " its configuration says: reload it");
}

bool IsSame(const Json& said, const Table& table) {
  if (StateText(said, "stream") != table.stream ||
      StateText(said, "pattern") != ToString(table.pattern) ||
      StateText(said, "row_key") != table.row_key.text() ||
      StateText(said, "time") != table.time_field ||
      said.value("when", std::vector<std::string>()) != table.when) {
    return false;
  }
  const Json families = said.value("families", Json::object());
  return families.size() == table.families.size() &&
         std::ranges::all_of(table.families, [&](const Family& family) {
           const Json rules = families.value(JsonName(family.name), Json());
           return rules.is_object() &&
                  StateText(rules, "aggregate") ==
                      (family.aggregate ? ToString(*family.aggregate) : "") &&
                  StateText(rules, "bucket") ==
                      (family.bucket_us ? FormatDuration(*family.bucket_us) : "");
         });
}

Status CheckTables(const CopyEnds& ends, const std::string& stream) {
  for (const Table* table : TablesOf(ends.schema, stream)) {
    const Result<HttpAnswer> there = ends.to.Ask({"GET", PathOf(table->name), {}, {}});
    if (!there) return there.error();
    const Json said = Json::parse(there->body, nullptr, false);
    if (there->status == kHttpOk && said.is_object() && IsSame(said, *table)) continue;
    return NotInForce(fmt::format("no table {} as", table->name));
  }
  const Result<Json> said = ends.to.GetJson("/v1/streams/" + EncodePercent(stream));
  if (!said) return said.error();
  for (const Json& name : said->value("tables", Json::array())) {
    const Table* const table =
        name.is_string() ? ends.schema.FindTable(name.get<std::string>()) : nullptr;
    if (table == nullptr || table->stream != stream) {
      return NotInForce(fmt::format("a table {} of the stream, other than", Dump(name)));
    }
  }
  return {};
}

Result<bool> HasRows(const PatientClient& to, const std::string& path, const TimeRange& time) {
  const Result<Json> rows = to.GetJson(fmt::format(
      "{}limit=1&from={}&to={}", path, QueryTimeText(time.from), QueryTimeText(time.to)));
  if (!rows) return rows.error();
  return !rows->value("rows", Json::array()).empty();
}

Error WouldCountTwice(const Table& table, const std::string& what) {
  return Error(
      ErrorCode::kConflict,
      fmt::format("table {} of the target adds up what it is sent, and the target has {} already, "
                  "which would count twice: bound the time (--from-time, --to-time), or delete it "
                  "in the target",
                  table.name, what));
}

// Whether a table of the target tells of every event of the time whether it was there.
Result<bool> TellsOfAll(const CopyEnds& ends, const std::string& stream, const TimeRange& time) {
  TransferLine line;
  line.stream = stream;
  line.from = QueryTimeText(time.from);
  line.to = QueryTimeText(time.to);
  const Result<ExportPlan> plan = PlanExport(line, ends.to);
  if (!plan && plan.error().code() != ErrorCode::kConflict) return plan.error();
  return plan && plan->lack.empty();
}

// From where on a table has cells that an event of that time may be in.
TimeUs FirstCellTime(const Table& table, TimeUs time) {
  TimeUs first = time;
  for (const Family& family : table.families) first = std::min(first, CellTime(family, time));
  return first;
}

// An event is sent as JSON, which has no word for labels: those that a protocol told at the source
// would be ordinary fields of the target, and its keys would lack them.
Status CheckLabels(const CopyEnds& ends, const std::string& stream) {
  const Stream* const target = ends.schema.FindStream(stream);
  const bool has_labels =
      std::ranges::any_of(TablesOf(ends.schema, stream),
                          [](const Table* table) { return table->row_key.holds_labels(); });
  if (target == nullptr || !has_labels) return {};
  const Result<Json> said = ends.from.GetJson("/v1/streams/" + EncodePercent(stream) + "/fields");
  if (!said) return said.error();
  Json labels = target->labels;
  const size_t listed = labels.size();
  for (const Json& field : said->value("fields", Json::array())) {
    if (!field.value("label", false)) continue;
    const std::string name = StateText(field, "name");
    if (!ListsAsLabel(*target, name)) labels.push_back(name);
  }
  if (labels.size() == listed) return {};
  return Error(
      ErrorCode::kConflict,
      fmt::format("the source has labels that the stream of the target does not list, so that "
                  "they would be missing from its keys; under [streams.{}] of the target "
                  "write labels = {}",
                  stream, Dump(labels)));
}

}  // namespace

bool AddsUp(const Schema& schema, const std::string& stream) {
  return std::ranges::any_of(TablesOf(schema, stream), [](const Table* t) { return AddsUp(*t); });
}

const Table* CountingTable(const Schema& schema, const std::string& stream) {
  for (const Table* table : TablesOf(schema, stream)) {
    const auto counts_repeats = [](const Family& family) {
      return family.aggregate && InfoOf(*family.aggregate).counts_repeats;
    };
    if (table->flush_us || std::ranges::any_of(table->families, counts_repeats)) return table;
  }
  return nullptr;
}

Status CheckTarget(const CopyEnds& ends, const std::string& stream, const TimeRange& time) {
  if (Status same = CheckTables(ends, stream); !same) return same;
  if (Status labels = CheckLabels(ends, stream); !labels) return labels;
  std::vector<const Table*> adding = TablesOf(ends.schema, stream);
  const bool has_events =
      std::ranges::any_of(adding, [](const Table* t) { return KeepsEvents(*t); });
  std::erase_if(adding, [](const Table* table) { return !AddsUp(*table); });
  if (adding.empty()) return {};
  if (has_events) {
    const Result<bool> has =
        HasRows(ends.to, "/v1/streams/" + EncodePercent(stream) + "/events?scan=1&", time);
    if (!has) return has.error();
    if (*has) return WouldCountTwice(*adding.front(), "events of the time that is copied");
    const Result<bool> tells = TellsOfAll(ends, stream, time);
    if (!tells) return tells.error();
    if (*tells) return {};
  }
  // What was added up may be all that is left of events.
  for (const Table* table : adding) {
    const TimeRange cells{FirstCellTime(*table, time.from), time.to};
    const Result<bool> has = HasRows(ends.to, PathOf(table->name) + "/rows?", cells);
    if (!has) return has.error();
    if (*has) return WouldCountTwice(*table, "rows of that time in it");
  }
  return {};
}

}  // namespace tallyd
