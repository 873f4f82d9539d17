// Database: the LevelDB handle, and who may use it when. One thread (the committer's) opens, writes
// and closes; any thread reads through a Lease.
//
//   Open, load, AdmitReaders, Write..., Close.
//
// A Lease is one snapshot. Its reader takes an Access for the time of one step; between steps the
// database may be closed under it, which revokes the lease: later Accesses are false, and the
// reader gives up with kUnavailable. So a reopen waits for one step of each reader, never for a
// slow client. Long steps ask must_stop() now and then. NewLease waits a moment for a reopen to
// finish.
#ifndef TALLYD_STORAGE_LEVELDB_DATABASE_H_
#define TALLYD_STORAGE_LEVELDB_DATABASE_H_

#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/filter_policy.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "config/config.h"
#include "config/result.h"

namespace tallyd {

class Database;

class Lease {
 public:
  ~Lease();
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

 private:
  friend class Database;
  friend class Access;
  explicit Lease(Database* database) : database_(database) {}
  void Release();  // REQUIRES: mutex_, or that nobody else knows of it.

  Database* const database_;
  std::mutex mutex_;
  leveldb::DB* db_ = nullptr;  // Guarded by mutex_. Null: revoked.
  const leveldb::Snapshot* snapshot_ = nullptr;
  std::array<std::unique_ptr<leveldb::Iterator>, 2> iterators_;
};

class Access {
 public:
  explicit Access(Lease* lease) : lock_(lease->mutex_), lease_(lease) {}
  explicit operator bool() const { return lease_->db_ != nullptr; }

  leveldb::DB& db() const { return *lease_->db_; }
  // One of two iterators over the snapshot that live as long as the lease; made at first use.
  leveldb::Iterator& iterator(size_t which = 0) const;
  leveldb::ReadOptions read_options() const;
  bool must_stop() const;

 private:
  std::unique_lock<std::mutex> lock_;
  Lease* lease_;
};

class Database {
 public:
  // `env` outlives the database.
  Database(const StorageConfig& config, leveldb::Env* env);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Of the thread that writes:
  Status Open(size_t write_buffer);
  void AdmitReaders();  // When what is held in memory of it was loaded.
  void Close();         // Revokes every lease.
  bool is_open() const { return db_ != nullptr; }
  Status Write(leveldb::WriteBatch* batch, bool sync);
  // kNotFound if absent.
  Result<std::string> Get(std::string_view key) const;
  // Without a snapshot; null when closed. Must be gone before Close.
  std::unique_ptr<leveldb::Iterator> NewIterator() const;

  // Of any thread. kUnavailable when it is closed and stays so for a moment.
  Result<std::unique_ptr<Lease>> NewLease();

 private:
  friend class Lease;
  friend class Access;
  Status CheckLogs();

  const StorageConfig config_;
  leveldb::Env* const env_;
  const std::unique_ptr<const leveldb::FilterPolicy> filter_;
  const std::unique_ptr<leveldb::Cache> cache_;
  std::unique_ptr<leveldb::DB> db_;
  std::atomic<bool> closing_{false};

  std::mutex mutex_;
  std::condition_variable opened_;
  leveldb::DB* readable_ = nullptr;  // Guarded by mutex_; null while closed.
  std::list<Lease*> leases_;         // Guarded by mutex_.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_LEVELDB_DATABASE_H_
