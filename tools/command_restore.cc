// tallyd restore: a backup into an empty directory.
#include <fmt/format.h>

#include <cstdio>

#include "storage/leveldb/tools/restore.h"
#include "tools/commands.h"
#include "tools/console.h"
#include "tools/report_text.h"

namespace tallyd {
namespace {

nlohmann::ordered_json ToJson(const RestoreReport& report, const std::string& path) {
  const BackupManifest& manifest = report.backup.manifest;
  nlohmann::ordered_json json;
  json["path"] = path;
  json["sound"] = report.sound();
  json["restored"] = report.restored;
  json["backup_made"] = FormatRfc3339(manifest.made);
  json["last_sequence"] = manifest.last_sequence;
  json["bytes"] = manifest.bytes();
  json["files"] = manifest.blocks.size();
  json["linked"] = report.files.linked;
  json["copied"] = report.files.copied;
  json["copied_bytes"] = report.files.copied_bytes;
  json["findings"] = FindingsJson(report.restored ? report.store.findings : report.backup.findings);
  json["seconds"] = report.seconds;
  json["mb_per_second"] = RateOf(manifest.bytes(), report.seconds);
  return json;
}

std::string ToText(const RestoreReport& report, const std::string& from, const std::string& path) {
  const BackupManifest& manifest = report.backup.manifest;
  if (!report.restored) {
    return FindingsText(report.backup.findings) +
           fmt::format("{} is DAMAGED: {} findings; nothing was restored\n", from,
                       report.backup.findings.size());
  }
  return FindingsText(report.store.findings) +
         fmt::format(
             "{} {}: {} of {}, {} files of blocks ({} linked, {} copied), up to change {}\n"
             "verified before and after, in {:.1f} s, {:.1f} MB/s\n",
             path, report.sound() ? "is restored" : "is DAMAGED", FormatBytes(manifest.bytes()),
             FormatRfc3339(manifest.made), manifest.blocks.size(), report.files.linked,
             report.files.copied, manifest.last_sequence, report.seconds,
             RateOf(manifest.bytes(), report.seconds));
}

}  // namespace

int RestoreCommand(const CommandLine& line, const ToolHost& host) {
  const std::optional<Config> config = LoadForCommand(line.config, host);
  if (!config) return kMisused;
  ToolProgress progress;
  const Result<RestoreReport> report = [&] {
    const ProgressLine shown(progress);
    return RestoreBackup({line.from, config->storage, line.even_damaged, &progress});
  }();
  if (!report) return Refused("restore", report.error());
  const std::string& path = config->storage.path;
  const std::string text =
      line.format == "json" ? JsonText(ToJson(*report, path)) : ToText(*report, line.from, path);
  std::fputs(text.c_str(), stdout);
  return report->sound() ? 0 : kFailed;
}

}  // namespace tallyd
