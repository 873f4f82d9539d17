#include "ingest/decode/csv_body.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>

#include "tests/ingest/padded.h"

namespace tallyd {
namespace {

using ::testing::HasSubstr;

class CsvBodyTest : public ::testing::Test {
 protected:
  // "OK" or the message of the error.
  std::string Decode(std::string_view text) {
    bodies_.emplace_back(text);
    const BodyFormat& csv = *FindBodyFormat("text/csv; header=present");
    const Status status = decoder_.Decode(csv, bodies_.back().view(), shapes_, &batch_);
    return status ? "OK" : status.error().message();
  }
  // The events of a text: "0{a=1 b=\"x\"}1{...}", text in quotes.
  std::string Events(std::string_view text) {
    EXPECT_EQ(Decode(text), "OK");
    std::string all;
    for (size_t i = 0; i < batch_.size(); ++i) {
      const Event event = batch_.event(i);
      all += fmt::format("{}{{", event.index);
      for (size_t f = 0; f < event.values.size(); ++f) {
        const Value& value = event.values[f];
        const char* quote = value.type() == ValueType::kString ? "\"" : "";
        all += fmt::format("{}{}={}{}{}", f == 0 ? "" : " ", event.FieldOf(f), quote,
                           ToText(value), quote);
      }
      all += "}";
    }
    return all;
  }
  // "index[field] detail", a line each.
  std::string Errors(std::string_view text) {
    Decode(text);
    std::string all;
    for (const EventError& error : batch_.errors().kept()) {
      all += fmt::format("{}[{}] {}\n", error.index, error.field, error.detail);
    }
    return all;
  }

