// tallyd backup: by the daemon that serves the configuration, else of the directory itself.
#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "ingest/text/json.h"
#include "storage/leveldb/env/durable_env.h"
#include "storage/leveldb/env/overlay_env.h"
#include "storage/leveldb/tools/backup.h"
#include "storage/leveldb/tools/verify.h"
#include "tools/commands.h"
#include "tools/console.h"
#include "tools/http_client.h"
#include "tools/report_text.h"
#include "tools/token_file.h"

namespace tallyd {
namespace {

constexpr auto kBetweenLooks = std::chrono::milliseconds(250);

// A number in what a daemon says; 0 where it says none.
uint64_t NumberAt(const Json& said, const char* pointer) {
  const Json::json_pointer place(pointer);
  if (!said.contains(place)) return 0;
  const Json& number = said.at(place);
  return number.is_number_unsigned() ? number.get<uint64_t>() : 0;
}

// Shows what the daemon says of itself while it works.
class DaemonWatch {
 public:
  DaemonWatch(const ServerConfig& server, std::string token, ToolProgress* progress)
      : server_(server),
        token_(std::move(token)),
        progress_(*progress),
        thread_([this] { Run(); }) {}
  ~DaemonWatch() {
    done_ = true;
    thread_.join();
  }
  DaemonWatch(const DaemonWatch&) = delete;
  DaemonWatch& operator=(const DaemonWatch&) = delete;

 private:
  void Run() {
    progress_.step = "the daemon makes the backup";
    while (!done_) {
      std::this_thread::sleep_for(kBetweenLooks);
      const Result<HttpAnswer> answer = AskDaemon(server_, {"GET", "/v1/status", {}, token_});
      if (!answer || answer->status != kHttpOk) continue;
      const Json status = Json::parse(answer->body, nullptr, false);
      progress_.done = NumberAt(status, "/store/backup/done_bytes");
      progress_.total = NumberAt(status, "/store/backup/total_bytes");
    }
  }

  const ServerConfig& server_;
  const std::string token_;
  ToolProgress& progress_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

Result<Json> ByDaemon(const Config& config, const std::string& to, const std::string& token) {
  const Json name = JsonOfText(to);
  if (!name.is_string()) {
    return Invalid("the daemon that has the store open makes backups only where the name is UTF-8");
  }
  ToolProgress progress;
  const Result<HttpAnswer> answer = [&] {
    const DaemonWatch watch(config.server, token, &progress);
    const ProgressLine shown(progress);
    return AskDaemon(config.server, {"POST", "/v1/backup", Dump({{"to", name}}), token});
  }();
  if (!answer) {
    return answer.error().Prefixed(config.storage.path +
                                   " is in use, so the daemon is to make the backup");
  }
  Json said = Json::parse(answer->body, nullptr, false);
  if (answer->status == kHttpOk && said.is_object()) return said;
  const std::string detail =
      said.is_object() && said.contains("detail") ? Dump(said["detail"]) : answer->body;
  return Error(ErrorCode::kIo, fmt::format("the daemon answers {}: {}", answer->status, detail));
}

// The lock is held meanwhile, and the directory stays as it is.
Result<Json> OfDirectory(const Config& config, StoreEnv* env, const std::string& to, bool* sound) {
  Result<std::unique_ptr<OpenedStore>> store = OpenedStore::Open(config.storage, env);
  if (!store) return store.error();
  ToolProgress progress;
  const BackupOptions options{to, SystemClock().Now(), 0, &progress};
  const Result<BackupReport> report = [&] {
    const ProgressLine shown(progress);
    return BackUp(&(*store)->database(), options);
  }();
  if (!report) return report.error();
  // What was made is told, wherever it had to be.
  const Status outcome = OutcomeOf(*report);
  if (!outcome) std::fprintf(stderr, "tallyd backup: %s\n", outcome.error().message().c_str());
  *sound = outcome.has_value();
  return JsonOfMembers(MembersOf(*report));
}

Result<Json> Make(const Config& config, const std::string& to, const std::string& token,
                  bool* sound) {
  DurableEnv durable({[](double) {}, [] {}});
  OverlayEnv env(&durable);
  const Result<bool> is_there = Exists(config.storage.path + "/CURRENT");
  if (!is_there) return is_there.error();
  if (!*is_there) {
    return Error(ErrorCode::kNotFound, "there is no store in " + config.storage.path);
  }
  const Status locked = env.Lock(config.storage.path);
  if (locked) return OfDirectory(config, &env, to, sound);
  if (locked.error().code() != ErrorCode::kConflict) return locked.error();
  return ByDaemon(config, to, token);
}

}  // namespace

int BackupCommand(const CommandLine& line, const ToolHost& host) {
  const std::optional<Config> config = LoadForCommand(line.config, host);
  if (!config) return kMisused;
  std::filesystem::path to = std::filesystem::absolute(line.to).lexically_normal();
  if (!to.has_filename()) to = to.parent_path();  // "backup/"
  const Result<std::string> token = ReadTokenFile(line.token_file);
  if (!token) {
    Refused("backup", token.error().Prefixed("--token-file"));
    return kMisused;
  }
  bool sound = true;
  const Result<Json> made = Make(*config, to.string(), *token, &sound);
  if (!made) return Refused("backup", made.error());
  const Json damaged = made->contains("damaged") ? made->at("damaged") : Json::array();
  const int status = sound && damaged.empty() ? 0 : kFailed;
  if (made->contains("to") && made->at("to").is_string()) to = made->at("to").get<std::string>();
  if (line.format == "json") {
    std::fputs(JsonText(*made).c_str(), stdout);
    return status;
  }
  const auto number = [&](const char* pointer) { return NumberAt(*made, pointer); };
  std::printf("%s: %s, %s files of blocks (%s new: %s linked, %s copied), up to change %s\n",
              to.c_str(), FormatBytes(number("/bytes")).c_str(),
              fmt::to_string(number("/files")).c_str(),
              fmt::to_string(number("/linked") + number("/copied")).c_str(),
              fmt::to_string(number("/linked")).c_str(), fmt::to_string(number("/copied")).c_str(),
              fmt::to_string(number("/last_sequence")).c_str());
  const double seconds = static_cast<double>(number("/took_ms")) / 1e3;
  std::printf("complete in %.1f s, %.1f MB/s\n", seconds, RateOf(number("/bytes"), seconds));
  for (const Json& path : damaged) {
    std::printf("DAMAGED  %s is not in it: `tallyd verify` tells more\n",
                path.is_string() ? path.get<std::string>().c_str() : Dump(path).c_str());
  }
  return status;
}

}  // namespace tallyd
