// Block files for tests: a shelf in a directory of its own, a table, entries of single integers.
#ifndef TALLYD_TESTS_STORAGE_LEVELDB_BLOCK_MAKER_H_
#define TALLYD_TESTS_STORAGE_LEVELDB_BLOCK_MAKER_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "storage/leveldb/catalogue/registries.h"
#include "storage/leveldb/env/durable_env.h"
#include "storage/leveldb/files/block_file.h"
#include "tests/storage/store_fixture.h"

namespace tallyd {

class BlockMaker {
 public:
  BlockMaker() : shelf_(&env_, dir_.path(), {.indexes = 1u << 20, .parts = 1u << 20}) {
    TableInfo table;
    table.id = 3;
    table.name = "T";
    table.stream = "s";
    table.families.push_back({"F", true, {}});
    table.family_rank = {0};
    table_ = std::make_shared<const TableInfo>(table);
    const ColumnRef column{0, "x"};
    set_ = sets_.Intern(*table_, {&column, 1});
  }

  BlockFileShelf& shelf() { return shelf_; }
  StoreEnv* env() { return &env_; }
  const TablePtr& table() const { return table_; }
  const ColumnRegistry& sets() const { return sets_; }
  const ColumnSet& set() const { return *set_; }

  std::unique_ptr<BlockFileWriter> NewWriter(uint64_t number,
                                             std::vector<FileSource> sources = {}) {
    BlockFileInfo info;
    info.number = number;
    info.width = kUsPerDay;
    return std::make_unique<BlockFileWriter>(&shelf_, table_, info, BlockBounds(),
                                             std::move(sources));
  }
  void Add(BlockFileWriter* writer, const EntryId& entry, int64_t value) {
    ASSERT_TRUE(writer->FlushFull(entry.row_key, entry.time, 1));
    writer->builder().Add(entry, *set_, std::vector{Value::Int(value)});
  }
  // Rows `prefix`10000 and so on, of the time 1000.
  BlockFilePtr MakeFile(uint64_t number, const std::string& prefix, int rows, uint64_t sequence = 7,
                        std::vector<FileSource> sources = {}) {
    auto writer = NewWriter(number, std::move(sources));
    for (int i = 0; i < rows; ++i) {
      const std::string key = prefix + std::to_string(10'000 + i);
      Add(writer.get(), {key, 1000, sequence}, i);
    }
    return Finish(writer.get());
  }
  static BlockFilePtr Finish(BlockFileWriter* writer) {
    EXPECT_TRUE(writer->Complete());
    EXPECT_TRUE(writer->Sync());
    return writer->Finish();
  }

 private:
  TempDir dir_;
  DurableEnv env_{{[](double) {}, [] {}}};
  BlockFileShelf shelf_;
  TablePtr table_;
  ColumnRegistry sets_;
  const ColumnSet* set_ = nullptr;
};

}  // namespace tallyd

#endif  // TALLYD_TESTS_STORAGE_LEVELDB_BLOCK_MAKER_H_
