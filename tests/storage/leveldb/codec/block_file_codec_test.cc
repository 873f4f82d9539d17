// The bytes of a block file beside its blocks (storage/FORMAT.md, Block files).
#include "storage/leveldb/codec/block_file_codec.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

namespace tallyd {
namespace {

std::string Hex(std::string_view bytes) {
  std::string hex;
  for (const char c : bytes) fmt::format_to(std::back_inserter(hex), "{:02x}", c & 0xff);
  return hex;
}

BlockFileInfo SomeInfo() {
  BlockFileInfo info;
  info.table = 3;
  info.number = 42;
  info.min_sequence = 7;
  info.max_sequence = 9;
  info.deletes = 8;
  info.window = 100;
  info.width = 50;
  info.min_time = 101;
  info.max_time = 149;
  info.entries = 5;
  info.rows = 2;
  info.bytes = 300;
  info.checksum = 0x0102030405060708;
  info.first_key = "a";
  info.last_key = "bc";
  return info;
}

TableInfo SomeTable() {
  TableInfo table;
  table.id = 3;
  table.name = "T";
  table.stream = "s";
  table.pattern = "new-cell";
  table.row_key = "{a}";
  table.families.push_back({"F", false, {}});
  return table;
}

TEST(BlockFileInfoTest, OnlyALaterWriteOfTheSameRowsAndTimesMayCover) {
  BlockFileInfo earlier;
  earlier.min_sequence = 10;
  earlier.max_sequence = 20;
  earlier.min_time = 100;
  earlier.max_time = 200;
  earlier.first_key = "b";
  earlier.last_key = "d";
  const auto may_cover = [&](uint64_t last, TimeUs from, TimeUs to, const char* first_key,
                             const char* last_key) {
    BlockFileInfo later;
    later.min_sequence = 1;
    later.max_sequence = last;
    later.min_time = from;
    later.max_time = to;
    later.first_key = first_key;
    later.last_key = last_key;
    return later.MayCover(earlier);
  };
  EXPECT_TRUE(may_cover(11, 200, 300, "d", "f"));
  EXPECT_TRUE(may_cover(11, 0, 100, "a", "b"));
  EXPECT_TRUE(may_cover(11, 120, 130, "c", "c"));
  EXPECT_TRUE(may_cover(11, 0, 300, "a", "f"));
  EXPECT_FALSE(may_cover(10, 120, 130, "c", "c")) << "nothing is committed before itself";
  EXPECT_FALSE(may_cover(11, 201, 300, "c", "c"));
  EXPECT_FALSE(may_cover(11, 0, 99, "c", "c"));
  EXPECT_FALSE(may_cover(11, 120, 130, "d0", "f"));
  EXPECT_FALSE(may_cover(11, 120, 130, "a", "az"));
}

TEST(BlockFileCodecTest, TheBytesOfARecord) {
  const BlockFileInfo info = SomeInfo();
  const std::string key = BlockFileKey(info.table, info.number);
  EXPECT_EQ(Hex(key), "1100000003000000000000002a");
  const std::string record = EncodeBlockFile(info);
  EXPECT_EQ(Hex(record),
            "0207090864326595010502016102"
            "6263ac020102030405060708");
  const Result<BlockFileInfo> decoded = DecodeBlockFile(key, record);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(*decoded, info);
}

TEST(BlockFileCodecTest, AnIndexOfOneBlockTakesLittleMemory) {
  BlockIndex index;
  BlockPlace place;
  place.first_key = "a";
  place.last_key = "b";
  index.Add(place);
  EXPECT_LT(index.bytes(), 500u);
  const std::string key(100, 'k');
  for (int i = 0; i < 10'000; ++i) {
    place.first_key = place.last_key = key;
    index.Add(place);
  }
  EXPECT_EQ(index.blocks().back().first_key, key);
  EXPECT_EQ(index.blocks().front().last_key, "b");
}

TEST(BlockFileCodecTest, TheBytesOfANote) {
  const std::string key = FileNoteKey(42);
  EXPECT_EQ(Hex(key), "12000000000000002a");
  EXPECT_EQ(*ParseFileNoteKey(key), 42u);
  EXPECT_FALSE(ParseFileNoteKey(key + "x"));
  EXPECT_FALSE(ParseFileNoteKey(key.substr(0, 5)));
  EXPECT_EQ(Hex(EncodeFileNote({})), "00");
  const FileNote damaged{FileNote::Kind::kDamaged, "why"};
  EXPECT_EQ(Hex(EncodeFileNote(damaged)), "01776879");
  EXPECT_EQ(*DecodeFileNote(EncodeFileNote(damaged)), damaged);
  EXPECT_EQ(*DecodeFileNote(EncodeFileNote({})), FileNote());
  EXPECT_FALSE(DecodeFileNote(""));
  EXPECT_FALSE(DecodeFileNote("\x02"));
}

TEST(BlockFileCodecTest, ANoteSaysWhichFileWasDropped) {
  const FileNote dropped{FileNote::Kind::kDropped, {}, 0x0102030405060708};
  EXPECT_EQ(Hex(EncodeFileNote(dropped)), "000102030405060708");
  EXPECT_EQ(*DecodeFileNote(EncodeFileNote(dropped)), dropped);
  EXPECT_FALSE(DecodeFileNote(std::string("\0abc", 4)));
  EXPECT_FALSE(DecodeFileNote(std::string(10, '\0')));
}

TEST(BlockFileCodecTest, AFileSaysOfItselfWhatBaseRecords) {
  const BlockFileInfo info = SomeInfo();
  const Result<BlockFileDescription> decoded =
      DecodeDescription(EncodeDescription({info, SomeTable()}));
  ASSERT_TRUE(decoded);
  BlockFileInfo expected = info;
  expected.bytes = 0;
  expected.checksum = 0;
  EXPECT_EQ(decoded->info, expected);
  EXPECT_EQ(decoded->table.name, "T");
  EXPECT_EQ(decoded->table.id, 3u);
  EXPECT_EQ(decoded->table.families.size(), 1u);
}

TEST(BlockFileCodecTest, AFileSaysWhereItComesFrom) {
  BlockFileDescription made{SomeInfo(), SomeTable()};
  made.origin = {std::string(16, 'a'), {{FileSource::Kind::kHead, 5, 0x0102030405060708}}};
  made.content = 7;
  const std::string bytes = EncodeDescription(made);
  EXPECT_EQ(Hex(bytes.substr(0, 4)), "0309032a");
  const std::string store = "10" + Hex(made.origin.store);
  EXPECT_TRUE(Hex(bytes).ends_with(store + "0000000000000007"
                                           "01"
                                           "00050102030405060708"))
      << Hex(bytes);
  const Result<BlockFileDescription> decoded = DecodeDescription(bytes);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->origin, made.origin);
  EXPECT_EQ(decoded->content, 7u);
  made.origin.sources = {{FileSource::Kind::kFile, 300, 1}, {FileSource::Kind::kFile, 301, 2}};
  EXPECT_EQ(DecodeDescription(EncodeDescription(made))->origin, made.origin);
}

// As format 8 wrote it.
TEST(BlockFileCodecTest, AnOlderFileDoesNotSayWhereItComesFrom) {
  std::string bytes = EncodeDescription({SomeInfo(), SomeTable()});
  constexpr size_t kOfOrigin = 1 + sizeof(uint64_t) + 1;
  bytes.resize(bytes.size() - kOfOrigin);
  bytes[0] = 2;
  bytes[1] = 8;
  const Result<BlockFileDescription> decoded = DecodeDescription(bytes);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->info.number, 42u);
  EXPECT_EQ(decoded->table.name, "T");
  EXPECT_FALSE(decoded->content);
  EXPECT_TRUE(decoded->origin.store.empty());
  EXPECT_TRUE(decoded->origin.sources.empty());
}

