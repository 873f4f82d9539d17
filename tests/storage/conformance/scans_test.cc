// Scans return what a spec asks for, in key order, of one moment.
#include <algorithm>

#include "tests/storage/conformance/conformance.h"

namespace tallyd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kTables[] = {"H", "L", "R"};

ScanSpec RangesOf(std::vector<KeyRange> ranges, bool reverse = false) {
  ScanSpec spec;
  spec.ranges = std::move(ranges);
  spec.reverse = reverse;
  return spec;
}

TEST_P(Conformance, RowsComeInTheOrderOfTheirBytes) {
  const std::vector<std::string> ordered = {std::string("\0", 1),
                                            std::string("\0\0", 2),
                                            "a",
                                            std::string("a\0", 2),
                                            std::string("a\0b", 3),
                                            "a\x01",
                                            "ab",
                                            "b",
                                            "\x7f",
                                            "\x80",
                                            "\xff",
                                            "\xff\xff"};
  std::vector<std::string> written = ordered;
  std::rotate(written.begin(), written.begin() + 5, written.end());
  for (const char* table : kTables) {
    for (const std::string& row : written) WriteRows(table, {row});
    EXPECT_EQ(Keys(table, {}), ordered) << table;
    Settle();
    EXPECT_EQ(Keys(table, {}), ordered) << table;
    ScanSpec reverse;
    reverse.reverse = true;
    std::vector<std::string> backwards = Keys(table, reverse);
    std::reverse(backwards.begin(), backwards.end());
    EXPECT_EQ(backwards, ordered) << table;
  }
}

TEST_P(Conformance, ARangeHasItsStartAndNotItsEnd) {
  for (const char* table : kTables) {
    WriteRows(table, {"a", "b", "c", "d"});
    EXPECT_THAT(Keys(table, RangesOf({{"b", "d"}})), ElementsAre("b", "c"));
    EXPECT_THAT(Keys(table, RangesOf({{"", "b"}})), ElementsAre("a"));
    EXPECT_THAT(Keys(table, RangesOf({{"c", ""}})), ElementsAre("c", "d"));
    EXPECT_THAT(Keys(table, RangesOf({{"bb", "c"}})), IsEmpty());
    EXPECT_THAT(Keys(table, RangesOf({{"c", "c"}})), IsEmpty());
    EXPECT_THAT(Keys(table, RangesOf({OneRow("b")})), ElementsAre("b"));
    EXPECT_THAT(Keys(table, RangesOf({{"b", "d"}}, true)), ElementsAre("c", "b"));
  }
}

TEST_P(Conformance, ManyRangesAreReadInOneGo) {
  for (const char* table : kTables) {
    WriteRows(table, {"a", "b", "c", "d", "e", "f"});
    const std::vector<KeyRange> ranges = {
        {"a", "b"}, {"b", "b"}, {"bb", "c"}, {"c", "e"}, {"f", ""}};
    EXPECT_THAT(Keys(table, RangesOf(ranges)), ElementsAre("a", "c", "d", "f")) << table;
    EXPECT_THAT(Keys(table, RangesOf(ranges, true)), ElementsAre("f", "d", "c", "a")) << table;
    EXPECT_THAT(Keys(table, RangesOf({})), IsEmpty()) << table;
  }
}

TEST_P(Conformance, AThousandRangesFindTheirRows) {
  std::vector<std::string> rows;
  std::vector<KeyRange> ranges;
  std::vector<std::string> expected;
  for (int i = 1000; i < 4000; ++i) {
    rows.push_back(std::to_string(i));
    if (i % 3 != 0) continue;
    ranges.push_back(OneRow(rows.back()));
    expected.push_back(rows.back());
  }
  for (const char* table : kTables) {
    WriteRows(table, rows);
    EXPECT_EQ(Keys(table, RangesOf(ranges)), expected) << table;
  }
}

TEST_P(Conformance, ALimitCountsRows) {
  for (const char* table : kTables) {
    WriteRows(table, {"a", "b", "c", "d"});
    ScanSpec spec = RangesOf({{"a", "b"}, {"c", ""}});
    spec.limit = 2;
    EXPECT_THAT(Keys(table, spec), ElementsAre("a", "c")) << table;
    spec.reverse = true;
    EXPECT_THAT(Keys(table, spec), ElementsAre("d", "c")) << table;
    spec.limit = 9;
    EXPECT_EQ(Keys(table, spec).size(), 3u) << table;
  }
}

TEST_P(Conformance, ALimitCountsOnlyRowsThatAreReturned) {
  for (const char* table : kTables) {
    WriteRows(table, {"a", "b"}, 5);
    WriteRows(table, {"c", "d"}, 9);
    ScanSpec spec;
    spec.limit = 1;
    spec.cells = {9, 10};
    EXPECT_THAT(Keys(table, spec), ElementsAre("c")) << table;
  }
}

