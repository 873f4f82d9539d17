#include "storage/leveldb/files/database.h"

#include <leveldb/write_batch.h>
#include <sys/resource.h>

#include <algorithm>

#include "storage/bytes/coding.h"
#include "storage/leveldb/codec/key_codec.h"
#include "storage/leveldb/env/status.h"
#include "storage/leveldb/env/wal_check.h"

namespace tallyd {
namespace {

// How long a reader waits for a reopen.
constexpr auto kReopenPatience = std::chrono::milliseconds(1000);
constexpr int kMaxOpenFiles = 1000;
constexpr size_t kBlockBytes = 16u << 10;
// Base takes the latest rows of each head that is sealed, and little else.
constexpr size_t kBaseWriteBuffer = 8u << 20;

// A quarter of what the process may open is left to tables; the rest is for connections.
int TableFiles() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMaxOpenFiles;
  return static_cast<int>(std::min<rlim_t>(limit.rlim_cur / 4, kMaxOpenFiles));
}

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
  heads.clear();
  view.reset();
}

leveldb::Iterator& Access::iterator(size_t head) const {
  Lease::OfHead& held = lease_->held_->heads[head];
  if (!held.iterator) {
    leveldb::ReadOptions options;
    options.verify_checksums = true;
    options.snapshot = held.snapshot.get();
    held.iterator.reset(view().heads[head]->db().NewIterator(options));
  }
  return *held.iterator;
}

leveldb::DB& Access::base() const { return *lease_->database_->base_; }

bool Access::must_stop() const { return lease_->database_->closing(); }

Database::Database(const StorageConfig& config, leveldb::Env* env)
    : config_(config),
      env_(env),
      filter_(config.bloom_bits > 0
                  ? leveldb::NewBloomFilterPolicy(static_cast<int>(config.bloom_bits))
                  : nullptr),
      cache_(leveldb::NewLRUCache(config.block_cache)),
      shelf_(env, BlockFilesDirectory(config.path), cache_.get()) {}

Database::~Database() { Close(); }

// Under the lock that LevelDB takes right after: another process may be writing.
Status Database::CheckLogs() {
  const std::string name = config_.path + "/LOCK";
  leveldb::FileLock* lock = nullptr;
  const Status locked = FromLevelDb(env_->LockFile(name, &lock));
  if (!locked) return locked;
  Status checked = CheckWriteAheadLogs(env_, config_.path, Sync::kAlways);
  const Status unlocked = FromLevelDb(env_->UnlockFile(lock));
  return checked ? unlocked : checked;
}

Status Database::Open(size_t head_bytes) {
  head_bytes_ = head_bytes;
  Status opened;
  {
    const std::lock_guard writing(write_mutex_);
    head_status_ = {};
    opened = CheckLogs();
    if (opened) opened = OpenBase();
    if (opened) opened = OpenHeads();
  }
  if (!opened) Close();
  return opened;
}

Status Database::OpenBase() {
  leveldb::Options options;
  options.create_if_missing = true;
  options.paranoid_checks = true;
  options.env = env_;
  options.write_buffer_size = std::min(head_bytes_.load(), kBaseWriteBuffer);
  options.max_open_files = TableFiles();
  options.block_cache = cache_.get();
  options.block_size = kBlockBytes;
  options.max_file_size = config_.max_file_size;
  options.filter_policy = filter_.get();
  leveldb::DB* db = nullptr;
  const Status opened = FromLevelDb(leveldb::DB::Open(options, config_.path, &db));
  if (opened) base_.reset(db);
  return opened;
}

Result<std::shared_ptr<Head>> Database::OpenHead(uint64_t number) {
  leveldb::Options options;
  options.create_if_missing = true;
  options.paranoid_checks = true;
  options.env = env_;
  options.max_open_files = TableFiles();
  options.block_cache = cache_.get();
  options.block_size = kBlockBytes;
  options.max_file_size = config_.max_file_size;
  Result<std::shared_ptr<Head>> head =
      Head::Open(HeadsDirectory(config_.path), number, options, head_bytes_, config_.sync);
  if (head) *head = disposer_.Watch(std::move(*head));
  return head;
}

