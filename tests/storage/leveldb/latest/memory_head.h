// MemoryHead: a head's LevelDB in memory, without files.
#ifndef TALLYD_TESTS_STORAGE_LEVELDB_LATEST_MEMORY_HEAD_H_
#define TALLYD_TESTS_STORAGE_LEVELDB_LATEST_MEMORY_HEAD_H_

#include <gtest/gtest.h>
#include <leveldb/db.h>
#include <leveldb/env.h>
#include <leveldb/helpers/memenv.h>

#include <memory>
#include <string>

namespace tallyd {

class MemoryHead {
 public:
  MemoryHead() : env_(leveldb::NewMemEnv(leveldb::Env::Default())) {
    leveldb::Options options;
    options.create_if_missing = true;
    options.env = env_.get();
    leveldb::DB* opened = nullptr;
    EXPECT_TRUE(leveldb::DB::Open(options, "/head", &opened).ok());
    db_.reset(opened);
  }

  void Put(const std::string& key, const std::string& value) {
    EXPECT_TRUE(db_->Put({}, key, value).ok());
  }
  std::unique_ptr<leveldb::Iterator> NewIterator() {
    return std::unique_ptr<leveldb::Iterator>(db_->NewIterator({}));
  }

 private:
  std::unique_ptr<leveldb::Env> env_;
  std::unique_ptr<leveldb::DB> db_;
};

}  // namespace tallyd

#endif  // TALLYD_TESTS_STORAGE_LEVELDB_LATEST_MEMORY_HEAD_H_
