// tallyd verify: what of the stored data is not what was written.
#include <cstdio>

#include "storage/leveldb/tools/verify.h"
#include "tools/commands.h"
#include "tools/console.h"
#include "tools/report_text.h"

namespace tallyd {

int VerifyCommand(const CommandLine& line, const ToolHost& host) {
  const std::optional<Config> config = LoadForCommand(line.config, host);
  if (!config) return kMisused;
  ToolProgress progress;
  VerifyOptions options;
  options.storage = config->storage;
  options.progress = &progress;
  const Result<VerifyReport> report = [&] {
    const ProgressLine shown(progress);
    return VerifyStore(options);
  }();
  if (!report) return Refused("verify", report.error());
  const std::string& path = config->storage.path;
  const std::string text =
      line.format == "json" ? JsonText(VerifyJson(*report, path)) : VerifyText(*report, path);
  std::fputs(text.c_str(), stdout);
  return report->sound() ? 0 : kFailed;
}

}  // namespace tallyd
