#include "storage/leveldb/tools/salvage.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <set>

#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/env/overlay_env.h"
#include "storage/leveldb/env/wal_check.h"
#include "storage/leveldb/files/block_file.h"
#include "storage/leveldb/files/view.h"
#include "storage/leveldb/tools/block_check.h"
#include "storage/leveldb/tools/level_files.h"
#include "storage/leveldb/tools/salvaged_records.h"
#include "storage/leveldb/tools/toolbox.h"

namespace tallyd {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".blocks";

class Salvager {
 public:
  explicit Salvager(const SalvageOptions& options)
      : options_(options),
        path_(options.storage.path),
        progress_(*options.progress),
        target_(options.storage),
        env_({[](double) {}, [] {}}),
        records_(&report_) {
    target_.path = options.to;
  }

  Result<SalvageReport> Run() {
    const auto start = std::chrono::steady_clock::now();
    StoreBuilder builder(target_);
    OverlayEnv lock(&env_);
    Status done = CheckPlaces();
    if (done) done = lock.Lock(path_);
    if (done) done = builder.Take();
    if (!done) return done.error();
    ReadLevels();
    done = TakeFiles(builder.blocks_directory());
    if (done) done = WriteRecords(&builder);
    if (done) done = builder.Complete();
    if (!done) {
      builder.Leave();
      return done.error();
    }
    done = Verify();
    if (!done) return done.error();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    report_.seconds = took.count();
    return std::move(report_);
  }

 private:
  Status MayGoOn() const {
    return progress_.stop ? Error(ErrorCode::kCancelled, "it was stopped") : Status();
  }

  Status CheckPlaces() const {
    std::error_code error;
    const fs::path from = fs::weakly_canonical(path_, error);
    const fs::path to = fs::weakly_canonical(options_.to, error);
    const auto within = [](const fs::path& path, const fs::path& directory) {
      return std::mismatch(directory.begin(), directory.end(), path.begin(), path.end()).first ==
             directory.end();
    };
    if (within(to, from) || within(from, to)) {
      return Error(ErrorCode::kConflict,
                   fmt::format("{} and {} lie in each other", options_.to, path_));
    }
    for (const char* part : {"CURRENT", "heads", "blocks"}) {
      if (fs::exists(from / part, error)) return {};
    }
    const Result<LevelFileNames> files = ListLevelFiles(const_cast<DurableEnv*>(&env_), path_);
    if (files && (!files->logs.empty() || !files->tables.empty())) return {};
    return Error(ErrorCode::kNotFound, "there is nothing of a store in " + path_);
  }

  void ReadLevels() {
    progress_.step = "reading records";
    std::vector<Finding>* const findings = &report_.findings;
    LevelRecords base = ReadLevel(&env_, path_, Sync::kAlways, findings);
    // Whether the next head was there before it could be used; that of no table need not be.
    bool must_be_made = !base.whole || base.records.contains(MetaKey(MetaKind::kSealedHead)) ||
                        base.records.contains(MetaKey(MetaKind::kNextTable));
    records_.TakeBase(path_, std::move(base));
    const std::string directory = HeadsDirectory(path_);
    const Result<std::vector<uint64_t>> heads = ListHeads(&env_, directory);
    if (!heads) return findings->push_back(FindingOf(directory, heads.error().message()));
    for (const uint64_t head : *heads) {
      if (head <= records_.sealed_head()) continue;
      const std::string path = HeadPath(directory, head);
      if (head == heads->back() && !must_be_made && IsUnmade(path)) return;
      LevelRecords records = ReadLevel(&env_, path, options_.storage.sync, findings);
      must_be_made = !records.whole || records.records.contains(MetaKey(MetaKind::kClosedHead));
      records_.TakeHead(path, std::move(records));
    }
  }

  // A crash while a head is made leaves this; a start makes it anew (files/opener.h).
  bool IsUnmade(const std::string& path) {
    const Result<WalCheck> logs = CheckWriteAheadLogs(&env_, path, options_.storage.sync);
    return logs && !logs->exists;
  }

  struct FoundFile {
    std::string path;
    uint64_t number = 0;
  };

