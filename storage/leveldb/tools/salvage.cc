#include "storage/leveldb/tools/salvage.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/codec/meta_codec.h"
#include "storage/leveldb/env/overlay_env.h"
#include "storage/leveldb/env/status.h"
#include "storage/leveldb/env/wal_check.h"
#include "storage/leveldb/files/block_file.h"
#include "storage/leveldb/files/file_sweep.h"
#include "storage/leveldb/files/stray_file.h"
#include "storage/leveldb/files/stray_head.h"
#include "storage/leveldb/files/view.h"
#include "storage/leveldb/tools/block_check.h"
#include "storage/leveldb/tools/level_files.h"
#include "storage/leveldb/tools/lost_heads.h"
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
    builder_ = &builder;
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
    if (IsWithin(to, from) || IsWithin(from, to)) {
      return Error(ErrorCode::kConflict,
                   fmt::format("{} and {} lie in each other", options_.to, path_));
    }
    for (const char* part : {"CURRENT", "heads", "blocks"}) {
      const Result<bool> is_there = Exists(path_ + "/" + part);
      if (!is_there) return is_there.error();
      if (*is_there) return {};
    }
    const Result<LevelFileNames> files = ListLevelFiles(const_cast<DurableEnv*>(&env_), path_);
    if (!files && files.error().code() != ErrorCode::kNotFound) return files.error();
    if (files && (!files->logs.empty() || !files->tables.empty())) return {};
    return Error(ErrorCode::kNotFound, "there is nothing of a store in " + path_);
  }

  void ReadLevels() {
    progress_.step = "reading records";
    std::vector<Finding>* const findings = &report_.findings;
    records_.TakeBase(path_, ReadLevel(&env_, path_, Sync::kAlways, findings));
    const bool base_is_whole = report_.base == SalvageReport::Base::kWhole;
    // Whether the next head was there before it could be used; that of no table need not be.
    bool must_be_made = !base_is_whole || records_.base_is_used();
    FoundHeads found;
    if (base_is_whole && records_.base_is_used()) found.first = records_.sealed_head() + 1;
    const std::string directory = HeadsDirectory(path_);
    const Result<std::vector<uint64_t>> heads = ListHeads(&env_, directory);
    if (!heads) return findings->push_back(FindingOf(directory, heads.error().message()));
    for (const uint64_t head : *heads) {
      if (head <= records_.sealed_head()) {
        sealed_heads_.push_back(head);
        continue;
      }
      found.numbers.push_back(head);
      const std::string path = HeadPath(directory, head);
      if (head == heads->back() && !must_be_made && IsUnmade(path)) break;
      LevelRecords records = ReadLevel(&env_, path, options_.storage.sync, findings);
      if (records.records.contains(MetaKey(MetaKind::kClosedHead))) found.closed.insert(head);
      must_be_made = !records.whole || found.closed.contains(head);
      records_.TakeHead(path, head, std::move(records));
    }
    const LostHeads lost = FindLostHeads(&env_, directory, options_.storage.sync, found);
    report_.heads += lost.missing;
    report_.damaged_heads += lost.findings.size();
    findings->insert(findings->end(), lost.findings.begin(), lost.findings.end());
    if (records_.HasEntriesWithoutBase()) BaseIsGone();
  }

  // Base can be read, and is none of a store that holds something.
  void BaseIsGone() {
    if (report_.base != SalvageReport::Base::kWhole) return;
    report_.base = SalvageReport::Base::kGone;
    report_.findings.push_back(
        FindingOf(path_,
                  "base knows no table, beside heads or block files that hold something: it "
                  "is empty, and what it held is lost"));
  }

  // A crash while a head is made leaves this; a start makes it anew (files/opener.h).
  bool IsUnmade(const std::string& path) {
    const Result<WalCheck> logs = CheckWriteAheadLogs(&env_, path, options_.storage.sync);
    return logs && !logs->exists;
  }

  using FileId = std::pair<uint64_t, uint64_t>;  // Number and checksum.

  struct FoundFile {
    std::string path;
    uint64_t number = 0;
    bool is_named = false;  // Base has a record of its number.
    // What it says of itself, where it can be read.
    std::optional<BlockFileDescription> description;
  };

  // Those of the store; where base does not tell what counts, also what a start has put aside. What
  // cannot be listed is no empty directory.
  std::vector<FoundFile> FindFiles() {
    std::vector<FoundFile> files;
    const bool knows = report_.base == SalvageReport::Base::kWhole && records_.base_is_used();
    for (const std::string& directory : {BlockFilesDirectory(path_), LostDirectory(path_)}) {
      std::vector<std::string> names;
      const Status listed = FromLevelDb(env_.GetChildren(directory, &names));
      if (!listed && listed.error().code() != ErrorCode::kNotFound) {
        report_.findings.push_back(FindingOf(directory, listed.error().message()));
      }
      std::sort(names.begin(), names.end());
      const bool is_lost = directory == LostDirectory(path_);
      for (const std::string& name : names) {
        const std::optional<LostName> parsed = ParseLostName(name);
        const std::string path = directory + "/" + name;
        if (is_lost && parsed && parsed->kind == LostName::Kind::kHead) {
          lost_heads_.emplace_back(path, parsed->number);
        } else if (parsed && parsed->kind == LostName::Kind::kBlockFile) {
          (is_lost && knows ? lost_ : files).push_back(LookAt(path));
        }
      }
    }
    return files;
  }

  FoundFile LookAt(const std::string& path) {
    FoundFile file;
    file.path = path;
    file.number = std::strtoull(path.c_str() + path.rfind('/') + 1, nullptr, 10);
    file.is_named =
        path.starts_with(BlockFilesDirectory(path_)) && records_.recorded().contains(file.number);
    next_file_ = std::max(next_file_, file.number + 1);
    const Result<BlockFileCheck> opened = BlockFileCheck::Open(&env_, path);
    if (opened) {
      file.description = opened->description();
      progress_.total += opened->description().info.bytes;
    }
    return file;
  }

  // Base, or else the heads, say which store it is; else, and beside a base that is new and knows
  // the tables of the files alike, most of the files.
  void ChooseStore(const std::vector<FoundFile>& files) {
    const bool is_known = !records_.store().empty();
    if (is_known && !(records_.AreNew() && std::ranges::all_of(files, [&](const FoundFile& file) {
          return !file.description || IsKnownAlike(file.description->table);
        }))) {
      return;
    }
    std::map<std::string, size_t> votes;
    for (const FoundFile& file : files) {
      if (file.description && !file.description->origin.store.empty()) {
        ++votes[file.description->origin.store];
      }
    }
    const auto most = std::ranges::max_element(
        votes, [](const auto& one, const auto& other) { return one.second < other.second; });
    if (most != votes.end()) {
      records_.SetStore(most->first);
    } else if (!is_known) {
      records_.SetStore(NewStoreId());
    }
  }

  // Whether base knows no table of that id, or the same one.
  bool IsKnownAlike(const TableInfo& table) const {
    const TableInfo* const known = records_.FindTable(table.id);
    return known == nullptr ||
           (known->name == table.name && known->row_key == table.row_key &&
            known->mode == table.mode &&
            std::ranges::equal(known->families, table.families, {}, &StoredFamily::name,
                               &StoredFamily::name));
  }

  Status TakeFiles(const std::string& to) {
    progress_.step = "reading block files";
    std::vector<FoundFile> files = FindFiles();
    if (!files.empty() && !records_.base_is_used()) BaseIsGone();
    ChooseStore(files);
    shelf_ = std::make_unique<BlockFileShelf>(&env_, to, ShelfCacheBytes());
    shelf_->SetStore(records_.store());
    LeaveOut(&files);
    JudgeSealedHeads();
    for (const auto& [number, info] : records_.recorded()) {
      next_file_ = std::max(next_file_, number + 1);
      const bool there = std::any_of(files.begin(), files.end(), [&, n = number](const auto& file) {
        return file.number == n;
      });
      const std::string path =
          fmt::format("{}/{:06}{}", BlockFilesDirectory(path_), number, kSuffix);
      if (!there && !superseded_.contains({number, info.checksum})) {
        Lose(path, "it is missing", info);
      }
    }
    for (const FoundFile& file : files) {
      Status done = MayGoOn();
      if (done) done = TakeFile(file);
      if (!done) return done;
    }
    return FromLevelDb(env_.SyncDirectory(to));
  }

  // What is in them is in files, if they are the ones that were sealed.
  void JudgeSealedHeads() {
    BlockFileShelf shelf(&env_, BlockFilesDirectory(path_), ShelfCacheBytes());
    FilesOnRecord record;
    record.store = records_.store();
    record.head_notes = records_.head_notes();
    for (const auto& [number, info] : records_.recorded()) {
      record.files.push_back(std::make_shared<const BlockFile>(&shelf, info));
    }
    std::vector<std::pair<std::string, uint64_t>> heads = lost_heads_;
    for (const uint64_t number : sealed_heads_) {
      heads.emplace_back(HeadPath(HeadsDirectory(path_), number), number);
    }
    for (const auto& [path, number] : heads) {
      const Result<StrayHead> head = JudgeHead(&env_, path, number, record, any_missing_);
      if (head && head->may_go) continue;
      report_.findings.push_back(
          FindingOf(path, head ? "base calls it sealed, and it may be the only copy of what it "
                                 "holds: " + head->reason + ": it is left out"
                               : head.error().message()));
    }
  }

  // What other files or heads have as well would count twice where it adds up.
  void LeaveOut(std::vector<FoundFile>* files) {
    std::map<FileId, const FoundFile*> there;
    const std::vector<FoundFile> all = *files;
    any_missing_ = std::ranges::any_of(records_.recorded(), [&](const auto& recorded) {
      return std::ranges::find(all, recorded.first, &FoundFile::number) == all.end();
    });
    for (const FoundFile& file : all) {
      if (file.description) there.emplace(IdOf(file.description->info), &file);
    }
    for (const FoundFile& file : lost_) TellOfLost(file, there);
    std::erase_if(*files, [&](const FoundFile& file) {
      const bool left_out = !file.is_named && file.description && IsLeftOut(file, there);
      if (left_out) there.erase(IdOf(file.description->info));
      return left_out;
    });
    for (const FoundFile& file : *files) {
      if (file.is_named || !file.description || !IsWhole(file)) continue;
      for (const FileSource& source : file.description->origin.sources) {
        if (source.kind != FileSource::Kind::kFile) continue;
        superseded_.insert({source.number, source.checksum});
      }
    }
    std::erase_if(*files, [&](const FoundFile& file) {
      return file.description && superseded_.contains(IdOf(file.description->info));
    });
  }

  // What a start has put aside is not taken where base tells what counts: it may have been merged
  // into what base names, and deleted there, since. Whoever wants it moves it to blocks/.
  void TellOfLost(const FoundFile& file, const std::map<FileId, const FoundFile*>& there) {
    if (!file.description ? !MayTakeDamaged(file) : IsLeftOut(file, there)) return;
    report_.findings.push_back(
        FindingOf(file.path,
                  "a start has put it aside, and it may be the only copy of what it holds: it is "
                  "left out; what is moved to blocks/ is taken"));
  }

  static FileId IdOf(const BlockFileInfo& info) { return {info.number, info.checksum}; }

  bool IsLeftOut(const FoundFile& file, const std::map<FileId, const FoundFile*>& there) {
    const FileOrigin& origin = file.description->origin;
    const auto dropped = records_.dropped().find(file.number);
    // What took its place may be gone.
    if (dropped != records_.dropped().end() && !any_missing_ &&
        dropped->second.value_or(file.description->info.checksum) ==
            file.description->info.checksum) {
      return true;
    }
    const auto same = records_.recorded().find(file.description->info.number);
    if (same != records_.recorded().end() && there.contains(IdOf(same->second)) &&
        IdOf(same->second) == IdOf(file.description->info)) {
      report_.notes.push_back(fmt::format("{} is file {} again", file.path, same->first));
      return true;
    }
    if (!origin.store.empty() && origin.store != records_.store()) {
      report_.findings.push_back(FindingOf(
          file.path, "it is of the store " + HexOfStoreId(origin.store) + ": it is left out"));
      return true;
    }
    const bool is_elsewhere = !origin.sources.empty() &&
                              std::ranges::all_of(origin.sources, [&](const FileSource& source) {
                                return source.kind == FileSource::Kind::kHead
                                           ? records_.ChecksumOf(source.number) == source.checksum
                                           : IsWholeThere({source.number, source.checksum}, there);
                              });
    if (is_elsewhere) {
      report_.notes.push_back(file.path +
                              " is not named by base, and what it was made of is "
                              "there: it is left out");
    }
    return is_elsewhere;
  }

  bool IsWholeThere(const FileId& id, const std::map<FileId, const FoundFile*>& there) {
    const auto found = there.find(id);
    return found != there.end() && IsWhole(*found->second);
  }
  // To the byte what it was when it was made.
  bool IsWhole(const FoundFile& file) {
    const Result<BlockFileCheck> opened = BlockFileCheck::Open(&env_, file.path);
    if (!opened || !opened->description().content) return false;
    ContentChecksum content;
    std::string bytes;
    for (const BlockPlace& place : opened->index().blocks()) {
      if (!opened->Read(place, &bytes)) return false;
      content.Add(bytes);
    }
    return content.Get() == *opened->description().content;
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

  Status TakeFile(const FoundFile& found) {
    const std::string& path = found.path;
    const auto recorded = records_.recorded().find(found.number);
    const bool is_recorded = found.is_named;
    if (!is_recorded && report_.base == SalvageReport::Base::kWhole && !MayTakeUnnamed(found)) {
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
      const std::string& store = described.origin.store;
      if (!store.empty() && store != records_.store()) return {};  // Told by now.
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

  static bool AddsUp(const TableInfo& table) {
    return std::ranges::any_of(table.families, [](const StoredFamily& family) {
      return family.last.aggregate.has_value();
    });
  }

  bool MayTakeDamaged(const FoundFile& found) {
    const FilesOnRecord nothing;
    const Result<StrayFile> stray = StrayJudge(&env_, &nothing).Judge(found.path, found.number);
    const bool is_incomplete = stray && stray->kind == StrayFile::Kind::kIncomplete;
    if (is_incomplete) {
      report_.notes.push_back(found.path + " is not named by base, and was not completed");
    } else if (!stray) {
      report_.findings.push_back(FindingOf(found.path, stray.error().message()));
    }
    return stray && !is_incomplete;
  }

  // Base is older than the file, or lost its record. An old one does not say what it was made of:
  // where that is there, too, it would count twice.
  bool MayTakeUnnamed(const FoundFile& found) {
    if (!found.description) return MayTakeDamaged(found);
    const bool may_count_twice = !found.description->content && AddsUp(found.description->table);
    report_.findings.push_back(FindingOf(
        found.path, may_count_twice
                        ? "base does not name it: it is left out, as it may count twice"
                        : "base does not name it, so base is older, or lost its record: it is "
                          "taken by what it says of itself"));
    return !may_count_twice;
  }

  // Without base nothing tells which files were merged into others that are there, too, where they
  // do not say so themselves: of plain cells that is no matter. A head that is not as it was when
  // the file was made of it may have a part of it.
  void NoteAggregates(const BlockFileDescription& described) {
    const TableInfo& table = described.table;
    const bool whole = report_.base == SalvageReport::Base::kWhole;
    const bool has_part = std::ranges::any_of(described.origin.sources, [&](const auto& source) {
      return source.kind == FileSource::Kind::kHead && records_.ChecksumOf(source.number);
    });
    const bool is_known = described.content && !has_part;
    if (!AddsUp(table) || is_known || (whole && !has_part)) return;
    if (!noted_.insert(table.id).second) return;
    report_.notes.push_back("what was added to the aggregates of " + table.name +
                            " may count twice, as base did not tell which files count");
  }

  // Those that are good. A file that is good from end to end is taken as it is.
  Status TakeBlocks(const std::string& path, const BlockFileCheck& file, bool whole) {
    const BlockFileDescription& described = file.description();
    const auto again = taken_.find(described.info.number);
    if (again != taken_.end() && again->second == described.info.checksum) {
      report_.notes.push_back(fmt::format("{} is file {} again", path, described.info.number));
      return {};
    }
    records_.AddTable(described.table);
    NoteAggregates(described);
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
    const Status sums = whole ? checker.CheckSums() : Status();
    if (!sums) report_.findings.push_back(FindingOf(path, sums.error().message()));
    whole = whole && sums;
    table.blocks += good.size();
    table.entries += entries;
    table.lost_entries += std::max(described.info.entries, entries) - entries;
    table.files += good.empty() ? 0 : 1;
    table.lost_files += good.empty() ? 1 : 0;
    if (good.empty()) return {};
    const bool is_free = taken_.emplace(described.info.number, described.info.checksum).second;
    if (!whole || !is_free) return CopyBlocks(file, good);
    const Status moved =
        builder_->Bring(path, shelf_->PathOf(described.info.number), &progress_, &report_.files);
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
  StoreBuilder* builder_ = nullptr;
  std::unique_ptr<BlockFileShelf> shelf_;  // Of the new store.
  uint64_t next_file_ = 1;
  std::vector<uint64_t> sealed_heads_;  // By base, and still there.
  // What a start has put aside: files, where base tells what counts, and heads with their numbers.
  std::vector<FoundFile> lost_;
  std::vector<std::pair<std::string, uint64_t>> lost_heads_;
  std::map<uint64_t, uint64_t> taken_;  // Checksums of files, by number.
  // Files whose contents are in others that are taken.
  std::set<FileId> superseded_;
  bool any_missing_ = false;  // Of the files that base names.
  std::set<TableId> noted_;
  SalvageReport report_;
  SalvagedRecords records_;
};

}  // namespace

Result<SalvageReport> Salvage(const SalvageOptions& options) { return Salvager(options).Run(); }

}  // namespace tallyd
