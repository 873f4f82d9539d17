#include "tools/copy/copy_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <random>

#include "ingest/text/percent.h"
#include "tools/copy/copy_check.h"
#include "tools/copy/copy_end.h"
#include "tools/copy/target_check.h"
#include "tools/token_file.h"
#include "tools/transfer/state_file.h"

namespace tallyd {
namespace {

// A target forgets the key of a chunk after a day.
constexpr int64_t kKeyLifeUs = 23 * 3600 * kUsPerSecond;

// Of a report while it is looked at again.
constexpr const char* kCameSince = "came_since";

std::string CameSince(const EventSums::Difference& came) {
  return fmt::format(
      "since it was copied the source has got others: from {} to {} {} were read, "
      "and it gives {} now",
      FormatRfc3339(came.time.from), FormatRfc3339(came.time.to), came.here.events,
      came.there.events);
}

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

Result<PatientClient> CopyClient(const CopyLine& line, const HttpTarget& target,
                                 const std::string& token) {
  TransferLine transfer;
  transfer.retry_for = line.retry_for;
  Result<PatientClient> client = PatientClient::Make(target, transfer);
  if (client) client->SetToken(token);
  return client;
}

Result<CopyTokens> CopyTokens::Read(const CommandLine& line) {
  const auto file = [&line](const std::string& own) { return own.empty() ? line.token_file : own; };
  Result<std::string> from = ReadTokenFile(file(line.copy.from_token_file));
  if (!from) return from.error();
  Result<std::string> to = ReadTokenFile(file(line.copy.to_token_file));
  if (!to) return to.error();
  return CopyTokens{std::move(*from), std::move(*to)};
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

Result<Json> CopyRun::Run(const ToolHost& host, ToolProgress* progress) {
  const Result<CopyTokens> tokens = CopyTokens::Read(line_);
  if (!tokens) return tokens.error();
  const Result<CopyEnd> source = CopyEnd::Open(from_, EndRole::kSource, tokens->from, host);
  if (!source) return source.error().Prefixed("the source");
  const Result<CopyEnd> target = CopyEnd::Open(to_, EndRole::kTarget, tokens->to, host);
  if (!target) return target.error().Prefixed("the target");
  target_is_served_ = target->is_served();
  auto from = CopyClient(line_.copy, source->target(), source->token());
  if (!from) return from.error();
  auto to = CopyClient(line_.copy, target->target(), target->token());
  if (!to) return to.error();
  Result<std::optional<CopyState>> kept = file_.Read();
  if (!kept) return kept.error();
  const CopyEnds ends{*from, *to, *to_.schema};
  if (Status same = CheckStores(ends); !same) return same.error();
  from_store_ = from_moment_.id;
  to_store_ = to_moment_.id;
  // A directory that was put back from another's backup has its id; a Bigtable's is its own.
  if (!from_store_.empty() && from_store_ == to_store_ && !to_.storage.has_directory()) {
    return Error(ErrorCode::kConflict,
                 fmt::format("source and target are the same tables: {} and {}",
                             PlaceOf(from_.storage), PlaceOf(to_.storage)));
  }
  if (*kept && (*kept)->told.value("copy", Json()) == Identity()) {
    from_moment_ = MomentOfJson((*kept)->told.value("from_moment", Json()));
    to_moment_ = MomentOfJson((*kept)->told.value("to_moment", Json()));
  }
  if (Status same = CheckStores(ends); !same) return same.error();
  from->HoldTo(from_moment_);
  to->HoldTo(to_moment_);
  const Status begun = *kept ? Resume((*kept)->told) : Begin(ends);
  if (!begun) return begun.error();
  const size_t before = state_["done"].size();
  if (Status copied = CopyStreams(ends, &*kept, progress); !copied) return copied.error();
  if (before > 0) {
    if (Status looked = LookAgain(ends, before, progress); !looked) return looked.error();
    if (Status copied = CopyStreams(ends, &*kept, progress); !copied) return copied.error();
  }
  if (Status same = CheckStores(ends); !same) return same.error();
  if (Status removed = file_.Remove(); !removed) return removed.error();
  Json nightly = Json::array();
  for (const Table& table : to_.schema->tables) {
    if (table.daily) nightly.push_back(table.name);
  }
  return Json{{"from", JsonOfText(PlaceOf(from_.storage))},
              {"to", JsonOfText(PlaceOf(to_.storage))},
              {"source", source->is_served() ? "served" : "opened"},
              {"target", target->is_served() ? "served" : "opened"},
              {"began", state_["began"]},
              {"streams", state_["done"]},
              {"not_in_source", state_["not_in_source"]},
              {"not_in_target", state_["not_in_target"]},
              {"nightly_left_to_target", std::move(nightly)}};
}

Json CopyRun::Identity() const {
  return {{"from", JsonOfText(PlaceOf(from_.storage))},
          {"to", JsonOfText(PlaceOf(to_.storage))},
          {"from_store", from_store_},
          {"to_store", to_store_},
          {"streams", line_.copy.streams},
          {"from_time", line_.copy.from_time},
          {"to_time", line_.copy.to_time}};
}

Status CopyRun::Resume(const Json& told) {
  if (told.value("copy", Json()) != Identity() || !told.value("streams", Json()).is_array() ||
      !told.value("done", Json()).is_array() || !told.value("finished", Json()).is_array() ||
      told["done"].size() != told["finished"].size()) {
    return Error(ErrorCode::kConflict,
                 file_.path() +
                     " is of another copy (places, the stores there, streams or times differ): "
                     "finish that one, or remove it to start anew");
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
            {"turn", 0u},
            {"finished", Json::array()},
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

// The source is to have what it had at the beginning, the target what it has by now.
Status CopyRun::CheckStores(const CopyEnds& ends) {
  Result<StoreMoment> from = ends.from.CheckStore(from_moment_);
  if (!from) return from.error().Prefixed("the source");
  Result<StoreMoment> to = ends.to.CheckStore(to_moment_);
  if (!to) return to.error().Prefixed("the target");
  if (from_moment_.id.empty()) from_moment_ = std::move(*from);
  if (!to->opening.empty() || to_moment_.opening.empty()) to_moment_ = std::move(*to);
  return {};
}

Status CopyRun::Keep(const Json& current, std::string_view chunk) {
  Json told = state_;
  told["current"] = current;
  told["from_moment"] = JsonOfMoment(from_moment_);
  told["to_moment"] = JsonOfMoment(to_moment_);
  told["written"] = static_cast<uint64_t>(SystemClock().Now());
  return file_.Write(told, chunk);
}

// What the state tells of was read from, and went into, the stores that the copy began with: either
// daemon may have come back with another one since.
StreamCopy::Keep CopyRun::Keeper(const CopyEnds& ends) {
  return [this, &ends](const Json& told, std::string_view chunk) {
    Status same = CheckStores(ends);
    return same ? Keep(told, chunk) : same;
  };
}

std::string CopyRun::IdOfStream() const {
  // Not by its place among the streams: one that is copied anew needs keys of its own.
  return fmt::format("{}-{}", StateText(state_, "id"), StateNumber(state_, "turn"));
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

Status CopyRun::CopyStreams(const CopyEnds& ends, std::optional<CopyState>* kept,
                            ToolProgress* progress) {
  while (!state_["streams"].empty()) {
    const std::string stream = state_["streams"].front().get<std::string>();
    if (Status copied = CopyStream(ends, *kept, progress); !copied) {
      return copied.error().Prefixed("stream " + stream);
    }
    kept->reset();
  }
  return {};
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
  if (Status same = CheckStores(ends); !same) return same;
  state_["done"].push_back(std::move(*result));
  state_["streams"].erase(state_["streams"].begin());
  state_["turn"] = StateNumber(state_, "turn") + 1;
  return Keep(Json(), {});
}

Result<Json> CopyRun::CopyEvents(const CopyEnds& ends, StreamPlan plan,
                                 const std::optional<CopyState>& kept, ToolProgress* progress) {
  StreamCopy copy(ends, std::move(plan), asked_, IdOfStream(), Keeper(ends));
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
  if (asked_.verify) {
    progress->step = "verifying";
    if (Status verified = VerifyEvents(ends, copy, &json); !verified) return verified.error();
  }
  Finish(copy.Told());
  return json;
}

Result<Json> CopyRun::CopyCells(const CopyEnds& ends, const std::string& stream, CellTables tables,
                                const std::optional<CopyState>& kept, ToolProgress* progress) {
  CellCopy copy(ends, stream, std::move(tables), asked_.time, IdOfStream(), Keeper(ends));
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
  if (asked_.verify) {
    progress->step = "verifying";
    if (Status verified = VerifyCells(ends, copy, &json); !verified) return verified.error();
  }
  if (Status told = TellMerged(ends.from, copy.tables(), &json); !told) return told.error();
  Finish(copy.Told());
  return json;
}

Status CopyRun::VerifyEvents(const CopyEnds& ends, const StreamCopy& copy, Json* report) const {
  CopyCheck check{true, {}, asked_.time.from, {}};
  if (copy.sums().Total().events > 0) {
    Result<CopyCheck> checked =
        CheckStream(ends.to, copy.plan(), copy.sums(), {asked_.time.from, copy.last() + 1});
    if (!checked) return checked.error();
    check = std::move(*checked);
  }
  (*report)["verified"] = check.is_equal;
  (*report)["target_events"] = check.there.events;
  (*report)["target_checksum"] = ChecksumText(check.there.digests);
  if (check.from > asked_.time.from) {
    const EventSums::Sum compared = copy.sums().Total(check.from);
    (*report)["compared_from"] = JsonOfTime(check.from);
    (*report)["compared_events"] = compared.events;
    (*report)["compared_checksum"] = ChecksumText(compared.digests);
  }
  report->erase("why");
  if (!check.why.empty()) (*report)["why"] = check.why;
  return {};
}

Status CopyRun::VerifyCells(const CopyEnds& ends, const CellCopy& copy, Json* report) const {
  const Result<EventSums> there = copy.ReadBack(ends.to);
  if (!there) return there.error();
  const EventSums::Sum back = there->Total();
  const auto difference = copy.sums().FirstDifference(*there, 0);
  (*report)["verified"] = !difference;
  (*report)["target_cells"] = back.events;
  (*report)["target_checksum"] = ChecksumText(back.digests);
  report->erase("why");
  if (difference) {
    (*report)["why"] = fmt::format(
        "from {} to {} {} cells were read, and the target gives back {}{}",
        FormatRfc3339(difference->time.from), FormatRfc3339(difference->time.to),
        difference->here.events, difference->there.events,
        difference->here.events == difference->there.events ? ", of which some are others" : "");
  }
  return {};
}

// What LookAgain needs of a stream, once it is copied.
void CopyRun::Finish(Json told) {
  told["table"] = 0u;
  state_["finished"].push_back(std::move(told));
}

// Of what was finished before this command began the state tells how it was then. Since then the
// target may have lost events, and the source have got some. A stream of which that is so is
// copied anew, but where that would add up twice: there it is told.
Status CopyRun::LookAgain(const CopyEnds& ends, size_t count, ToolProgress* progress) {
  progress->step = "verifying again";
  Json done = Json::array();
  Json finished = Json::array();
  Json anew = Json::array();
  for (size_t i = 0; i < state_["done"].size(); ++i) {
    Json report = state_["done"][i];
    const Json& told = state_["finished"][i];
    if (i < count) {
      const std::string stream = StateText(report, "stream");
      Result<Json> now = CellCopy::IsToldBy(told) ? CellsAgain(ends, told, std::move(report))
                                                  : EventsAgain(ends, told, std::move(report));
      if (!now) return now.error().Prefixed("stream " + stream);
      report = std::move(*now);
      const bool is_equal = !report.contains(kCameSince) && report.value("verified", true);
      if (!is_equal && !AddsUp(*to_.schema, stream)) {
        anew.push_back(stream);
        continue;
      }
      if (report.contains(kCameSince)) {
        report["lack"] = StateText(report, kCameSince) +
                         ", and a table of the target adds up what it is sent: copy that alone "
                         "(--from-time, --to-time), or empty these tables and start anew";
        report.erase(kCameSince);
      }
    }
    done.push_back(std::move(report));
    finished.push_back(told);
  }
  const bool is_done = anew.empty();
  state_["done"] = std::move(done);
  state_["finished"] = std::move(finished);
  state_["streams"] = std::move(anew);
  return is_done ? Status() : Keep(Json(), {});
}

Result<Json> CopyRun::EventsAgain(const CopyEnds& ends, const Json& told, Json report) const {
  Result<StreamPlan> plan = StreamPlanOfJson(told.value("plan", Json()), *to_.schema);
  if (!plan) return plan.error().Prefixed(file_.path());
  StreamCopy copy(ends, std::move(*plan), asked_, {}, {});
  if (Status resumed = copy.Resume(told, {}); !resumed) {
    return resumed.error().Prefixed(file_.path());
  }
  if (asked_.verify) {
    if (Status verified = VerifyEvents(ends, copy, &report); !verified) return verified.error();
  }
  const Result<EventSums> now = copy.ReadSource();
  if (!now) return now.error();
  if (const auto came = copy.sums().FirstGrowth(*now)) report[kCameSince] = CameSince(*came);
  return report;
}

Result<Json> CopyRun::CellsAgain(const CopyEnds& ends, const Json& told, Json report) const {
  CellCopy copy(ends, StateText(report, "stream"), CellCopy::TablesIn(told), asked_.time, {}, {});
  if (Status resumed = copy.Resume(told, {}); !resumed) {
    return resumed.error().Prefixed(file_.path());
  }
  if (asked_.verify) {
    if (Status verified = VerifyCells(ends, copy, &report); !verified) return verified.error();
  }
  if (Status merged = TellMerged(ends.from, copy.tables(), &report); !merged) return merged.error();
  const Result<EventSums> now = copy.ReadBack(ends.from);
  if (!now) return now.error();
  if (const auto came = copy.sums().FirstGrowth(*now)) report[kCameSince] = CameSince(*came);
  return report;
}

}  // namespace tallyd
