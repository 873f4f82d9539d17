// Labels of events on their way into keys and back: those of the stream's list, and those that a
// protocol's decoder marks.
#include "ingest/labels/event_labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ingest/decode/field_order.h"
#include "tests/ingest/reading.h"
#include "tests/ingest/world.h"

namespace tallyd {
namespace {

using ::testing::HasSubstr;

constexpr const char* kListed = R"(
[streams.s]
labels = ["host", "rack*"]
[tables.T]
stream = "s"
pattern = "single-timestamp"
row_key = "{m}#{labels}#{ts:ms}"
families.f = {}
)";

TEST(EventLabelsTest, TextOfListedFieldsStandsInTheKeyAndInNoCell) {
  World world(kListed);
  world.Map(R"({"m":"cpu","rack2":"7","host":"a,b","ts":1,"v":1,"note":"x"})");
  EXPECT_EQ(world.Rows(), "T cpu#host=a%2Cb,rack2=7#0000000000001 | f:note='x'@1 f:v=1@1\n");
  EXPECT_EQ(Reading(world, "T").Events(), "1 host='a,b' m='cpu' note='x' rack2='7' v=1\n");
  EXPECT_EQ(world.batch->fields["host"], kLabelBit);
  EXPECT_EQ(world.batch->fields["rack2"], kLabelBit | kNumberTextBit);
  EXPECT_EQ(world.batch->fields["note"], TypeBit(ValueType::kString));
}

TEST(EventLabelsTest, ANumberInAListedFieldIsAnOrdinaryField) {
  World world(kListed);
  world.Map(R"([{"m":"cpu","host":"a","ts":1,"v":1},{"m":"cpu","host":5,"ts":2,"v":1},
                {"m":"cpu","host":true,"ts":3,"v":1},{"m":"cpu","host":"b","ts":4,"v":1}])");
  EXPECT_EQ(world.Rows(),
            "T cpu##0000000000002 | f:host=5@2 f:v=1@2\n"
            "T cpu##0000000000003 | f:host=true@3 f:v=1@3\n"
            "T cpu#host=a#0000000000001 | f:v=1@1\n"
            "T cpu#host=b#0000000000004 | f:v=1@4\n");
  EXPECT_EQ(Reading(world, "T").Events(),
            "1 host='a' m='cpu' v=1\n2 host=5 m='cpu' v=1\n3 host=true m='cpu' v=1\n"
            "4 host='b' m='cpu' v=1\n");
}

TEST(EventLabelsTest, AnEmptyValueIsKeptAndWithoutLabelsThePlaceIsEmpty) {
  World world(kListed);
  world.Map(R"([{"m":"cpu","rack":"","ts":1,"v":1},{"m":"cpu","ts":2,"v":1}])");
  EXPECT_EQ(world.Rows(),
            "T cpu##0000000000002 | f:v=1@2\nT cpu#rack=#0000000000001 | f:v=1@1\n");
  EXPECT_EQ(Reading(world, "T").Events(), "1 m='cpu' rack='' v=1\n2 m='cpu' v=1\n");
}

TEST(EventLabelsTest, LongValuesAreWrittenAsShortOnesAre) {
  World world(kListed);
  const std::string host(200, 'h');
  world.Map(R"({"m":"cpu","host":")" + host + R"(","ts":1,"v":1})");
  EXPECT_EQ(world.Rows(), "T cpu#host=" + host + "#0000000000001 | f:v=1@1\n");
}

TEST(EventLabelsTest, AKeyOfLabelsAloneNeedsOne) {
  World world(R"(
[streams.s]
labels = ["host"]
[tables.T]
stream = "s"
pattern = "latest"
row_key = "{labels}"
families.f = {}
)");
  EXPECT_THAT(world.Refusal(R"({"ts":1,"v":1})"), HasSubstr("would be empty: it has no label"));
  world.Map(R"({"host":"a","ts":1,"v":1})");
  EXPECT_EQ(world.Rows(), "T host=a | f:v=1@1\n");
}

TEST(EventLabelsTest, WhatAnotherPlaceholderGivesBackIsNotTwiceInTheKey) {
  World world(R"(
[streams.s]
labels = ["*"]
[tables.T]
stream = "s"
pattern = "single-timestamp"
row_key = "{host}#{rack:salt(1)}#{labels}#{ts:ms}"
families.f = {}
)");
  world.Map(R"({"host":"a","rack":"r","ts":1,"v":1})");
  EXPECT_EQ(world.Rows(), "T a#1#rack=r#0000000000001 | f:v=1@1\n");
}

