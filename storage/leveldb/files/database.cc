#include "storage/leveldb/files/database.h"

#include <leveldb/write_batch.h>

#include <algorithm>

#include "storage/bytes/coding.h"
#include "storage/leveldb/codec/entry_codec.h"
#include "storage/leveldb/codec/meta_codec.h"
#include "storage/leveldb/env/overlay_env.h"
#include "storage/leveldb/env/status.h"

namespace tallyd {
namespace {

// How long a reader waits for a reopen.
constexpr auto kReopenPatience = std::chrono::milliseconds(1000);
// A group's record of so many bytes is put into memory, and among the runs, before it is synced and
// not behind it: when the disk has it, it is in the processor's cache no longer. Nothing is written
// behind it before: of a log that is always synced a power cut may tear the last record only.
constexpr size_t kSyncedLastBytes = 64u << 10;
// How the cache is shared, in eighths. LevelDB needs little: base's latest rows are in memory,
// heads are in their write buffers, and the rest is read once.
constexpr size_t kEighths = 8;
constexpr size_t kLevelDbEighths = 1;
constexpr size_t kPartEighths = 3;
constexpr size_t kIndexEighths = kEighths - kLevelDbEighths - kPartEighths;

}  // namespace

// First released, then forgotten: who closes the database finds it as long as it holds anything.
Lease::~Lease() {
  {
    const std::lock_guard lock(held_->mutex);
    held_->Release();
  }
  const std::lock_guard lock(database_->mutex_);
  database_->held_.erase(held_);
}

void Lease::Held::Release() {
  base.iterator.reset();
  base.snapshot.reset();
  heads.clear();
  view.reset();
}

leveldb::Iterator& LeaseAccess::iterator(size_t head) const {
  Lease::OfHead& held = lease_->held_->heads[head];
  if (!held.iterator) held.iterator = view().heads[head]->NewIterator(held.snapshot);
  return *held.iterator;
}

const HeadEntries* LeaseAccess::RunsOf(size_t head, TableId table) const {
  const HeadSnapshot& moment = lease_->held_->heads[head].snapshot;
  if (moment.entries == nullptr || !moment.entries->damage.ok()) return nullptr;
  const auto records = Database::NewIterator(&view().heads[head]->db());
  records->Seek(TablePrefix(KeySpace::kRows, table));
  const bool any = records->Valid() && ToView(records->key()) < TableEnd(KeySpace::kRows, table);
  return any || !records->status().ok() ? nullptr : moment.entries.get();
}

leveldb::Iterator& LeaseAccess::base_iterator() const {
  Lease::OfBase& held = lease_->held_->base;
  if (!held.iterator) {
    leveldb::ReadOptions options;
    options.verify_checksums = true;
    options.fill_cache = false;
    options.snapshot = held.snapshot.get();
    held.iterator.reset(base().NewIterator(options));
  }
  return *held.iterator;
}

leveldb::DB& LeaseAccess::base() const { return *lease_->database_->base_; }

bool LeaseAccess::must_stop() const { return lease_->database_->closing(); }

namespace {

Result<std::optional<std::string>> MemoOf(std::string_view key, std::string_view record) {
  const Result<std::optional<std::string_view>> value = DecodeMemo(record);
  if (!value) return UnreadableRecord(key, value.error().message());
  if (!*value) return std::optional<std::string>();
  return std::optional<std::string>(**value);
}

// The smallest key of those that begin with `begin`; null at the end of all.
leveldb::Iterator* Smallest(const std::vector<leveldb::Iterator*>& sources,
                            std::string_view begin) {
  leveldb::Iterator* smallest = nullptr;
  for (leveldb::Iterator* source : sources) {
    if (!source->Valid() || !ToView(source->key()).starts_with(begin)) continue;
    if (smallest == nullptr || ToView(source->key()) < ToView(smallest->key())) smallest = source;
  }
  return smallest;
}

}  // namespace

Result<std::optional<std::string>> FindMemo(Lease* lease, std::string_view key) {
  const LeaseAccess access(lease);
  if (!access) return Reopening();
  const std::string stored = MemoKey(key);
  for (size_t head = access.view().heads.size(); head-- > 0;) {
    leveldb::Iterator& it = access.iterator(head);
    it.Seek(stored);
    if (it.Valid() && ToView(it.key()) == stored) return MemoOf(stored, ToView(it.value()));
    if (const Status read = FromLevelDb(it.status()); !read) return read.error();
  }
  leveldb::ReadOptions options;
  options.verify_checksums = true;
  std::string record;
  const leveldb::Status got = access.base().Get(options, stored, &record);
  if (got.IsNotFound()) return std::optional<std::string>();
  if (const Status read = FromLevelDb(got); !read) return read.error();
  return MemoOf(stored, record);
}

Result<std::vector<std::pair<std::string, std::string>>> ListMemos(Lease* lease,
                                                                   std::string_view prefix,
                                                                   size_t limit,
                                                                   std::string_view after) {
  const LeaseAccess access(lease);
  if (!access) return Reopening();
  std::vector<leveldb::Iterator*> sources;  // Those that count first are first.
  for (size_t head = access.view().heads.size(); head-- > 0;) {
    sources.push_back(&access.iterator(head));
  }
  sources.push_back(&access.base_iterator());
  const std::string begin = MemoKey(prefix);
  const std::string start = after < prefix ? begin : MemoKey(after).append(1, '\0');
  for (leveldb::Iterator* source : sources) source->Seek(start);
  std::vector<std::pair<std::string, std::string>> memos;
  while (memos.size() < limit) {
    const leveldb::Iterator* const smallest = Smallest(sources, begin);
    if (smallest == nullptr) break;
    const std::string stored = smallest->key().ToString();
    Result<std::optional<std::string>> value = MemoOf(stored, ToView(smallest->value()));
    if (!value) return value.error();
    if (*value) memos.emplace_back(stored.substr(1), std::move(**value));
    for (leveldb::Iterator* source : sources) {
      if (source->Valid() && ToView(source->key()) == stored) source->Next();
    }
  }
  for (const leveldb::Iterator* source : sources) {
    if (const Status read = FromLevelDb(source->status()); !read) return read.error();
  }
  return memos;
}

// Changes in memory, and an opener that makes them. The lock is the disk's own.
struct Database::InMemory {
  InMemory(Database* of, leveldb::FileLock* taken)
      : lock(taken),
        real(&of->env_),
        env(real),
        opener(of->config_, &env, of->cache_.get(), &of->disposer_) {}
  ~InMemory() { real->UnlockFile(lock).ok(); }

