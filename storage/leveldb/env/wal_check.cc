#include "storage/leveldb/env/wal_check.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <memory>
#include <optional>

#include "storage/bytes/coding.h"
#include "storage/leveldb/env/log_scan.h"
#include "storage/leveldb/env/status.h"

namespace tallyd {
namespace {

// A record of a log is a WriteBatch: sequence and count, little-endian, then the changes.
constexpr size_t kBatchHeaderBytes = 12;

struct SequenceRange {
  uint64_t first = 0;
  uint64_t end = 0;  // One past the last.
};

uint64_t LittleEndian(std::string_view bytes) {
  uint64_t v = 0;
  for (size_t i = bytes.size(); i > 0; --i) v = v << 8 | static_cast<uint8_t>(bytes[i - 1]);
  return v;
}

Result<std::string> ReadFile(leveldb::Env* env, const std::string& name) {
  std::string bytes;
  const Status read = FromLevelDb(leveldb::ReadFileToString(env, name, &bytes));
  if (!read) return read.error();
  return bytes;
}

// Tags of LevelDB's VersionEdit (db/version_edit.cc at 1.23).
enum EditTag : uint64_t {
  kComparator = 1,
  kLogNumber = 2,
  kNextFile = 3,
  kLastSequence = 4,
  kCompactPointer = 5,
  kDeletedFile = 6,
  kNewFile = 7,
  kPreviousLog = 9,
};

// The number of the oldest log in use, if this edit sets it; false if it cannot be read.
bool ReadEdit(std::string_view edit, uint64_t* log_number) {
  ByteReader in(edit);
  uint64_t tag = 0, number = 0;
  std::string_view text;
  bool good = true;
  while (good && !in.done()) {
    good = in.GetVarint(&tag);
    switch (tag) {
      case kLogNumber:
        good = good && in.GetVarint(log_number);
        break;
      case kComparator:
        good = good && in.GetString(&text);
        break;
      case kNextFile:
      case kLastSequence:
      case kPreviousLog:
        good = good && in.GetVarint(&number);
        break;
      case kCompactPointer:
        good = good && in.GetVarint(&number) && in.GetString(&text);
        break;
      case kDeletedFile:
        good = good && in.GetVarint(&number) && in.GetVarint(&number);
        break;
      case kNewFile:
        good = good && in.GetVarint(&number) && in.GetVarint(&number) && in.GetVarint(&number) &&
               in.GetString(&text) && in.GetString(&text);
        break;
      default:
        good = false;
    }
  }
  return good;
}

class WalCheck {
 public:
  WalCheck(leveldb::Env* env, const std::string& directory, Sync sync)
      : env_(env), directory_(directory), sync_(sync) {}

  Status Check() {
    const Result<std::string> current = ReadFile(env_, Path("CURRENT"));
    if (!current && current.error().code() == ErrorCode::kNotFound) return {};
    if (!current) return current.error();
    const Status manifest = CheckManifest(current->substr(0, current->find('\n')));
    if (!manifest) return manifest;
    std::vector<std::string> names;
    const Status listed = FromLevelDb(env_->GetChildren(directory_, &names));
    if (!listed) return listed;
    std::map<uint64_t, std::string> logs;
    for (const std::string& name : names) {
      const std::optional<uint64_t> number = LogNumber(name);
      if (number && *number >= oldest_log_) logs[*number] = name;
    }
    return CheckLogs(logs);
  }

 private:
  std::string Path(const std::string& name) const { return directory_ + "/" + name; }

  static std::optional<uint64_t> LogNumber(std::string_view name) {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error != std::errc() || std::string_view(end) != ".log") return std::nullopt;
    return number;
  }

  Status CheckManifest(const std::string& name) {
    const Result<std::string> bytes = ReadFile(env_, Path(name));
    if (!bytes) return {};  // LevelDB says it better.
    const LogScan scan =
        ScanLog(*bytes, [&](std::string_view edit) { return ReadEdit(edit, &oldest_log_); });
    if (scan.clean || scan.ends_early) return {};
    if (scan.good_after) return Damaged(name, scan);
    return CutTail(name, *bytes, scan.good_end);
  }

