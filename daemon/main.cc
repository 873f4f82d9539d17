// The command line. Exit status 0: done; 1: it failed while starting or running, as with data that
// is damaged or in use; 2: the command line or the configuration is wrong: trying again is no use.
#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "config/file/config.h"
#include "daemon/commands.h"
#include "daemon/daemon.h"
#include "daemon/logging.h"
#include "daemon/version.h"
#include "storage/heap.h"

namespace tallyd {

namespace {

// Where a descriptor from 0 to 2 is closed, the next file that is opened takes its place, and what
// is written to standard error goes into it.
void OpenStandardDescriptors() {
  int opened = ::open("/dev/null", O_RDWR);
  while (opened >= 0 && opened <= STDERR_FILENO) opened = ::dup(opened);
  if (opened > STDERR_FILENO) ::close(opened);
}

// Connections and block files need one each; the usual soft limit is for programs that use select.
void RaiseFileLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// Whether nothing but another configuration helps.
bool IsMistake(const Error& error) {
  return error.code() == ErrorCode::kConflict || error.code() == ErrorCode::kInvalid;
}

struct Command {
  const char* name;
  const char* what;
  int (*run)(const CommandLine&);
  bool json = false;  // Takes --format.
  bool from = false;
  bool to = false;
  void (*add_options)(CLI::App*, CommandLine*) = nullptr;  // Set: these are all that it takes.
};

void AddEstimateOptions(CLI::App* app, CommandLine* line) {
  app->add_option("--config", line->config, "The configuration, a TOML file")->required();
  app->add_option("--entities", line->estimate.entities, "How many machines, meters, ... report")
      ->required()
      ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000'000'000}));
  app->add_option("--every", line->estimate.every,
                  "How often each reports, as in 5s; without it, what the stream declares");
  app->add_option("--fields", line->estimate.fields, "Measured fields of an event")
      ->required()
      ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000}));
  app->add_option("--format", line->format, "text or json")->check(CLI::IsMember({"text", "json"}));
}

void AddTransferOptions(CLI::App* app, TransferLine* line) {
  app->add_option("--stream", line->stream, "The stream")->required();
  app->add_option("--url", line->url, "Of the daemon: http://127.0.0.1:8780")->required();
  app->add_option("--token-file", line->token_file, "A file whose first line is an access token");
  app->add_option("--retry-for", line->retry_for,
                  "How long a daemon may give no answer, or have no room, before it gives up (5m)");
  app->add_option("--format", line->format, "ndjson or csv")
      ->check(CLI::IsMember({"ndjson", "csv"}));
  app->add_flag("--quiet", line->quiet, "Shows no progress");
}

void AddLoadOptions(CLI::App* app, CommandLine* line) {
  TransferLine* transfer = &line->transfer;
  AddTransferOptions(app, transfer);
  app->add_flag("--partial", transfer->partial, "Goes on without the events that are refused");
  app->add_flag("!--no-guards", transfer->guarded,
                "Takes times that [ingest] of the daemon's configuration refuses");
  app->add_option("files", transfer->files, "Files of events; - is standard input")->required();
}

void AddExportOptions(CLI::App* app, CommandLine* line) {
  TransferLine* transfer = &line->transfer;
  AddTransferOptions(app, transfer);
  app->add_option("--from", transfer->from, "The first time: epoch ms, RFC 3339, or -15m");
  app->add_option("--to", transfer->to, "The time behind the last one");
  app->add_option("--table", transfer->table, "Out of this table alone");
  app->add_option("--output", transfer->output,
                  "A file, instead of standard output; .csv says its format");
  app->add_flag("--resume", transfer->resume, "Goes on with --output where it was interrupted");
}

void AddAdviseOptions(CLI::App* app, CommandLine* line) {
  AdviseLine* advise = &line->advise;
  app->add_option("--stream", advise->stream, "The stream; it need not be configured")->required();
  app->add_option("--sample", advise->sample, "A file of events, NDJSON")->required();
  app->add_option("--entity", advise->entity, "The fields that name what is measured")
      ->required()
      ->delimiter(',');
  app->add_option("--config", line->config, "A configuration that may have the stream");
  app->add_option("--time", advise->time, "The field with an event's time (ts)");
  app->add_option("--unit", advise->unit, "Of a time that is a number: s, ms, us, ns (ms)")
      ->check(CLI::IsMember({"s", "ms", "us", "ns"}));
  app->add_option("--format", line->format, "text or json")->check(CLI::IsMember({"text", "json"}));
  app->add_flag("--quiet", advise->quiet, "Shows no progress");
}

