#include "storage/leveldb/env/wal_check.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "storage/bytes/coding.h"
#include "storage/leveldb/env/crc32c.h"
#include "storage/leveldb/env/marked_env.h"
#include "storage/leveldb/env/status.h"

namespace tallyd {
namespace {

constexpr size_t kBlockBytes = 32'768;
constexpr size_t kHeaderBytes = 7;  // crc:u32 length:u16 type:u8, little-endian
constexpr uint32_t kMaskDelta = 0xa282ead8;
// A record of a log is a WriteBatch: sequence and count, little-endian, then the changes.
constexpr size_t kBatchHeaderBytes = 12;

enum FragmentType : uint8_t { kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

struct Fragment {
  uint8_t type = 0;
  std::string_view data;
};

uint64_t LittleEndian(std::string_view bytes) {
  uint64_t v = 0;
  for (size_t i = bytes.size(); i > 0; --i) v = v << 8 | static_cast<uint8_t>(bytes[i - 1]);
  return v;
}

uint8_t ByteAt(std::string_view log, size_t at) { return static_cast<uint8_t>(log[at]); }

size_t LeftInBlock(size_t at) { return kBlockBytes - at % kBlockBytes; }
size_t LengthAt(std::string_view log, size_t at) { return LittleEndian(log.substr(at + 4, 2)); }

// The fragment at `at`, if a whole one is there.
std::optional<Fragment> ReadFragment(std::string_view log, size_t at) {
  if (LeftInBlock(at) < kHeaderBytes || log.size() - at < kHeaderBytes) return std::nullopt;
  const size_t length = LengthAt(log, at);
  const uint8_t type = ByteAt(log, at + 6);
  if (type < kFull || type > kLast) return std::nullopt;
  if (kHeaderBytes + length > std::min(LeftInBlock(at), log.size() - at)) return std::nullopt;
  if (!IsChecksumOf(log.substr(at + 6, 1 + length), log.data() + at)) return std::nullopt;
  return Fragment{type, log.substr(at + kHeaderBytes, length)};
}

// Whether nothing but the end of the file is wrong at `at`, so that LevelDB, which reads block by
// block, sees it as the end.
bool EndsEarly(std::string_view log, size_t at) {
  if (log.size() % kBlockBytes == 0 || log.size() / kBlockBytes != at / kBlockBytes) {
    return at == log.size();
  }
  if (log.size() - at < kHeaderBytes) return true;
  const size_t length = LengthAt(log, at);
  return kHeaderBytes + length > log.size() - at;
}

// The first of which `is_record` says that it is one.
std::optional<uint64_t> FindRecordStart(std::string_view log, size_t from,
                                        const std::function<bool(const RecordStart&)>& is_record) {
  for (size_t at = from; at + kHeaderBytes <= log.size(); ++at) {
    const uint8_t type = ByteAt(log, at + 6);
    if (type != kFull && type != kFirst) continue;
    const std::optional<Fragment> fragment = ReadFragment(log, at);
    if (fragment && is_record({at, fragment->data, type == kFull})) return at;
  }
  return std::nullopt;
}

// Up to where the headers of a record's fragments reach, from the one at `at` on, whether their
// checksums are right or not; `at` where there is none.
size_t ClaimedEnd(std::string_view log, size_t at, bool in_record) {
  size_t end = at;
  while (at < log.size()) {
    if (LeftInBlock(at) < kHeaderBytes) {
      at += LeftInBlock(at);
      continue;
    }
    if (log.size() - at < kHeaderBytes) break;
    const uint8_t type = ByteAt(log, at + 6);
    const size_t size = kHeaderBytes + LengthAt(log, at);
    const bool goes_on =
        in_record ? type == kMiddle || type == kLast : type == kFull || type == kFirst;
    if (!goes_on || size > LeftInBlock(at)) break;
    at += size;
    end = std::min(at, log.size());
    if (type == kFull || type == kLast) break;
    in_record = true;
  }
  return end;
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

struct SequenceRange {
  uint64_t first = 0;
  uint64_t end = 0;  // One past the last.
};

Result<std::string> ReadFile(leveldb::Env* env, const std::string& name) {
  std::string bytes;
  const Status read = FromLevelDb(leveldb::ReadFileToString(env, name, &bytes));
  if (!read) return read.error();
  return bytes;
}

class Checker {
 public:
  Checker(leveldb::Env* env, const std::string& directory, Sync sync)
      : env_(env), directory_(directory), sync_(sync) {}

  Result<WalCheck> Check() {
    Status done = List();
    const Result<std::string> current = ReadFile(env_, Path("CURRENT"));
    if (done && !current) done = CheckAbsence(current.error());
    if (!done) return done.error();
    if (!current) return check_;
    check_.exists = true;
    done = ReadNotes();
    if (done) done = CheckManifest(*current);
    if (done) done = CheckLogs();
    if (!done) return done.error();
    return std::move(check_);
  }

 private:
  std::string Path(const std::string& name) const { return directory_ + "/" + name; }

  Status List() {
    if (!env_->FileExists(directory_)) return {};
    std::vector<std::string> names;
    const Status listed = FromLevelDb(env_->GetChildren(directory_, &names));
    if (!listed) return listed;
    for (const std::string& name : names) {
      lists_current_ = lists_current_ || name == "CURRENT";
      if (const std::optional<uint64_t> number = LogNumber(name)) logs_[*number] = name;
      check_.has_data = check_.has_data || name.ends_with(".ldb") || name.ends_with(".sst");
    }
    return {};
  }

  // LevelDB would make an empty database in the place of what is left of one.
  Status CheckAbsence(const Error& error) const {
    if (error.code() != ErrorCode::kNotFound) return error;
    if (lists_current_) return Error(ErrorCode::kIo, error.message() + ", and is in its directory");
    if (logs_.empty() && !check_.has_data) return {};
    return Damage(Path("CURRENT"), "is missing beside the files that it should name");
  }

  Status ReadNotes() {
    Result<SyncedNotes> notes = SyncedNotes::Read(env_, directory_);
    if (!notes) return notes.error();
    notes_ = *notes;
    if (notes_.known() && !notes_.damaged) return {};
    spdlog::warn("store: {} {}: {}", Path(std::string(kSyncedName)),
                 notes_.damaged ? "is damaged" : "is missing",
                 notes_.known() ? "the note before the last tells what was synced"
                                : "damage at the end of a log may pass for a torn tail this once");
    return {};
  }

  // Without the manifest nothing else can be judged.
  Status CheckManifest(const std::string& current) {
    const std::string name = current.substr(0, current.find('\n'));
    const std::optional<uint64_t> number = ManifestNumber(name);
    if (!number || current != name + "\n")
      return Damage(Path("CURRENT"), "is damaged: it names no manifest");
    const Result<std::string> bytes = ReadFile(env_, Path(name));
    if (!bytes && bytes.error().code() == ErrorCode::kNotFound) {
      return Damage(Path("CURRENT"), fmt::format("names {}, which is not there", Path(name)));
    }
    if (!bytes) return bytes.error();
    // What its note does not cover is one record at most: each is synced, and noted, by itself.
    const bool is_noted =
        notes_.known() && !notes_.damaged && notes_.last.manifest.number == *number;
    const LogScan scan = ScanLog(
        *bytes, [&](std::string_view edit) { return ReadEdit(edit, &manifest_); }, 0,
        [&](const LogScan&, const RecordStart&) { return !is_noted; });
    const uint64_t synced = notes_.BytesOf(&SyncedNote::manifest, *number);
    if (scan.good_end < synced) return DamageIn(name, scan, synced);
    if (scan.good_after) return DamageBefore(name, scan);
    AddTail(name, scan);
    if (manifest_.oldest_log == 0 || logs_.contains(manifest_.oldest_log)) return {};
    return Damage(Path(fmt::format("{:06}.log", manifest_.oldest_log)),
                  fmt::format("is missing, which {} names", Path(name)));
  }

  Status CheckLogs() {
    // The last log with a record in it may end in a torn one; those after it must be empty.
    std::optional<LogScan> torn;
    std::string torn_name;
    const uint64_t synced_log = notes_.last.log.number;
    for (auto log = logs_.lower_bound(manifest_.oldest_log); log != logs_.end(); ++log) {
      const auto& [number, name] = *log;
      const Result<std::string> bytes = ReadFile(env_, Path(name));
      if (!bytes) return bytes.error();
      std::optional<SequenceRange> gap;
      const LogScan scan = ScanLog(
          *bytes, [&](std::string_view batch) { return FollowsOn(batch, &gap); }, 0,
          [&](const LogScan& damaged, const RecordStart& start) {
            return MayFollow(*bytes, damaged, start);
          });
      if (gap) return Missing(name, *gap);
      const uint64_t synced = notes_.BytesOf(&SyncedNote::log, number);
      if (scan.good_end < synced) return DamageIn(name, scan, synced);
      // Many records may be on their way at once, also in a log that another one has just followed.
      if (scan.good_after && sync_ != Sync::kInterval) return DamageBefore(name, scan);
      if (torn && scan.records > 0) return DamageBefore(torn_name, *torn);
      if (scan.clean || torn) continue;
      torn = scan;
      torn_name = name;
      AddTail(name, scan);
    }
    if (synced_log >= manifest_.oldest_log && synced_log > 0 && !logs_.contains(synced_log)) {
      return Damage(Path(fmt::format("{:06}.log", synced_log)), "is missing");
    }
    return {};
  }

  // Sequence numbers go on without a gap, from record to record and from log to log.
  bool FollowsOn(std::string_view batch, std::optional<SequenceRange>* gap) {
    if (batch.size() < kBatchHeaderBytes) return false;
    const uint64_t first = LittleEndian(batch.substr(0, 8));
    const uint64_t count = LittleEndian(batch.substr(8, 4));
    const uint64_t expected = next_sequence_.value_or(manifest_.last_sequence + 1);
    if (next_sequence_ ? first != expected : first > expected) {
      *gap = SequenceRange{expected, first};
      return false;
    }
    next_sequence_ = first + count;
    check_.has_data = check_.has_data || count > 0;
    return true;
  }

  // Whether a record can begin so behind one that is not whole.
  bool MayFollow(std::string_view log, const LogScan& torn, const RecordStart& start) const {
    // A first fragment reaches to the end of its block: it alone may be shorter than a header.
    if (start.data.size() < kBatchHeaderBytes) return !start.is_all;
    const uint64_t sequence = LittleEndian(start.data.substr(0, 8));
    const uint64_t expected = next_sequence_.value_or(0);
    const uint64_t newest = next_sequence_.value_or(manifest_.last_sequence + 1);
    // Each change takes more than a byte.
    if (sequence < expected || sequence > newest + (start.at - torn.good_end)) return false;
    if (start.at >= torn.claimed_end) return true;
    const std::string_view header =
        log.substr(torn.good_end + kHeaderBytes).substr(0, kBatchHeaderBytes);
    if (header.size() < kBatchHeaderBytes) return true;
    const uint64_t first = LittleEndian(header.substr(0, 8));
    const uint64_t after = first + LittleEndian(header.substr(8, 4));
    return first != newest || sequence == after;
  }

  void AddTail(const std::string& name, const LogScan& scan) {
    if (scan.clean) return;
    // Where LevelDB takes it for the end, too, it stays: on a full disk there is no room to cut.
    const bool is_end = scan.ends_early && !scan.good_after;
    check_.tails.push_back({Path(name), scan.good_end, scan.end - scan.good_end, !is_end});
  }

  static Error Damage(const std::string& path, const std::string& how) {
    return Error(ErrorCode::kCorruption, fmt::format("{} {}. {}", path, how, kDamageAdvice));
  }

  Error DamageIn(const std::string& name, const LogScan& scan, uint64_t synced) const {
    return Damage(Path(name),
                  scan.clean
                      ? fmt::format("ends at byte {}, and had {} bytes", scan.end, synced)
                      : fmt::format("is damaged: from byte {} on it is not what was written, and "
                                    "{} bytes of it were acknowledged",
                                    scan.good_end, synced));
  }

  Error DamageBefore(const std::string& name, const LogScan& scan) const {
    const std::string until =
        scan.good_after ? fmt::format("up to byte {}", *scan.good_after) : "up to its end";
    return Damage(Path(name),
                  fmt::format("is damaged: from byte {} {} it is not what was written, and records "
                              "that were acknowledged later follow",
                              scan.good_end, until));
  }

  Error Missing(const std::string& name, const SequenceRange& gap) const {
    return Damage("before " + Path(name) + ",",
                  fmt::format("changes {} to {} are missing: an older log was cut short or lost",
                              gap.first, gap.end));
  }

  leveldb::Env* const env_;
  const std::string directory_;
  const Sync sync_;
  WalCheck check_;
  SyncedNotes notes_;
  bool lists_current_ = false;
  std::map<uint64_t, std::string> logs_;
  ManifestFacts manifest_;
  std::optional<uint64_t> next_sequence_;
};

}  // namespace

bool IsChecksumOf(std::string_view bytes, const char* checksum) {
  const uint32_t rotated = static_cast<uint32_t>(LittleEndian({checksum, 4})) - kMaskDelta;
  return (rotated >> 17 | rotated << 15) == ExtendCrc32c(0, bytes);
}

LogScan ScanLog(
    std::string_view log, const std::function<bool(std::string_view)>& record, uint64_t from,
    const std::function<bool(const LogScan& scan, const RecordStart& start)>& may_follow) {
  LogScan scan;
  scan.good_end = from;
  std::string pieces;
  bool in_record = false;
  size_t at = from;
  while (at < log.size()) {
    if (LeftInBlock(at) < kHeaderBytes) {
      at = std::min(at + LeftInBlock(at), log.size());
      if (!in_record) scan.good_end = at;
      continue;
    }
    const std::optional<Fragment> fragment = ReadFragment(log, at);
    const bool starts = fragment && (fragment->type == kFull || fragment->type == kFirst);
    if (!fragment || starts == in_record) break;
    if (starts) pieces.clear();
    pieces.append(fragment->data);
    in_record = fragment->type == kFirst || fragment->type == kMiddle;
    if (!in_record && !record(pieces)) break;
    at += kHeaderBytes + fragment->data.size();
    if (in_record) continue;
    ++scan.records;
    scan.good_end = at;
  }
  // npos + 1 is 0: of nothing but zeros.
  scan.end = std::max<uint64_t>(scan.good_end, log.find_last_not_of('\0') + 1);
  scan.clean = scan.good_end == scan.end;
  if (scan.clean) return scan;
  scan.ends_early = EndsEarly(log, at);
  scan.claimed_end = ClaimedEnd(log, at, in_record);
  scan.good_after = FindRecordStart(
      log, std::max<size_t>(at, scan.good_end + 1),
      [&](const RecordStart& start) { return !may_follow || may_follow(scan, start); });
  return scan;
}

bool ReadEdit(std::string_view edit, ManifestFacts* facts) {
  ByteReader in(edit);
  uint64_t tag = 0, number = 0;
  std::string_view text;
  bool good = true;
  while (good && !in.done()) {
    good = in.GetVarint(&tag);
    switch (tag) {
      case kLogNumber:
        good = good && in.GetVarint(&facts->oldest_log);
        break;
      case kComparator:
        good = good && in.GetString(&text);
        break;
      case kLastSequence:
        good = good && in.GetVarint(&facts->last_sequence);
        break;
      case kNextFile:
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

Result<WalCheck> CheckWriteAheadLogs(leveldb::Env* env, const std::string& directory, Sync sync) {
  return Checker(env, directory, sync).Check();
}

}  // namespace tallyd
