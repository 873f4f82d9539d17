#include "storage/leveldb/files/file_sweep.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

namespace tallyd {
namespace {

class Sweeper {
 public:
  Sweeper(BlockFileShelf* shelf, const std::string& path, const FilesOnRecord& record)
      : shelf_(*shelf), env_(*shelf->env()), lost_directory_(LostDirectory(path)), record_(record) {
    for (const BlockFilePtr& file : record.files) known_[file->info().number] = file.get();
    if (!record.dropped.empty()) sweep_.greatest = record.dropped.rbegin()->first;
  }

  Result<FileSweep> Sweep() {
    std::vector<std::string> names;
    Status done = FromLevelDb(env_.GetChildren(shelf_.directory(), &names));
    if (!done) return done.error();
    std::sort(names.begin(), names.end());
    std::vector<uint64_t> strays;
    for (const std::string& name : names) {
      const std::optional<uint64_t> number = NumberOf(name);
      if (!number) continue;
      sweep_.greatest = std::max(sweep_.greatest, *number);
      const auto known = known_.find(*number);
      if (known == known_.end()) {
        strays.push_back(*number);
      } else {
        CheckSize(*known->second);
        known_.erase(known);
      }
    }
    for (const auto& [number, file] : known_) Missing(*file);
    StrayJudge judge(&env_, &record_, any_missing_);
    for (const uint64_t number : strays) Settle(number, &judge);
    // What is removed stays so: its note goes next.
    if (!strays.empty()) done = shelf_.SyncDirectory();
    if (done) done = ListLost();
    if (!done) return done.error();
    return std::move(sweep_);
  }

 private:
  std::optional<uint64_t> NumberOf(const std::string& name) const {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error != std::errc() || shelf_.PathOf(number) != shelf_.directory() + "/" + name) {
      return std::nullopt;
    }
    return number;
  }

  void CheckSize(const BlockFile& file) {
    uint64_t size = 0;
    const Status got = FromLevelDb(env_.GetFileSize(file.path(), &size));
    if (got && size == file.info().bytes) return;
    any_missing_ = true;
    file.ReportDamage(
        got ? Error(ErrorCode::kCorruption,
                    fmt::format("it has {} bytes instead of {}", size, file.info().bytes))
            : got.error());
  }

  void Missing(const BlockFile& file) {
    sweep_.greatest = std::max(sweep_.greatest, file.info().number);
    any_missing_ = true;
    file.ReportDamage(Error(ErrorCode::kCorruption, "the file is missing"));
  }

  // What cannot be settled is met again at the next start.
  void Settle(uint64_t number, StrayJudge* judge) const {
    const std::string path = shelf_.PathOf(number);
    const Result<StrayFile> stray = judge->Judge(path, number);
    Status settled = stray ? Status() : stray.error();
    if (settled) {
      const bool may_go =
          stray->kind == StrayFile::Kind::kIncomplete || stray->kind == StrayFile::Kind::kElsewhere;
      settled = may_go ? FromLevelDb(env_.RemoveFile(path)) : MoveToLost(path, *stray);
    }
    if (!settled) spdlog::warn("store: {}: {}", path, settled.error().message());
  }

  // Nothing there is written over.
  Status MoveToLost(const std::string& path, const StrayFile& stray) const {
    std::vector<std::string> names;
    Status done = FromLevelDb(env_.GetChildren(lost_directory_, &names));
    if (!done && done.error().code() == ErrorCode::kNotFound) {
      done = FromLevelDb(env_.CreateDir(lost_directory_));
    }
    if (!done) return done;
    const std::string wanted = path.substr(path.rfind('/') + 1);
    std::string name = wanted;
    for (int i = 2; std::ranges::find(names, name) != names.end(); ++i) {
      name = fmt::format("{}.{}", wanted, i);
    }
    done = FromLevelDb(env_.RenameFile(path, lost_directory_ + "/" + name));
    if (done) done = FromLevelDb(env_.SyncDirectory(lost_directory_));
    if (!done) return done;
    spdlog::warn(
        "store: no record names {}, which is complete, and has {} entries: {}. It is now {}/{}",
        path, stray.description ? fmt::to_string(stray.description->info.entries) : "unknown",
        stray.reason, lost_directory_, name);
    return {};
  }

  Status ListLost() {
    std::vector<std::string> names;
    const Status listed = FromLevelDb(env_.GetChildren(lost_directory_, &names));
    if (!listed) return listed.error().code() == ErrorCode::kNotFound ? Status() : listed;
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      uint64_t number = 0;
      const auto parsed = std::from_chars(name.data(), name.data() + name.size(), number);
      if (parsed.ec == std::errc()) sweep_.greatest = std::max(sweep_.greatest, number);
      uint64_t size = 0;
      const std::string path = lost_directory_ + "/" + name;
      if (name == "." || name == ".." || !env_.GetFileSize(path, &size).ok()) continue;
      sweep_.lost.push_back({path, size});
    }
    return {};
  }

  BlockFileShelf& shelf_;
  StoreEnv& env_;
  const std::string lost_directory_;
  const FilesOnRecord& record_;
  std::map<uint64_t, const BlockFile*> known_;  // Not met yet.
  bool any_missing_ = false;                    // Of those that base names; or not of its size.
  FileSweep sweep_;
};

}  // namespace

Result<FileSweep> SweepFiles(BlockFileShelf* shelf, const std::string& path,
                             const FilesOnRecord& record) {
  return Sweeper(shelf, path, record).Sweep();
}

std::string LostDirectory(const std::string& path) { return path + "/lost"; }

}  // namespace tallyd
