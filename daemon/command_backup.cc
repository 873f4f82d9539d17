// tallyd backup: by the daemon that serves the configuration, else of the directory itself.
#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "daemon/commands.h"
#include "daemon/console.h"
#include "daemon/http_client.h"
#include "daemon/report_text.h"
#include "storage/leveldb/env/durable_env.h"
#include "storage/leveldb/env/overlay_env.h"
#include "storage/leveldb/tools/backup.h"
#include "storage/leveldb/tools/verify.h"

namespace tallyd {
namespace {

using Json = nlohmann::ordered_json;

constexpr unsigned kOk = 200;
constexpr auto kBetweenLooks = std::chrono::milliseconds(250);

Json ToJson(const StoreMember::Members& members) {
  Json json;
  for (const StoreMember& member : members) {
    const auto* number = std::get_if<uint64_t>(&member.value);
    const auto* text = std::get_if<std::string>(&member.value);
    if (number != nullptr) json[member.name] = *number;
    if (text != nullptr) json[member.name] = *text;
    const auto* list = std::get_if<StoreMember::Members>(&member.value);
    if (list == nullptr) continue;
    json[member.name] = Json::array();
    for (const StoreMember& one : *list) {
      json[member.name].push_back(std::get<std::string>(one.value));
    }
  }
  return json;
}

// Shows what the daemon says of itself while it works.
class DaemonWatch {
 public:
  DaemonWatch(std::string listen, ToolProgress* progress)
      : listen_(std::move(listen)), progress_(*progress), thread_([this] { Run(); }) {}
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
      const Result<HttpAnswer> answer = AskDaemon(listen_, "GET", "/v1/status", {});
      if (!answer || answer->status != kOk) continue;
      const Json status = Json::parse(answer->body, nullptr, false);
      const Json backup = status.value("/store/backup"_json_pointer, Json());
      if (!backup.is_object()) continue;
      progress_.done = backup.value("done_bytes", uint64_t{0});
      progress_.total = backup.value("total_bytes", uint64_t{0});
    }
  }

  const std::string listen_;
  ToolProgress& progress_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

Result<Json> ByDaemon(const Config& config, const std::string& to) {
  ToolProgress progress;
  const Result<HttpAnswer> answer = [&] {
    const DaemonWatch watch(config.server.listen, &progress);
    const ProgressLine shown(progress);
    return AskDaemon(config.server.listen, "POST", "/v1/backup", Json{{"to", to}}.dump());
  }();
  if (!answer) {
    return answer.error().Prefixed(config.storage.path +
                                   " is in use, so the daemon is to make the backup");
  }
  Json said = Json::parse(answer->body, nullptr, false);
  if (answer->status == kOk && said.is_object()) return said;
  const std::string detail =
      said.is_object() && said.contains("detail") ? said["detail"].dump() : answer->body;
  return Error(ErrorCode::kIo, fmt::format("the daemon answers {}: {}", answer->status, detail));
}

// The lock is held meanwhile, and the directory stays as it is.
Result<Json> OfDirectory(const Config& config, StoreEnv* env, const std::string& to) {
  Result<std::unique_ptr<OpenedStore>> store = OpenedStore::Open(config.storage, env);
  if (!store) return store.error();
  ToolProgress progress;
  const BackupOptions options{to, SystemClock().Now(), 0, &progress};
  const Result<BackupReport> report = [&] {
    const ProgressLine shown(progress);
    return BackUp(&(*store)->database(), options);
  }();
  if (!report) return report.error();
  return ToJson(MembersOf(to, *report));
}

Result<Json> Make(const Config& config, const std::string& to) {
  DurableEnv durable({[](double) {}, [] {}});
  OverlayEnv env(&durable);
  if (!durable.FileExists(config.storage.path + "/CURRENT")) {
    return Error(ErrorCode::kNotFound, "there is no store in " + config.storage.path);
  }
  const Status locked = env.Lock(config.storage.path);
  if (locked) return OfDirectory(config, &env, to);
  if (locked.error().code() != ErrorCode::kConflict) return locked.error();
  return ByDaemon(config, to);
}

}  // namespace

int BackupCommand(const CommandLine& line) {
  const std::optional<Config> config = LoadForCommand(line);
  if (!config) return kMisused;
  std::filesystem::path to = std::filesystem::absolute(line.to).lexically_normal();
  if (!to.has_filename()) to = to.parent_path();  // "backup/"
  const Result<Json> made = Make(*config, to.string());
  if (!made) return Refused("backup", made.error());
  const Json damaged = made->value("damaged", Json::array());
  const int status = damaged.empty() ? 0 : kFailed;
  if (line.format == "json") {
    std::printf("%s\n", made->dump(2).c_str());
    return status;
  }
  const auto number = [&](const char* name) { return made->value(name, uint64_t{0}); };
  std::printf("%s: %s, %s files of blocks (%s new: %s linked, %s copied), up to change %s\n",
              to.c_str(), FormatBytes(number("bytes")).c_str(),
              fmt::to_string(number("files")).c_str(),
              fmt::to_string(number("linked") + number("copied")).c_str(),
              fmt::to_string(number("linked")).c_str(), fmt::to_string(number("copied")).c_str(),
              fmt::to_string(number("last_sequence")).c_str());
  const double seconds = static_cast<double>(number("took_ms")) / 1e3;
  std::printf("complete in %.1f s, %.1f MB/s\n", seconds, RateOf(number("bytes"), seconds));
  for (const Json& path : damaged) {
    std::printf("DAMAGED  %s is not in it: `tallyd verify` tells more\n",
                path.get<std::string>().c_str());
  }
  return status;
}

}  // namespace tallyd
