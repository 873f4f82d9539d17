#include "storage/leveldb/tools/backup.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <thread>

#include "storage/leveldb/codec/entry_codec.h"
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

using Records = std::vector<std::pair<std::string, std::string>>;

class BackupJob {
 public:
  BackupJob(Database* database, const BackupOptions& options, StoreEnv* env,
            BackupDirectory* directory)
      : database_(database),
        options_(options),
        progress_(*options.progress),
        env_(env),
        directory_(directory) {}

  Result<BackupReport> Run(const std::string& store) {
    const auto start = std::chrono::steady_clock::now();
    manifest_.store = store;
    manifest_.made = options_.now;
    manifest_.moment = directory_->complete().moment + 1;
    const std::string blocks = directory_->Path("blocks");
    moment_ = directory_->Path(MomentName(manifest_.moment));
    Status done = MakeDirectory(env_, blocks);
    if (done) done = MakeDirectory(env_, moment_);
    if (done) done = TakeMoment();
    if (done) done = LinkFiles();
    if (done) done = CopyRecords();
    lease_.reset();
    if (done) done = CopyFiles();
    for (const std::string& made : {blocks, moment_}) {
      if (done) done = FromLevelDb(env_->SyncDirectory(made));
    }
    report_.bytes = manifest_.bytes();
    report_.last_sequence = manifest_.last_sequence;
    if (done) done = directory_->Complete(std::move(manifest_));
    if (!done) return done.error();
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
    const Access access(lease);
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

  // What can be had at once; the rest is copied when nothing else is held up any more.
  Status LinkFiles() {
    progress_.step = "linking block files";
    for (const BlockFilePtr& file : files_) {
      const Status go_on = MayGoOn();
      if (!go_on) return go_on;
      const BlockFileInfo& info = file->info();
      const BackupManifest::Blocks blocks{info.number, info.bytes, info.checksum};
      const std::string to = directory_->Path("blocks/" + BlocksName(blocks));
      const bool is_kept = IsThat(to, info);
      if (!is_kept && !IsThat(file->path(), info)) {
        report_.damaged.push_back(file->path());
        continue;
      }
      manifest_.blocks.push_back(blocks);
      if (is_kept) {
        ++report_.kept;
        continue;
      }
      ::unlink(to.c_str());  // What is damaged there is of no use to the earlier backup either.
      if (Link(file->path(), to)) {
        ++report_.files.linked;
      } else {
        to_copy_.push_back({file, to});
        progress_.total += info.bytes;
      }
    }
    return NeedRoom();
  }

  bool IsThat(const std::string& path, const BlockFileInfo& info) {
    const Result<BlockFileCheck> file = BlockFileCheck::Open(env_, path);
    return file && file->description().info == info;
  }

  Status NeedRoom() const {
    uint64_t records = 0;
    {
      const Access access(lease_.get());
      if (!access) return Reopening();
      records = Database::BytesOf(&access.base(), "", "\xff");
      for (const auto& head : access.view().heads) records += head->bytes();
    }
    const uint64_t needed = progress_.total + records + options_.keep_free;
    std::error_code error;
    const auto space = std::filesystem::space(options_.to, error);
    if (error || space.available >= needed) return {};
    return Error(ErrorCode::kNoSpace, fmt::format("{} has {} bytes free, the backup needs {}",
                                                  options_.to, space.available, needed));
  }

  // Base and the heads.
  Status CopyRecords() {
    progress_.step = "copying records";
    Status done = CopyRecordsOf(kBaseRecords, std::nullopt);
    std::vector<uint64_t> heads;
    {
      const Access access(lease_.get());
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
    const Access access(lease_.get());
    if (!access) return Reopening();
    leveldb::Iterator& it = head ? access.iterator(*head) : access.base_iterator();
    if (first) it.SeekToFirst();
    for (size_t bytes = 0; it.Valid() && bytes < kStepBytes; it.Next()) {
      bytes += it.key().size() + it.value().size();
      progress_.done += it.key().size() + it.value().size();
      NoteSequence(ToView(it.key()), ToView(it.value()));
      step->emplace_back(it.key().ToString(), it.value().ToString());
    }
    const Status read = FromLevelDb(it.status());
    if (!read) return read.error();
    return it.Valid();
  }

  void NoteSequence(std::string_view key, std::string_view value) {
    uint64_t last = 0;
    if (key == MetaKey(MetaKind::kLastSequence) && ByteReader(value).GetU64(&last)) {
      manifest_.last_sequence = std::max(manifest_.last_sequence, last);
    }
  }

  Status CopyFiles() {
    progress_.step = "copying block files";
    for (const auto& [file, to] : to_copy_) {
      Status copied = MayGoOn();
      if (copied) copied = LinkOrCopy(env_, file->path(), to, &progress_, &report_.files);
      if (!copied) return copied;
      if (!IsThat(to, file->info())) {
        return Error(ErrorCode::kCorruption, to + " is not what was copied to it");
      }
    }
    return {};
  }

  Database* const database_;
  const BackupOptions& options_;
  ToolProgress& progress_;
  StoreEnv* const env_;
  BackupDirectory* const directory_;
  std::string moment_;  // The directory of its records.
  std::unique_ptr<Lease> lease_;
  std::vector<BlockFilePtr> files_;  // Held, so that none goes.
  std::vector<std::pair<BlockFilePtr, std::string>> to_copy_;
  BackupManifest manifest_;
  BackupReport report_;
};

Result<std::string> StoreId(Database* database) {
  const Result<std::unique_ptr<Lease>> lease = database->NewLease();
  if (!lease) return lease.error();
  const Access access(lease->get());
  if (!access) return Reopening();
  const Result<std::string> id = database->Get(MetaKey(MetaKind::kStoreId));
  if (!id) return id.error().Prefixed("the id of the store");
  std::string hex;
  for (const char c : *id) fmt::format_to(std::back_inserter(hex), "{:02x}", c & 0xff);
  return hex;
}

}  // namespace

Result<BackupReport> BackUp(Database* database, const BackupOptions& options) {
  const Status fits = CheckBackupPlace(options.to, database->path());
  if (!fits) return fits.error();
  const Result<std::string> store = StoreId(database);
  if (!store) return store.error();
  DurableEnv env({[](double) {}, [] {}});
  BackupDirectory directory(&env);
  const Status taken = directory.Take(options.to, *store);
  if (!taken) return taken.error();
  Result<BackupReport> report = BackupJob(database, options, &env, &directory).Run(*store);
  if (!report) directory.Leave();
  return report;
}

StoreMember::Members MembersOf(const std::string& to, const BackupReport& report) {
  const TransferCounts& files = report.files;
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(report.took);
  StoreMember::Members damaged;
  for (const std::string& path : report.damaged) damaged.push_back({"", path});
  return {{"to", to},
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
  if (!report) return report.error();
  if (report->damaged.empty()) {
    const std::lock_guard lock(mutex_);
    last_success_ = now;
  }
  return MembersOf(to, *report);
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