  // Those of the store; where base does not tell what counts, also what a start has put aside.
  std::vector<FoundFile> FindFiles() {
    std::vector<std::string> directories{BlockFilesDirectory(path_)};
    if (report_.base != SalvageReport::Base::kWhole) directories.push_back(path_ + "/lost");
    std::vector<FoundFile> files;
    for (const std::string& directory : directories) {
      std::vector<std::string> names;
      env_.GetChildren(directory, &names).ok();
      std::sort(names.begin(), names.end());
      for (const std::string& name : names) {
        const bool is_file = name.find(kSuffix) != std::string::npos && std::isdigit(name.front());
        if (!is_file) continue;
        files.push_back({directory + "/" + name, std::strtoull(name.c_str(), nullptr, 10)});
        uint64_t size = 0;
        env_.GetFileSize(files.back().path, &size).ok();
        progress_.total += size;
        next_file_ = std::max(next_file_, files.back().number + 1);
      }
    }
    return files;
  }

  Status TakeFiles(const std::string& to) {
    progress_.step = "reading block files";
    shelf_ = std::make_unique<BlockFileShelf>(&env_, to, ShelfCacheBytes());
    const std::vector<FoundFile> files = FindFiles();
    for (const auto& [number, info] : records_.recorded()) {
      next_file_ = std::max(next_file_, number + 1);
      const bool there = std::any_of(files.begin(), files.end(), [&, n = number](const auto& file) {
        return file.number == n;
      });
      const std::string path =
          fmt::format("{}/{:06}{}", BlockFilesDirectory(path_), number, kSuffix);
      if (!there) Lose(path, "it is missing", info);
    }
    for (const FoundFile& file : files) {
      Status done = MayGoOn();
      if (done) done = TakeFile(file.path, file.number);
      if (!done) return done;
    }
    return shelf_->SyncDirectory();
  }

  // All of a file is lost.
  void Lose(const std::string& path, std::string problem, const BlockFileInfo& info) {
    Finding finding = FindingOf(path, std::move(problem));
    finding.times = TimeRange{info.min_time, info.max_time + 1};
    finding.first_key = info.first_key;
    finding.last_key = info.last_key;
    SalvagedTable& table = report_.tables[info.table];
    finding.table = table.name;
    ++table.lost_files;
    table.lost_entries += info.entries;
    report_.findings.push_back(std::move(finding));
  }

  Status TakeFile(const std::string& path, uint64_t number) {
    if (records_.dropped().contains(number)) return {};
    const auto recorded = records_.recorded().find(number);
    const bool is_recorded = recorded != records_.recorded().end();
    if (!is_recorded && report_.base == SalvageReport::Base::kWhole) {
      report_.notes.push_back(path + " is not named by base, and left out");
      return {};
    }
    std::optional<BlockFileDescription> known;
    if (is_recorded) {
      const TableInfo* table = records_.FindTable(recorded->second.table);
      if (table == nullptr) return {};  // Of a table that was dropped.
      known = {recorded->second, *table};
    }
    Result<BlockFileCheck> file = BlockFileCheck::Open(&env_, path);
    const bool is_that = file && (!known || file->description().info == known->info);
    if (is_that) return TakeBlocks(path, *file, true);
    const std::string problem =
        file ? "it is another file than the one that base records" : file.error().message();
    Result<BlockFileCheck> parts =
        file ? std::move(file) : BlockFileCheck::Scan(&env_, path, known ? &*known : nullptr);
    // A file that says what it is needs nobody to name it.
    if (parts) {
      const BlockFileDescription& described = parts->description();
      if (known && described.info != known->info) Lose(path, problem, known->info);
      if (!known || described.info == known->info) {
        report_.findings.push_back(FindingOf(path, problem));
      }
      return TakeBlocks(path, *parts, false);
    }
    if (known) {
      Lose(path, problem, known->info);
    } else {
      report_.findings.push_back(FindingOf(path, problem + "; what it held nothing tells"));
    }
    return {};
  }

  // Without base nothing tells which files were merged into others that are there, too: of plain
  // cells that is no matter.
  void NoteAggregates(const TableInfo& table) {
    const bool any = std::ranges::any_of(table.families, [](const StoredFamily& family) {
      return family.last.aggregate.has_value();
    });
    const bool whole = report_.base == SalvageReport::Base::kWhole;
    if (!any || whole || !noted_.insert(table.id).second) return;
    report_.notes.push_back("what was added to the aggregates of " + table.name +
                            " may count twice, as base did not tell which files count");
  }

