// tallyd advise: tries every pattern with a sample of a stream, and says which to take.
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <optional>

#include "config/lint/schema_doubts.h"
#include "ingest/text/json.h"
#include "tools/advise/advice.h"
#include "tools/advise/proposal.h"
#include "tools/advise/sample.h"
#include "tools/advise/trial.h"
#include "tools/commands.h"
#include "tools/console.h"
#include "tools/report_text.h"

namespace tallyd {
namespace {

ToolProgress* interrupted = nullptr;

// The scratch directory is to go also when somebody does not want to wait.
class InterruptStops {
 public:
  explicit InterruptStops(ToolProgress* progress) {
    interrupted = progress;
    for (const int number : {SIGINT, SIGTERM}) std::signal(number, Stop);
  }
  ~InterruptStops() {
    for (const int number : {SIGINT, SIGTERM}) std::signal(number, SIG_DFL);
  }
  InterruptStops(const InterruptStops&) = delete;
  InterruptStops& operator=(const InterruptStops&) = delete;

 private:
  static void Stop(int) { interrupted->stop = true; }
};

std::optional<TimeUnit> UnitNamed(const std::string& name) {
  for (const TimeUnit unit : {TimeUnit::kSeconds, TimeUnit::kMilliseconds, TimeUnit::kMicroseconds,
                              TimeUnit::kNanoseconds}) {
    if (ToString(unit) == name) return unit;
  }
  return std::nullopt;
}

struct Question {
  AdviseSubject subject;
  std::vector<std::string> taken;  // Names of tables.
  bool is_configured = false;      // The configuration has the stream.
};

// What the command line leaves open the configuration tells, where there is one.
Question QuestionOf(const AdviseLine& line, const Config* config) {
  Question question;
  question.subject.stream = line.stream;
  question.subject.entity = line.entity;
  if (config != nullptr) {
    for (const Table& table : config->schema->tables) question.taken.push_back(table.name);
    if (const Stream* stream = config->schema->FindStream(line.stream); stream != nullptr) {
      question.is_configured = true;
      question.subject.time_field = stream->time_field;
      question.subject.unit = stream->unit;
    }
  }
  if (!line.time.empty()) question.subject.time_field = line.time;
  if (!line.unit.empty()) question.subject.unit = UnitNamed(line.unit).value();
  return question;
}

// The sections to paste; they are read as the daemon would read them.
Result<std::string> ConfigOf(const Question& question, const std::vector<Proposal>& proposals,
                             const std::string& pattern) {
  std::string text = question.is_configured ? "" : StreamSection(question.subject);
  std::string latest;
  for (const Proposal& proposal : proposals) {
    if (proposal.pattern == pattern) text += proposal.toml;
    if (proposal.is_latest) latest = "\n" + proposal.toml;
  }
  text += latest;
  const Result<Config> config = ParseConfig(text, "the advice");
  if (!config) return config.error();
  for (const std::string& doubt : FindDoubts(*config->schema)) {
    std::fprintf(stderr, "tallyd advise: %s\n", doubt.c_str());
  }
  return text;
}

Json ToJson(const std::vector<TrialResult>& results, const Advice& advice,
            const std::string& config) {
  Json json{{"patterns", Json::array()}};
  for (const TrialResult& result : results) {
    if (!result.refused.empty()) {
      json["patterns"].push_back({{"pattern", result.pattern}, {"refused", result.refused}});
      continue;
    }
    json["patterns"].push_back({{"pattern", result.pattern},
                                {"bytes_per_event", result.bytes_per_event},
                                {"events_per_s", result.events_per_s},
                                {"entity_range_ms", result.entity_range_ms},
                                {"latest_ms", result.latest_ms}});
  }
  json["recommended"] = advice.pattern;
  json["reason"] = advice.reason;
  json["config"] = config;
  return json;
}

std::string ToText(const std::vector<TrialResult>& results, const Advice& advice,
                   const std::string& config) {
  std::vector<std::vector<std::string>> rows{
      {"pattern", "bytes an event", "events/s", "one entity, ms", "latest of all, ms"}};
  std::string refused;
  for (const TrialResult& result : results) {
    if (!result.refused.empty()) {
      refused += fmt::format("{} cannot hold it: {}\n", result.pattern, result.refused);
      continue;
    }
    rows.push_back({result.pattern, fmt::format("{:.1f}", result.bytes_per_event),
                    fmt::format("{:.0f}", result.events_per_s),
                    fmt::format("{:.3f}", result.entity_range_ms),
                    fmt::format("{:.3f}", result.latest_ms)});
  }
  return fmt::format("{}{}\nrecommended: {}\n{}.\n\n{}", TextTable(rows), refused, advice.pattern,
                     advice.reason, config);
}

Result<std::vector<TrialResult>> RunAll(const AdviseSubject& subject, const Sample& sample,
                                        const std::vector<Proposal>& proposals, bool quiet) {
  ToolProgress progress;
  progress.total = sample.bytes * proposals.size();
  const InterruptStops stops(&progress);
  const Result<std::string> path = ScratchDirectory::Make();
  if (!path) return path.error();
  const ScratchDirectory scratch(*path);
  std::optional<ProgressLine> shown;
  if (!quiet) shown.emplace(progress);
  std::vector<TrialResult> results;
  for (const Proposal& proposal : proposals) {
    progress.step = proposal.pattern;
    Result<TrialResult> result = RunTrial(subject, sample, proposal, scratch.path(), &progress);
    if (!result && result.error().code() == ErrorCode::kInvalid) {
      results.push_back({proposal.pattern, result.error().message()});
      continue;
    }
    if (!result) return result.error();
    results.push_back(std::move(*result));
  }
  return results;
}

}  // namespace

int AdviseCommand(const CommandLine& line, const ToolHost& host) {
  std::optional<Config> config;
  if (!line.config.empty()) {
    config = LoadForCommand(line.config, host);
    if (!config) return kMisused;
  } else {
    host.log_warnings({});
  }
  const Question question = QuestionOf(line.advise, config ? &*config : nullptr);
  const Result<Sample> sample = ReadSample(line.advise.sample, question.subject);
  if (!sample) return Refused("advise", sample.error());
  if (sample->cut) {
    std::fprintf(stderr, "tallyd advise: of %s the first %s are tried\n", sample->file.c_str(),
                 FormatBytes(sample->bytes).c_str());
  }
  const std::vector<Proposal> proposals =
      Propose(question.subject, *sample, NamesFor(line.advise.stream, question.taken));
  const Result<std::vector<TrialResult>> results =
      RunAll(question.subject, *sample, proposals, line.advise.quiet);
  if (!results) return Refused("advise", results.error());
  // The first is the simplest: what it refuses nothing can hold.
  if (const TrialResult& first = results->front(); !first.refused.empty()) {
    return Refused("advise", Invalid(first.refused));
  }
  const Advice advice = Advise(*results);
  const Result<std::string> toml = ConfigOf(question, proposals, advice.pattern);
  if (!toml) return Refused("advise", toml.error());
  const std::string text = line.format == "json" ? JsonText(ToJson(*results, advice, *toml))
                                                 : ToText(*results, advice, *toml);
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace tallyd
