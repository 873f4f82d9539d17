#include "storage/leveldb/tools/restore.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/codec/meta_codec.h"
#include "storage/leveldb/env/durable_env.h"
#include "storage/leveldb/env/status.h"
#include "storage/leveldb/tools/block_check.h"
#include "storage/leveldb/tools/level_files.h"
#include "storage/leveldb/tools/toolbox.h"

namespace tallyd {
namespace {

class BackupReader {
 public:
  BackupReader(std::string directory, ToolProgress* progress)
      : directory_(std::move(directory)), progress_(*progress) {}

  Result<BackupCheck> Check() {
    const std::string name = directory_ + "/" + kManifestName;
    std::string text;
    const Status read = FromLevelDb(leveldb::ReadFileToString(&env_, name, &text));
    if (!read && read.error().code() == ErrorCode::kNotFound) {
      return Error(ErrorCode::kNotFound, "there is no complete backup in " + directory_);
    }
    if (!read) return read.error();
    Result<BackupManifest> manifest = DecodeManifest(text);
    if (!manifest) return manifest.error().Prefixed(directory_);
    check_.manifest = std::move(*manifest);
    progress_.step = "verifying the backup";
    progress_.total = check_.manifest.bytes();
    CheckRecords();
    check_.records_are_sound = check_.findings.empty();
    if (check_.records_are_sound) CheckNames();
    for (const auto& file : check_.manifest.blocks) {
      if (progress_.stop) return Error(ErrorCode::kCancelled, "it was stopped");
      CheckBlocks(file);
    }
    return std::move(check_);
  }

 private:
  void Add(std::string file, const Error& error) {
    check_.findings.push_back(FindingOf(std::move(file), error.message()));
  }

  void CheckRecords() {
    const std::string moment = directory_ + "/" + MomentName(check_.manifest.moment) + "/";
    bool any_base = false;
    for (const auto& file : check_.manifest.records) {
      const bool is_base = file.name == kBaseRecords;
      any_base = any_base || is_base;
      const Status read = ReadRecordFile(&env_, moment + file.name, file.bytes, file.checksum,
                                         [&](std::string_view key, std::string_view value) {
                                           const Status same = CheckStore(key, value);
                                           return same && is_base ? TakeBase(key, value) : same;
                                         });
      progress_.done += file.bytes;
      if (!read) Add(moment + file.name, read.error());
    }
    if (!any_base) {
      check_.findings.push_back(FindingOf(directory_, "the backup has no records of base"));
    }
  }

  // What the store had lost by then.
  void CheckNames() {
    std::map<uint64_t, BlockFileInfo> missing = recorded_;
    for (const auto& file : check_.manifest.blocks) missing.erase(file.number);
    for (const auto& [number, info] : missing) {
      Finding finding =
          FindingOf(directory_ + "/blocks/" + BlocksName({number, info.bytes, info.checksum}),
                    "it was damaged already when the backup was made, and is not in it");
      finding.times = TimeRange{info.min_time, info.max_time + 1};
      finding.first_key = info.first_key;
      finding.last_key = info.last_key;
      check_.findings.push_back(std::move(finding));
    }
  }

  // Base and the heads say of which store they are.
  Status CheckStore(std::string_view key, std::string_view value) const {
    if (key != MetaKey(MetaKind::kStoreId)) return {};
    const std::string store = HexOfStoreId(value);
    if (store == check_.manifest.store) return {};
    return Error(ErrorCode::kCorruption,
                 fmt::format("it is of the store {}, and the backup of the store {}", store,
                             check_.manifest.store));
  }

  Status TakeBase(std::string_view key, std::string_view value) {
    if (static_cast<KeySpace>(key[0]) != KeySpace::kBlockFiles) return {};
    Result<BlockFileInfo> info = DecodeBlockFile(key, value);
    if (!info) return info.error();
    recorded_.emplace(info->number, std::move(*info));
    return {};
  }

