#include "storage/leveldb/database.h"

#include <leveldb/write_batch.h>
#include <sys/resource.h>

#include <algorithm>

#include "storage/leveldb/status.h"
#include "storage/leveldb/wal_check.h"

namespace tallyd {
namespace {

// How long a reader waits for a reopen.
constexpr auto kReopenPatience = std::chrono::milliseconds(1000);
constexpr int kMaxOpenFiles = 1000;
constexpr size_t kBlockBytes = 16u << 10;

// A quarter of what the process may open is left to tables; the rest is for connections.
int TableFiles() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMaxOpenFiles;
  return static_cast<int>(std::min<rlim_t>(limit.rlim_cur / 4, kMaxOpenFiles));
}

}  // namespace

Lease::~Lease() {
  const std::lock_guard lock(database_->mutex_);
  Release();
  database_->leases_.remove(this);
}

void Lease::Release() {
  for (auto& iterator : iterators_) iterator.reset();
  if (db_ != nullptr && snapshot_ != nullptr) db_->ReleaseSnapshot(snapshot_);
  snapshot_ = nullptr;
  db_ = nullptr;
}

leveldb::ReadOptions Access::read_options() const {
  leveldb::ReadOptions options;
  options.verify_checksums = true;
  options.snapshot = lease_->snapshot_;
  return options;
}

leveldb::Iterator& Access::iterator(size_t which) const {
  auto& iterator = lease_->iterators_[which];
  if (!iterator) iterator.reset(db().NewIterator(read_options()));
  return *iterator;
}

bool Access::must_stop() const {
  return lease_->database_->closing_.load(std::memory_order_relaxed);
}

Database::Database(const StorageConfig& config, leveldb::Env* env)
    : config_(config),
      env_(env),
      filter_(config.bloom_bits > 0
                  ? leveldb::NewBloomFilterPolicy(static_cast<int>(config.bloom_bits))
                  : nullptr),
      cache_(leveldb::NewLRUCache(config.block_cache)) {}

Database::~Database() { Close(); }

// Under the lock that LevelDB takes right after: another process may be writing.
Status Database::CheckLogs() {
  const std::string name = config_.path + "/LOCK";
  leveldb::FileLock* lock = nullptr;
  const Status locked = FromLevelDb(env_->LockFile(name, &lock));
  if (!locked) return locked;
  Status checked = CheckWriteAheadLogs(env_, config_.path, config_.sync);
  const Status unlocked = FromLevelDb(env_->UnlockFile(lock));
  return checked ? unlocked : checked;
}

Status Database::Open(size_t write_buffer) {
  const Status checked = CheckLogs();
  if (!checked) return checked;
  leveldb::Options options;
  options.create_if_missing = true;
  options.paranoid_checks = true;
  options.env = env_;
  options.write_buffer_size = write_buffer;
  options.max_open_files = TableFiles();
  options.block_cache = cache_.get();
  options.block_size = kBlockBytes;
  options.max_file_size = config_.max_file_size;
  options.filter_policy = filter_.get();
  leveldb::DB* db = nullptr;
  const Status opened = FromLevelDb(leveldb::DB::Open(options, config_.path, &db));
  if (!opened) return opened;
  db_.reset(db);
  return {};
}

void Database::AdmitReaders() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = false;
    readable_ = db_.get();
  }
  opened_.notify_all();
}

void Database::Close() {
  if (!db_) return;
  closing_ = true;
  {
    const std::lock_guard lock(mutex_);
    readable_ = nullptr;
    for (Lease* lease : leases_) {
      const std::lock_guard step(lease->mutex_);
      lease->Release();
    }
  }
  db_.reset();
}

Status Database::Write(leveldb::WriteBatch* batch, bool sync) {
  leveldb::WriteOptions options;
  options.sync = sync;
  return FromLevelDb(db_->Write(options, batch));
}

Result<std::string> Database::Get(std::string_view key) const {
  leveldb::ReadOptions options;
  options.verify_checksums = true;
  std::string value;
  const Status got = FromLevelDb(db_->Get(options, ToSlice(key), &value));
  if (!got) return got.error();
  return value;
}

std::unique_ptr<leveldb::Iterator> Database::NewIterator() const {
  leveldb::ReadOptions options;
  options.verify_checksums = true;
  options.fill_cache = false;
  return std::unique_ptr<leveldb::Iterator>(db_ ? db_->NewIterator(options) : nullptr);
}

Result<std::unique_ptr<Lease>> Database::NewLease() {
  std::unique_ptr<Lease> lease(new Lease(this));
  std::unique_lock lock(mutex_);
  if (!opened_.wait_for(lock, kReopenPatience, [&] { return readable_ != nullptr; })) {
    lock.unlock();
    return Error(ErrorCode::kUnavailable, "the store is reopening its files; try again");
  }
  lease->db_ = readable_;
  lease->snapshot_ = readable_->GetSnapshot();
  leases_.push_back(lease.get());
  return lease;
}

}  // namespace tallyd
