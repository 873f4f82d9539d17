// Entries for tests of column blocks: random ones in the order of a store, and verbs that put them
// into a block and compare it with them.
#ifndef TALLYD_TESTS_STORAGE_BLOCKS_BLOCK_ENTRIES_H_
#define TALLYD_TESTS_STORAGE_BLOCKS_BLOCK_ENTRIES_H_

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/blocks/block_builder.h"
#include "storage/blocks/column_block.h"

namespace tallyd {

struct BlockCell {
  Column column;
  Value value;
};
struct BlockEntry {
  std::string key;
  TimeUs time = 0;
  uint64_t sequence = 0;
  std::vector<BlockCell> cells;
};

// Owns the text of the values that it makes.
class EntryMaker {
 public:
  explicit EntryMaker(unsigned seed) : random_(seed) {}

  uint64_t Random(uint64_t n) { return random_() % n; }
  // Kinds below 9 are of one type each, and a greater one is any of them.
  Value RandomValue(uint64_t kind);
  // Sorted as a store has them, no two of one key, time and sequence.
  std::vector<BlockEntry> Entries();

 private:
  std::string KeyOf(TimeUs time, uint64_t entity) const;

  std::mt19937_64 random_;
  uint64_t key_kind_ = 0;
  const std::vector<std::string> words_ = {"up", "down", "", "degraded"};
  std::vector<std::unique_ptr<std::string>> texts_;
};

void AddTo(BlockBuilder* builder, const BlockEntry& entry);
// The bytes of one block of these entries, which is opened as *block.
std::string MakeBlock(std::span<const BlockEntry> entries, ColumnBlock* block);
std::vector<ColumnData> DecodeAll(ColumnBlock* block, std::string_view bytes);
// After its data was decoded.
BlockColumn ColumnOf(const ColumnBlock& block, const ColumnData& data, uint32_t number);
void ExpectEntries(ColumnBlock* block, std::string_view bytes, std::span<const BlockEntry> entries);
// Overwrites the four bytes at `at`.
void SetChecksum(char* at, std::string_view bytes);

}  // namespace tallyd

#endif  // TALLYD_TESTS_STORAGE_BLOCKS_BLOCK_ENTRIES_H_
