#include "daemon/copy/copy_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <random>

#include "api/percent.h"
#include "daemon/copy/copy_check.h"
#include "daemon/copy/copy_end.h"
#include "daemon/copy/target_check.h"
#include "daemon/transfer/state_file.h"

namespace tallyd {
namespace {

// A target forgets the key of a chunk after a day.
constexpr int64_t kKeyLifeUs = 23 * 3600 * kUsPerSecond;

std::string NewId() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

bool IsIn(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

Json CurrentOf(const std::optional<CopyState>& kept) {
  return kept ? kept->told.value("current", Json()) : Json();
}

Result<std::vector<std::string>> StreamsAt(const PatientClient& client) {
  const Result<Json> listed = client.GetJson("/v1/streams");
  if (!listed) return listed.error();
  std::vector<std::string> names;
  for (const Json& stream : listed->value("streams", Json::array())) {
    names.push_back(StateText(stream, "name"));
  }
  return names;
}

// Cells are what the source has; where events fell on cells of others that is not all that came.
Status TellMerged(const PatientClient& from, const std::vector<std::string>& tables, Json* report) {
  for (const std::string& table : tables) {
    const Result<Json> said = from.GetJson("/v1/tables/" + EncodePercent(table));
    if (!said) return said.error();
    const uint64_t merged = StateNumber(*said, "merged_events");
    if (merged == 0) continue;
    if (report->contains("verified")) (*report)["verified"] = false;
    (*report)["lack"] = fmt::format(
        "at least {} events fell on cells of others in table {} of the source", merged, table);
  }
  return {};
}

}  // namespace

Result<PatientClient> CopyClient(const CopyLine& line, const std::string& url,
                                 const std::string& token_file) {
  TransferLine transfer;
  transfer.url = url;
  transfer.token_file = token_file;
  transfer.retry_for = line.retry_for;
  return PatientClient::Make(transfer);
}

std::vector<std::string> CopiedStreams(const Schema& schema) {
  std::vector<std::string> names;
  for (const Stream& stream : schema.streams) {
    if (!stream.tables.empty()) names.push_back(stream.name);
  }
  return names;
}

CopyRun::CopyRun(const CommandLine& line, const Config& from, const Config& to,
                 const CopyAsked& asked)
    : line_(line),
      from_(from),
      to_(to),
      asked_(asked),
      file_(line.copy.state.empty() ? line.to + ".copying" : line.copy.state) {}

Result<Json> CopyRun::Run(ToolProgress* progress) {
  const Result<CopyEnd> source = CopyEnd::Open(from_, EndRole::kSource);
  if (!source) return source.error().Prefixed("the source");
  const Result<CopyEnd> target = CopyEnd::Open(to_, EndRole::kTarget);
  if (!target) return target.error().Prefixed("the target");
  target_is_served_ = target->is_served();
  const auto from = CopyClient(line_.copy, source->url(), line_.copy.from_token_file);
  if (!from) return from.error();
  const auto to = CopyClient(line_.copy, target->url(), line_.copy.to_token_file);
  if (!to) return to.error();
  const CopyEnds ends{*from, *to, *to_.schema};
  Result<std::optional<CopyState>> kept = file_.Read();
  if (!kept) return kept.error();
  const Status begun = *kept ? Resume((*kept)->told) : Begin(ends);
  if (!begun) return begun.error();
  while (!state_["streams"].empty()) {
    const std::string stream = state_["streams"].front().get<std::string>();
    if (Status copied = CopyStream(ends, *kept, progress); !copied) {
      return copied.error().Prefixed("stream " + stream);
    }
    kept->reset();
  }
  if (Status removed = file_.Remove(); !removed) return removed.error();
  Json nightly = Json::array();
  for (const Table& table : to_.schema->tables) {
    if (table.daily) nightly.push_back(table.name);
  }
  return Json{{"from", JsonOfText(from_.storage.path)},
              {"to", JsonOfText(to_.storage.path)},
              {"source", source->is_served() ? "served" : "opened"},
              {"target", target->is_served() ? "served" : "opened"},
              {"began", state_["began"]},
              {"streams", state_["done"]},
              {"not_in_source", state_["not_in_source"]},
              {"not_in_target", state_["not_in_target"]},
              {"nightly_left_to_target", std::move(nightly)}};
}

Json CopyRun::Identity() const {
  return {{"from", JsonOfText(from_.storage.path)},
          {"to", JsonOfText(to_.storage.path)},
          {"streams", line_.copy.streams},
          {"from_time", line_.copy.from_time},
          {"to_time", line_.copy.to_time}};
}

Status CopyRun::Resume(const Json& told) {
  if (told.value("copy", Json()) != Identity() || !told.value("streams", Json()).is_array() ||
      !told.value("done", Json()).is_array()) {
    return Error(ErrorCode::kConflict,
                 file_.path() +
                     " is of another copy (places, streams or times differ): finish "
                     "that one, or remove it to start anew");
  }
  state_ = told;
  asked_.time = {static_cast<TimeUs>(StateNumber(told, "from_us")),
                 static_cast<TimeUs>(StateNumber(told, "to_us"))};
  if (!line_.copy.quiet) std::fprintf(stderr, "goes on by %s\n", file_.path().c_str());
  return {};
}

// Finds what stands in the way of any stream before the first event moves.
Status CopyRun::Begin(const CopyEnds& ends) {
  const Result<std::vector<std::string>> there = StreamsAt(ends.from);
  if (!there) return there.error();
  const std::vector<std::string> in_target = CopiedStreams(*to_.schema);
  const bool all = line_.copy.streams.empty();
  Json streams = Json::array();
  Json not_in_source = Json::array();
  Json not_in_target = Json::array();
  for (const std::string& stream : all ? in_target : line_.copy.streams) {
    if (std::ranges::find(streams, Json(stream)) != streams.end()) continue;  // Named twice.
    if (IsIn(*there, stream)) {
      streams.push_back(stream);
    } else if (all) {
      not_in_source.push_back(stream);
    } else {
      return Error(ErrorCode::kNotFound, "the source has no stream " + stream);
    }
  }
  for (const std::string& stream : *there) {
    if (all && !IsIn(in_target, stream)) not_in_target.push_back(stream);
  }
  for (const Json& name : streams) {
    const std::string stream = name.get<std::string>();
    const Result<Way> way = FindWay(ends, stream);
    if (!way) return way.error().Prefixed("stream " + stream);
  }
  state_ = {{"copy", Identity()},
            {"id", NewId()},
            {"began", JsonOfTime(SystemClock().Now())},
            {"from_us", static_cast<uint64_t>(asked_.time.from)},
            {"to_us", static_cast<uint64_t>(asked_.time.to)},
            {"streams", std::move(streams)},
            {"not_in_source", std::move(not_in_source)},
            {"not_in_target", std::move(not_in_target)},
            {"done", Json::array()}};
  return Keep(Json(), {});
}

// As events where the source has all of them, else cell by cell where both have equal tables.
Result<CopyRun::Way> CopyRun::FindWay(const CopyEnds& ends, const std::string& stream) const {
  if (Status ready = CheckTarget(ends, stream, asked_.time); !ready) return ready.error();
  Result<StreamPlan> plan = PlanStream(ends, stream, asked_);
  if (!plan && plan.error().code() != ErrorCode::kConflict) return plan.error();
  if (plan && plan->tables.size() > 1) {
    if (const Table* counting = CountingTable(ends.schema, stream)) {
      plan = Error(ErrorCode::kConflict,
                   fmt::format("its events come in parts, out of {} and {}, and table {} of the "
                               "target may count what stands in both twice",
                               plan->tables[0].name, plan->tables[1].name, counting->name));
    }
  }
  if (!plan || !plan->lack.empty()) {
    Result<CellTables> tables = TablesForCells(ends, stream);
    if (tables) return Way(std::move(*tables));
    if (!plan || !asked_.partial) {
      return Error(
          ErrorCode::kConflict,
          fmt::format(
              "it cannot be copied as events: {}. Nor can it cell by cell: {}. {}",
              plan ? plan->lack : plan.error().message(), tables.error().message(),
              plan ? "Name a time from which on the source is whole (--from-time), or copy "
                     "what there is (--partial)"
                   : "Give the target the source's tables of it, and no others that add up, or "
                     "leave it out (--stream)"));
    }
  }
  std::vector<const Table*> tables;
  for (const size_t index : ends.schema.FindStream(stream)->tables) {
    tables.push_back(&ends.schema.tables[index]);
  }
  const auto holds = [](const Table* table) { return table->flush_us.has_value(); };
  if (!target_is_served_ && std::ranges::any_of(tables, holds)) {
    return Error(ErrorCode::kConflict,
                 "a table of the target holds counters in memory (flush), which a copy that is "
                 "killed would lose: start the target's daemon, and copy then");
  }
  const bool gives_back =
      std::ranges::any_of(tables, [](const Table* table) { return KeepsEvents(*table); });
  if (!gives_back && asked_.verify) {
    return Error(ErrorCode::kConflict,
                 "none of its tables in the target gives events back, so the copy cannot be "
                 "verified: --no-verify copies without");
  }
  return Way(std::move(*plan));
}

Status CopyRun::Keep(const Json& current, std::string_view chunk) {
  Json told = state_;
  told["current"] = current;
  told["written"] = static_cast<uint64_t>(SystemClock().Now());
  return file_.Write(told, chunk);
}

StreamCopy::Keep CopyRun::Keeper() {
  return [this](const Json& told, std::string_view chunk) { return Keep(told, chunk); };
}

std::string CopyRun::IdOfStream() const {
  return fmt::format("{}-{}", StateText(state_, "id"), state_.at("done").size());
}

Status CopyRun::CheckAge(const CopyState& kept, const std::string& stream) const {
  const auto age = SystemClock().Now() - static_cast<TimeUs>(StateNumber(kept.told, "written"));
  if (kept.chunk.empty() || age <= kKeyLifeUs || !AddsUp(*to_.schema, stream)) return {};
  return Error(ErrorCode::kConflict,
               file_.path() +
                   " is a day old: the target has forgotten whether it took the last "
                   "events, and tables that add up would count them twice. Empty these "
                   "tables, remove the file, and start anew");
}

// The first of the streams that are left; `kept` is where it was interrupted.
Status CopyRun::CopyStream(const CopyEnds& ends, const std::optional<CopyState>& kept,
                           ToolProgress* progress) {
  const std::string stream = state_["streams"].front().get<std::string>();
  const Json current = CurrentOf(kept);
  std::optional<Way> way;
  if (CellCopy::IsToldBy(current)) {
    way = CellCopy::TablesIn(current);
  } else if (current.is_object()) {
    Result<StreamPlan> plan = StreamPlanOfJson(current.value("plan", Json()), *to_.schema);
    if (!plan) return plan.error().Prefixed(file_.path());
    way = std::move(*plan);
  } else {
    Result<Way> found = FindWay(ends, stream);
    if (!found) return found.error();
    way = std::move(*found);
  }
  if (current.is_object()) {
    if (Status young = CheckAge(*kept, stream); !young) return young;
  }
  progress->step = "copying";
  Result<Json> result =
      std::holds_alternative<StreamPlan>(*way)
          ? CopyEvents(ends, std::get<StreamPlan>(std::move(*way)), kept, progress)
          : CopyCells(ends, stream, std::get<CellTables>(std::move(*way)), kept, progress);
  if (!result) return result.error();
  state_["done"].push_back(std::move(*result));
  state_["streams"].erase(state_["streams"].begin());
  return Keep(Json(), {});
}

Result<Json> CopyRun::CopyEvents(const CopyEnds& ends, StreamPlan plan,
                                 const std::optional<CopyState>& kept, ToolProgress* progress) {
  StreamCopy copy(ends, std::move(plan), asked_, IdOfStream(), Keeper());
  if (const Json current = CurrentOf(kept); current.is_object()) {
    if (Status resumed = copy.Resume(current, kept->chunk); !resumed) {
      return resumed.error().Prefixed(file_.path());
    }
  }
  if (Status copied = copy.Run(progress); !copied) return copied.error();
  Json tables = Json::array();
  for (const SourceTable& table : copy.plan().tables) tables.push_back(table.name);
  const EventSums::Sum all = copy.sums().Total();
  Json json = {{"stream", copy.plan().stream},          {"copied_as", "events"},
               {"tables", std::move(tables)},           {"events", all.events},
               {"checksum", ChecksumText(all.digests)}, {"expired", copy.counts().expired},
               {"refused", copy.counts().refused}};
  if (!copy.plan().lack.empty()) json["lack"] = copy.plan().lack;
  if (!asked_.verify) return json;
  progress->step = "verifying";
  CopyCheck check{true, {}, asked_.time.from, {}};
  if (all.events > 0) {
    Result<CopyCheck> checked =
        CheckStream(ends.to, copy.plan(), copy.sums(), {asked_.time.from, copy.last() + 1});
    if (!checked) return checked.error();
    check = std::move(*checked);
  }
  json["verified"] = check.is_equal;
  json["target_events"] = check.there.events;
  json["target_checksum"] = ChecksumText(check.there.digests);
  if (check.from > asked_.time.from) {
    const EventSums::Sum compared = copy.sums().Total(check.from);
    json["compared_from"] = JsonOfTime(check.from);
    json["compared_events"] = compared.events;
    json["compared_checksum"] = ChecksumText(compared.digests);
  }
  if (!check.why.empty()) json["why"] = check.why;
  return json;
}

Result<Json> CopyRun::CopyCells(const CopyEnds& ends, const std::string& stream, CellTables tables,
                                const std::optional<CopyState>& kept, ToolProgress* progress) {
  CellCopy copy(ends, stream, std::move(tables), asked_.time, IdOfStream(), Keeper());
  if (const Json current = CurrentOf(kept); current.is_object()) {
    if (Status resumed = copy.Resume(current, kept->chunk); !resumed) {
      return resumed.error().Prefixed(file_.path());
    }
  }
  if (Status copied = copy.Run(progress); !copied) return copied.error();
  const EventSums::Sum all = copy.sums().Total();
  Json json = {{"stream", stream},        {"copied_as", "cells"},
               {"tables", copy.tables()}, {"rows", copy.rows()},
               {"cells", all.events},     {"checksum", ChecksumText(all.digests)}};
  if (!asked_.verify) {
    if (Status told = TellMerged(ends.from, copy.tables(), &json); !told) return told.error();
    return json;
  }
  progress->step = "verifying";
  const Result<EventSums> there = copy.ReadBack();
  if (!there) return there.error();
  const EventSums::Sum back = there->Total();
  const auto difference = copy.sums().FirstDifference(*there, 0);
  json["verified"] = !difference;
  json["target_cells"] = back.events;
  json["target_checksum"] = ChecksumText(back.digests);
  if (difference) {
    json["why"] = fmt::format(
        "from {} to {} {} cells were read, and the target gives back {}{}",
        FormatRfc3339(difference->time.from), FormatRfc3339(difference->time.to),
        difference->here.events, difference->there.events,
        difference->here.events == difference->there.events ? ", of which some are others" : "");
  }
  if (Status told = TellMerged(ends.from, copy.tables(), &json); !told) return told.error();
  return json;
}

}  // namespace tallyd