// A cursor is the key of the last row that was returned.
TEST_P(Conformance, AScanGoesOnAfterTheRowThatEndedTheOneBefore) {
  for (const char* table : kTables) {
    WriteRows(table, {"a", std::string("a\0", 2), "b", "c"});
    for (const bool reverse : {false, true}) {
      ScanSpec spec;
      spec.reverse = reverse;
      const std::vector<std::string> all = Keys(table, spec);
      std::vector<std::string> paged;
      spec.limit = 1;
      for (std::vector<std::string> page; !(page = Keys(table, spec)).empty();) {
        paged.push_back(page.front());
        KeyRange& range = spec.ranges.front();
        reverse ? range.end = page.front() : range.start = OneRow(page.front()).end;
      }
      EXPECT_EQ(paged, all) << table;
    }
  }
}

TEST_P(Conformance, SkippingFindsTheNextRowAtOrAfterTheKey) {
  for (const char* table : kTables) {
    WriteRows(table, {"a", "b", "d", "e", "f"});
    const auto forward = store().Scan(Find(table), RangesOf({{"a", "b"}, {"d", ""}}));
    ASSERT_TRUE(*forward->Next());
    forward->SkipTo("c");
    ASSERT_TRUE(*forward->Next());
    EXPECT_EQ(forward->row().key, "d") << table;
    forward->SkipTo("a");
    ASSERT_TRUE(*forward->Next()) << "only forward";
    EXPECT_EQ(forward->row().key, "e") << table;
    forward->SkipTo("x");
    EXPECT_FALSE(*forward->Next());
    const auto backward = store().Scan(Find(table), RangesOf({{"a", "b"}, {"d", ""}}, true));
    backward->SkipTo("e");
    ASSERT_TRUE(*backward->Next());
    EXPECT_EQ(backward->row().key, "e") << table;
    backward->SkipTo("c");
    ASSERT_TRUE(*backward->Next());
    EXPECT_EQ(backward->row().key, "a") << table;
    EXPECT_FALSE(*backward->Next());
  }
}

TEST_P(Conformance, ColumnsAreChosenByGlobs) {
  for (const char* table : kTables) {
    ASSERT_TRUE(Write(table, "a", 5,
                      {{"A", "cpu/0", Value::Int(1)},
                       {"A", "cpu/1", Value::Int(2)},
                       {"A", "mem", Value::Int(3)},
                       {"B", "cpu/0", Value::Int(4)}}));
    ScanSpec spec;
    spec.columns = {{"A", "cpu/*"}};
    EXPECT_EQ(Read(table, spec), (Rows{{"a", {{"A:cpu/0@5", "1"}, {"A:cpu/1@5", "2"}}}})) << table;
    spec.columns = {{"*", "*/0"}, {"A", "mem"}};
    EXPECT_EQ(Read(table, spec),
              (Rows{{"a", {{"A:cpu/0@5", "1"}, {"A:mem@5", "3"}, {"B:cpu/0@5", "4"}}}}));
    spec.columns = {{"B", "mem"}};
    EXPECT_EQ(Read(table, spec), Rows()) << "no cell, no row";
  }
}

TEST_P(Conformance, TimesAndVersionsNarrowTheCells) {
  for (const TimeUs time : {3, 5, 7, 9}) {
    ASSERT_TRUE(Write("H", "a", time, {{"A", "x", Value::Int(time)}}));
  }
  ASSERT_TRUE(Write("H", "a", 3, {{"A", "y", Value::Int(30)}}));
  ScanSpec spec;
  spec.cells = {3, 9};
  spec.versions = 2;
  const Rows expected = {{"a", {{"A:x@5", "5"}, {"A:x@7", "7"}, {"A:y@3", "30"}}}};
  EXPECT_EQ(Read("H", spec), expected);
  Settle();
  EXPECT_EQ(Read("H", spec), expected);
  spec.cells = {5, 5};
  EXPECT_EQ(Read("H", spec), Rows());
}

TEST_P(Conformance, ALatestCellOutsideTheTimesHidesNoOlderOne) {
  for (const char* table : {"L", "R"}) {
    ASSERT_TRUE(Write(table, "a", 5, {{"A", "x", Value::Int(1)}}));
    ASSERT_TRUE(Write(table, "a", 9, {{"A", "x", Value::Int(2)}}));
    ScanSpec spec;
    spec.cells = {0, 9};
    EXPECT_EQ(Read(table, spec), Rows()) << table << " has only the newest";
    spec.cells = {9, 10};
    EXPECT_EQ(Read(table, spec), (Rows{{"a", {{"A:x@9", "2"}}}})) << table;
  }
}