  // Those that are good. A file that is good from end to end is taken as it is.
  Status TakeBlocks(const std::string& path, const BlockFileCheck& file, bool whole) {
    const BlockFileDescription& described = file.description();
    if (taken_.contains(described.info.number)) {
      report_.notes.push_back(fmt::format("{} is file {} again", path, described.info.number));
      return {};
    }
    records_.AddTable(described.table);
    NoteAggregates(described.table);
    SalvagedTable& table = report_.tables[described.info.table];
    BlockChecker checker(described);
    std::vector<BlockPlace> good;
    std::string bytes;
    uint64_t entries = 0;
    for (const BlockPlace& place : file.index().blocks()) {
      Status checked = file.Read(place, &bytes);
      if (checked) checked = checker.Check(place, bytes);
      progress_.done += place.size;
      report_.bytes += place.size;
      if (checked) {
        good.push_back(place);
        entries += place.entries;
        continue;
      }
      Finding finding = FindingOf(path, checked.error().message());
      finding.offset = place.offset;
      finding.bytes = place.size;
      finding.table = described.table.name;
      finding.times = TimeRange{place.min_time, place.max_time + 1};
      finding.first_key = place.first_key;
      finding.last_key = place.last_key;
      report_.findings.push_back(std::move(finding));
      ++table.lost_blocks;
      whole = false;
    }
    table.blocks += good.size();
    table.entries += entries;
    table.lost_entries += std::max(described.info.entries, entries) - entries;
    table.files += good.empty() ? 0 : 1;
    table.lost_files += good.empty() ? 1 : 0;
    if (good.empty()) return {};
    taken_.insert(described.info.number);
    if (!whole) return CopyBlocks(file, good);
    const Status moved =
        LinkOrCopy(&env_, path, shelf_->PathOf(described.info.number), &progress_, &report_.files);
    if (!moved) return moved;
    records_.AddFile(described.info);
    return {};
  }

  Status CopyBlocks(const BlockFileCheck& file, const std::vector<BlockPlace>& good) {
    BlockFileInfo info = file.description().info;
    info.number = next_file_++;
    BlockFileWriter writer(shelf_.get(),
                           std::make_shared<const TableInfo>(file.description().table), info);
    std::string bytes;
    ColumnBlock block;
    for (const BlockPlace& place : good) {
      Status done = file.Read(place, &bytes);
      if (done) done = block.Open(std::string_view(bytes).substr(0, place.head_size));
      if (!done) return done;
      const auto [least, greatest] = std::ranges::minmax(block.sequences());
      done = writer.AddBlock(place, bytes, least, greatest);
      if (!done) return done;
    }
    Status done = writer.Complete();
    if (done) done = writer.Sync();
    if (done) records_.AddFile(writer.Finish()->info());
    return done;
  }

  Status WriteRecords(StoreBuilder* builder) {
    progress_.step = "writing records";
    records_.Resolve();
    Status done;
    const size_t heads = std::max<size_t>(records_.heads(), 1);  // A store has one at least.
    for (size_t i = 0; done && i < heads; ++i) {
      done = builder->Write(i + 1, [&](const StoreBuilder::Put& put) {
        return i < records_.heads() ? records_.PutHead(i, put) : Status();
      });
    }
    if (!done) return done;
    return builder->Write(StoreBuilder::kBase,
                          [&](const StoreBuilder::Put& put) { return records_.PutBase(put); });
  }

  Status Verify() {
    progress_.step = "verifying what was made";
    progress_.done = 0;
    progress_.total = 0;
    VerifyOptions options;
    options.storage = target_;
    options.take_lock = false;  // It would take the builder's, and give it back.
    options.progress = &progress_;
    Result<VerifyReport> made = VerifyStore(options);
    if (!made) return made.error();
    report_.made = std::move(*made);
    for (auto& [id, table] : report_.tables) table.rows = report_.made.tables[id].rows;
    return {};
  }

  const SalvageOptions& options_;
  const std::string path_;
  ToolProgress& progress_;
  StorageConfig target_;
  DurableEnv env_;
  std::unique_ptr<BlockFileShelf> shelf_;  // Of the new store.
  uint64_t next_file_ = 1;
  std::set<uint64_t> taken_;  // Numbers of files.
  std::set<TableId> noted_;
  SalvageReport report_;
  SalvagedRecords records_;
};

}  // namespace

Result<SalvageReport> Salvage(const SalvageOptions& options) { return Salvager(options).Run(); }

}  // namespace tallyd
