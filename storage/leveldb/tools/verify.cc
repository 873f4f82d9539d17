#include "storage/leveldb/tools/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/codec/meta_codec.h"
#include "storage/leveldb/commit/engine_state.h"
#include "storage/leveldb/env/durable_env.h"
#include "storage/leveldb/env/marked_env.h"
#include "storage/leveldb/env/overlay_env.h"
#include "storage/leveldb/env/status.h"
#include "storage/leveldb/env/wal_check.h"
#include "storage/leveldb/files/file_sweep.h"
#include "storage/leveldb/files/stray_file.h"
#include "storage/leveldb/files/stray_head.h"
#include "storage/leveldb/read/entry_source.h"
#include "storage/leveldb/read/table_scan.h"
#include "storage/leveldb/tools/block_check.h"
#include "storage/leveldb/tools/level_files.h"

namespace tallyd {
namespace {

constexpr std::string_view kSuffix = ".blocks";

class Verifier {
 public:
  explicit Verifier(const VerifyOptions& options)
      : options_(options),
        path_(options.storage.path),
        durable_({[](double) {}, [] {}}),
        env_(&durable_) {}

  Result<VerifyReport> Run() {
    const auto start = std::chrono::steady_clock::now();
    const Status there = CheckThere();
    if (!there) return there.error();
    const Status locked = options_.take_lock ? env_.Lock(path_) : Status();
    if (!locked) return locked.error();
    Step("reading the records of what is not sealed");
    CheckLevels(path_);
    if (auto finding = FindNoNotes(path_)) Add(std::move(*finding));
    Result<std::vector<uint64_t>> heads = ListHeads(&env_, HeadsDirectory(path_));
    if (!heads) Add(FindingOf(HeadsDirectory(path_), heads.error().message()));
    std::map<uint64_t, Finding> without_notes;
    if (heads) {
      for (const uint64_t head : *heads) {
        CheckLevels(HeadPath(head));
        if (auto finding = FindNoNotes(HeadPath(head))) without_notes[head] = std::move(*finding);
      }
    }
    OpenStore();
    // One that base calls sealed may be half removed.
    const uint64_t sealed = store_ ? store_->on_record().sealed_head : 0;
    for (auto& [head, finding] : without_notes) {
      if (head > sealed) Add(std::move(finding));
    }
    if (store_) CheckHeads();
    Step("reading block files");
    CheckFiles();
    if (store_ && options_.also && !Stopped()) options_.also(store_.get(), &report_);
    if (Stopped()) return Error(ErrorCode::kCancelled, "it was stopped");
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    report_.seconds = took.count();
    return std::move(report_);
  }

 private:
  std::string HeadPath(uint64_t number) const {
    return fmt::format("{}/{:06}", HeadsDirectory(path_), number);
  }
  void Step(const char* step) {
    if (options_.progress != nullptr) options_.progress->step = step;
  }
  void Count(uint64_t bytes) {
    if (options_.progress != nullptr) options_.progress->done += bytes;
  }
  bool Stopped() const { return options_.progress != nullptr && options_.progress->stop; }

  // What cannot be looked at is not absent.
  Status CheckThere() const {
    for (const char* part : {"/CURRENT", "/blocks", "/heads"}) {
      const Result<bool> is_there = Exists(path_ + part);
      if (!is_there) return is_there.error();
      if (*is_there) return {};
    }
    return Error(ErrorCode::kNotFound, "there is no store in " + path_);
  }

  // The files of one LevelDB.
  void CheckLevels(const std::string& directory) {
    Result<LevelFileNames> files = ListLevelFiles(&env_, directory);
    if (!files) {
      report_.findings.push_back(FindingOf(directory, files.error().message()));
      return;
    }
    for (const std::string& table : files->tables) {
      ReadTableFile(
          &env_, table, [](const LevelChange&) {}, &report_.findings);
    }
    files->tables.insert(files->tables.end(), files->logs.begin(), files->logs.end());
    for (const std::string& file : files->tables) {
      uint64_t size = 0;
      const Status sized = FromLevelDb(env_.GetFileSize(file, &size));
      if (!sized) report_.findings.push_back(FindingOf(file, sized.error().message()));
      report_.bytes += size;
    }
  }