  EventDecoder decoder_;
  ShapeRegistry shapes_;
  EventBatch batch_;
  std::deque<Padded> bodies_;
};

TEST_F(CsvBodyTest, TheHeaderNamesTheFieldsAndEachLineIsAnEvent) {
  EXPECT_EQ(Events("ts,host,CPU/usr\n1,a,0.5\n2,b,1\n"),
            "0{ts=1 host=\"a\" CPU/usr=0.5}1{ts=2 host=\"b\" CPU/usr=1}");
  EXPECT_EQ(Events("a"), "");
  EXPECT_EQ(Events("a,b\r\n"), "");
  EXPECT_EQ(Events("\"a,b\",\"say \"\"c\"\"\"\n1,2"), "0{a,b=1 say \"c\"=2}");
}

TEST_F(CsvBodyTest, ACellIsWhatJsonWouldReadElseText) {
  EXPECT_EQ(Events("a,b,c,d,e\n7,-0.50,1e3,true,false\n"), "0{a=7 b=-0.5 c=1000.0 d=true e=false}");
  EXPECT_EQ(Events("a,b,c,d,e\n007,+7,1.,True,null\n"),
            "0{a=\"007\" b=\"+7\" c=\"1.\" d=\"True\" e=\"null\"}");
  EXPECT_EQ(Events("a,b,c,d\n-,1.2.3, 1,12345678901234567890x\n"),
            "0{a=\"-\" b=\"1.2.3\" c=\" 1\" d=\"12345678901234567890x\"}");
  EXPECT_EQ(Events("a,b\n9223372036854775807,-9223372036854775808\n"),
            "0{a=9223372036854775807 b=-9223372036854775808}");
}

TEST_F(CsvBodyTest, ATimeIsTakenInQuotesToo) {
  shapes_.SetTimeFields({"ts", "seen at"});
  EXPECT_EQ(Events("\"ts\",\"seen at\",host\n\"1700000000000\",\"1.5\",\"1\"\n"),
            "0{ts=1700000000000 seen at=1.5 host=\"1\"}");
  EXPECT_EQ(Events("ts,v\n\"2023-11-14T22:13:20Z\",1\n"),
            "0{ts=\"2023-11-14T22:13:20Z\" v=1}");
}

TEST_F(CsvBodyTest, NumbersInQuotesAreToldOnceAColumn) {
  shapes_.SetTimeFields({"ts"});
  EXPECT_EQ(Decode(R"("ts","v","w","x"
"1","2","a",3
"1","2","-4.5",3)"),
            "OK");
  ASSERT_EQ(batch_.warnings().size(), 2u);
  EXPECT_THAT(batch_.warnings()[0], HasSubstr("column \"v\""));
  EXPECT_THAT(batch_.warnings()[1], HasSubstr("column \"w\""));
  EXPECT_EQ(Decode("ts,v\n1,2\n"), "OK");
  EXPECT_TRUE(batch_.warnings().empty());
  EXPECT_EQ(Decode("ts,v\n1,\"007\"\n1,\"\"\n1,\"-\"\n1,\"x\"\n"), "OK");
  EXPECT_TRUE(batch_.warnings().empty());
}

TEST_F(CsvBodyTest, AQuotedCellIsText) {
  EXPECT_EQ(Events("a,b,c\n\"7\",\"true\",\"\"\n"), "0{a=\"7\" b=\"true\" c=\"\"}");
  EXPECT_EQ(Events("a,b\n\"x,\r\ny\",\"say \"\"z\"\"\"\n\"\"\"\",2\n"),
            "0{a=\"x,\r\ny\" b=\"say \"z\"\"}1{a=\"\"\" b=2}");
}

TEST_F(CsvBodyTest, AnEmptyCellAndAMissingOneAreAbsent) {
  EXPECT_EQ(Events("a,b,c\n1,,3\n,2,\n1\n1,2,3\n"), "0{a=1 c=3}1{b=2}2{a=1}3{a=1 b=2 c=3}");
  EXPECT_EQ(Errors("a,b\n,\n\"\",\n"), "0[] line 2: it has no fields\n");
}

TEST_F(CsvBodyTest, LinesEndWithOneByteOrTwoAndBlankOnesAreNone) {
  EXPECT_EQ(Events("\xEF\xBB\xBF"
                   "a,b\r\n1,2\r\n\r\n3,4\r"),
            "0{a=1 b=2}1{a=3 b=4}");
  EXPECT_EQ(Events("\n\na,b\n\n1,2\n\n\n3,4"), "0{a=1 b=2}1{a=3 b=4}");
}

TEST_F(CsvBodyTest, ABadLineIsAnErrorOfItsOwn) {
  EXPECT_EQ(Errors("a,b\n1,2,3\n1,2,\n1\r2,3\n99999999999999999999,1\n1,1e999\n"),
            "0[] line 2: it has more cells than the header's 2\n"
            "1[] line 3: it has more cells than the header's 2\n"
            "2[a] line 4: field \"a\": a carriage return stands in a cell without quotes\n"
            "3[a] line 5: field \"a\": integer 99999999999999999999 does not fit into 64 bits\n"
            "4[b] line 6: field \"b\": number 1e999 is beyond the range of float64\n");
  EXPECT_EQ(Events("a,b\n1,2,3\n\"x\ny\",2\n1,\xFF\n3,4\n"), "1{a=\"x\ny\" b=2}3{a=3 b=4}");
  EXPECT_EQ(batch_.errors().kept()[1].detail, "line 5: field \"b\": its text is no UTF-8");
}

TEST_F(CsvBodyTest, WhatIsNoCsvEndsTheBody) {
  EXPECT_THAT(Decode(""), HasSubstr("the body is empty"));
  EXPECT_THAT(Decode("\r\n\n"), HasSubstr("the body is empty"));
  EXPECT_EQ(Errors("a,b\n1,2\n3,\"4\n5,6\n"), "1[] not CSV: line 3: a quote is never closed\n");
  EXPECT_EQ(batch_.size(), 0u);
  EXPECT_EQ(batch_.seen(), 1u);
  // What follows may be text in quotes, and no line.
  EXPECT_EQ(Errors("a,b\n1,x\"y,\"\n5,6\n\"\n"),
            "0[] not CSV: line 2: a quote stands in a cell that does not begin with one\n");
  EXPECT_EQ(Errors("a,b\n\"1\"2,\"\n5,6\n\"\n"),
            "0[] not CSV: line 2: more than a comma or the line's end follows a closing quote\n");
  for (const auto& [header, why] : std::map<std::string, std::string>{
           {"a,b,a", "\"a\" stands in it twice"},
           {"a,,b", "column 2 has no name"},
           {"a,b,", "column 3 has no name"},
           {"\"\",b", "column 1 has no name"},
           {"a,\"b", "a quote is never closed"},
           {"a,b\"", "a quote stands in a cell"},
           {"\"a\"b", "follows a closing quote"},
           {"a\rb", "a carriage return"},
           {"a,\xC3", "the name of column 2 is no UTF-8"},
           {"a," + std::string(kMaxFieldNameBytes + 1, 'b'), "the name of column 2 is longer"}}) {
    EXPECT_THAT(Decode(header + "\n1,2\n"),
                AllOf(HasSubstr("not CSV: the header: "), HasSubstr(why)));
  }
}

TEST_F(CsvBodyTest, ThereIsAnEndToColumns) {
  std::string header = "c0";
  for (size_t i = 1; i < kMaxCsvColumns; ++i) header += ",c" + std::to_string(i);
  EXPECT_EQ(Decode(header + "\n1\n"), "OK");
  EXPECT_THAT(Decode(header + ",more\n1\n"), HasSubstr("it has more than 16384 columns"));
}

TEST_F(CsvBodyTest, LinesWithTheSameColumnsShareAShape) {
  ASSERT_EQ(Decode("a,b,c\n1,,3\n1,2,3\n4,,5\n"), "OK");
  EXPECT_EQ(batch_.event(0).shape, batch_.event(2).shape);
  EXPECT_TRUE(batch_.event(0).shape->interned);
  EXPECT_NE(batch_.event(0).shape, batch_.event(1).shape);
}

// Of n columns so many lines each leave out others.
std::string ManyWays(size_t name_bytes, size_t lines) {
  constexpr size_t kColumns = 14;
  std::string body;
  for (size_t c = 0; c < kColumns; ++c) {
    body += std::string(c == 0 ? "" : ",") + std::string(name_bytes, 'n') + std::to_string(c);
  }
  for (size_t line = 1; line <= lines; ++line) {
    body += '\n';
    for (size_t c = 0; c < kColumns; ++c) {
      body += std::string(c == 0 ? "" : ",") + ((line >> c & 1) != 0 ? "1" : "");
    }
  }
  return body;
}

TEST_F(CsvBodyTest, ShapesBeyondTheRegistryBelongToTheBatch) {
  ASSERT_EQ(Decode(ManyWays(4, 10'000) + "\n1,1\n1,1\n"), "OK");
  ASSERT_EQ(batch_.size(), 10'002u);
  EXPECT_FALSE(batch_.event(9'999).shape->interned);
  EXPECT_EQ(batch_.event(9'999).shape->fields.size(), batch_.event(9'999).values.size());
}

TEST_F(CsvBodyTest, ShortLinesUnderLongNamesCannotAskForMuchMoreThanTheyAre) {
  EXPECT_THAT(Decode(ManyWays(4'000, 10'000)), HasSubstr("in too many ways"));
  EXPECT_EQ(batch_.size(), 0u);
}

TEST_F(CsvBodyTest, WhatAWriterSpellsComesBack) {
  std::mt19937_64 random(20261121);
  constexpr std::string_view kBytes = "a,\"\n\r 1-.";
  for (int round = 0; round < 300; ++round) {
    std::string body = "a,b,c";
    std::string want;
    for (int line = 0; line < 5; ++line) {
      body += random() % 2 == 0 ? "\n" : "\r\n";
      want += fmt::format("{}{{", line);
      for (int column = 0; column < 3; ++column) {
        std::string text;
        for (size_t i = random() % 6; i > 0; --i) text += kBytes[random() % kBytes.size()];
        want += fmt::format("{}{}=\"{}\"", column == 0 ? "" : " ", "abc"[column], text);
        body += column == 0 ? "\"" : ",\"";
        for (const char c : text) body += c == '"' ? "\"\"" : std::string(1, c);
        body += '"';
      }
      want += "}";
    }
    ASSERT_EQ(Events(body), want);
  }
}

// Whatever comes, each line is an event or an error, and a body cut anywhere is read or refused.
TEST_F(CsvBodyTest, AnyBytesAreReadOrRefused) {
  std::mt19937_64 random(7);
  constexpr std::string_view kBytes = "a,,,\"\"\n\n\r1-.t\xC3\xA9\xFF";
  for (int round = 0; round < 20'000; ++round) {
    std::string body = round % 3 == 0 ? "" : "a,b\n";
    for (size_t i = random() % 24; i > 0; --i) body += kBytes[random() % kBytes.size()];
    const bool ok = Decode(body) == "OK";
    EXPECT_EQ(batch_.size() + batch_.errors().count(), ok ? batch_.seen() : 1);
    bodies_.clear();
  }
}

}  // namespace
}  // namespace tallyd
