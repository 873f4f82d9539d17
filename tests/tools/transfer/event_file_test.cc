// A file of events becomes bodies: whole lines, bounded, the same ones from the same place.
#include "tools/transfer/event_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tallyd {
namespace {

class EventFileTest : public testing::Test {
 protected:
  ~EventFileTest() override { std::filesystem::remove(path_); }

  EventFile Open(const std::string& text, BodyKind kind = BodyKind::kNdjson) {
    std::ofstream(path_, std::ios::binary) << text;
    return std::move(EventFile::Open(path_, kind).value());
  }
  static FileBatch Take(EventFile* file, BatchLimits limits) {
    FileBatch batch;
    EXPECT_TRUE(file->Next(limits, &batch).value());
    return batch;
  }
  static bool AtEnd(EventFile* file) {
    FileBatch batch;
    return !file->Next({100, 100}, &batch).value();
  }

  const std::string path_ = testing::TempDir() + "events-" + std::to_string(::getpid()) + "-" +
                            testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(EventFileTest, ABatchHasAsManyLinesAsItMayAndKnowsTheirNumbers) {
  EventFile file = Open("{\"a\":1}\n\n{\"a\":2}\n{\"a\":3}");
  const FileBatch first = Take(&file, {100, 2});
  EXPECT_EQ(first.body, "{\"a\":1}\n{\"a\":2}\n");
  EXPECT_EQ(first.lines, (std::vector<uint64_t>{1, 3}));
  const FileBatch second = Take(&file, {100, 2});
  EXPECT_EQ(second.body, "{\"a\":3}\n");
  EXPECT_EQ(second.lines, std::vector<uint64_t>{4});
  EXPECT_EQ(second.from.offset, first.to.offset);
  EXPECT_TRUE(AtEnd(&file));
}

TEST_F(EventFileTest, BytesBoundABatchButForOneEvent) {
  EventFile file = Open("aaaa\nbbbb\ncccccccccccccc\n");
  EXPECT_EQ(Take(&file, {10, 100}).body, "aaaa\nbbbb\n");
  EXPECT_EQ(Take(&file, {10, 100}).body, "cccccccccccccc\n");
}

TEST_F(EventFileTest, CsvWhoseLinesEndWithCrIsRefused) {
  for (const char* text : {"a,b\r1,2\r", "a,b\r1,2\n", "a,b\r"}) {
    std::ofstream(path_, std::ios::binary) << text;
    EXPECT_FALSE(EventFile::Open(path_, BodyKind::kCsv)) << text;
  }
  for (const char* text : {"", "a,b", "a,b\r\n1,2\r\n", "a,\"b\rc\"\n"}) {
    std::ofstream(path_, std::ios::binary) << text;
    EXPECT_TRUE(EventFile::Open(path_, BodyKind::kCsv)) << text;
  }
}

TEST_F(EventFileTest, ARecordOfCsvMayHoldLineEndsAndEachBodyHasTheHeader) {
  EventFile file = Open("a,b\n1,\"x\ny\"\n2,\"\"\"\n\"\n3,z\n", BodyKind::kCsv);
  const FileBatch first = Take(&file, {100, 2});
  EXPECT_EQ(first.body, "a,b\n1,\"x\ny\"\n2,\"\"\"\n\"\n");
  EXPECT_EQ(first.lines, (std::vector<uint64_t>{2, 4}));
  const FileBatch second = Take(&file, {100, 2});
  EXPECT_EQ(second.body, "a,b\n3,z\n");
  EXPECT_EQ(second.lines, std::vector<uint64_t>{6});
}

TEST_F(EventFileTest, FromTheSamePlaceItGivesTheSameBatch) {
  for (const BodyKind kind : {BodyKind::kNdjson, BodyKind::kCsv}) {
    EventFile file = Open("1\n2\n3\n4\n5\n", kind);
    const FileBatch first = Take(&file, {100, 2});
    const FileBatch second = Take(&file, {100, 2});
    ASSERT_TRUE(file.Seek(first.to));
    const FileBatch again = Take(&file, {100, 2});
    EXPECT_EQ(again.body, second.body);
    EXPECT_EQ(again.lines, second.lines);
    ASSERT_TRUE(file.Seek({}));
    EXPECT_EQ(Take(&file, {100, 2}).body, first.body);
  }
}

TEST_F(EventFileTest, ABatchIsWholeWithoutAnEvent) {
  EventFile file = Open("h\n1\n22\n333\n", BodyKind::kCsv);
  FileBatch batch = Take(&file, {100, 100});
  RemoveEvent(1, &batch);
  EXPECT_EQ(batch.body, "h\n1\n333\n");
  EXPECT_EQ(batch.lines, (std::vector<uint64_t>{2, 4}));
  RemoveEvent(1, &batch);
  RemoveEvent(0, &batch);
  EXPECT_EQ(batch.body, "h\n");
}

TEST_F(EventFileTest, AnEmptyFileHasNoBatch) {
  EventFile empty = Open("");
  EXPECT_TRUE(AtEnd(&empty));
  EventFile header = Open("a,b\n", BodyKind::kCsv);
  EXPECT_TRUE(AtEnd(&header));
}

TEST_F(EventFileTest, TheHeadTellsFilesApart) {
  EventFile file = Open("1\n2\n");
  const std::string one = file.DigestBefore(2).value();
  std::ofstream(path_, std::ios::app) << "3\n";
  EXPECT_EQ(file.DigestBefore(2).value(), one);
  EventFile other = Open("7\n2\n");
  EXPECT_NE(other.DigestBefore(2).value(), one);
}

TEST_F(EventFileTest, WhatIsRightBeforeAPlaceTellsFilesApartToo) {
  const std::string text(20'000, '1');
  EventFile file = Open(text + "2\n" + text);
  const std::string one = file.DigestBefore(20'002).value();
  EventFile other = Open(text + "3\n" + text);
  EXPECT_NE(other.DigestBefore(20'002).value(), one);
  EXPECT_EQ(Open(text + "2\n").DigestBefore(20'002).value(), one);
}

TEST_F(EventFileTest, WhatIsNoFileIsNamed) {
  const Result<EventFile> none = EventFile::Open(path_ + ".none", BodyKind::kNdjson);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message().find(path_), std::string::npos);
  EXPECT_FALSE(EventFile::Open(testing::TempDir(), BodyKind::kNdjson));
}

}  // namespace
}  // namespace tallyd
