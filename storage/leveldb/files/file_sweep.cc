#include "storage/leveldb/files/file_sweep.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "storage/leveldb/files/stray_head.h"

namespace tallyd {
namespace {

// Before the number of a head in lost/, where names of numbers are block files'.
constexpr std::string_view kLostHead = "head-";

class Sweeper {
 public:
  Sweeper(BlockFileShelf* shelf, const std::string& path, const FilesOnRecord& record)
      : shelf_(*shelf),
        env_(*shelf->env()),
        heads_directory_(HeadsDirectory(path)),
        lost_directory_(LostDirectory(path)),
        record_(record) {
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
      const std::optional<uint64_t> number = NumberOfBlockFile(shelf_, name);
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
    if (done) done = SettleHeads();
    if (done) done = ListLost();
    if (!done) return done.error();
    return std::move(sweep_);
  }

 private:
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
      settled = may_go ? FromLevelDb(env_.RemoveFile(path)) : LoseFile(path, *stray);
    }
    if (!settled) spdlog::warn("store: {}: {}", path, settled.error().message());
  }

  // Those that base calls sealed. None is of use to anybody who reads.
  Status SettleHeads() const {
    const Result<std::vector<uint64_t>> numbers = ListHeads(&env_, heads_directory_);
    if (!numbers) return numbers.error();
    for (const uint64_t number : *numbers) {
      if (number > record_.sealed_head) break;
      const std::string path = HeadPath(heads_directory_, number);
      const Result<StrayHead> head = JudgeHead(&env_, path, number, record_, any_missing_);
      if (head && head->may_go) {
        RemoveHead(&env_, heads_directory_, number);
        continue;
      }
      const Status settled = head ? LoseHead(path, number, *head) : head.error();
      if (!settled) spdlog::warn("store: {}: {}", path, settled.error().message());
    }
    return {};
  }

  Status LoseHead(const std::string& path, uint64_t number, const StrayHead& head) const {
    const Result<std::string> to = MoveToLost(path, fmt::format("{}{:06}", kLostHead, number));
    if (!to) return to.error();
    spdlog::warn("store: base calls {} sealed, and it is there: {}. It is now {}", path,
                 head.reason, *to);
    return {};
  }

  Status LoseFile(const std::string& path, const StrayFile& stray) const {
    const Result<std::string> to = MoveToLost(path, path.substr(path.rfind('/') + 1));
    if (!to) return to.error();
    spdlog::warn(
        "store: no record names {}, which is complete, and has {} entries: {}. It is now {}", path,
        stray.description ? fmt::to_string(stray.description->info.entries) : "unknown",
        stray.reason, *to);
    return {};
  }

  // Nothing there is written over. Where it is then.
  Result<std::string> MoveToLost(const std::string& path, const std::string& wanted) const {
    std::vector<std::string> names;
    Status done = FromLevelDb(env_.GetChildren(lost_directory_, &names));
    if (!done && done.error().code() == ErrorCode::kNotFound) {
      done = FromLevelDb(env_.CreateDir(lost_directory_));
    }
    if (!done) return done.error();
    std::string name = wanted;
    for (int i = 2; std::ranges::find(names, name) != names.end(); ++i) {
      name = fmt::format("{}.{}", wanted, i);
    }
    done = FromLevelDb(env_.RenameFile(path, lost_directory_ + "/" + name));
    if (done) done = FromLevelDb(env_.SyncDirectory(lost_directory_));
    if (!done) return done.error();
    return lost_directory_ + "/" + name;
  }

  bool SumSizes(const std::string& directory, uint64_t* sum) const {
    std::vector<std::string> names;
    if (!env_.GetChildren(directory, &names).ok()) return false;
    for (const std::string& name : names) {
      uint64_t size = 0;
      if (name == "." || name == "..") continue;
      if (env_.GetFileSize(directory + "/" + name, &size).ok()) *sum += size;
    }
    return true;
  }

  Status ListLost() {
    std::vector<std::string> names;
    const Status listed = FromLevelDb(env_.GetChildren(lost_directory_, &names));
    if (!listed) return listed.error().code() == ErrorCode::kNotFound ? Status() : listed;
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      const std::optional<LostName> lost = ParseLostName(name);
      const bool is_head = lost && lost->kind == LostName::Kind::kHead;
      if (lost && !is_head) sweep_.greatest = std::max(sweep_.greatest, lost->number);
      uint64_t size = 0;
      const std::string path = lost_directory_ + "/" + name;
      if (name == "." || name == "..") continue;
      if (is_head ? !SumSizes(path, &size) : !env_.GetFileSize(path, &size).ok()) continue;
      sweep_.lost.push_back({path, size});
    }
    return {};
  }

  BlockFileShelf& shelf_;
  StoreEnv& env_;
  const std::string heads_directory_;
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

std::optional<uint64_t> NumberOfBlockFile(const BlockFileShelf& shelf, const std::string& name) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || shelf.PathOf(number) != shelf.directory() + "/" + name) {
    return std::nullopt;
  }
  return number;
}

std::string LostDirectory(const std::string& path) { return path + "/lost"; }

std::optional<LostName> ParseLostName(std::string_view name) {
  LostName lost;
  if (name.starts_with(kLostHead)) {
    lost.kind = LostName::Kind::kHead;
    name.remove_prefix(kLostHead.size());
  } else if (name.find(".blocks") == std::string_view::npos) {
    return std::nullopt;
  }
  const auto parsed = std::from_chars(name.data(), name.data() + name.size(), lost.number);
  if (parsed.ec != std::errc()) return std::nullopt;
  return lost;
}

}  // namespace tallyd
