#include "storage/leveldb/seal/sealer.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <future>
#include <map>

#include "storage/leveldb/codec/key_codec.h"
#include "storage/leveldb/env/status.h"
#include "storage/leveldb/seal/merge_policy.h"

namespace tallyd {
namespace {

constexpr auto kLook = std::chrono::milliseconds(50);
constexpr auto kPauseAfterFailure = std::chrono::milliseconds(500);
constexpr auto kBetweenLogLines = std::chrono::minutes(1);
// A head with a delete is sealed soon: until then what it hides takes room and readers' time.
constexpr auto kDeleteDelay = std::chrono::milliseconds(500);
// Closed heads that may wait. Beyond, the newest grows on, and LevelDB compacts it.
constexpr size_t kMaxClosedHeads = 3;
constexpr size_t kRecordBytes = 256u << 10;
// Files whose commit failed may be on record all the same; those whose commit never began are not.
void DropUnlessKept(const Status& published, const std::vector<BlockFilePtr>& files) {
  if (published.error().code() != ErrorCode::kOverloaded) return;
  for (const BlockFilePtr& file : files) file->Drop();
}

}  // namespace

Sealer::Sealer(const StorageConfig& config, RetentionClock* clock, Engine* engine,
               GroupCommitter* committer, StoreMetrics* metrics)
    : config_(config),
      clock_(clock),
      engine_(engine),
      committer_(committer),
      metrics_(metrics),
      pacer_(config.seal_cpu, [this] { return in_a_hurry(); }),
      thread_([this] { Run(); }) {}

Sealer::~Sealer() { Stop(); }

void Sealer::Wake() {
  {
    const std::lock_guard lock(mutex_);
    awake_ = true;
  }
  changed_.notify_all();
}

Status Sealer::Settle() {
  std::unique_lock lock(mutex_);
  const uint64_t ticket = ++settle_asked_;
  changed_.notify_all();
  changed_.wait(lock, [&] { return stopping_ || settle_done_ >= ticket; });
  if (settle_done_ < ticket) return Error(ErrorCode::kUnavailable, "the store is closing");
  return settle_result_;
}

void Sealer::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool Sealer::stopping() const {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

bool Sealer::settling() const {
  const std::lock_guard lock(mutex_);
  return settle_done_ < settle_asked_;
}

bool Sealer::in_a_hurry() const {
  const ViewPtr view = engine_->database().view();
  return settling() || stopping() || (view && view->heads.size() + 1 > kMaxClosedHeads);
}

void Sealer::Run() {
  while (!stopping()) {
    {
      const std::lock_guard lock(mutex_);
      awake_ = false;
    }
    engine_->database().Dispose();
    bool did = false;
    const Status worked = Work(&did);
    if (worked && did) continue;
    std::unique_lock lock(mutex_);
    if (stopping_) return;
    if (settle_ticket_ > 0 && (worked || worked.error().code() != ErrorCode::kUnavailable)) {
      settle_done_ = std::exchange(settle_ticket_, 0);
      settle_result_ = worked;
      changed_.notify_all();
    }
    if (!worked && worked.error().code() != ErrorCode::kUnavailable) {
      lock.unlock();
      LogFailure(worked.error().message());
      lock.lock();
    }
    changed_.wait_for(lock, worked ? kLook : kPauseAfterFailure, [&] {
      return stopping_ || (worked && (awake_ || settle_asked_ > settle_done_));
    });
  }
}

// It is tried again all the time; one line a minute tells of it, unless it fails in another way.
void Sealer::LogFailure(const std::string& message) {
  const auto now = std::chrono::steady_clock::now();
  if (message == logged_failure_ && now - logged_at_ < kBetweenLogLines) return;
  logged_failure_ = message;
  logged_at_ = now;
  spdlog::warn("store: sealing waits: {}", message);
}

void Sealer::BeginSettle(const View& view) {
  const std::lock_guard lock(mutex_);
  settle_ticket_ = settle_asked_;
  const Head& newest = *view.heads.back();
  settle_head_ = newest.bytes() == 0 ? newest.number() - 1 : newest.number();
  settle_sequence_ = 0;
}

Status Sealer::Work(bool* did) {
  ViewPtr view = engine_->database().view();
  if (!view) return Error(ErrorCode::kUnavailable, "the store is reopening its files");
  if (settle_ticket_ == 0 && settling()) BeginSettle(*view);
  if (settle_sequence_ == 0 && view->heads.front()->number() > settle_head_) {
    settle_sequence_ = engine_->state().sealed_sequence;
  }
  Status worked = SealIfDue(*view, did);
  if (worked && !*did) worked = DropFiles(*view, did);
  std::vector<BlockFilePtr> due;
  if (worked && !*did) worked = Purge(*view, &due, did);
  if (!worked || *did) return worked;
  if (due.empty()) due = MergeDue(*view);
  view.reset();  // Heads go while files are written again.
  *did = !due.empty();
  if (*did) return Rewrite(std::move(due));
  return settle_ticket_ > 0 ? CompactBase() : Status();
}

Status Sealer::SealIfDue(const View& view, bool* did) {
  const Status begun = BeginHeadIfDue(view, did);
  return begun && !*did && view.heads.size() > 1 ? SealHead(did) : begun;
}

// Heads do not wait for the end of a merge, which may take minutes. A head that cannot be sealed
// just now does not cost what is merged already.
Status Sealer::SealAllDue() {
  engine_->database().Dispose();
  const auto now = std::chrono::steady_clock::now();
  if (now < not_before_) return {};
  for (bool did = true; did;) {
    did = false;
    const ViewPtr view = engine_->database().view();
    if (!view) return Error(ErrorCode::kUnavailable, "the store is reopening its files");
    const Status sealed = SealIfDue(*view, &did);
    if (sealed) continue;
    const ErrorCode code = sealed.error().code();
    if (code == ErrorCode::kUnavailable || code == ErrorCode::kCancelled) return sealed;
    LogFailure(sealed.error().message());
    not_before_ = now + kPauseAfterFailure;
  }
  return {};
}

Status Sealer::BeginHeadIfDue(const View& view, bool* did) {
  const Head& newest = *view.heads.back();
  if (newest.bytes() == 0) return {};
  const bool settle = settle_ticket_ > 0 && newest.number() <= settle_head_;
  const auto now = std::chrono::steady_clock::now();
  const auto age =
      newest.since() > now ? std::chrono::steady_clock::duration(0) : now - newest.since();
  const bool full = newest.bytes() >= engine_->head_bytes() && view.heads.size() <= kMaxClosedHeads;
  const EngineState& state = engine_->state();
  const bool has_delete = view.last_delete() > state.sealed_sequence;
  const bool old =
      view.heads.size() == 1 && (age >= std::chrono::microseconds(config_.seal_delay_us) ||
                                 (has_delete && age >= kDeleteDelay));
  if (!settle && !full && !old) return {};
  const Result<bool> begun = engine_->database().BeginHead();
  if (!begun) return begun.error();
  *did = *begun;
  return {};
}

std::unique_ptr<LevelDbBatch> Sealer::NewBatch() const {
  return std::make_unique<LevelDbBatch>(engine_->state().fields);
}

RewriteInput Sealer::Input() {
  return {&engine_->database(),          &engine_->state(), &pacer_,
          [this] { return stopping(); }, nullptr,           clock_->Now(),
          config_.seal_window_us};
}

Status Sealer::Publish(std::unique_ptr<LevelDbBatch> batch, std::function<void(View*)> change) {
  auto result = std::make_shared<std::promise<Status>>();
  std::future<Status> published = result->get_future();
  Database& database = engine_->database();
  committer_->Submit(std::move(batch), [&database, change, result](Status status) {
    if (status) database.ChangeView(change);
    result->set_value(std::move(status));
  });
  return published.get();
}
// In pieces, so that no request waits for all of it. They say what the head says, too: a crash
// between them changes nothing.
Status Sealer::CommitRecords(const Records& records) {
  auto batch = NewBatch();
  for (const auto& [key, value] : records) {
    if (value.empty()) {
      batch->DropRecord(key);
    } else {
      batch->PutRecord(key, value);
    }
    if (batch->bytes() < kRecordBytes) continue;
    const Status committed = committer_->Commit(std::exchange(batch, NewBatch()));
    if (!committed) return committed;
  }
  return batch->empty() ? Status() : committer_->Commit(std::move(batch));
}
Status Sealer::SealHead(bool* did) {
  const auto start = std::chrono::steady_clock::now();
  Result<std::unique_ptr<Lease>> lease = engine_->database().NewLease();
  if (!lease) return lease.error();
  Result<SealedHead> sealed = SealOldestHead(Input(), lease->get());
  lease->reset();
  if (!sealed) return sealed.error();
  // Latest rows may tell of the newest head, which must then be there after a power cut, too.
  Status committed =
      config_.sync == Sync::kAlways ? Status() : engine_->database().SyncNewestHead();
  if (committed) committed = CommitRecords(sealed->records);
  if (!committed) {
    for (const BlockFilePtr& file : sealed->files) file->Drop();
    return committed;
  }
  auto batch = NewBatch();
  uint64_t bytes = 0;
  for (const BlockFilePtr& file : sealed->files) {
    batch->PutRecord(BlockFileKey(file->info().table, file->info().number),
                     EncodeBlockFile(file->info()));
    bytes += file->info().bytes;
  }
  std::string number;
  PutU64(&number, sealed->head);
  batch->PutRecord(MetaKey(MetaKind::kSealedHead), number);
  number.clear();
  PutU64(&number, sealed->last_sequence);
  batch->PutRecord(MetaKey(MetaKind::kLastSequence), number);
  EngineState& state = engine_->state();
  const Status published = Publish(std::move(batch), [sealed = *sealed, &state](View* view) {
    std::erase_if(view->heads, [&](const std::shared_ptr<Head>& head) {
      if (head->number() != sealed.head) return false;
      head->Drop();
      return true;
    });
    view->Replace({}, sealed.files);
    state.sealed_sequence = sealed.last_sequence;
  });
  if (!published) {
    DropUnlessKept(published, sealed->files);
    return published;
  }
  *did = true;
  metrics_->sealed_entries.Increment(static_cast<double>(sealed->entries));
  metrics_->sealed_heads.Increment();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  spdlog::debug("store: sealed head {}: {} entries into {} files, {} bytes, in {:.3f} s",
                sealed->head, sealed->entries, sealed->files.size(), bytes, took.count());
  return {};
}

bool Sealer::IsExpired(const BlockFile& file) const {
  for (const TablePtr& table : engine_->state().catalogue.Tables()) {
    if (table->id != file.info().table) continue;
    const TimeUs now = clock_->Now();
    return std::all_of(table->families.begin(), table->families.end(),
                       [&](const StoredFamily& family) {
                         const Family& rules = family.rules;
                         return family.configured && rules.max_age_us &&
                                !(rules.expire_by_both && rules.max_versions) &&
                                file.info().max_time < now - *rules.max_age_us;
                       });
  }
  return true;  // Of a table that was dropped.
}

// What has wholly expired goes file by file.
Status Sealer::DropFiles(const View& view, bool* did) {
  std::vector<BlockFilePtr> expired;
  auto batch = NewBatch();
  for (const auto& [table, files] : view.files) {
    for (const BlockFilePtr& file : *files) {
      if (!IsExpired(*file)) continue;
      batch->DropRecord(BlockFileKey(table, file->info().number));
      expired.push_back(file);
    }
  }
  if (expired.empty()) return {};
  *did = true;
  return Publish(std::move(batch), [expired](View* changed) { changed->Replace(expired, {}); });
}

// *due: what has to be written again without what a delete hides. *did: a record of one went.
Status Sealer::Purge(const View& view, std::vector<BlockFilePtr>* due, bool* did) {
  EngineState& state = engine_->state();
  for (const auto& deleted : view.AllDeletes()) {
    if (deleted->sequence > state.sealed_sequence) continue;
    for (const BlockFilePtr& file : view.FilesOf(deleted->table)) {
      const bool touched =
          deleted->Touches(file->first_key(), file->last_key(), file->info().deletes) &&
          file->info().Overlaps(deleted->what.cells);
      if (!touched) continue;
      due->push_back(file);
      return {};
    }
    auto batch = NewBatch();
    batch->DropRecord(DeleteKey(deleted->table, deleted->sequence));
    const Status dropped = committer_->Commit(std::move(batch));
    if (dropped) {
      engine_->database().ChangeView([&](View* changed) { changed->RemoveDelete(*deleted); });
    }
    *did = true;
    return dropped;
  }
  return {};
}

std::vector<BlockFilePtr> Sealer::MergeDue(const View& view) const {
  for (const auto& [table, files] : view.files) {
    std::map<std::pair<int64_t, TimeUs>, std::vector<BlockFilePtr>> windows;
    for (const BlockFilePtr& file : *files) {
      windows[{file->info().width, file->info().window}].push_back(file);
    }
    for (auto& [window, of_window] : windows) {
      std::erase_if(of_window, [&](const BlockFilePtr& file) {
        return file->is_damaged() ||
               (settle_ticket_ > 0 && file->info().max_sequence > settle_sequence_);
      });
      std::vector<uint64_t> sizes;
      for (const BlockFilePtr& file : of_window) sizes.push_back(file->info().bytes);
      std::vector<BlockFilePtr> chosen;
      for (const size_t place : settle_ticket_ > 0 ? ChooseWholeMerge(sizes) : ChooseMerge(sizes)) {
        chosen.push_back(of_window[place]);
      }
      if (chosen.size() > 1) return chosen;
    }
  }
  return {};
}

Status Sealer::Rewrite(std::vector<BlockFilePtr> from) {
  Result<std::unique_ptr<Lease>> lease = engine_->database().NewLeaseOfFiles();
  if (!lease) return lease.error();
  RewriteInput input = Input();
  input.yield = [this] { return SealAllDue(); };
  Result<MergedFiles> merged = MergeFiles(input, lease->get(), std::move(from));
  lease->reset();
  if (!merged) return merged.error();
  // Deletes of the newest head have been applied: a power cut must not undo them alone.
  const Status synced =
      config_.sync == Sync::kAlways ? Status() : engine_->database().SyncNewestHead();
  if (!synced) {
    for (const BlockFilePtr& file : merged->files) file->Drop();
    return synced;
  }
  auto batch = NewBatch();
  for (const BlockFilePtr& file : merged->from) {
    batch->DropRecord(BlockFileKey(file->info().table, file->info().number));
  }
  for (const BlockFilePtr& file : merged->files) {
    batch->PutRecord(BlockFileKey(file->info().table, file->info().number),
                     EncodeBlockFile(file->info()));
  }
  const Status published = Publish(std::move(batch), [merged = *merged](View* view) {
    view->Replace(merged.from, merged.files);
  });
  if (published) {
    metrics_->merged_entries.Increment(static_cast<double>(merged->entries));
  } else {
    DropUnlessKept(published, merged->files);
  }
  return published;
}

Status Sealer::CompactBase() {
  return tallyd::CompactBase(
      &engine_->database(), [this](const Records& records) { return CommitRecords(records); },
      [this] { return stopping(); });
}

}  // namespace tallyd