  // Of what is written to: without a note of what was synced, a log that lost its end passes for
  // one that a crash cut. A LevelDB has one before it has its CURRENT.
  std::optional<Finding> FindNoNotes(const std::string& directory) {
    const Result<bool> is_there = Exists(directory + "/CURRENT");
    if (!is_there) return FindingOf(directory + "/CURRENT", is_there.error().message());
    if (!*is_there) return std::nullopt;
    const Result<SyncedNotes> notes = SyncedNotes::Read(&env_, directory);
    if (notes && notes->known()) return std::nullopt;
    const std::string file = directory + "/" + std::string(kSyncedName);
    return FindingOf(file, notes ? "it is missing, or no note in it is whole: whether the end of a "
                                   "log beside it is missing cannot be told"
                                 : notes.error().message());
  }

  void OpenStore() {
    Result<std::unique_ptr<OpenedStore>> store = OpenedStore::Open(options_.storage, &env_);
    env_.Freeze();
    if (!store) {
      report_.findings.push_back(FindingOf(path_, store.error().message()));
      return;
    }
    store_ = std::move(*store);
    const ViewPtr view = store_->database().view();
    report_.heads = view->heads.size();
    for (const TablePtr& table : store_->state().catalogue.Tables()) {
      VerifiedTable& verified = report_.tables[table->id];
      verified.name = table->name;
      verified.mode = table->mode;
      verified.rows = store_->state().latest.RowsOf(table->id);
      tables_[table->id] = table;
    }
    for (const auto& [table, files] : view->files) {
      for (const BlockFilePtr& file : *files) {
        recorded_.emplace(file->info().number, file->info());
      }
    }
    for (const auto& deleted : view->AllDeletes()) {
      if (deleted->sequence <= store_->state().last_sequence) continue;
      report_.findings.push_back(FindingOf(path_, "a delete has a sequence that no commit had"));
    }
  }

  // Every entry of every table that there is.
  void CheckHeads() {
    const ViewPtr view = store_->database().view();
    for (const auto& head : view->heads) {
      const auto iterator = head->NewIterator();
      for (const auto& [id, table] : tables_) {
        HeadSource source(id, store_->state().sets);
        source.Use(iterator.get());
        const Status read = CheckHead(&source, &report_.tables[id].unsealed_entries);
        if (read) continue;
        Finding damage = FindingOf(HeadPath(head->number()), read.error().message());
        damage.table = table->name;
        report_.findings.push_back(std::move(damage));
      }
    }
  }

  static Status CheckHead(HeadSource* source, uint64_t* entries) {
    WholeEntry entry;
    Status read = source->SeekRow({});
    for (; read && source->valid(); read = source->Next()) {
      const Status whole = source->Read(&entry);
      if (!whole) return whole;
      ++*entries;
    }
    return read;
  }

  // Those that base names, and those that are there: the two should be the same.
  void CheckFiles() {
    const std::string directory = BlockFilesDirectory(path_);
    const BlockFileShelf shelf(&env_, directory, ShelfCacheBytes());
    std::vector<std::string> names;
    const Status listed = FromLevelDb(env_.GetChildren(directory, &names));
    if (!listed) Add(FindingOf(directory, listed.error().message()));
    for (const std::string& name : names) {
      if (name == "." || name == "..") continue;
      const std::optional<uint64_t> number = NumberOfBlockFile(shelf, name);
      if (!number) {
        report_.notes.push_back(fmt::format("{}/{} is no block file", directory, name));
        continue;
      }
      FileToCheck file;
      file.path = directory + "/" + name;
      file.number = *number;
      const Status sized = FromLevelDb(env_.GetFileSize(file.path, &file.bytes));
      if (!sized) Add(FindingOf(file.path, sized.error().message()));
      files_.push_back(std::move(file));
    }
    for (const auto& [number, info] : recorded_) {
      const bool there = std::any_of(files_.begin(), files_.end(),
                                     [&](const auto& file) { return file.number == number; });
      if (there) continue;
      Finding missing = FindingOf(fmt::format("{}/{:06}{}", directory, number, kSuffix),
                                  "it is missing, and base names it");
      Describe(info, &missing);
      Add(std::move(missing));
      any_missing_ = true;
    }
    ReadFiles();
    JudgeStrays();
    JudgeHeads();
    JudgeLost();
  }

