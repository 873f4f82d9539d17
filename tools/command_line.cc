#include "tools/command_line.h"

#include <CLI/CLI.hpp>
#include <cstdint>

namespace tallyd {
namespace {

void AddFormatOption(CLI::App* app, CommandLine* line) {
  app->add_option("--format", line->format, "text or json")->check(CLI::IsMember({"text", "json"}));
}

// Of what makes a report of one configuration.
void AddReportOptions(CLI::App* app, CommandLine* line) {
  AddConfigOption(app, line);
  AddFormatOption(app, line);
}

void AddTokenFileOption(CLI::App* app, std::string* file) {
  app->add_option("--token-file", *file,
                  "A file whose first line is an access token, which others may not read");
}

// Of what makes a store or a backup in another directory.
void AddTargetOptions(CLI::App* app, CommandLine* line) {
  AddConfigOption(app, line);
  app->add_option("--to", line->to, "A directory")->required();
  AddFormatOption(app, line);
}

void AddBackupOptions(CLI::App* app, CommandLine* line) {
  AddTargetOptions(app, line);
  AddTokenFileOption(app, &line->token_file);
}

void AddRestoreOptions(CLI::App* app, CommandLine* line) {
  AddConfigOption(app, line);
  app->add_option("--from", line->from, "A directory")->required();
  app->add_flag("--even-damaged", line->even_damaged,
                "Restore also where files of column blocks are damaged, without them");
  AddFormatOption(app, line);
}

void AddEstimateOptions(CLI::App* app, CommandLine* line) {
  AddConfigOption(app, line);
  app->add_option("--entities", line->estimate.entities, "How many machines, meters, ... report")
      ->required()
      ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000'000'000}));
  app->add_option("--every", line->estimate.every,
                  "How often each reports, as in 5s; without it, what the stream declares");
  app->add_option("--fields", line->estimate.fields, "Measured fields of an event")
      ->required()
      ->check(CLI::Range(uint64_t{1}, uint64_t{1'000'000}));
  AddFormatOption(app, line);
}

void AddTransferOptions(CLI::App* app, TransferLine* line) {
  app->add_option("--stream", line->stream, "The stream")->required();
  app->add_option("--url", line->url, "Of the daemon: http://127.0.0.1:8780")->required();
  app->add_option("--ca-file", line->ca_file,
                  "Authorities in PEM that the daemon's certificate must lead to, with https://");
  AddTokenFileOption(app, &line->token_file);
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
  AddFormatOption(app, line);
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
  AddTokenFileOption(app, &line->token_file);
  app->add_option("--from-token-file", copy->from_token_file,
                  "The same for the source's daemon alone");
  app->add_option("--to-token-file", copy->to_token_file, "The same for the target's");
  app->add_option("--retry-for", copy->retry_for,
                  "How long a daemon may give no answer, or have no room, before it gives up (5m)");
  AddFormatOption(app, line);
  app->add_flag("--quiet", copy->quiet, "Shows no progress");
}

void AddTokenOptions(CLI::App* app, CommandLine* line) {
  TokenLine* token = &line->token;
  app->add_option("--role", token->roles, "read, write, delete, metrics, admin; several by commas")
      ->required()
      ->delimiter(',')
      ->check(CLI::IsMember({"read", "write", "delete", "metrics", "admin"}));
  app->add_option("--name", token->name, "Whose it is, for logs and errors");
  app->add_option("--scope", token->scope,
                  "FIELD=VALUE: only rows and events that have this; may be repeated");
  app->add_option("--expires", token->expires, "When it ends: a date, or RFC 3339");
  AddFormatOption(app, line);
}

constexpr Command kTools[] = {
    {"verify", "Read all that is stored and say what is damaged", VerifyCommand, AddReportOptions},
    {"backup", "Copy all that is stored at one moment, while the daemon goes on", BackupCommand,
     AddBackupOptions},
    {"restore", "Make a store of a backup, in an empty directory", RestoreCommand,
     AddRestoreOptions},
    {"salvage", "Make a store of what can be read of a damaged one, in an empty directory",
     SalvageCommand, AddTargetOptions},
    {"health", "Ask the daemon of a configuration whether it is ready, for containers",
     HealthCommand, AddConfigOption},
    {"lint", "Say what is unwise in the tables of a configuration", LintCommand, AddReportOptions},
    {"estimate", "Reckon what its tables would be written and hold", EstimateCommand,
     AddEstimateOptions},
    {"advise", "Try every pattern with a sample of events, and say which to take", AdviseCommand,
     AddAdviseOptions},
    {"load", "Send files of events to a daemon", LoadCommand, AddLoadOptions},
    {"export", "Write the events of a daemon's stream", ExportCommand, AddExportOptions},
    {"copy", "Write tables under other keys or in another place", CopyCommand, AddCopyOptions},
    {"token", "Make an access token, and the lines of a configuration for it", TokenCommand,
     AddTokenOptions},
};

}  // namespace

std::span<const Command> Tools() { return kTools; }

void AddConfigOption(CLI::App* app, CommandLine* line) {
  app->add_option("--config", line->config, "The configuration, a TOML file")->required();
}

}  // namespace tallyd
