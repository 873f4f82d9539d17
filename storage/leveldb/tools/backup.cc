#include "storage/leveldb/tools/backup.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <thread>

#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/codec/meta_codec.h"
#include "storage/leveldb/env/durable_env.h"
#include "storage/leveldb/env/status.h"
#include "storage/leveldb/tools/backup_directory.h"
#include "storage/leveldb/tools/block_check.h"
#include "storage/leveldb/tools/level_files.h"

namespace tallyd {
namespace {

constexpr size_t kStepBytes = 1u << 20;
constexpr int kTriesForReopen = 5;
constexpr int kTriesForMoment = 500;
constexpr auto kBetweenTries = std::chrono::milliseconds(10);
constexpr char kIncompleteSuffix[] = ".incomplete";
constexpr char kOlderSuffix[] = ".older";

using Records = std::vector<std::pair<std::string, std::string>>;

// A file that the backup is to have, and the path at which it is whole; empty: at none.
struct WantedFile {
  BlockFilePtr file;
  std::string from;
};

class BackupJob {
 public:
  BackupJob(Database* database, const BackupOptions& options, StoreEnv* env)
      : database_(database), options_(options), progress_(*options.progress), env_(env) {}

  // Where it finds what `asked` has, it is not needed of the store.
  Status Prepare(const BackupDirectory& asked) {
    Status done = TakeMoment();
    if (done) done = ReadLastSequence();
    if (done) done = FindFiles(asked);
    return done;
  }
  // After Prepare: of the moment, but for where it is.
  const BackupReport& report() const { return report_; }

  // After Prepare: whether all that such a backup has was in the store before this moment. Where
  // either does not say when it was opened, as by an older tallyd, the last changes tell.
  bool MayReplace(const BackupManifest& earlier) const {
    if (earlier.last_sequence > manifest_.last_sequence) return false;
    if (earlier.opening == 0 || openings_.known.empty()) return true;
    const auto same = std::ranges::find(openings_.known, earlier.opening, &Opening::id);
    if (same == openings_.known.end()) return earlier.openings <= openings_.forgotten;
    // What came after it was put back began with less.
    const auto next = same + 1;
    return next == openings_.known.end() || next->sequence >= earlier.last_sequence;
  }

  Result<BackupReport> Run(const std::string& store, const std::string& to,
                           BackupDirectory* directory) {
    const auto start = std::chrono::steady_clock::now();
    directory_ = directory;
    report_.to = to;
    manifest_.store = store;
    manifest_.made = options_.now;
    manifest_.moment = directory_->next_moment();
    const std::string blocks = directory_->Path("blocks");
    moment_ = directory_->Path(MomentName(manifest_.moment));
    const Result<Owner> owner = OwnerOf(to);
    if (!owner) return owner.error();
    Status done = MakeDirectory(env_, blocks);
    if (done) done = MakeDirectory(env_, moment_);
    if (done) done = LinkFiles();
    if (done) done = CopyRecords();
    lease_.reset();
    if (done) done = CopyFiles();
    for (const std::string& made : {blocks, moment_}) {
      if (done) done = GiveTo(*owner, made);
      if (done) done = FromLevelDb(env_->SyncDirectory(made));
    }
    report_.bytes = manifest_.bytes();
    report_.last_sequence = manifest_.last_sequence;
    if (done) done = directory_->Complete(std::move(manifest_));
    if (!done) return done.error();
    GiveTo(*owner, to).has_value();  // It is complete, whose ever its manifest is.
    report_.took = std::chrono::steady_clock::now() - start;
    return report_;
  }

 private:
  Status MayGoOn() const {
    const bool stop = progress_.stop || (options_.stop != nullptr && *options_.stop);
    return stop ? Error(ErrorCode::kCancelled, "the backup was stopped") : Status();
  }

  // A moment at which what base records of the block files is what the view has.
  Status TakeMoment() {
    progress_.step = "taking the moment";
    for (int tries = 0; tries < kTriesForMoment; ++tries) {
      Result<std::unique_ptr<Lease>> lease = database_->NewLeaseOfMoment();
      if (!lease) return lease.error();
      const Result<bool> agrees = Agrees(lease->get());
      if (!agrees) return agrees.error();
      if (*agrees) {
        lease_ = std::move(*lease);
        return {};
      }
      lease->reset();
      const Status go_on = MayGoOn();
      if (!go_on) return go_on;
      std::this_thread::sleep_for(kBetweenTries);
    }
    return Error(ErrorCode::kUnavailable, "the store changes its files too often; try again");
  }

