#include "api/http/hello_scan.h"

#include <gtest/gtest.h>

#include <string>

namespace tallyd {
namespace {

std::string RecordWith(const std::string& content, char kind = 0x16) {
  std::string record = {kind, 3, 1, static_cast<char>(content.size() >> 8),
                        static_cast<char>(content.size() & 0xff)};
  return record + content;
}

std::string HelloOf(size_t bytes) {
  const std::string head = {1, static_cast<char>(bytes >> 16), static_cast<char>(bytes >> 8 & 0xff),
                            static_cast<char>(bytes & 0xff)};
  return head + std::string(bytes, 'h');
}

std::string InRecordsOf(size_t size, const std::string& message) {
  std::string records;
  for (size_t at = 0; at < message.size(); at += size) {
    records += RecordWith(message.substr(at, size));
  }
  return records;
}

HelloState StateOf(const std::string& bytes, HelloPlace place = HelloPlace::kFirst) {
  return HelloScan(place).Of(bytes);
}

TEST(HelloScan, AHelloIsWholeWithItsLastByteHoweverItIsCut) {
  for (const size_t size : {1u, 3u, 4u, 5u, 100u, 300u, 16384u}) {
    const std::string bytes = InRecordsOf(size, HelloOf(300));
    HelloScan scan(HelloPlace::kFirst);
    for (size_t end = 0; end < bytes.size(); ++end) {
      ASSERT_EQ(scan.Of(bytes.substr(0, end)), HelloState::kIncomplete) << size << " " << end;
    }
    EXPECT_EQ(scan.Of(bytes), HelloState::kWhole) << size;
    EXPECT_EQ(StateOf(bytes + "more"), HelloState::kWhole) << "what follows is not its business";
  }
}

TEST(HelloScan, WhatIsNoTlsIsKnownByItsFirstBytes) {
  EXPECT_EQ(StateOf("G"), HelloState::kNotTls);
  EXPECT_EQ(StateOf("\x16g"), HelloState::kNotTls);
  EXPECT_EQ(StateOf(std::string("\x16\x03\x01\0\0", 5)), HelloState::kNotTls);
  EXPECT_EQ(StateOf("\x16\x03\x01\xff\xff"), HelloState::kNotTls);
}

TEST(HelloScan, AMessageThatIsNoHelloIsForOpenSslToRefuse) {
  EXPECT_EQ(StateOf(RecordWith("\x02")), HelloState::kWhole);
}

TEST(HelloScan, NothingMayStandInTheMiddle) {
  const std::string begun = RecordWith(HelloOf(300).substr(0, 10));
  EXPECT_EQ(StateOf(begun + RecordWith("\x01", 0x14)), HelloState::kMalformed);
  EXPECT_EQ(StateOf(begun + "GET"), HelloState::kMalformed);
}

TEST(HelloScan, NoHelloIsLongerThanItMayBe) {
  EXPECT_EQ(StateOf(RecordWith(HelloOf(0x20000).substr(0, 10))), HelloState::kMalformed);
  const std::string many = InRecordsOf(1, HelloOf(30000));
  HelloScan scan(HelloPlace::kFirst);
  size_t end = 0;
  while (scan.Of(many.substr(0, end)) == HelloState::kIncomplete) end += 1000;
  EXPECT_LE(end, HelloScan::kMostBytes + 2000);
}

TEST(HelloScan, ASecondHelloMayHaveARecordForMiddleBoxesBeforeIt) {
  const std::string before = RecordWith("\x01", 0x14);
  const std::string hello = InRecordsOf(50, HelloOf(200));
  const HelloPlace place = HelloPlace::kAfterRetry;
  EXPECT_EQ(StateOf(before, place), HelloState::kIncomplete);
  EXPECT_EQ(StateOf(before + hello.substr(0, hello.size() - 1), place), HelloState::kIncomplete);
  EXPECT_EQ(StateOf(before + hello, place), HelloState::kWhole);
  EXPECT_EQ(StateOf(hello, place), HelloState::kWhole);
  EXPECT_EQ(StateOf(before + hello), HelloState::kNotTls) << "a first one has none";
  EXPECT_EQ(StateOf(RecordWith("\x02\x28", 0x15), place), HelloState::kWhole) << "an alert";
}

}  // namespace
}  // namespace tallyd
