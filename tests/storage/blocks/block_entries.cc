#include "tests/storage/blocks/block_entries.h"

#include <algorithm>
#include <limits>

#include "storage/blocks/column_block.h"
#include "storage/bytes/coding.h"

namespace tallyd {

Value EntryMaker::RandomValue(uint64_t kind) {
  switch (kind % 10) {
    case 0:
      return Value::Int(static_cast<int64_t>(Random(200)));
    case 1:
      return Value::Int(static_cast<int64_t>(random_()));
    case 2:
      return Value::Decimal(static_cast<int64_t>(Random(20'000)) - 10'000, 2);
    case 3:
      return Value::Decimal(static_cast<int64_t>(Random(1000)), static_cast<uint8_t>(Random(23)));
    case 4: {
      const double odd[] = {-0.0, 5e-324, 1e300, -1.5, 0.1, std::numeric_limits<double>::max()};
      return Value::Double(odd[Random(std::size(odd))]);
    }
    case 5:
      return Value::Bool(Random(2) == 0);
    case 6:
      return Value::String(words_[Random(words_.size())]);
    case 7:
      texts_.push_back(std::make_unique<std::string>(Random(40), 'x'));
      for (char& c : *texts_.back()) c = static_cast<char>('a' + Random(26));
      return Value::String(*texts_.back());
    case 8:
      texts_.push_back(std::make_unique<std::string>(Random(20), '\0'));
      for (char& c : *texts_.back()) c = static_cast<char>(Random(256));
      return Value::Bytes(*texts_.back());
    default:
      return RandomValue(Random(9));
  }
}

std::string EntryMaker::KeyOf(TimeUs time, uint64_t entity) const {
  const std::string name = "m" + std::to_string(entity);
  switch (key_kind_) {
    case 0:
      return name + "#" + std::to_string(time / 1000);
    case 1:
      return name + "#" + std::to_string(time / 86'400'000'000);
    case 2:
      return std::to_string(time / 1000) + "#" + name;
    case 3:
      return name + "#" + std::to_string(std::numeric_limits<int64_t>::max() - time / 1000) + "#z";
    case 4:
      return name + std::string("\0\xff", 2) + std::to_string(time / 1'000'000);
    default:
      return name + "#" + std::to_string(time);
  }
}

std::vector<BlockEntry> EntryMaker::Entries() {
  key_kind_ = Random(6);
  const uint64_t columns = 1 + Random(12);
  const uint64_t shapes = 1 + Random(4);
  const uint64_t heads = 1 + Random(3);
  const bool sparse = Random(3) == 0;
  std::vector<BlockEntry> entries;
  const uint64_t count = 1 + Random(600);
  for (uint64_t i = 0; i < count; ++i) {
    BlockEntry entry;
    entry.time = 1'500'000'000'000'000 + static_cast<TimeUs>(Random(500)) * 500'000 +
                 static_cast<TimeUs>(Random(4) == 0 ? Random(1000) : 0);
    entry.key = KeyOf(entry.time, Random(5));
    entry.sequence = 1000 + (Random(3) == 0 ? Random(heads) : 0) * 17;
    const uint64_t shape = Random(shapes);
    for (uint64_t c = 0; c < columns; ++c) {
      if ((c + shape) % shapes != 0 && shapes > 1) continue;
      if (sparse && Random(3) == 0) continue;
      const auto kind = Random(40) == 0 ? Random(10) : c;
      entry.cells.push_back(
          {{static_cast<FamilyId>(c % 3), "c" + std::to_string(c)}, RandomValue(kind)});
    }
    if (entry.cells.empty()) entry.cells.push_back({{0, "c0"}, Value::Int(1)});
    entries.push_back(std::move(entry));
  }
  std::sort(entries.begin(), entries.end(), [](const BlockEntry& a, const BlockEntry& b) {
    if (a.key != b.key) return a.key < b.key;
    return a.time != b.time ? a.time > b.time : a.sequence > b.sequence;
  });
  const auto same = [](const BlockEntry& a, const BlockEntry& b) {
    return a.key == b.key && a.time == b.time && a.sequence == b.sequence;
  };
  entries.erase(std::unique(entries.begin(), entries.end(), same), entries.end());
  return entries;
}

void AddTo(BlockBuilder* builder, const BlockEntry& entry) {
  std::vector<ColumnRef> columns;
  std::vector<Value> values;
  for (const BlockCell& cell : entry.cells) {
    columns.push_back(cell.column.ref());
    values.push_back(cell.value);
  }
  builder->Add({entry.key, entry.time, entry.sequence}, columns, values, nullptr);
}

std::string MakeBlock(std::span<const BlockEntry> entries, ColumnBlock* block) {
  BlockBuilder builder;
  for (const BlockEntry& entry : entries) AddTo(&builder, entry);
  const BuiltBlock built = builder.Finish();
  EXPECT_TRUE(block->Open(built.bytes.substr(0, built.head_size)));
  return std::string(built.bytes);
}

std::vector<ColumnData> DecodeAll(ColumnBlock* block, std::string_view bytes) {
  std::vector<ColumnData> columns(block->schema()->columns.size());
  for (uint32_t i = 0; i < columns.size(); ++i) {
    const ColumnBlock::Stream stream = block->StreamOf(i);
    const Status decoded = block->Decode(i, bytes.substr(stream.offset, stream.size), &columns[i]);
    EXPECT_TRUE(decoded);
  }
  return columns;
}

BlockColumn ColumnOf(const ColumnBlock& block, const ColumnData& data, uint32_t number) {
  return {block.schema()->columns[number].ref(), &data, block.PresenceOf(number)};
}

void ExpectEntries(ColumnBlock* opened, std::string_view bytes,
                   std::span<const BlockEntry> entries) {
  const ColumnBlock& block = *opened;
  ASSERT_EQ(block.entries(), entries.size());
  const std::vector<ColumnData> columns = DecodeAll(opened, bytes);
  ASSERT_TRUE(block.CheckEntriesHaveCells());
  std::string key;
  for (uint32_t i = 0; i < entries.size(); ++i) {
    block.GetKey(i, &key);
    ASSERT_EQ(key, entries[i].key);
    ASSERT_EQ(block.sequences()[i], entries[i].sequence);
    ASSERT_EQ(block.times().At(i), entries[i].time);
    std::vector<BlockCell> cells;
    for (const uint32_t number : block.schema()->shapes[block.shape_of(i)]) {
      const BlockColumn column = ColumnOf(block, columns[number], number);
      if (!column.Has(i)) continue;
      cells.push_back({block.schema()->columns[number], column.data->At(column.PlaceOf(i))});
    }
    ASSERT_EQ(cells.size(), entries[i].cells.size());
    std::vector<BlockCell> expected = entries[i].cells;
    if (block.schema()->by_presence) {
      std::ranges::sort(expected, ComesBefore, &BlockCell::column);
    }
    for (size_t c = 0; c < cells.size(); ++c) {
      ASSERT_EQ(cells[c].column, expected[c].column);
      ASSERT_EQ(cells[c].value, expected[c].value);
    }
  }
}

void SetChecksum(char* at, std::string_view bytes) { EncodeU32(at, BlockChecksum(bytes)); }

}  // namespace tallyd