  Result<bool> Agrees(Lease* lease) {
    const LeaseAccess access(lease);
    if (!access) return Reopening();
    files_.clear();
    for (const auto& [table, files] : access.view().files) {
      files_.insert(files_.end(), files->begin(), files->end());
    }
    std::sort(files_.begin(), files_.end(),
              [](const auto& a, const auto& b) { return a->info().number < b->info().number; });
    size_t recorded = 0;
    leveldb::Iterator& it = access.base_iterator();
    const std::string space(1, static_cast<char>(KeySpace::kBlockFiles));
    for (it.Seek(space); it.Valid() && it.key().starts_with(space); it.Next(), ++recorded) {
      const Result<BlockFileInfo> info = DecodeBlockFile(ToView(it.key()), ToView(it.value()));
      if (!info) return info.error();
      const auto found = std::lower_bound(
          files_.begin(), files_.end(), info->number,
          [](const auto& file, uint64_t number) { return file->info().number < number; });
      if (found == files_.end() || (*found)->info() != *info) return false;
    }
    uint64_t sealed = 0;
    const std::string key = MetaKey(MetaKind::kSealedHead);
    it.Seek(key);
    if (it.Valid() && ToView(it.key()) == key) ByteReader(ToView(it.value())).GetU64(&sealed);
    const Status read = FromLevelDb(it.status());
    if (!read) return read.error();
    return recorded == files_.size() && access.view().heads.front()->number() == sealed + 1;
  }

  Status ReadLastSequence() {
    const LeaseAccess access(lease_.get());
    if (!access) return Reopening();
    Status read = NoteSequence(&access.base_iterator());
    for (size_t head = 0; read && head < access.view().heads.size(); ++head) {
      read = NoteSequence(&access.iterator(head));
    }
    report_.last_sequence = manifest_.last_sequence;
    return read ? ReadOpenings(&access.base_iterator()) : read;
  }

  Status ReadOpenings(leveldb::Iterator* it) {
    const std::string key = MetaKey(MetaKind::kOpenings);
    it->Seek(key);
    const Status read = FromLevelDb(it->status());
    if (!read || !it->Valid() || ToView(it->key()) != key) return read;
    Result<Openings> openings = DecodeOpenings(ToView(it->value()));
    if (!openings) return openings.error();
    openings_ = std::move(*openings);
    if (openings_.known.empty()) return {};
    manifest_.opening = openings_.known.back().id;
    manifest_.openings = openings_.forgotten + openings_.known.size();
    return {};
  }

  Status NoteSequence(leveldb::Iterator* it) {
    const std::string key = MetaKey(MetaKind::kLastSequence);
    uint64_t last = 0;
    it->Seek(key);
    const bool is_there = it->Valid() && ToView(it->key()) == key;
    if (is_there && ByteReader(ToView(it->value())).GetU64(&last)) {
      manifest_.last_sequence = std::max(manifest_.last_sequence, last);
    }
    return FromLevelDb(it->status());
  }

  static BackupManifest::Blocks BlocksOf(const BlockFileInfo& info) {
    return {info.number, info.bytes, info.checksum};
  }
  static std::string PathIn(const BackupDirectory& directory, const BlockFileInfo& info) {
    return directory.Path("blocks/" + BlocksName(BlocksOf(info)));
  }

  // A file that cannot be read is not taken for another one, nor for one that is not there: it is
  // lacking, whatever the reason.
  Status FindFiles(const BackupDirectory& asked) {
    progress_.step = "looking at block files";
    for (const BlockFilePtr& file : files_) {
      const Status go_on = MayGoOn();
      if (!go_on) return go_on;
      WantedFile wanted{file, {}};
      Status found = IsThat(file->path(), file->info());
      if (!found && report_.damaged.empty()) report_.damage = found.error().message();
      const std::string name = "blocks/" + BlocksName(BlocksOf(file->info()));
      for (const std::string& path :
           {file->path(), asked.Path(name), options_.to + kIncompleteSuffix + "/" + name}) {
        if (path != file->path()) found = IsThat(path, file->info());
        if (!found) continue;
        wanted.from = path;
        break;
      }
      if (!found) report_.damaged.push_back(file->path());
      wanted_.push_back(std::move(wanted));
    }
    return {};
  }