  void CheckBlocks(const BackupManifest::Blocks& file) {
    const std::string path = directory_ + "/blocks/" + BlocksName(file);
    const Result<BlockFileCheck> opened = BlockFileCheck::Open(&env_, path);
    if (!opened) return Add(path, opened.error());
    const BlockFileInfo& info = opened->description().info;
    const auto recorded = recorded_.find(file.number);
    if (recorded == recorded_.end() || recorded->second != info) {
      check_.findings.push_back(
          FindingOf(path, "it is another file than the one that base records"));
      return;
    }
    const std::string store = HexOfStoreId(opened->description().origin.store);
    if (!store.empty() && store != check_.manifest.store) {
      check_.findings.push_back(FindingOf(path, "it is a file of the store " + store));
      return;
    }
    BlockChecker checker(opened->description());
    const size_t before = check_.findings.size();
    std::string bytes;
    for (const BlockPlace& place : opened->index().blocks()) {
      Status checked = opened->Read(place, &bytes);
      if (checked) checked = checker.Check(place, bytes);
      progress_.done += place.size;
      if (checked) continue;
      Finding damage = FindingOf(path, checked.error().message());
      damage.offset = place.offset;
      damage.bytes = place.size;
      damage.table = opened->description().table.name;
      damage.times = TimeRange{place.min_time, place.max_time + 1};
      damage.first_key = place.first_key;
      damage.last_key = place.last_key;
      check_.findings.push_back(std::move(damage));
    }
    const Status sums = check_.findings.size() == before ? checker.CheckSums() : Status();
    if (!sums) Add(path, sums.error());
  }

  const std::string directory_;
  ToolProgress& progress_;
  DurableEnv env_{{[](double) {}, [] {}}};
  std::map<uint64_t, BlockFileInfo> recorded_;  // By base.
  BackupCheck check_;
};

class Restorer {
 public:
  explicit Restorer(const RestoreOptions& options)
      : options_(options), progress_(*options.progress), builder_(options.storage) {}

  Result<RestoreReport> Run() {
    const auto start = std::chrono::steady_clock::now();
    Status done = builder_.Take();
    if (!done) return done.error();
    done = Fill();
    if (!report_.restored) builder_.Leave();
    if (done && report_.restored) done = Verify();
    if (!done) return done.error();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    report_.seconds = took.count();
    return std::move(report_);
  }

 private:
  const BackupManifest& manifest() const { return report_.backup.manifest; }
  bool MayBuild() const {
    return report_.backup.findings.empty() ||
           (options_.even_damaged && report_.backup.records_are_sound);
  }

  // Nothing is restored of a backup that may not be.
  Status Fill() {
    Result<BackupCheck> checked = CheckBackup(options_.from, &progress_);
    if (!checked) return checked.error();
    report_.backup = std::move(*checked);
    if (!MayBuild()) return {};
    const Status built = Build();
    report_.restored = built.has_value();
    return built;
  }

  // Base comes last: what it names is there then.
  Status Build() {
    Status done = RestoreBlocks();
    progress_.step = "writing records";
    for (const auto& file : manifest().records) {
      const uint64_t head = HeadOfRecords(file.name);
      if (done && head > 0) done = RestoreRecords(file, head);
    }
    for (const auto& file : manifest().records) {
      if (done && file.name == kBaseRecords) done = RestoreRecords(file, StoreBuilder::kBase);
    }
    return done ? builder_.Complete() : done;
  }

  // What was found to be damaged or missing may be missing, and nothing else.
  Status RestoreBlocks() {
    progress_.step = "restoring block files";
    progress_.done = 0;
    for (const auto& file : manifest().blocks) {
      const std::string from = options_.from + "/blocks/" + BlocksName(file);
      const std::string to =
          fmt::format("{}/{:06}.blocks", builder_.blocks_directory(), file.number);
      const Status moved = builder_.Bring(from, to, &progress_, &report_.files);
      if (moved) continue;
      const bool is_known = std::ranges::any_of(
          report_.backup.findings, [&](const Finding& finding) { return finding.file == from; });
      if (!is_known || moved.error().code() != ErrorCode::kNotFound) return moved;
    }
    return {};
  }

  Status RestoreRecords(const BackupManifest::Records& file, uint64_t head) {
    const std::string path = options_.from + "/" + MomentName(manifest().moment) + "/" + file.name;
    return builder_.Write(head, [&](const StoreBuilder::Put& put) {
      return ReadRecordFile(builder_.env(), path, file.bytes, file.checksum, put);
    });
  }

  Status Verify() {
    progress_.done = 0;
    progress_.total = 0;
    VerifyOptions options;
    options.storage = options_.storage;
    options.take_lock = false;  // It would take the builder's, and give it back.
    options.progress = &progress_;
    Result<VerifyReport> verified = VerifyStore(options);
    if (!verified) return verified.error();
    report_.store = std::move(*verified);
    return {};
  }

  const RestoreOptions& options_;
  ToolProgress& progress_;
  StoreBuilder builder_;
  RestoreReport report_;
};

}  // namespace

Result<BackupCheck> CheckBackup(const std::string& directory, ToolProgress* progress) {
  return BackupReader(directory, progress).Check();
}

Result<RestoreReport> RestoreBackup(const RestoreOptions& options) {
  return Restorer(options).Run();
}

}  // namespace tallyd