Status Database::OpenHeads() {
  heads_.clear();
  const std::string directory = HeadsDirectory(config_.path);
  for (const std::string& made : {directory, BlockFilesDirectory(config_.path)}) {
    if (env_->FileExists(made)) continue;
    const Status done = FromLevelDb(env_->CreateDir(made));
    if (!done) return done;
  }
  uint64_t sealed = 0;
  const Result<std::string> record = Get(MetaKey(MetaKind::kSealedHead));
  if (!record && record.error().code() != ErrorCode::kNotFound) return record.error();
  if (record && !ByteReader(*record).GetU64(&sealed)) {
    return Error(ErrorCode::kCorruption, "the record of the last sealed head is malformed");
  }
  Result<std::vector<uint64_t>> numbers = ListHeads(env_, directory);
  if (!numbers) return numbers.error();
  if (numbers->empty() || numbers->back() <= sealed) numbers->push_back(sealed + 1);
  for (const uint64_t number : *numbers) {
    if (number <= sealed) {
      RemoveHead(env_, directory, number);
      continue;
    }
    Result<std::shared_ptr<Head>> head = OpenHead(number);
    if (!head) return head.error();
    heads_.push_back(std::move(*head));
  }
  return {};
}

void Database::AdmitReaders(const BlockFileMap& files, const DeleteList& deletes) {
  auto view = std::make_shared<View>();
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

Status Database::WriteBase(leveldb::WriteBatch* batch) {
  leveldb::WriteOptions options;
  options.sync = true;
  return FromLevelDb(base_->Write(options, batch));
}

Status Database::WriteHead(const HeadWrite& write, const std::function<void()>& publish) {
  const std::lock_guard writing(write_mutex_);
  if (!head_status_) return head_status_;
  leveldb::WriteOptions options;
  options.sync = write.sync;
  Head& head = *heads_.back();
  head_status_ = FromLevelDb(head.db().Write(options, write.batch));
  static const size_t kEmpty = leveldb::WriteBatch().ApproximateSize();
  const size_t bytes = write.batch->ApproximateSize();
  if (head_status_ && bytes > kEmpty) head.AddBytes(bytes);
  newest_bytes_ = head.bytes();
  if (!head_status_) return head_status_;
  head.CoverTimes(write.times);
  publish();
  std::function<void(View*)> change;
  if (!write.deletes.empty()) change = [&](View* view) { view->AddDeletes(write.deletes); };
  PublishView(change, &head, head.TakeSnapshot());
  return {};
}

Result<bool> Database::BeginHead() {
  const ViewPtr before = view();
  if (!before) return Error(ErrorCode::kUnavailable, "the store is reopening its files");
  const std::shared_ptr<Head>& last = before->heads.back();
  if (last->bytes() == 0) return false;
  // Opened before anybody waits for it.
  Result<std::shared_ptr<Head>> next = OpenHead(last->number() + 1);
  if (!next) return next.error();
  const std::lock_guard writing(write_mutex_);
  // After a failed write the end of the log is unknown: nothing may follow it before the reopen.
  if (heads_.empty() || heads_.back() != last || !head_status_) {
    return Error(ErrorCode::kUnavailable, "the store reopened its files");
  }
  const Status synced = SyncHead();
  if (!synced) return synced.error();
  heads_.assign(1, *next);
  ChangeView([&](View* view) { view->heads.push_back(*next); });
  return true;
}

Status Database::SyncNewestHead() {
  const std::lock_guard writing(write_mutex_);
  if (heads_.empty() || !head_status_) {
    return Error(ErrorCode::kUnavailable, "the store is reopening its files");
  }
  return SyncHead();
}

Status Database::SyncHead() {
  leveldb::WriteOptions options;
  options.sync = true;
  leveldb::WriteBatch nothing;
  head_status_ = FromLevelDb(heads_.back()->db().Write(options, &nothing));
  return head_status_;
}

Result<std::string> Database::Get(std::string_view key) const {
  leveldb::ReadOptions options;
  options.verify_checksums = true;
  std::string value;
  const Status got = FromLevelDb(base_->Get(options, ToSlice(key), &value));
  if (!got) return got.error();
  return value;
}

std::unique_ptr<leveldb::Iterator> Database::NewIterator(leveldb::DB* db) {
  leveldb::ReadOptions options;
  options.verify_checksums = true;
  options.fill_cache = false;
  return std::unique_ptr<leveldb::Iterator>(db->NewIterator(options));
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

Status Database::WaitForView(std::unique_lock<std::mutex>* lock) {
  if (opened_.wait_for(*lock, kReopenPatience, [&] { return view_ != nullptr; })) return {};
  return Error(ErrorCode::kUnavailable, "the store is reopening its files; try again");
}

ViewPtr Database::view() const {
  const std::lock_guard lock(mutex_);
  return view_;
}

void Database::ChangeView(const std::function<void(View*)>& change) {
  PublishView(change, nullptr, nullptr);
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