TEST(BlockFileCodecTest, AChecksumOfPiecesIsThatOfTheWhole) {
  ContentChecksum checksum;
  EXPECT_EQ(checksum.Get(), Checksum64(""));
  const std::string bytes(100'000, 'x');
  checksum.Add(std::string_view(bytes).substr(0, 777));
  checksum.Add("");
  checksum.Add(std::string_view(bytes).substr(777));
  EXPECT_EQ(checksum.Get(), Checksum64(bytes));
}

TEST(BlockFileCodecTest, AnEndOfWhichAByteIsDamagedIsStillOne) {
  std::string end = EncodeFooter({10, 1, 20, 2});
  EXPECT_TRUE(LooksLikeFooter(end));
  end[35] ^= 1;
  EXPECT_TRUE(LooksLikeFooter(end));
  EXPECT_FALSE(LooksLikeFooter(std::string(40, 'x')));
  EXPECT_FALSE(LooksLikeFooter(end.substr(1)));
}

TEST(BlockFileCodecTest, TheBytesOfAnIndex) {
  BlockIndex index;
  BlockPlace block;
  block.size = 20;
  block.head_size = 10;
  block.entries = 2;
  block.rows = 1;
  block.runs = 1;
  block.columns = 3;
  block.min_time = 100;
  block.max_time = 101;
  block.first_key = "m#1";
  block.last_key = "m#2";
  index.Add(block);
  block.first_key = "m#3";
  block.last_key = "m#3";
  index.Add(block);
  const std::string bytes = EncodeBlockIndex(index);
  EXPECT_EQ(Hex(bytes),
            "02"
            "140a02010103640100036d2331"
            "020132"
            "140a020101036401"
            "020133"
            "0300");
  const Result<BlockIndex> decoded = DecodeBlockIndex(bytes, 40);
  ASSERT_TRUE(decoded);
  ASSERT_EQ(decoded->blocks().size(), 2u);
  EXPECT_EQ(decoded->blocks()[1].offset, 20u);
  EXPECT_EQ(decoded->blocks()[1].last_key, "m#3");
  EXPECT_EQ(decoded->FindBlock("m#2"), 0u);
  EXPECT_EQ(decoded->FindBlock("m#21"), 1u);
  EXPECT_EQ(decoded->FindBlock("z"), 2u);
  EXPECT_FALSE(DecodeBlockIndex(bytes, 41)) << "the blocks end where the index begins";
}

TEST(BlockFileCodecTest, TheFooterIsOfFixedSize) {
  const BlockFileFooter footer{40, 1, 60, 2};
  const std::string bytes = EncodeFooter(footer);
  EXPECT_EQ(bytes.size(), BlockFileFooter::kBytes);
  BlockFileFooter decoded;
  ASSERT_TRUE(DecodeFooter(bytes, 120, &decoded));
  EXPECT_EQ(decoded.description, 60u);
  EXPECT_FALSE(DecodeFooter(bytes, 90, &decoded)) << "it points beyond the file";
  EXPECT_FALSE(DecodeFooter(bytes.substr(1), 120, &decoded));
}

TEST(BlockFileCodecTest, DamagedBytesAreErrorsOrValuesButNeverACrash) {
  std::mt19937_64 random(1);
  BlockIndex index;
  for (int i = 0; i < 20; ++i) {
    BlockPlace block;
    block.size = 100;
    const std::string first = fmt::format("key{:03}", i * 10);
    const std::string last = fmt::format("key{:03}", i * 10 + 9);
    block.first_key = first;
    block.last_key = last;
    index.Add(block);
  }
  const std::string encoded[] = {EncodeBlockIndex(index), EncodeBlockFile(SomeInfo()),
                                 EncodeDescription({SomeInfo(), SomeTable()})};
  const std::string key = BlockFileKey(3, 42);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = encoded[round % 3];
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    for (uint64_t flips = random() % 3; flips > 0 && !bytes.empty(); --flips) {
      bytes[random() % bytes.size()] ^= static_cast<char>(1 + random() % 255);
    }
    DecodeBlockIndex(bytes, 2000).has_value();
    DecodeBlockFile(key, bytes).has_value();
    DecodeDescription(bytes).has_value();
  }
}

}  // namespace
}  // namespace tallyd