  struct FileToCheck {
    std::string path;
    uint64_t number = 0;
    uint64_t bytes = 0;
  };

  void ReadFiles() {
    if (options_.progress != nullptr) {
      for (const FileToCheck& file : files_) options_.progress->total += file.bytes;
    }
    std::sort(files_.begin(), files_.end(),
              [](const auto& a, const auto& b) { return a.number < b.number; });
    std::atomic<size_t> next{0};
    const auto work = [&] {
      for (size_t i = next++; i < files_.size() && !Stopped(); i = next++) CheckFile(files_[i]);
    };
    std::vector<std::thread> threads;
    for (unsigned i = 1; i < options_.threads; ++i) threads.emplace_back(work);
    work();
    for (std::thread& thread : threads) thread.join();
    std::sort(report_.findings.begin(), report_.findings.end(), [](const auto& a, const auto& b) {
      return std::tie(a.file, a.offset) < std::tie(b.file, b.offset);
    });
  }

  // Of one of the reading threads.
  void CheckFile(const FileToCheck& file) {
    const auto recorded = recorded_.find(file.number);
    Result<BlockFileCheck> opened = BlockFileCheck::Open(&env_, file.path);
    if (recorded == recorded_.end()) {
      // Base does not open: the file is read by what it says itself.
      if (store_) return;  // JudgeStrays, when all others are read.
      if (!opened) return Add(FindingOf(file.path, opened.error().message()));
      return CheckBlocks(file.path, *opened);
    }
    const BlockFileInfo& info = recorded->second;
    std::string problem;
    if (!opened) {
      problem = opened.error().message();
    } else if (opened->description().info != info) {
      const BlockFileInfo& other = opened->description().info;
      problem = other.number == info.number && other.table == info.table
                    ? "it is another file than the one that base records"
                    : fmt::format("it is file {} of table {}", other.number, other.table);
    } else if (const std::string& of = opened->description().origin.store;
               !of.empty() && of != store_->on_record().store) {
      problem = "it is of the store " + HexOfStoreId(of);
    }
    if (problem.empty()) return CheckBlocks(file.path, *opened);
    Finding damage = FindingOf(file.path, std::move(problem));
    Describe(info, &damage);
    const std::lock_guard lock(mutex_);
    ++report_.tables[info.table].damaged_blocks;
    report_.findings.push_back(std::move(damage));
  }

  // Those that base does not name: what a start would make of them. What may be the only copy of
  // something is no rest of a crash: base is older, or lost a record.
  void JudgeStrays() {
    if (!store_) return;
    StrayJudge judge(&env_, &store_->on_record(), any_missing_);
    for (const FileToCheck& file : files_) {
      if (recorded_.contains(file.number) || Stopped()) continue;
      const Result<StrayFile> stray = judge.Judge(file.path, file.number);
      if (!stray) {
        Add(FindingOf(file.path, stray.error().message()));
        continue;
      }
      if (stray->kind == StrayFile::Kind::kOnlyCopy) {
        Finding finding = FindingOf(
            file.path, fmt::format("base does not name it, and it may be the only copy of what it "
                                   "holds: {}; the next start moves it to lost/",
                                   stray->reason));
        if (stray->description) Describe(stray->description->info, &finding);
        Add(std::move(finding));
        continue;
      }
      report_.notes.push_back(file.path + NoteOf(stray->kind));
    }
  }