  // What can be had at once; the rest is copied when nothing else is held up any more.
  Status LinkFiles() {
    progress_.step = "linking block files";
    for (const WantedFile& wanted : wanted_) {
      Status done = MayGoOn();
      const BlockFileInfo& info = wanted.file->info();
      const std::string to = PathIn(*directory_, info);
      if (!done) return done;
      if (wanted.from.empty()) continue;
      const bool is_kept = Keeps(to, wanted);
      manifest_.blocks.push_back(BlocksOf(info));
      if (is_kept) {
        ++report_.kept;
        continue;
      }
      done = LinkOver(wanted, to);
      if (!done) return done;
    }
    return NeedRoom();
  }

  // A file of before format 9 does not say what its blocks are: another one, of what the store was
  // before it was put back from a copy, may say the same.
  bool Keeps(const std::string& path, const WantedFile& wanted) {
    std::error_code error;
    // A symbolic link has no bytes that the backup would have.
    if (!std::filesystem::is_regular_file(std::filesystem::symlink_status(path, error))) {
      return false;
    }
    const Result<BlockFileCheck> kept = BlockFileCheck::Open(env_, path);
    if (!kept || kept->description().info != wanted.file->info()) return false;
    return kept->description().content || wanted.from == path ||
           HaveSameBytes(env_, path, wanted.from);
  }

  // In the place of whatever is there: the earlier backup has no use for it either, or has the same
  // file.
  Status LinkOver(const WantedFile& wanted, const std::string& to) {
    const std::string made = to + ".new";
    ::unlink(made.c_str());
    const Result<bool> linked = Link(wanted.from, made);
    if (!linked) return linked.error();
    if (!*linked) {
      to_copy_.push_back({wanted.file, wanted.from, to});
      progress_.total += wanted.file->info().bytes;
      return {};
    }
    const Status is_that = IsThat(made, wanted.file->info());
    if (!is_that) return is_that.error().Prefixed(wanted.from);
    ++report_.files.linked;
    return MoveOver(made, to);
  }

  // Tried twice: what passes is no damage.
  Status IsThat(const std::string& path, const BlockFileInfo& info) {
    Result<BlockFileCheck> file = BlockFileCheck::Open(env_, path);
    if (!file && file.error().code() != ErrorCode::kCorruption) {
      file = BlockFileCheck::Open(env_, path);
    }
    if (!file) return file.error();
    if (file->description().info == info) return {};
    return Error(ErrorCode::kCorruption, "it is another file than the one that base records");
  }

  Status NeedRoom() const {
    uint64_t records = 0;
    {
      const LeaseAccess access(lease_.get());
      if (!access) return Reopening();
      records = Database::BytesOf(&access.base(), "", "\xff");
      for (const auto& head : access.view().heads) records += head->bytes();
    }
    const uint64_t needed = progress_.total + records + options_.keep_free;
    std::error_code error;
    const auto space = std::filesystem::space(report_.to, error);
    if (error || space.available >= needed) return {};
    return Error(ErrorCode::kNoSpace, fmt::format("{} has {} bytes free, the backup needs {}",
                                                  report_.to, space.available, needed));
  }

  // Base and the heads.
  Status CopyRecords() {
    progress_.step = "copying records";
    Status done = CopyRecordsOf(kBaseRecords, std::nullopt);
    std::vector<uint64_t> heads;
    {
      const LeaseAccess access(lease_.get());
      if (!access) return Reopening();
      for (const auto& head : access.view().heads) heads.push_back(head->number());
    }
    for (size_t i = 0; done && i < heads.size(); ++i) {
      done = CopyRecordsOf(HeadRecordsName(heads[i]), i);
    }
    return done;
  }

  // Of a head, by its place among them, or of base.
  Status CopyRecordsOf(const std::string& name, std::optional<size_t> head) {
    Result<std::unique_ptr<RecordFileWriter>> writer =
        RecordFileWriter::Create(env_, moment_ + "/" + name);
    if (!writer) return writer.error();
    Records step;
    for (bool begun = false, more = true; more; begun = true) {
      Status done = MayGoOn();
      if (!done) return done;
      const Result<bool> read = ReadStep(head, !begun, &step);
      if (!read) return read.error();
      more = *read;
      for (const auto& [key, value] : step) {
        if (done) done = (*writer)->Add(key, value);
      }
      if (!done) return done;
    }
    const Status finished = (*writer)->Finish();
    if (!finished) return finished;
    manifest_.records.push_back({name, (*writer)->bytes(), (*writer)->checksum()});
    return {};
  }

