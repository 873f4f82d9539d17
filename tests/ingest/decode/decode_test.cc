#include "ingest/decode/decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ingest/padded.h"

namespace tallyd {
namespace {

TEST(BodyFormatTest, IsFoundByItsMediaTypeWhateverItsCaseAndParameters) {
  const BodyFormat* json = FindBodyFormat("application/json");
  ASSERT_NE(json, nullptr);
  for (const char* type : {"", "APPLICATION/JSON", " text/json ; charset=utf-8",
                           "application/x-www-form-urlencoded"}) {
    EXPECT_EQ(FindBodyFormat(type), json) << type;
  }
  const BodyFormat* ndjson = FindBodyFormat("application/x-ndjson");
  ASSERT_NE(ndjson, nullptr);
  EXPECT_NE(ndjson, json);
  EXPECT_EQ(FindBodyFormat("application/jsonlines"), ndjson);
  for (const char* type : {"image/png", "json", "application/json+x"}) {
    EXPECT_EQ(FindBodyFormat(type), nullptr) << type;
  }
}

TEST(BodyFormatTest, IsNoneWhereTheParametersAskForAnotherReading) {
  for (const char* type : {"text/csv; header=absent", "text/csv;charset=utf-8; Header=\"absent\"",
                           "text/csv; charset=iso-8859-1", "application/json;charset=utf-16"}) {
    EXPECT_EQ(FindBodyFormat(type), nullptr) << type;
  }
  for (const char* type :
       {"text/csv; header=present", "text/csv; charset=\"UTF-8\"; header=present",
        "text/csv;charset=us-ascii", "text/csv;", "text/csv; x=\";\""}) {
    EXPECT_EQ(FindBodyFormat(type), FindBodyFormat("text/csv")) << type;
  }
}

TEST(BodyFormatTest, TheListOfTypesNamesTheUsualOneOfEach) {
  EXPECT_THAT(BodyMediaTypes(), testing::StartsWith("application/json, application/x-ndjson"));
}

TEST(EventDecoderTest, TakesBodiesOfAnyFormatInTurn) {
  EventDecoder decoder;
  ShapeRegistry shapes;
  EventBatch batch;
  const Padded json(R"([{"a":1},{"a":2}])");
  const Padded lines("\xEF\xBB\xBF{\"a\":3}\n");
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(decoder.Decode(*FindBodyFormat(""), json.view(), shapes, &batch));
    EXPECT_EQ(batch.size(), 2u);
    ASSERT_TRUE(
        decoder.Decode(*FindBodyFormat("application/x-ndjson"), lines.view(), shapes, &batch));
    EXPECT_EQ(batch.size(), 1u);
    EXPECT_EQ(batch.event(0).values[0].AsInt(), 3);
  }
}

}  // namespace
}  // namespace tallyd
