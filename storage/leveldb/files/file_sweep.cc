#include "storage/leveldb/files/file_sweep.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <optional>

namespace tallyd {
namespace {

// A description is a few hundred bytes; one beyond this is none.
constexpr uint64_t kMaxDescription = 16u << 20;
constexpr uint64_t kFooter = BlockFileFooter::kBytes;

Result<std::string> ReadAt(const leveldb::RandomAccessFile& file, uint64_t offset, uint64_t size) {
  std::string bytes(size, '\0');
  leveldb::Slice read;
  const Status done = FromLevelDb(file.Read(offset, size, &read, bytes.data()));
  if (!done) return done.error();
  if (read.size() != size) return Error(ErrorCode::kIo, "the file became shorter");
  return read.ToString();
}

class Sweeper {
 public:
  Sweeper(BlockFileShelf* shelf, const std::string& path, const FilesOnRecord& record)
      : shelf_(*shelf), env_(*shelf->env()), lost_directory_(LostDirectory(path)), record_(record) {
    for (const BlockFilePtr& file : record.files) known_[file->info().number] = file.get();
    if (!record.dropped.empty()) sweep_.greatest = *record.dropped.rbegin();
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
    for (const uint64_t number : strays) Settle(number);
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

  void CheckSize(const BlockFile& file) const {
    uint64_t size = 0;
    const Status got = FromLevelDb(env_.GetFileSize(file.path(), &size));
    if (got && size == file.info().bytes) return;
    file.ReportDamage(
        got ? Error(ErrorCode::kCorruption,
                    fmt::format("it has {} bytes instead of {}", size, file.info().bytes))
            : got.error());
  }

  void Missing(const BlockFile& file) {
    sweep_.greatest = std::max(sweep_.greatest, file.info().number);
    file.ReportDamage(Error(ErrorCode::kCorruption, "the file is missing"));
  }

  // What cannot be settled is met again at the next start.
  void Settle(uint64_t number) const {
    const std::string path = shelf_.PathOf(number);
    const Result<bool> is_rubbish = record_.dropped.contains(number) ? true : IsRubbish(path);
    Status settled = is_rubbish ? Status() : is_rubbish.error();
    if (settled) settled = *is_rubbish ? FromLevelDb(env_.RemoveFile(path)) : MoveToLost(path);
    if (!settled) spdlog::warn("store: {}: {}", path, settled.error().message());
  }

  // Whether it is incomplete, or all of it is in the heads, as a crash leaves it that came before
  // the head's sealing was recorded. What cannot be read may be anything.
  Result<bool> IsRubbish(const std::string& path) const {
    uint64_t size = 0;
    const Status sized = FromLevelDb(env_.GetFileSize(path, &size));
    if (!sized) return sized.error();
    if (size < kFooter) return true;
    leveldb::RandomAccessFile* opened = nullptr;
    const Status done = FromLevelDb(env_.NewRandomAccessFile(path, &opened));
    if (!done) return done.error();
    const std::unique_ptr<leveldb::RandomAccessFile> file(opened);
    const Result<std::string> end = ReadAt(*file, size - kFooter, kFooter);
    if (!end) return end.error();
    BlockFileFooter footer;
    if (!DecodeFooter(*end, size, &footer)) return true;
    const uint64_t bytes = size - kFooter - footer.description;
    if (bytes > kMaxDescription) return false;
    const Result<std::string> described = ReadAt(*file, footer.description, bytes);
    if (!described) return described.error();
    if (Checksum64(*described) != footer.description_checksum) return false;
    const Result<BlockFileDescription> description = DecodeDescription(*described);
    return description && description->info.min_sequence > record_.sealed_sequence;
  }

  Status MoveToLost(const std::string& path) const {
    if (!env_.FileExists(lost_directory_)) {
      const Status made = FromLevelDb(env_.CreateDir(lost_directory_));
      if (!made) return made;
    }
    const std::string wanted = lost_directory_ + path.substr(path.rfind('/'));
    std::string name = wanted;
    for (int i = 2; env_.FileExists(name); ++i) name = fmt::format("{}.{}", wanted, i);
    spdlog::warn("store: no record names {}, which is complete: it is now {}", path, name);
    return FromLevelDb(env_.RenameFile(path, name));
  }

  Status ListLost() {
    if (!env_.FileExists(lost_directory_)) return {};
    std::vector<std::string> names;
    const Status listed = FromLevelDb(env_.GetChildren(lost_directory_, &names));
    if (!listed) return listed;
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
  FileSweep sweep_;
};

}  // namespace

Result<FileSweep> SweepFiles(BlockFileShelf* shelf, const std::string& path,
                             const FilesOnRecord& record) {
  return Sweeper(shelf, path, record).Sweep();
}

std::string LostDirectory(const std::string& path) { return path + "/lost"; }

}  // namespace tallyd
