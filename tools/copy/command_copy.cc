// tallyd copy: the command line, and the report for people.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

#include "tools/commands.h"
#include "tools/console.h"
#include "tools/copy/copy_end.h"
#include "tools/copy/copy_run.h"
#include "tools/report_text.h"
#include "tools/transfer/state_file.h"

namespace tallyd {
namespace {

Result<CopyAsked> Asked(const CopyLine& line) {
  CopyAsked asked;
  const TimeUs now = SystemClock().Now();
  asked.partial = line.partial;
  asked.verify = !line.unverified;
  if (!line.from_time.empty()) {
    const Result<TimeUs> from = ParseQueryTime(line.from_time, now);
    if (!from) return from.error().Prefixed("--from-time");
    asked.time.from = *from;
  }
  if (!line.to_time.empty()) {
    const Result<TimeUs> to = ParseQueryTime(line.to_time, now);
    if (!to) return to.error().Prefixed("--to-time");
    asked.time.to = *to;
  }
  if (asked.time.is_empty()) return Invalid("--to-time is not behind --from-time");
  return asked;
}

bool IsComplete(const Json& stream) {
  return stream.value("verified", true) && StateNumber(stream, "refused") == 0 &&
         !stream.contains("lack");
}

std::string NumberText(const Json& json, const std::string& name) {
  return std::to_string(StateNumber(json, name.c_str()));
}

void PrintText(const Json& report) {
  std::vector<std::vector<std::string>> rows{
      {"stream", "copied", "as", "out of", "checksum", "in the target", "verified"}};
  for (const Json& stream : report["streams"]) {
    std::string tables;
    for (const Json& table : stream["tables"]) {
      tables += (tables.empty() ? "" : ", ") + table.get<std::string>();
    }
    const std::string what = StateText(stream, "copied_as");
    const bool compared = stream.contains("verified");
    rows.push_back({StateText(stream, "stream"), NumberText(stream, what), what, tables,
                    StateText(stream, "checksum"),
                    compared ? NumberText(stream, "target_" + what) : "-",
                    !compared                        ? "not asked"
                    : stream["verified"].get<bool>() ? "yes"
                                                     : "NO"});
  }
  if (rows.size() > 1) std::fputs(TextTable(rows).c_str(), stdout);
  for (const Json& stream : report["streams"]) {
    const std::string name = StateText(stream, "stream");
    const auto say = [&](const std::string& what) {
      std::printf("%s: %s\n", name.c_str(), what.c_str());
    };
    if (stream.contains("why")) say(StateText(stream, "why"));
    if (stream.contains("lack")) say("something may be missing: " + StateText(stream, "lack"));
    if (stream.contains("compared_events")) {
      say(NumberText(stream, "compared_events") +
          " events were compared: the target has begun to forget what is older");
    }
    if (StateNumber(stream, "expired") > 0) {
      say(NumberText(stream, "expired") + " events were too old for a table of the target");
    }
    if (StateNumber(stream, "refused") > 0) {
      say(NumberText(stream, "refused") + " events were left out, being refused");
    }
  }
  const auto list = [&](const char* name, const char* what) {
    for (const Json& stream : report[name]) {
      std::printf("%s: %s\n", stream.get<std::string>().c_str(), what);
    }
  };
  list("not_in_source", "not copied: the source has no such stream");
  list("not_in_target", "not copied: the target has no table of it");
  list("nightly_left_to_target", "its nightly tables are not copied: the target builds its own");
}

int Misused(const Error& error) {
  Refused("copy", error);
  return kMisused;
}

}  // namespace

int CopyCommand(const CommandLine& command_line, const ToolHost& host) {
  std::signal(SIGPIPE, SIG_IGN);
  const std::optional<Config> from = LoadForCommand(command_line.from, host);
  const std::optional<Config> to = LoadForCommand(command_line.to, host);
  if (!from || !to) return kMisused;
  const Result<CopyAsked> asked = Asked(command_line.copy);
  if (!asked) return Misused(asked.error());
  if (const auto tokens = CopyTokens::Read(command_line); !tokens) return Misused(tokens.error());
  const auto tried = CopyClient(command_line.copy, HttpTarget{}, {});
  if (!tried) return Misused(tried.error());
  if (from->storage.has_directory() && to->storage.has_directory() &&
      ShareDirectory(from->storage.path, to->storage.path)) {
    return Misused(
        Invalid(fmt::format("source and target are the same directory, or one lies in "
                            "the other: {} and {}",
                            from->storage.path, to->storage.path)));
  }
  if (!from->storage.has_directory() && PlaceOf(from->storage) == PlaceOf(to->storage)) {
    return Misused(
        Invalid("source and target are the same tables: " + PlaceOf(from->storage)));
  }
  for (const std::string& stream : command_line.copy.streams) {
    const Stream* found = to->schema->FindStream(stream);
    if (found != nullptr && !found->tables.empty()) continue;
    return Misused(
        Invalid(fmt::format("{} has no table of a stream {}; it has those of: {}", command_line.to,
                            stream, fmt::join(CopiedStreams(*to->schema), ", "))));
  }
  ToolProgress progress;
  progress.step = "opening";
  std::optional<ProgressLine> shown;
  if (!command_line.copy.quiet) shown.emplace(progress);
  const Result<Json> report = CopyRun(command_line, *from, *to, *asked).Run(host, &progress);
  shown.reset();
  if (!report) return Refused("copy", report.error());
  if (command_line.format == "json") {
    std::fputs(JsonText(*report).c_str(), stdout);
  } else {
    PrintText(*report);
  }
  return std::ranges::all_of((*report)["streams"], IsComplete) ? 0 : kFailed;
}

}  // namespace tallyd
