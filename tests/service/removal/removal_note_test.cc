#include "service/removal/removal_note.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

RemovalNote Note() {
  RemovalNote note;
  note.number = 42;
  note.stream = "market data";
  note.filters = {{"host", {"a b", "", "3:x"}}, {"fi:eld", {"1"}}};
  note.time = {5, kMaxTimeUs + 1};
  return note;
}

TEST(RemovalNoteTest, ReadsBackAsItWasWritten) {
  EXPECT_EQ(EncodeRemovalNote(Note()),
            "1:1"
            "1:5"
            "17:10000000000000000"
            "11:market data"
            "4:host"
            "1:3"
            "3:a b"
            "0:"
            "3:3:x"
            "6:fi:eld"
            "1:1"
            "1:1");
}

TEST(RemovalNoteTest, IsReadFromItsKeyAndValue) {
  const auto note = DecodeRemovalNote(RemovalNoteKey(42), EncodeRemovalNote(Note()));
  ASSERT_TRUE(note);
  EXPECT_EQ(note->number, 42u);
  EXPECT_EQ(note->stream, "market data");
  ASSERT_EQ(note->filters.size(), 2u);
  EXPECT_EQ(note->filters[0].field, "host");
  EXPECT_EQ(note->filters[0].values, (std::vector<std::string>{"a b", "", "3:x"}));
  EXPECT_EQ(note->filters[1].values, (std::vector<std::string>{"1"}));
  EXPECT_EQ(note->time, Note().time);
}

TEST(RemovalNoteTest, TellsTheTablesThatItWaitsFor) {
  RemovalNote note = Note();
  note.tables = {7, 300};
  const std::string value = EncodeRemovalNote(note);
  EXPECT_TRUE(value.starts_with("1:21:5"));
  const auto read = DecodeRemovalNote(RemovalNoteKey(42), value);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->tables, note.tables);
  EXPECT_EQ(read->filters.size(), 2u);
}

TEST(RemovalNoteTest, WhatIsCutIsNone) {
  const std::string value = EncodeRemovalNote(Note());
  for (size_t size = 0; size < value.size(); ++size) {
    const auto note = DecodeRemovalNote(RemovalNoteKey(1), value.substr(0, size));
    // Between two filters it may end, too.
    EXPECT_TRUE(!note || note->filters.size() < 2) << size;
  }
  EXPECT_FALSE(DecodeRemovalNote("fill/x", value));
  EXPECT_FALSE(DecodeRemovalNote(RemovalNoteKey(1), ""));
}

}  // namespace
}  // namespace tallyd
