#include "api/influx/write_lines.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/api/api_world.h"
#include "tests/ingest/padded.h"

namespace tallyd {
namespace {

constexpr char kFixed[] = "[protocols.influx]\nstream = \"telegraf\"\n";
constexpr char kByMeasurement[] = R"(
[protocols.influx]
stream = "{measurement}"
[tables.cpu]
pattern = "single-timestamp"
row_key = "{host}#{ts:ms}"
families.f = {}
[tables.mem]
pattern = "single-timestamp"
row_key = "{host}#{ts:ms}"
families.f = {}
)";
constexpr char kGood[] = "cpu,host=a v=1 1700000000000000000\n";
constexpr char kUnread[] = "cpu,host=a v=\n";
constexpr char kUnstored[] = "cpu,host=a v=1,ts=2 1700000000000000000\n";

class WriteLinesTest : public ::testing::Test {
 protected:
  void Start(const char* tables) { world_ = std::make_unique<ApiWorld>(tables); }

  // The answer, once what it promises is durable.
  Response Write(InfluxDialect dialect, const std::string& text, bool accepts_partial = true) {
    const Padded body(text);
    ApiContext& context = world_->context();
    const InfluxConfig protocol = *context.snapshot()->schema->protocols.influx;
    InfluxWriteHead head;
    head.accepts_partial = accepts_partial;
    InfluxWrite prepared = PrepareLines({Anybody(), "127.0.0.1:1", protocol, dialect}, head,
                                        body.view(), context, workspace_);
    if (prepared.to_commit) {
      EXPECT_TRUE(context.writer.Commit(&prepared.write));
    }
    return std::move(prepared.answer);
  }
  size_t Rows(const std::string& table) {
    const std::string body = BodyOf(world_->Call(GetRows, {table}));
    return nlohmann::json::parse(body)["rows"].size();
  }

  std::unique_ptr<ApiWorld> world_;
  IngestWorkspace workspace_;
};

TEST_F(WriteLinesTest, GoodLinesAreStoredAndTheOthersTold) {
  Start(kFixed);
  EXPECT_EQ(Write(InfluxDialect::kV1, kGood).status, 204u);
  EXPECT_EQ(Rows("telegraf"), 1u);
  const Response partial =
      Write(InfluxDialect::kV1, std::string(kUnread) + "cpu,host=b v=1 1700000000000000000");
  EXPECT_EQ(partial.status, 400u);
  EXPECT_EQ(nlohmann::json::parse(partial.body)["error"],
            "partial write: unable to parse 'cpu,host=a v=': \"v\": missing field value dropped=1");
  EXPECT_EQ(Rows("telegraf"), 2u);
}

TEST_F(WriteLinesTest, WhatV2CannotReadLeavesNothing) {
  Start(kFixed);
  EXPECT_EQ(Write(InfluxDialect::kV2, std::string(kGood) + kUnread).status, 400u);
  EXPECT_EQ(Rows("telegraf"), 0u);
  EXPECT_EQ(Write(InfluxDialect::kV2, std::string(kGood) + kUnstored).status, 422u);
  EXPECT_EQ(Rows("telegraf"), 1u);
}

TEST_F(WriteLinesTest, WithoutPartialV3StoresAllOrNothing) {
  Start(kFixed);
  const Response refused = Write(InfluxDialect::kV3, std::string(kGood) + kUnread, false);
  EXPECT_EQ(refused.status, 400u);
  EXPECT_EQ(nlohmann::json::parse(refused.body)["data"]["line_number"], 2);
  EXPECT_EQ(Rows("telegraf"), 0u);
}

TEST_F(WriteLinesTest, OneRequestFeedsManyStreams) {
  Start(kByMeasurement);
  const std::string time = " 1700000000000000000\n";
  const Response partial = Write(InfluxDialect::kV1, "cpu,host=a v=1" + time + "mem,host=a v=1" +
                                                         time + "disk,host=a v=1" + time);
  EXPECT_EQ(partial.status, 400u);
  EXPECT_NE(partial.problem.find("\"disk\""), std::string::npos) << partial.problem;
  EXPECT_EQ(Rows("cpu"), 1u);
  EXPECT_EQ(Rows("mem"), 1u);
}

}  // namespace
}  // namespace tallyd
