// The command line. Exit status 0: done; 1: it failed while starting or running, as with data that
// is damaged or in use; 2: the command line or the configuration is wrong: trying again is no use.
#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/file/config.h"
#include "config/lint/finer_times.h"
#include "config/lint/lint.h"
#include "config/lint/schema_doubts.h"
#include "daemon/daemon.h"
#include "daemon/host_of_tools.h"
#include "daemon/logging.h"
#include "daemon/start_check.h"
#include "daemon/version.h"
#include "storage/heap.h"
#include "tools/command_line.h"

namespace tallyd {

namespace {

// Where a descriptor from 0 to 2 is closed, the next file that is opened takes its place, and what
// is written to standard error goes into it. By system calls alone: nothing is initialised yet.
void OpenStandardDescriptors() {
  long opened = ::syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR);
  while (opened >= 0 && opened <= STDERR_FILENO) opened = ::syscall(SYS_dup, opened);
  if (opened > STDERR_FILENO) ::syscall(SYS_close, opened);
}

// Libraries open descriptors before main begins (gRPC one for events); this comes before theirs.
__attribute__((section(".preinit_array"), used)) void (*before_libraries)() =
    &OpenStandardDescriptors;

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

int Serve(const CommandLine& line, const ToolHost&) {
  BlockSignals();
  Result<Config> config = LoadConfig(line.config);
  if (!config) {
    PrintError(config.error().message());
    return kMisused;
  }
  ConfigureLogging(config->log);
  Result<HandedIn> sockets = TakeHandedIn();
  if (!sockets) {
    PrintError(sockets.error().message());
    return kMisused;
  }
  Daemon daemon(std::move(*config), Duties::kAll, std::move(*sockets));
  if (Status prepared = daemon.Prepare(); !prepared) {
    spdlog::error("{}", prepared.error().message());
    return kMisused;
  }
  if (Status opened = daemon.Open(); !opened) {
    spdlog::error("{}", opened.error().message());
    return kFailed;
  }
  if (Status started = daemon.Start(); !started) {
    spdlog::error("{}", started.error().message());
    return IsMistake(started.error()) ? kMisused : kFailed;
  }
  const Status ended = daemon.WaitForStop();
  daemon.Stop();
  if (ended) return 0;
  spdlog::error("{}", ended.error().message());
  return IsMistake(ended.error()) ? kMisused : kFailed;
}

int Check(const CommandLine& line, const ToolHost& host) {
  const std::optional<Config> config = LoadForCommand(line.config, host);
  if (!config) return kMisused;
  const std::vector<std::string> doubts = FindDoubts(*config->schema);
  for (const std::string& doubt : doubts) {
    std::fprintf(stderr, "%s: %s\n", line.config.c_str(), doubt.c_str());
  }
  if (!doubts.empty()) return kMisused;
  const Result<TlsContextPtr> tls = LoadTls(*config, nullptr, SystemClock().Now());
  const Status safe = tls ? CheckListening(*config, config->server.listen) : Status(tls.error());
  if (!safe) {
    PrintError(safe.error().message());
    return kMisused;
  }
  if (!config->storage.has_directory()) {
    for (const std::string& finer : FindFinerTimes(*config->schema)) {
      std::fprintf(stderr, "%s: %s\n", line.config.c_str(), finer.c_str());
    }
  }
  std::vector<LintFinding> told = LintScopes(*config->schema, ScopeFieldsOf(config->tokens));
  std::ranges::move(LintInputs(*config->schema), std::back_inserter(told));
  for (const LintFinding& finding : told) {
    std::fprintf(stderr, "%s: lint %s of table %s: %s\n", line.config.c_str(), finding.rule.c_str(),
                 finding.table.c_str(), finding.detail.c_str());
  }
  std::printf("%s: ok, %zu streams, %zu tables\n", line.config.c_str(),
              config->schema->streams.size(), config->schema->tables.size());
  for (const Table& table : config->schema->tables) {
    if (!table.of_protocol) continue;
    std::printf("%s: table %s of stream %s is a protocol's, by default: %s, row_key = \"%s\"\n",
                line.config.c_str(), table.name.c_str(), table.stream.c_str(),
                std::string(ToString(table.pattern)).c_str(), table.row_key.text().c_str());
  }
  return 0;
}

std::vector<Command> AllCommands() {
  std::vector<Command> commands = {
      {"serve", "Run the daemon in the foreground", Serve, AddConfigOption},
      {"check", "Read the configuration and say what is wrong", Check, AddConfigOption},
  };
  const std::span<const Command> tools = Tools();
  commands.insert(commands.end(), tools.begin(), tools.end());
  return commands;
}

std::string NamesOf(const std::vector<Command>& commands) {
  std::string names;
  for (const Command& command : commands) {
    names += (names.empty() ? "" : ", ") + std::string(command.name);
  }
  return names;
}

int Run(int argc, char** argv) {
  CLI::App app{"tallyd: time series into Bigtable-style rows, durably, over HTTP", "tallyd"};
  app.set_version_flag("--version", "tallyd " + std::string(kBuild));
  app.require_subcommand(1);
  const std::vector<Command> commands = AllCommands();
  CommandLine line;
  const Command* chosen = nullptr;
  for (const Command& command : commands) {
    CLI::App* parsed = app.add_subcommand(command.name, command.what);
    parsed->callback([&chosen, &command] { chosen = &command; });
    command.add_options(parsed, &line);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 complains that no command was given before it looks at the words that are left.
    if (const std::vector<std::string> words = app.remaining(); !words.empty()) {
      std::fprintf(stderr, "tallyd: there is no command \"%s\"; accepted: %s\n",
                   words.front().c_str(), NamesOf(commands).c_str());
      return kMisused;
    }
    return app.exit(error) == 0 ? 0 : kMisused;
  }
  RaiseFileLimit();
  PrepareHeap();
  std::signal(SIGXFSZ, SIG_IGN);  // Beyond a limit of file sizes a write fails; that can be told.
  return chosen->run(line, HostOfTools());
}

}  // namespace
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