  Status CheckLogs(const std::map<uint64_t, std::string>& logs) {
    // The last log with a record in it may end in a torn one; those after it must be empty.
    std::string torn_name, torn_bytes;
    LogScan torn;
    for (const auto& [number, name] : logs) {
      const Result<std::string> bytes = ReadFile(env_, Path(name));
      if (!bytes) return bytes.error();
      std::optional<SequenceRange> gap;
      const LogScan scan =
          ScanLog(*bytes, [&](std::string_view batch) { return FollowsOn(batch, &gap); });
      if (gap) return Missing(name, *gap);
      const bool newest = number == logs.rbegin()->first;
      if (scan.good_after && !(newest && sync_ == Sync::kInterval)) return Damaged(name, scan);
      if (!torn_name.empty() && scan.records > 0) return Damaged(torn_name, torn);
      if (scan.clean || !torn_name.empty()) continue;
      torn_name = name;
      torn_bytes = *bytes;
      torn = scan;
    }
    if (torn_name.empty()) return {};
    if (torn.ends_early && !torn.good_after) {
      // LevelDB takes this for the end, too; and on a full disk there is no room to cut it off.
      spdlog::warn("store: {} ends in an incomplete record of {} bytes, as a crash leaves it",
                   Path(torn_name), torn_bytes.size() - torn.good_end);
      return {};
    }
    return CutTail(torn_name, torn_bytes, torn.good_end);
  }

  // Sequence numbers go on without a gap, from record to record and from log to log.
  bool FollowsOn(std::string_view batch, std::optional<SequenceRange>* gap) {
    if (batch.size() < kBatchHeaderBytes) return false;
    const uint64_t first = LittleEndian(batch.substr(0, 8));
    if (next_sequence_ && first != *next_sequence_) {
      *gap = SequenceRange{*next_sequence_, first};
      return false;
    }
    next_sequence_ = first + LittleEndian(batch.substr(8, 4));
    return true;
  }

  Error Damaged(const std::string& name, const LogScan& scan) const {
    const std::string until =
        scan.good_after ? fmt::format("up to byte {}", *scan.good_after) : "up to its end";
    return Error(
        ErrorCode::kCorruption,
        fmt::format("{} is damaged: from byte {} {} it is not what was written, and records "
                    "that were acknowledged later follow. {}",
                    Path(name), scan.good_end, until, kAdvice));
  }

  Error Missing(const std::string& name, const SequenceRange& gap) const {
    return Error(
        ErrorCode::kCorruption,
        fmt::format("before {}, changes {} to {} are missing: an older log was cut short or "
                    "lost. {}",
                    Path(name), gap.first, gap.end, kAdvice));
  }

  // Order of steps: at every moment either the whole log or the cut one is there under its name.
  Status CutTail(const std::string& name, const std::string& bytes, uint64_t good_end) {
    std::string kept;
    for (int i = 1; kept.empty() || env_->FileExists(kept); ++i) {
      kept = Path(fmt::format("{}.torn-{}", name, i));
    }
    const std::string_view all(bytes);
    const std::string cut = Path(name + ".cut");
    Status done = WriteFile(kept, all.substr(good_end));
    if (done) done = WriteFile(cut, all.substr(0, good_end));
    if (done) done = FromLevelDb(env_->RenameFile(cut, Path(name)));
    if (!done) return done;
    spdlog::warn(
        "store: {} ended in incomplete records, as a power cut leaves what was not synced; these "
        "{} "
        "bytes are now in {}",
        Path(name), bytes.size() - good_end, kept);
    return {};
  }

  Status WriteFile(const std::string& name, std::string_view bytes) {
    leveldb::WritableFile* opened = nullptr;
    Status done = FromLevelDb(env_->NewWritableFile(name, &opened));
    if (!done) return done;
    const std::unique_ptr<leveldb::WritableFile> file(opened);
    done = FromLevelDb(file->Append(ToSlice(bytes)));
    if (done) done = FromLevelDb(file->Sync());
    if (done) done = FromLevelDb(file->Close());
    return done;
  }

  static constexpr std::string_view kAdvice =
      "Nothing was changed. Restore the directory from a backup; or, to give up what the damaged "
      "file "
      "still holds, move it elsewhere and start again";

  leveldb::Env* const env_;
  const std::string directory_;
  const Sync sync_;
  uint64_t oldest_log_ = 0;
  std::optional<uint64_t> next_sequence_;
};

}  // namespace

Status CheckWriteAheadLogs(leveldb::Env* env, const std::string& directory, Sync sync) {
  return WalCheck(env, directory, sync).Check();
}

}  // namespace tallyd
