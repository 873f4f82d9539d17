#include "config/schema/pattern.h"

#include <gtest/gtest.h>

#include <string>

namespace tallyd {
namespace {

// What a pattern's row says, as one reads it out.
std::string Sentence(Pattern pattern) {
  const PatternInfo& info = InfoOf(pattern);
  std::string text = "an event is ";
  switch (info.event_becomes) {
    case EventBecomes::kRow:
      text += "a row";
      break;
    case EventBecomes::kVersion:
      text += "another version";
      break;
    case EventBecomes::kColumn:
      text += "another column";
      break;
    case EventBecomes::kChange:
      text += "a change";
      break;
  }
  if (!info.keeps_events()) text.append("; keeps ").append(info.instead_of_events);
  if (info.keeps_newest) text += "; of a cell the newest value";
  if (info.merges_inputs) text += "; merges inputs";
  if (info.may_flush) text += "; may flush";
  return text;
}

TEST(PatternTest, HasTheNameOfTheFile) {
  EXPECT_EQ(ToString(Pattern::kSingleTimestamp), "single-timestamp");
  EXPECT_EQ(ToString(Pattern::kSingleTimestampSerialized), "single-timestamp-serialized");
  EXPECT_EQ(ToString(Pattern::kNewCell), "new-cell");
  EXPECT_EQ(ToString(Pattern::kNewCellSerialized), "new-cell-serialized");
  EXPECT_EQ(ToString(Pattern::kNewColumn), "new-column");
  EXPECT_EQ(ToString(Pattern::kLatest), "latest");
  EXPECT_EQ(ToString(Pattern::kAggregate), "aggregate");
}

TEST(PatternTest, EachStandsInTheListOnce) {
  for (const PatternInfo& info : kPatterns) EXPECT_EQ(&InfoOf(info.pattern), &info) << info.name;
}

TEST(PatternTest, ASerializedOneWritesItsCellUnderAConstantName) {
  for (const PatternInfo& info : kPatterns) {
    const bool serialized = info.serialize != Serialization::kNone;
    EXPECT_EQ(info.rule_name == kBlobName, serialized) << info.name;
    EXPECT_EQ(info.rule_name.find('{') == std::string_view::npos, serialized) << info.name;
  }
}

TEST(PatternTest, ItsRowTellsWhatItsTablesAreLike) {
  EXPECT_EQ(Sentence(Pattern::kSingleTimestamp), "an event is a row; may flush");
  EXPECT_EQ(Sentence(Pattern::kSingleTimestampSerialized), "an event is a row");
  EXPECT_EQ(Sentence(Pattern::kNewCell), "an event is another version");
  EXPECT_EQ(Sentence(Pattern::kNewCellSerialized), "an event is another version");
  EXPECT_EQ(Sentence(Pattern::kNewColumn), "an event is another column");
  EXPECT_EQ(Sentence(Pattern::kLatest),
            "an event is a change; keeps only the latest values; of a cell the newest value");
  EXPECT_EQ(Sentence(Pattern::kAggregate),
            "an event is a change; keeps what events add up to, not the events; merges inputs");
}

TEST(PatternTest, WhatKeepsNoEventsHasOneOtherMeaning) {
  for (const PatternInfo& info : kPatterns) {
    EXPECT_EQ(info.keeps_events(), info.event_becomes != EventBecomes::kChange) << info.name;
    EXPECT_EQ(info.keeps_newest + info.merges_inputs, info.keeps_events() ? 0 : 1) << info.name;
  }
}

TEST(PatternTest, MessagesNameThoseThatHaveAProperty) {
  EXPECT_EQ(PatternsWith(&PatternInfo::keeps_newest), "latest");
  EXPECT_EQ(PatternsWith(&PatternInfo::merges_inputs), "aggregate");
  EXPECT_EQ(PatternsWith(&PatternInfo::may_flush), "single-timestamp");
}

}  // namespace
}  // namespace tallyd