TEST_P(Conformance, KeysOnlyBringsEachRowsNewestPart) {
  ASSERT_TRUE(Write("H", "a", 5, {{"A", "x", Value::Int(1)}, {"B", "y", Value::Int(1)}}));
  ASSERT_TRUE(Write("H", "a", 9, {{"B", "y", Value::Int(2)}}));
  ASSERT_TRUE(Write("H", "b", 4, {{"A", "x", Value::Int(3)}}));
  ScanSpec spec;
  spec.keys_only = true;
  EXPECT_EQ(Read("H", spec), (Rows{{"a", {{"B:y@9", "2"}}}, {"b", {{"A:x@4", "3"}}}}));
  spec.cells = {0, 9};
  EXPECT_EQ(Read("H", spec).front().second.size(), 2u);
}

TEST_P(Conformance, AScanSeesTheStateOfItsCreation) {
  NEEDS_CAPABILITY(snapshots);
  WriteRows("H", {"a", "b", "c"});
  const auto scan = store().Scan(Find("H"), ScanSpec{});
  ASSERT_TRUE(*scan->Next());
  WriteRows("H", {"bb"});
  ASSERT_TRUE(Write("H", "c", 5, {{"A", "x", Value::Int(2)}}));
  ASSERT_TRUE(Erase("H", RowDelete("b", "bb")));
  Settle();
  ASSERT_TRUE(*scan->Next());
  EXPECT_EQ(scan->row().key, "b");
  ASSERT_TRUE(*scan->Next());
  EXPECT_EQ(scan->row().key, "c");
  EXPECT_EQ(scan->row().cells[0].value, Value::Int(1));
  EXPECT_FALSE(*scan->Next());
  EXPECT_THAT(Keys("H", {}), ElementsAre("a", "bb", "c"));
}

TEST_P(Conformance, RunsHaveTheCellsThatRowsHave) {
  for (const char* table : kTables) {
    for (int i = 0; i < 300; ++i) {
      const std::string row = "m" + std::to_string(i % 7);
      ASSERT_TRUE(Write(table, row, i, {{"A", "x", Value::Int(i)}, {"B", "y", Value::Double(i)}}));
      if (i == 150) Settle();
    }
    ScanSpec spec;
    EXPECT_EQ(ReadRuns(table, spec), Read(table, spec)) << table;
    spec.cells = {40, 260};
    spec.columns = {{"A", "*"}};
    spec.ranges = {{"m1", "m3"}, {"m5", ""}};
    EXPECT_EQ(ReadRuns(table, spec), Read(table, spec)) << table;
    spec.limit = 2;
    EXPECT_EQ(ReadRuns(table, spec), Read(table, spec)) << table;
    spec.versions = 3;
    EXPECT_EQ(ReadRuns(table, spec), Read(table, spec)) << table;
  }
}

TEST_P(Conformance, ASplitCoversItsRangeAndNothingElse) {
  for (int i = 1000; i < 3000; i += 100) {
    std::vector<std::string> rows;
    for (int row = i; row < i + 100; ++row) rows.push_back(std::to_string(row));
    WriteRows("H", rows, i);
  }
  Settle();
  for (const KeyRange& range : {KeyRange{}, KeyRange{"1050", "2950"}}) {
    for (const size_t parts : {size_t{1}, size_t{4}}) {
      const std::vector<KeyRange> pieces =
          *store().Split(Find("H"), range, TimeRange{}, {parts, 1});
      ASSERT_GE(pieces.size(), 1u);
      ASSERT_LE(pieces.size(), parts);
      EXPECT_EQ(pieces.front().start, range.start);
      EXPECT_EQ(pieces.back().end, range.end);
      for (size_t i = 1; i < pieces.size(); ++i) EXPECT_EQ(pieces[i].start, pieces[i - 1].end);
    }
  }
}

TEST_P(Conformance, RowsAreCountedExactlyWhereTheyAreFew) {
  std::vector<std::string> rows;
  for (int i = 100; i < 130; ++i) rows.push_back(std::to_string(i));
  const std::vector<KeyRange> ranges = {{"105", "110"}, {"120", ""}};
  for (const char* table : {"H", "L"}) {
    WriteRows(table, rows, 1);
    EXPECT_EQ(store().Estimate(Find(table), {ranges})->rows, 15u) << table;
    for (const TimeUs time : {2, 3}) WriteRows(table, rows, time);
    EXPECT_EQ(store().Stats(Find(table))->rows, 30u) << table;
    EXPECT_TRUE(store().Stats(Find(table))->rows_exact) << table;
  }
}

TEST_P(Conformance, ManyRowsAreEstimated) {
  constexpr int kRows = 20'000;
  for (int first = 0; first < kRows; first += 1000) {
    std::vector<std::string> rows;
    for (int i = first; i < first + 1000; ++i) rows.push_back(std::to_string(100'000 + i));
    WriteRows("H", rows);
  }
  const std::vector<KeyRange> all = {{}};
  const auto estimate = static_cast<double>(store().Estimate(Find("H"), {all})->rows);
  EXPECT_GT(estimate, kRows * 0.5);
  EXPECT_LT(estimate, kRows * 2.0);
}

}  // namespace
}  // namespace tallyd