  // Some records; false with the last. They are written when no reopen has to wait for it.
  Result<bool> ReadStep(std::optional<size_t> head, bool first, Records* step) {
    step->clear();
    const LeaseAccess access(lease_.get());
    if (!access) return Reopening();
    leveldb::Iterator& it = head ? access.iterator(*head) : access.base_iterator();
    if (first) it.SeekToFirst();
    for (size_t bytes = 0; it.Valid() && bytes < kStepBytes; it.Next()) {
      bytes += it.key().size() + it.value().size();
      progress_.done += it.key().size() + it.value().size();
      step->emplace_back(it.key().ToString(), it.value().ToString());
    }
    const Status read = FromLevelDb(it.status());
    if (!read) return read.error();
    return it.Valid();
  }

  Status CopyFiles() {
    progress_.step = "copying block files";
    for (const auto& [file, from, to] : to_copy_) {
      const std::string made = to + ".new";
      Status copied = MayGoOn();
      if (copied) copied = LinkOrCopy(env_, from, made, &progress_, &report_.files);
      if (copied) copied = IsThat(made, file->info());
      if (copied) copied = MoveOver(made, to);
      if (!copied) return copied.error().Prefixed(to);
    }
    return {};
  }

  Database* const database_;
  const BackupOptions& options_;
  ToolProgress& progress_;
  StoreEnv* const env_;
  BackupDirectory* directory_ = nullptr;
  std::string moment_;  // The directory of its records.
  std::unique_ptr<Lease> lease_;
  std::vector<BlockFilePtr> files_;  // Held, so that none goes.
  std::vector<WantedFile> wanted_;
  struct FileToCopy {
    BlockFilePtr file;
    std::string from;
    std::string to;
  };
  std::vector<FileToCopy> to_copy_;
  Openings openings_;  // Of the store.
  BackupManifest manifest_;
  BackupReport report_;
};

Result<std::string> StoreId(Database* database) {
  const Result<std::unique_ptr<Lease>> lease = database->NewLease();
  if (!lease) return lease.error();
  const LeaseAccess access(lease->get());
  if (!access) return Reopening();
  const Result<std::string> id = database->Get(MetaKey(MetaKind::kStoreId));
  if (!id) return id.error().Prefixed("the id of the store");
  return HexOfStoreId(*id);
}

}  // namespace

namespace {

// Where a backup may be that may not be in the place of the one that is there.
Status TakeBeside(const BackupJob& job, const std::string& store, const std::string& data,
                  StoreEnv* env, std::string* to, std::unique_ptr<BackupDirectory>* directory) {
  while (true) {
    const Status fits = CheckBackupPlace(*to, data);
    if (!fits) return fits;
    *directory = std::make_unique<BackupDirectory>(env);
    const Status taken = (*directory)->Take(*to, store);
    if (!taken) return taken;
    if (job.MayReplace((*directory)->complete())) return {};
    (*directory)->Leave();
    to->append(kOlderSuffix);
  }
}

}  // namespace

Result<BackupReport> BackUp(Database* database, const BackupOptions& options) {
  const Status fits = CheckBackupPlace(options.to, database->path());
  if (!fits) return fits.error();
  const Result<std::string> store = StoreId(database);
  if (!store) return store.error();
  DurableEnv env({[](double) {}, [] {}});
  BackupDirectory asked(&env);
  Status done = asked.Take(options.to, *store);
  if (!done) return done.error();
  BackupJob job(database, options, &env);
  done = job.Prepare(asked);
  const uint64_t in_place = asked.complete().last_sequence;
  const bool lacks = !job.report().damaged.empty();
  std::string to = options.to;
  std::unique_ptr<BackupDirectory> beside;
  if (done && (lacks || !job.MayReplace(asked.complete()))) {
    to += lacks ? kIncompleteSuffix : kOlderSuffix;
    done = TakeBeside(job, *store, database->path(), &env, &to, &beside);
    if (!done) beside.reset();
  }
  if (!done) {
    asked.Leave();
    return done.error();
  }
  Result<BackupReport> report = job.Run(*store, to, beside ? beside.get() : &asked);
  if (!report && beside) beside->Leave();
  if (!report || beside) asked.Leave();
  if (report && beside && !lacks) report->later = in_place;
  return report;
}

Status OutcomeOf(const BackupReport& report) {
  if (!report.damaged.empty()) {
    return Error(
        ErrorCode::kCorruption,
        fmt::format("the backup lacks {} files of the store, as {} ({}): it is in {}, and "
                    "the one before, if there is one, stays. `tallyd verify` tells more",
                    report.damaged.size(), report.damaged.front(), report.damage, report.to));
  }
  if (report.later && *report.later <= report.last_sequence) {
    return Error(ErrorCode::kCorruption,
                 fmt::format("the backup in place has changes up to {} that the store has not, as "
                             "it was put back and went on. This one is in {}, and the one in "
                             "place stays",
                             *report.later, report.to));
  }
  if (report.later) {
    return Error(ErrorCode::kCorruption,
                 fmt::format("the backup ends with change {}, and the one in place with change {}: "
                             "the store was put back. It is in {}, and the one in place stays",
                             report.last_sequence, *report.later, report.to));
  }
  return {};
}

StoreMember::Members MembersOf(const BackupReport& report) {
  const TransferCounts& files = report.files;
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(report.took);
  StoreMember::Members damaged;
  for (const std::string& path : report.damaged) damaged.push_back({"", path});
  return {{"to", report.to},
          {"files", files.linked + files.copied + report.kept},
          {"linked", files.linked},
          {"copied", files.copied},
          {"kept", report.kept},
          {"copied_bytes", files.copied_bytes},
          {"bytes", report.bytes},
          {"last_sequence", report.last_sequence},
          {"damaged", std::move(damaged)},
          {"took_ms", static_cast<uint64_t>(took.count())}};
}

Result<StoreMember::Members> Backups::Run(const std::string& to, TimeUs now,
                                          const std::atomic<bool>& stop) {
  const Status below = below_.empty() ? Status() : CheckBackupIsBelow(to, below_);
  if (!below) return below.error();
  auto progress = std::make_shared<ToolProgress>();
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return Closing();
    if (progress_) return Error(ErrorCode::kConflict, "a backup is being made, to " + to_);
    to_ = to;
    progress_ = progress;
  }
  // Also where it throws: Stop waits for that, and the next one.
  auto end = [this](const ToolProgress*) {
    const std::lock_guard lock(mutex_);
    progress_.reset();
    ended_.notify_all();
  };
  const std::unique_ptr<const ToolProgress, decltype(end)> running(progress.get(), end);
  const Result<BackupReport> report = TryAgain({to, now, keep_free_(), progress.get(), &stop});
  const Status outcome = report ? OutcomeOf(*report) : Status(report.error());
  if (!outcome) return outcome.error();
  const std::lock_guard lock(mutex_);
  last_success_ = now;
  return MembersOf(*report);
}