  // Those that base calls sealed, as a start judges them.
  void JudgeHeads() {
    const Result<std::vector<uint64_t>> heads = ListHeads(&env_, HeadsDirectory(path_));
    if (!heads) Add(FindingOf(HeadsDirectory(path_), heads.error().message()));
    if (!store_ || !heads) return;
    for (const uint64_t number : *heads) {
      if (number > store_->on_record().sealed_head || Stopped()) return;
      const std::string path = HeadPath(number);
      const Result<StrayHead> head =
          JudgeHead(&durable_, path, number, store_->on_record(), any_missing_);
      if (!head) {
        Add(FindingOf(path, head.error().message()));
      } else if (head->may_go) {
        report_.notes.push_back(path +
                                " was sealed, as before a crash, and all of it is elsewhere: the "
                                "next start removes it");
      } else {
        Add(FindingOf(path, fmt::format("base calls it sealed, and it may be the only copy of what "
                                        "it holds: {}; the next start moves it to lost/",
                                        head->reason)));
      }
    }
  }

  // What a start has put aside, as it would judge it now: what may be the only copy of something is
  // so until somebody has moved or removed it.
  void JudgeLost() {
    const std::string directory = LostDirectory(path_);
    std::vector<std::string> names;
    const Status listed = FromLevelDb(env_.GetChildren(directory, &names));
    if (!listed && listed.error().code() != ErrorCode::kNotFound) {
      return Add(FindingOf(directory, listed.error().message()));
    }
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      if (name == "." || name == ".." || Stopped()) continue;
      JudgeLost(directory + "/" + name, ParseLostName(name));
    }
  }

  void JudgeLost(const std::string& path, const std::optional<LostName>& lost) {
    if (!lost) return report_.notes.push_back(path + " is no block file or head");
    const Result<std::string> reason =
        store_ ? ReasonToKeep(path, *lost) : Result<std::string>(std::string("base does not open"));
    if (!reason) return Add(FindingOf(path, reason.error().message()));
    if (reason->empty()) {
      return report_.notes.push_back(path + " is of no use: all of it is elsewhere");
    }
    Add(FindingOf(path, fmt::format("a start has put it aside, and it may be the only copy of what "
                                    "it holds: {}",
                                    *reason)));
  }

  // Empty: all of it is elsewhere, or it was never completed.
  Result<std::string> ReasonToKeep(const std::string& path, const LostName& lost) {
    const FilesOnRecord& record = store_->on_record();
    if (lost.kind == LostName::Kind::kHead) {
      const Result<StrayHead> head = JudgeHead(&durable_, path, lost.number, record, any_missing_);
      if (!head) return head.error();
      return head->may_go ? std::string() : head->reason;
    }
    const Result<StrayFile> file =
        StrayJudge(&env_, &record, any_missing_).Judge(path, lost.number);
    if (!file) return file.error();
    return file->kind == StrayFile::Kind::kOnlyCopy ? file->reason : std::string();
  }

  static const char* NoteOf(StrayFile::Kind kind) {
    switch (kind) {
      case StrayFile::Kind::kIncomplete:
        return " was not completed, as a crash leaves it: the next start removes it";
      case StrayFile::Kind::kElsewhere:
        return " is not named by base, as after a crash, and all of it is elsewhere: the next "
               "start "
               "removes it";
      case StrayFile::Kind::kCopy:
      case StrayFile::Kind::kOnlyCopy:
        break;
    }
    return " is a copy of a file that base names: the next start moves it to lost/";
  }

