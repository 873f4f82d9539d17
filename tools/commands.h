// The tools, which are commands beside `serve` and `check`, each with its exit status: 0 done and
// sound; 1 damage, refusal or failure; 2 the command line or the configuration is wrong. What was
// asked for goes to standard output, with --format json as JSON alone; all else to standard error.
#ifndef TALLYD_TOOLS_COMMANDS_H_
#define TALLYD_TOOLS_COMMANDS_H_

#include <optional>
#include <string>
#include <vector>

#include "config/file/config.h"
#include "config/values/result.h"
#include "tools/tool_host.h"

namespace tallyd {

inline constexpr int kFailed = 1;
inline constexpr int kMisused = 2;

struct EstimateLine {
  uint64_t entities = 0;
  std::string every;  // Empty: what each stream declares.
  uint64_t fields = 0;
};

// Of load and export, which speak to a daemon over HTTP.
struct TransferLine {
  std::string stream;
  std::string url;
  std::string ca_file;     // Whom to believe that it is the URL's host; empty: the system's.
  std::string token_file;  // tools/token_file.h; empty: none.
  std::string retry_for = "5m";
  bool quiet = false;  // No progress.
  // Of load.
  std::vector<std::string> files;
  bool partial = false;  // Goes on without the events that are refused.
  bool guarded = true;   // The daemon refuses times that [ingest] does not take.
  // Of export.
  std::string from;
  std::string to;
  std::string table;   // Out of this one alone.
  std::string output;  // Empty: standard output.
  bool resume = false;
  std::string format;  // ndjson or csv; of load also empty: by the name of the file.
};

struct AdviseLine {
  std::string stream;
  std::string sample;
  std::vector<std::string> entity;
  std::string time;  // Empty: what the configuration says, else ts.
  std::string unit;  // Likewise, else ms.
  bool quiet = false;
};

// Of copy, whose two configurations are `from` and `to` of the command line.
struct CopyLine {
  std::vector<std::string> streams;  // Empty: all that the target has.
  std::string from_time;
  std::string to_time;
  std::string state;            // Empty: a file beside the target's configuration.
  // As TransferLine's; empty: CommandLine::token_file.
  std::string from_token_file;
  std::string to_token_file;
  std::string retry_for = "5m";
  bool partial = false;
  bool unverified = false;
  bool quiet = false;
};

struct TokenLine {
  std::vector<std::string> roles;
  std::string name;                // Empty: one of the roles.
  std::vector<std::string> scope;  // "FIELD=VALUE".
  std::string expires;             // Empty: never.
};

struct CommandLine {
  std::string config;
  std::string from;
  std::string to;
  bool even_damaged = false;    // Of restore.
  std::string format = "text";  // Or "json".
  std::string token_file;       // Of backup and copy, as TransferLine's.
  EstimateLine estimate;
  TransferLine transfer;
  AdviseLine advise;
  CopyLine copy;
  TokenLine token;
};

// Null after saying what is wrong with the configuration. The log says no more than warnings.
std::optional<Config> LoadForCommand(const std::string& file, const ToolHost& host);
// Says why; the exit status.
int Refused(const char* command, const Error& error);

int VerifyCommand(const CommandLine& line, const ToolHost& host);
int BackupCommand(const CommandLine& line, const ToolHost& host);
int RestoreCommand(const CommandLine& line, const ToolHost& host);
int SalvageCommand(const CommandLine& line, const ToolHost& host);
int HealthCommand(const CommandLine& line, const ToolHost& host);
int LintCommand(const CommandLine& line, const ToolHost& host);
int EstimateCommand(const CommandLine& line, const ToolHost& host);
int AdviseCommand(const CommandLine& line, const ToolHost& host);  // tools/advise/
int LoadCommand(const CommandLine& line, const ToolHost& host);    // tools/transfer/
int ExportCommand(const CommandLine& line, const ToolHost& host);  // tools/transfer/
int CopyCommand(const CommandLine& line, const ToolHost& host);    // tools/copy/
int TokenCommand(const CommandLine& line, const ToolHost& host);   // tools/

}  // namespace tallyd

#endif  // TALLYD_TOOLS_COMMANDS_H_