Result<BackupReport> Backups::TryAgain(const BackupOptions& options) {
  Result<BackupReport> report = BackUp(database_, options);
  for (int tries = 1; tries < kTriesForReopen && !report && !options.progress->stop &&
                      report.error().code() == ErrorCode::kUnavailable;
       ++tries) {
    options.progress->done = 0;
    options.progress->total = 0;
    report = BackUp(database_, options);
  }
  return report;
}

void Backups::Tell(StoreState* state) const {
  const std::lock_guard lock(mutex_);
  state->gauges.push_back(
      {"tallyd_backup_running", "1 while a backup is being made.", {}, progress_ ? 1.0 : 0.0});
  state->gauges.push_back({"tallyd_backup_last_success_timestamp_seconds",
                           "When the last complete backup began; 0: none since the daemon did.",
                           {},
                           static_cast<double>(last_success_) / kUsPerSecond});
  if (!progress_) return;
  state->members.push_back(
      {"backup", StoreMember::Members{{"to", to_},
                                      {"step", std::string(progress_->step.load())},
                                      {"done_bytes", progress_->done.load()},
                                      {"total_bytes", progress_->total.load()}}});
}

void Backups::Stop() {
  std::unique_lock lock(mutex_);
  stopped_ = true;
  if (progress_) progress_->stop = true;
  ended_.wait(lock, [&] { return !progress_; });
}

}  // namespace tallyd