  void CheckBlocks(const std::string& path, const BlockFileCheck& file) {
    const BlockFileInfo& info = file.description().info;
    const TableInfo& described = file.description().table;
    BlockChecker checker(file.description());
    VerifiedTable counts;
    std::vector<Finding> findings;
    std::string bytes;
    for (const BlockPlace& place : file.index().blocks()) {
      if (Stopped()) return;
      Status checked = file.Read(place, &bytes);
      if (checked) checked = checker.Check(place, bytes);
      Count(place.size);
      ++counts.blocks;
      if (checked) continue;
      ++counts.damaged_blocks;
      Finding damage = FindingOf(path, checked.error().message());
      damage.offset = place.offset;
      damage.bytes = place.size;
      damage.times = TimeRange{place.min_time, place.max_time + 1};
      damage.first_key = place.first_key;
      damage.last_key = place.last_key;
      damage.table = described.name;
      findings.push_back(std::move(damage));
    }
    const Status sums = findings.empty() ? checker.CheckSums() : Status();
    if (!sums) {
      findings.push_back(FindingOf(path, sums.error().message()));
      Describe(info, &findings.back());
    }
    const std::lock_guard lock(mutex_);
    VerifiedTable& table = report_.tables[info.table];
    if (table.name.empty()) table.name = described.name;
    ++table.files;
    table.blocks += counts.blocks;
    table.damaged_blocks += counts.damaged_blocks;
    table.sealed_entries += info.entries;
    table.bytes += info.bytes;
    report_.bytes += info.bytes;
    report_.findings.insert(report_.findings.end(), findings.begin(), findings.end());
  }

  void Describe(const BlockFileInfo& info, Finding* finding) const {
    finding->times = TimeRange{info.min_time, info.max_time + 1};
    finding->first_key = info.first_key;
    finding->last_key = info.last_key;
    const auto table = tables_.find(info.table);
    finding->table = table == tables_.end() ? fmt::format("{}", info.table) : table->second->name;
  }

  void Add(Finding finding) {
    const std::lock_guard lock(mutex_);
    report_.findings.push_back(std::move(finding));
  }

  const VerifyOptions& options_;
  const std::string path_;
  DurableEnv durable_;
  OverlayEnv env_;
  std::unique_ptr<OpenedStore> store_;  // Null: it does not open.
  std::map<TableId, TablePtr> tables_;
  std::map<uint64_t, BlockFileInfo> recorded_;  // By base.
  bool any_missing_ = false;                    // Of what base records.
  std::vector<FileToCheck> files_;

  std::mutex mutex_;  // Between the reading threads.
  VerifyReport report_;
};

}  // namespace

Result<VerifyReport> VerifyStore(const VerifyOptions& options) { return Verifier(options).Run(); }

Result<std::unique_ptr<OpenedStore>> OpenedStore::Open(const StorageConfig& config, StoreEnv* env) {
  std::unique_ptr<OpenedStore> store(new OpenedStore(config, env));
  const Status opened = store->database_.Open(config.write_buffer);
  if (!opened) return opened.error();
  const Result<LoadedView> loaded = LoadEngineState(&store->database_, &store->state_);
  if (!loaded) return loaded.error();
  store->database_.AdmitReaders(loaded->files, loaded->deletes);
  store->on_record_ = RecordOf(*loaded, &store->database_);
  return store;
}

Status OpenedStore::Adopt(const Schema& schema) {
  EnginePast past(&database_, &state_, 0);
  Result<Catalogue::Plan> plan = state_.catalogue.PlanAdopt(schema, &past);
  if (!plan) return plan.error();
  state_.catalogue.Publish(std::move(*plan));
  return {};
}

Result<std::unique_ptr<RowScan>> OpenedStore::Scan(const TablePtr& table, const ScanSpec& spec) {
  if (table->mode != TableMode::kHistory) {
    return std::make_unique<LatestScan>(table, spec, state_.sets, state_.latest,
                                        state_.latest_deletes.Of(table->id));
  }
  Result<std::unique_ptr<Lease>> lease = database_.NewLease();
  if (!lease) return lease.error();
  DeleteList deletes;
  {
    const LeaseAccess access(lease->get());
    if (access) deletes = access.view().DeletesOf(table->id);
  }
  return std::make_unique<HistoryScan>(table, spec, state_.sets, std::move(*lease), deletes);
}

}  // namespace tallyd