TEST(EventLabelsTest, ARuleThatNamesALabelKeepsItAsACellToo) {
  World world(R"(
[streams.s]
labels = ["host"]
[tables.T]
stream = "s"
pattern = "single-timestamp"
row_key = "{labels}#{ts:ms}"
columns = [{ family = "f", fields = ["host", "v*"] }]
families.f = {}
)");
  world.Map(R"({"host":"a","ts":1,"v":1})");
  EXPECT_EQ(world.Rows(), "T host=a#0000000000001 | f:host='a'@1 f:v=1@1\n");
  EXPECT_EQ(Reading(world, "T").Events(), "1 host='a' v=1\n");
}

TEST(EventLabelsTest, HistoryAndLatestShareTheBeginningOfTheirKeys) {
  World world(std::string(kListed) + R"(
[tables.L]
stream = "s"
pattern = "latest"
row_key = "{m}#{labels}"
families.f = {}
)");
  world.Map(R"([{"m":"cpu","host":"a#","rack":"1","ts":1,"v":1},
                {"m":"c#","host":"b","ts":2,"v":2}])");
  EXPECT_EQ(world.Rows(),
            "T c%23#host=b#0000000000002 | f:v=2@2\n"
            "T cpu#host=a%23,rack=1#0000000000001 | f:v=1@1\n"
            "L c%23#host=b | f:v=2@2\n"
            "L cpu#host=a#,rack=1 | f:v=1@1\n");
}

TEST(EventLabelsTest, OptionalLabelsOfManyEventsComeBackEach) {
  World world(kListed);
  std::string body = "[";
  for (int i = 0; i < 3000; ++i) {
    if (i > 0) body += ",";
    body += fmt::format(R"({{"m":"cpu","ts":{})", i);
    for (int field = 0; field < 12; ++field) {
      if ((i * 7919 + field * 104729) % 5 < 2) continue;
      body += fmt::format(R"(,"{}{}":"{}")", field % 2 == 0 ? "rack" : "f", field, i % 3);
    }
    body += R"(,"v":1})";
  }
  const MapOutcome outcome = world.Map(body + "]");
  EXPECT_EQ(World::Errors(outcome), "");
  const std::string events = Reading(world, "T").Events();
  std::string expected;
  for (int i = 0; i < 3000; ++i) {
    std::map<std::string, std::string> fields = {{"m", "'cpu'"}, {"v", "1"}};
    for (int field = 0; field < 12; ++field) {
      if ((i * 7919 + field * 104729) % 5 < 2) continue;
      fields[(field % 2 == 0 ? "rack" : "f") + std::to_string(field)] =
          fmt::format("'{}'", i % 3);
    }
    expected += std::to_string(i);
    for (const auto& [name, value] : fields) expected += fmt::format(" {}={}", name, value);
    expected += "\n";
  }
  EXPECT_EQ(events, expected);
}

// ---- Marked by a decoder ----

const Shape* Marked(FieldOrder* order, ShapeRegistry* shapes, bool is_host_label) {
  using Kind = FieldOrder::Kind;
  order->AllowNames(1000);
  order->Begin();
  EXPECT_EQ(order->Member("host", false, is_host_label ? Kind::kLabel : Kind::kValue),
            FieldOrder::Step::kOk);
  EXPECT_EQ(order->Member("v", false, Kind::kValue), FieldOrder::Step::kOk);
  std::unique_ptr<const Shape> owned;
  return order->End(*shapes, &owned);
}

TEST(MarkedLabelsTest, TheMarkIsPartOfTheShape) {
  ShapeRegistry shapes;
  FieldOrder order;
  order.MarkLabels();
  const Shape* const label = Marked(&order, &shapes, true);
  const Shape* const field = Marked(&order, &shapes, false);
  EXPECT_NE(label, field);
  EXPECT_EQ(label->labels, std::vector<uint32_t>{0});
  EXPECT_EQ(field->labels, std::vector<uint32_t>{});
  EXPECT_EQ(Marked(&order, &shapes, true), label);
  EXPECT_EQ(Marked(&order, &shapes, false), field);
  const std::string_view names[] = {"host", "v"};
  const Shape* const unmarked = shapes.Intern(names);
  EXPECT_NE(unmarked, field);
  EXPECT_FALSE(unmarked->labels);
}

TEST(MarkedLabelsTest, WhatIsMarkedCountsAndNotTheList) {
  World world(R"(
[streams.s]
labels = ["v"]
[tables.T]
stream = "s"
pattern = "latest"
row_key = "k#{labels}"
families.f = {}
)");
  FieldOrder order;
  order.MarkLabels();
  EventBatch events;
  for (const bool is_label : {true, false}) {
    events.BeginEvent();
    events.AddValue(Value::String("a"));
    events.AddValue(Value::String("b"));
    events.EndEvent(Marked(&order, &world.shapes, is_label));
  }
  RecordingBatch batch;
  world.mappers.at("s")->Map(events, 1000, &batch);
  const auto tables = batch.preview.Tables();
  const auto& rows = tables.at(0).rows;
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].key, "k#");
  EXPECT_EQ(rows[1].key, "k#host=a");
}

}  // namespace
}  // namespace tallyd
