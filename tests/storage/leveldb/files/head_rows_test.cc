// Rows of a head, compared with a map.
#include "storage/leveldb/files/head_rows.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/storage/leveldb/files/entry_run_helper.h"

namespace tallyd {
namespace {

constexpr TableId kTable = 3;  // As KeyOf has it.

std::string KeyIn(TableId table, std::string_view row, TimeUs time, uint64_t sequence) {
  std::string key = KeyOf(row, time, sequence);
  EncodeU32(key.data() + 1, table);
  return key;
}

// By row, the newest first, of one time the later first: the values.
using Rows = std::map<std::string, std::map<std::pair<TimeUs, uint64_t>, std::string,
                                            std::greater<std::pair<TimeUs, uint64_t>>>>;

Rows Read(const HeadEntries& head) {
  Rows rows;
  HeadRows at(head, kTable);
  std::string last;
  Result<bool> next = at.Next();
  for (; next && *next; next = at.Next()) {
    const std::string row(at.row_key());
    EXPECT_TRUE(rows.empty() || last < row) << "rows come once each, in order";
    std::pair<TimeUs, uint64_t> newest{kMaxTimeUs + 1, 0};
    for (const HeadRows::Entry& entry : at.entries()) {
      const std::pair of_entry(entry.time, entry.sequence);
      EXPECT_LT(of_entry, newest);
      newest = of_entry;
      rows[row][of_entry] = entry.value;
    }
    last = row;
  }
  EXPECT_TRUE(next);
  return rows;
}

TEST(HeadRowsTest, AnyRowsOfATableComeWholeWhateverRunsAndTablesTheyAreIn) {
  std::mt19937_64 random(17);
  const std::string_view bytes("ab\0\x01\xff\x02", 6);
  for (int round = 0; round < 200; ++round) {
    HeadEntries head;
    Rows expected;
    uint64_t sequence = 0;
    for (auto groups = random() % 20; groups > 0; --groups) {
      std::vector<std::pair<std::string, std::string>> group;
      for (auto entries = 1 + random() % 60; entries > 0; --entries) {
        std::string row;
        for (auto size = 1 + random() % 9; size > 0; --size) {
          row += random() % 4 > 0 ? 'a' : bytes[random() % bytes.size()];
        }
        const auto table = static_cast<TableId>(2 + random() % 3);
        const auto time = static_cast<TimeUs>(random() % 5);
        ++sequence;
        group.emplace_back(KeyIn(table, row, time, sequence), std::to_string(sequence));
        if (table == kTable) expected[row][{time, sequence}] = group.back().second;
      }
      head.runs = head.runs.With(RunOf(group));
    }
    ASSERT_EQ(Read(head), expected) << "round " << round;
  }
}

TEST(HeadRowsTest, AMalformedKeyIsCorruption) {
  const std::string sound = KeyOf("row", 7, 1);
  std::string long_key = KeyOf("row", 7, 2);
  long_key.insert(long_key.size() - kEntrySuffixBytes, "x");
  for (const std::string& key : {long_key, sound.substr(0, kTablePrefixBytes + 4)}) {
    HeadEntries head;
    head.runs = head.runs.With(RunOf({{sound, "1"}, {key, "2"}}));
    HeadRows rows(head, kTable);
    Result<bool> next = rows.Next();
    while (next && *next) next = rows.Next();
    ASSERT_FALSE(next);
    EXPECT_EQ(next.error().code(), ErrorCode::kCorruption);
  }
}

}  // namespace
}  // namespace tallyd