void AddCopyOptions(CLI::App* app, CommandLine* line) {
  CopyLine* copy = &line->copy;
  app->add_option("--from", line->from, "The configuration of what is copied")->required();
  app->add_option("--to", line->to, "The configuration of where it goes")->required();
  app->add_option("--stream", copy->streams, "This stream alone; may be repeated");
  app->add_option("--from-time", copy->from_time, "The first time: epoch ms, RFC 3339, or -15m");
  app->add_option("--to-time", copy->to_time, "The time behind the last one");
  app->add_flag("--partial", copy->partial,
                "Copies what there is where something may be missing, without what is refused");
  app->add_flag("--no-verify", copy->unverified, "Does not read the copy back to compare it");
  app->add_option("--state", copy->state,
                  "The file that tells how far it is (the target's configuration and .copying)");
  app->add_option("--from-token-file", copy->from_token_file,
                  "A file whose first line is an access token of the source's daemon");
  app->add_option("--to-token-file", copy->to_token_file, "The same of the target's");
  app->add_option("--retry-for", copy->retry_for,
                  "How long a daemon may give no answer, or have no room, before it gives up (5m)");
  app->add_option("--format", line->format, "text or json")->check(CLI::IsMember({"text", "json"}));
  app->add_flag("--quiet", copy->quiet, "Shows no progress");
}

constexpr Command kCommands[] = {
    {"serve", "Run the daemon in the foreground", ServeCommand},
    {"check", "Read the configuration and say what is wrong", CheckCommand},
    {"verify", "Read all that is stored and say what is damaged", VerifyCommand, true},
    {"backup", "Copy all that is stored at one moment, while the daemon goes on", BackupCommand,
     true, false, true},
    {"restore", "Make a store of a backup, in an empty directory", RestoreCommand, true, true},
    {"salvage", "Make a store of what can be read of a damaged one, in an empty directory",
     SalvageCommand, true, false, true},
    {"lint", "Say what is unwise in the tables of a configuration", LintCommand, true},
    {"estimate", "Reckon what its tables would be written and hold", EstimateCommand, false, false,
     false, AddEstimateOptions},
    {"advise", "Try every pattern with a sample of events, and say which to take", AdviseCommand,
     false, false, false, AddAdviseOptions},
    {"load", "Send files of events to a daemon", LoadCommand, false, false, false, AddLoadOptions},
    {"export", "Write the events of a daemon's stream", ExportCommand, false, false, false,
     AddExportOptions},
    {"copy", "Write tables under other keys or in another place", CopyCommand, false, false, false,
     AddCopyOptions},
};

std::string CommandNames() {
  std::string names;
  for (const Command& command : kCommands) {
    names += (names.empty() ? "" : ", ") + std::string(command.name);
  }
  return names;
}

int Run(int argc, char** argv) {
  CLI::App app{"tallyd: time series into Bigtable-style rows, durably, over HTTP", "tallyd"};
  app.set_version_flag("--version", "tallyd " + std::string(kBuild));
  app.require_subcommand(1);
  CommandLine line;
  const Command* chosen = nullptr;
  for (const Command& command : kCommands) {
    CLI::App* parsed = app.add_subcommand(command.name, command.what);
    parsed->callback([&chosen, &command] { chosen = &command; });
    if (command.add_options != nullptr) {
      command.add_options(parsed, &line);
      continue;
    }
    parsed->add_option("--config", line.config, "The configuration, a TOML file")->required();
    if (command.from) parsed->add_option("--from", line.from, "A directory")->required();
    if (command.run == RestoreCommand) {
      parsed->add_flag("--even-damaged", line.even_damaged,
                       "Restore also where files of column blocks are damaged, without them");
    }
    if (command.to) parsed->add_option("--to", line.to, "A directory")->required();
    if (!command.json) continue;
    parsed->add_option("--format", line.format, "text or json")
        ->check(CLI::IsMember({"text", "json"}));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 complains that no command was given before it looks at the words that are left.
    if (const std::vector<std::string> words = app.remaining(); !words.empty()) {
      std::fprintf(stderr, "tallyd: there is no command \"%s\"; accepted: %s\n",
                   words.front().c_str(), CommandNames().c_str());
      return kMisused;
    }
    return app.exit(error) == 0 ? 0 : kMisused;
  }
  RaiseFileLimit();
  PrepareHeap();
  std::signal(SIGXFSZ, SIG_IGN);  // Beyond a limit of file sizes a write fails; that can be told.
  return chosen->run(line);
}

}  // namespace

int ServeCommand(const CommandLine& line) {
  BlockSignals();
  Result<Config> config = LoadConfig(line.config);
  if (!config) {
    PrintError(config.error().message());
    return kMisused;
  }
  ConfigureLogging(config->log);
  Daemon daemon(std::move(*config));
  if (Status opened = daemon.Open(); !opened) {
    spdlog::error("{}", opened.error().message());
    return kFailed;
  }
  if (Status started = daemon.Start(); !started) {
    spdlog::error("{}", started.error().message());
    return IsMistake(started.error()) ? kMisused : kFailed;
  }
  daemon.WaitForStop();
  daemon.Stop();
  return 0;
}

}  // namespace tallyd

int main(int argc, char** argv) {
  tallyd::OpenStandardDescriptors();
  int status = tallyd::kFailed;
  try {
    status = tallyd::Run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tallyd: %s\n", error.what());
  }
  tallyd::FinishLogging();
  return status;
}