  leveldb::FileLock* const lock;
  StoreEnv* const real;
  OverlayEnv env;
  Opener opener;
};

Database::Database(const StorageConfig& config, StoreEnv* env)
    : config_(config),
      env_(env, config.path),
      cache_(leveldb::NewLRUCache(config.block_cache / kEighths * kLevelDbEighths)),
      shelf_(&env_, BlockFilesDirectory(config.path),
             {.indexes = config.block_cache / kEighths * kIndexEighths,
              .parts = config.block_cache / kEighths * kPartEighths}),
      opener_(config, &env_, cache_.get(), &disposer_) {}

Database::~Database() { Close(); }

Status Database::Open(size_t head_bytes) {
  Dispose();  // What is left of what was open before holds its locks.
  const std::lock_guard writing(write_mutex_);
  in_memory_.reset();
  head_status_ = {};
  Result<OpenedFiles> opened = opener_.Open(head_bytes, opening_ == 0);
  if (!opened) {
    Dispose();
    return opened.error();
  }
  Take(std::move(*opened));
  knows_store_ = true;
  return {};
}

// The files of the shelf are of the store that was opened first. One that has no id yet, and is
// opened to be read only, is given one in memory alone.
void Database::Take(OpenedFiles opened) {
  opened_store_ = std::move(opened.store);
  if (!knows_store_) shelf_.SetStore(opened_store_);
  base_ = std::move(opened.base);
  heads_ = std::move(opened.heads);
  introduced_ = 0;
}

Status Database::OpenToRead(size_t head_bytes) {
  Dispose();
  const std::lock_guard writing(write_mutex_);
  in_memory_.reset();
  leveldb::FileLock* lock = nullptr;
  const Status locked = FromLevelDb(env_.LockFile(config_.path + "/" + kLockName, &lock));
  if (!locked) return locked;
  in_memory_ = std::make_unique<InMemory>(this, lock);
  Result<OpenedFiles> opened = in_memory_->opener.Open(head_bytes, false);
  in_memory_->env.Freeze();
  if (!opened) {
    Dispose();
    in_memory_.reset();
    return opened.error();
  }
  Take(std::move(*opened));
  head_status_ = Error(ErrorCode::kNoSpace, config_.path + " was opened to be read only");
  return {};
}

void Database::AdmitReaders(const BlockFileMap& files, const DeleteList& deletes) {
  auto view = std::make_shared<View>();
  view->opening = ++opening_;
  view->disposer = &disposer_;
  view->heads = heads_;
  for (const auto& [table, of_table] : files) view->Replace({}, of_table);
  view->AddDeletes(deletes);
  {
    const std::lock_guard lock(mutex_);
    closing_ = false;
    view_ = std::move(view);
  }
  opened_.notify_all();
}

// A reader is in the midst of a step at most: that is waited for, with no lock held that another
// query needs.
void Database::Close() {
  if (!base_) return;
  closing_ = true;
  const std::lock_guard writing(write_mutex_);
  const std::lock_guard changing(change_mutex_);
  ViewPtr last;
  std::set<std::shared_ptr<Lease::Held>> leases;
  {
    const std::lock_guard lock(mutex_);
    last = std::exchange(view_, nullptr);
    leases.swap(held_);
  }
  for (const auto& lease : leases) {
    const std::lock_guard step(lease->mutex);
    lease->Release();
  }
  leases.clear();
  // Others may hold a view, and with it the heads, for a moment; their files are free all the same.
  if (last) {
    for (const auto& head : last->heads) head->Close();
  }
  for (const auto& head : heads_) head->Close();
  heads_.clear();
  last.reset();
  base_.reset();
  Dispose();
}

void Database::Dispose() {
  disposer_.Dispose();
  shelf_.SyncRemovals();
}

Status Database::WriteBase(leveldb::WriteBatch* batch) {
  leveldb::WriteOptions options;
  options.sync = true;
  return FromLevelDb(base_->Write(options, batch));
}

Status Database::WriteHead(const HeadWrite& write, const std::function<void()>& publish) {
  const std::lock_guard writing(write_mutex_);
  if (!head_status_) return head_status_;
  leveldb::WriteOptions options;
  Head& head = *heads_.back();
  if (write.prepare) write.prepare(head.number());
  const std::string group = GroupKey(write.sequence);
  const size_t record_bytes = write.entries != nullptr ? write.entries->record().size() : 0;
  const bool as_group = write.entries != nullptr && head.TakesGroup(record_bytes);
  const bool synced_last = write.sync && as_group && record_bytes >= kSyncedLastBytes;
  options.sync = write.sync && !synced_last;
  if (as_group) {
    write.batch->Put(group, ToSlice(write.entries->record()));
  } else if (write.entries != nullptr) {
    for (const EntryRun::Entry& entry : write.entries->entries()) {
      write.batch->Put(ToSlice(entry.key()), ToSlice(entry.value()));
    }
  }
  static const size_t kEmpty = leveldb::WriteBatch().ApproximateSize();
  if (write.batch->ApproximateSize() > kEmpty) Introduce(head, write);
  head_status_ = FromLevelDb(head.db().Write(options, write.batch));
  const size_t bytes = write.batch->ApproximateSize();
  if (head_status_ && bytes > kEmpty) head.AddBytes(bytes);
  newest_bytes_ = head.bytes();
  if (!head_status_) return head_status_;
  head.CoverTimes(write.times);
  if (as_group) head.AddRun(group, write.entries);
  if (synced_last) head_status_ = FromLevelDb(env_.SyncLog(opener_.PathOf(head.number())));
  if (!head_status_) return head_status_;
  publish();
  std::function<void(View*)> change;
  if (!write.deletes.empty()) change = [&](View* view) { view->AddDeletes(write.deletes); };
  PublishView(change, &head, head.TakeSnapshot());
  return {};
}

void Database::Introduce(const Head& head, const HeadWrite& write) {
  if (introduced_ == head.number()) return;
  introduced_ = head.number();
  write.batch->Put(MetaKey(MetaKind::kStoreId), shelf_.store());
  if (head.bytes() > 0 || !write.after) return;
  write.batch->Put(MetaKey(MetaKind::kHeadOrigin), EncodeHeadOrigin({head.number(), *write.after}));
}

Result<bool> Database::BeginHead(const LogRoom& room) {
  const ViewPtr before = view();
  if (!before) return Reopening();
  const std::shared_ptr<Head>& last = before->heads.back();
  if (last->bytes() == 0) return false;
  // Opened before anybody waits for it.
  Result<std::shared_ptr<Head>> next = opener_.OpenHead(last->number() + 1, room);
  if (!next) return next.error();
  const std::lock_guard writing(write_mutex_);
  // After a failed write the end of the log is unknown: nothing may follow it before the reopen.
  if (heads_.empty() || heads_.back() != last || !head_status_) {
    return Reopening();
  }
  head_status_ = last->MarkClosed();
  if (!head_status_) return head_status_.error();
  heads_.assign(1, *next);
  ChangeView([&](View* view) { view->heads.push_back(*next); });
  return true;
}

Status Database::SyncNewestHead() {
  const std::lock_guard writing(write_mutex_);
  if (heads_.empty() || !head_status_) {
    return Reopening();
  }
  leveldb::WriteOptions options;
  options.sync = true;
  leveldb::WriteBatch nothing;
  head_status_ = FromLevelDb(heads_.back()->db().Write(options, &nothing));
  return head_status_;
}

bool Database::HasFailedHead() {
  const std::lock_guard writing(write_mutex_);
  return !heads_.empty() && !head_status_;
}

Result<std::string> Database::Get(std::string_view key) const {
  leveldb::ReadOptions options;
  options.verify_checksums = true;
  std::string value;
  const Status got = FromLevelDb(base_->Get(options, ToSlice(key), &value));
  if (!got) return got.error();
  return value;
}

Result<uint64_t> Database::LastSequence() const {
  std::vector<leveldb::DB*> levels = {base_.get()};
  for (const auto& head : heads_) levels.push_back(&head->db());
  leveldb::ReadOptions options;
  options.verify_checksums = true;
  uint64_t last = 0;
  for (leveldb::DB* level : levels) {
    const std::string key = MetaKey(MetaKind::kLastSequence);
    std::string value;
    const Status got = FromLevelDb(level->Get(options, key, &value));
    if (!got && got.error().code() == ErrorCode::kNotFound) continue;
    if (!got) return got.error();
    uint64_t of_level = 0;
    if (!ByteReader(value).GetU64(&of_level)) return UnreadableRecord(key, "it is no number");
    last = std::max(last, of_level);
  }
  return last;
}

std::unique_ptr<leveldb::Iterator> Database::NewIterator(leveldb::DB* db) {
  leveldb::ReadOptions options;
  options.verify_checksums = true;
  options.fill_cache = false;
  return std::unique_ptr<leveldb::Iterator>(db->NewIterator(options));
}

uint64_t Database::BytesOf(leveldb::DB* db, std::string_view start, std::string_view end) {
  const leveldb::Range range(ToSlice(start), ToSlice(end));
  uint64_t bytes = 0;
  db->GetApproximateSizes(&range, 1, &bytes);
  return bytes;
}

Result<std::unique_ptr<Lease>> Database::NewLease() {
  std::unique_ptr<Lease> lease(new Lease(this));
  Lease::Held& held = *lease->held_;  // Nobody else's until it is among held_.
  std::unique_lock lock(mutex_);
  if (const Status waited = WaitForView(&lock); !waited) return waited.error();
  held.view = view_;
  for (const auto& head : view_->heads) held.heads.push_back({head->published(), nullptr});
  held_.insert(lease->held_);
  return lease;
}

Result<std::unique_ptr<Lease>> Database::NewLeaseOfFiles() {
  Result<std::unique_ptr<Lease>> lease = NewLease();
  if (!lease) return lease;
  Lease::Held& held = *(*lease)->held_;
  const std::lock_guard lock(held.mutex);
  if (!held.view) return lease;
  auto files = std::make_shared<View>(*held.view);
  held.heads.clear();
  files->heads.clear();
  held.view = std::move(files);
  return lease;
}

// While nobody writes to a head: base's snapshot, which comes first, has the column sets of all
// that the heads' snapshots have, and latest rows of nothing else.
Result<std::unique_ptr<Lease>> Database::NewLeaseOfMoment() {
  const std::lock_guard writing(write_mutex_);
  if (!base_) return Reopening();
  leveldb::DB* const base = base_.get();
  std::shared_ptr<const leveldb::Snapshot> snapshot(
      base->GetSnapshot(), [base](const leveldb::Snapshot* held) { base->ReleaseSnapshot(held); });
  Result<std::unique_ptr<Lease>> lease = NewLease();
  if (!lease) return lease;
  Lease::Held& held = *(*lease)->held_;
  const std::lock_guard lock(held.mutex);
  if (held.view) held.base.snapshot = std::move(snapshot);
  return lease;
}

Status Database::WaitForView(std::unique_lock<std::mutex>* lock) {
  if (opened_.wait_for(*lock, kReopenPatience, [&] { return view_ != nullptr; })) return {};
  return Reopening();
}

ViewPtr Database::view() const {
  const std::lock_guard lock(mutex_);
  return view_;
}

void Database::ChangeView(const std::function<void(View*)>& change) {
  PublishView(change, nullptr, {});
}

// What is replaced goes after the locks.
void Database::PublishView(const std::function<void(View*)>& change, Head* head,
                           HeadSnapshot snapshot) {
  ViewPtr next;
  const std::lock_guard changing(change_mutex_);
  if (change) {
    const ViewPtr before = view();
    if (!before) return;
    auto changed = std::make_shared<View>(*before);
    change(changed.get());
    next = std::move(changed);
  }
  const std::lock_guard lock(mutex_);
  if (!view_) return;
  if (next) view_.swap(next);
  if (head != nullptr) head->Publish(&snapshot);
}

}  // namespace tallyd
