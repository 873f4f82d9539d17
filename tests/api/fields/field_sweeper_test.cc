// Names of fields go when nothing stored has them any more, and not before.
#include "api/fields/field_sweeper.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/api/api_world.h"

namespace tallyd {
namespace {

using nlohmann::json;

constexpr char kTables[] = R"(
[tables.METRIC]
stream = "s"
pattern = "single-timestamp"
row_key = "{host}#{ts:ms}"
families.F = {}

[tables.NOW]
stream = "s"
pattern = "latest"
row_key = "{host}"
families.F = {}
)";

class FieldSweeperTest : public testing::Test {
 protected:
  explicit FieldSweeperTest(std::string tables = kTables)
      : tables_(std::move(tables)), world_(tables_) {
    Start();
  }

  void Start() { sweeper_ = std::make_unique<FieldSweeper>(&world_.context()); }
  void Write(const std::string& host, json fields) {
    fields["host"] = host;
    fields["ts"] = 1'600'000'000'000 + ++written_;
    const Response answer = world_.Post("s", fields.dump());
    EXPECT_EQ(answer.status, 200u) << answer.body;
  }
  void Remove(const std::string& what) {
    EXPECT_EQ(world_.Call(DeleteEvents, {"s"}, what).status, 200u);
  }
  void Settle() { EXPECT_TRUE(world_.context().store.Settle()); }
  void Sweep() {
    for (int looks = 0; looks < 6; ++looks) {
      Settle();
      sweeper_->Look();
    }
  }
  std::vector<std::string> Fields() {
    std::vector<std::string> names;
    for (const FieldInfo& field : world_.context().store.Fields("s")) names.push_back(field.name);
    return names;
  }
  using Names = std::vector<std::string>;

  const std::string tables_;
  ApiWorld world_;
  std::unique_ptr<FieldSweeper> sweeper_;
  int written_ = 0;
};

TEST_F(FieldSweeperTest, WhatNothingStoredHasIsForgotten) {
  Write("a", {{"v", 1}});
  Write("bad", {{"v", 1}, {"mistake", 1}});
  Sweep();
  EXPECT_EQ(Fields(), (Names{"host", "mistake", "ts", "v"}));
  Remove("host=bad");
  Sweep();
  EXPECT_EQ(Fields(), (Names{"host", "ts", "v"}));
  ASSERT_TRUE(world_.Restart(tables_));
  EXPECT_EQ(Fields(), (Names{"host", "ts", "v"}));
}

TEST_F(FieldSweeperTest, WhatComesAgainIsThereAgain) {
  Write("bad", {{"mistake", 1}});
  Settle();
  Remove("host=bad");
  Sweep();
  EXPECT_EQ(Fields(), (Names{"host", "ts"}));
  Write("a", {{"mistake", "text"}});
  EXPECT_EQ(Fields(), (Names{"host", "mistake", "ts"}));
  EXPECT_EQ(world_.Call(GetEvents, {"s"}, "host=a&fields=mistake").status, 200u);
}

TEST_F(FieldSweeperTest, WhatComesWhileItIsDoubtedStays) {
  for (int looks = 1; looks < 5; ++looks) {
    Write("bad", {{"mistake", 1}});
    Settle();
    Remove("host=bad");
    Settle();
    for (int i = 0; i < looks; ++i) {
      sweeper_->Look();
      if (i + 1 < looks) Settle();
    }
    Write("a", {{"mistake", 1}});
    EXPECT_EQ(Fields(), (Names{"host", "mistake", "ts"})) << looks;
    Sweep();
    EXPECT_EQ(Fields(), (Names{"host", "mistake", "ts"})) << looks;
    ASSERT_TRUE(world_.Restart(tables_));
    Start();
    EXPECT_EQ(Fields(), (Names{"host", "mistake", "ts"})) << looks;
    Remove("host=a");
  }
}

TEST_F(FieldSweeperTest, ABatchThatIsUnderWayIsWaitedFor) {
  Write("bad", {{"mistake", 1}});
  Settle();
  Remove("host=bad");
  Settle();
  auto under_way = world_.context().store.NewBatch();
  Sweep();
  EXPECT_EQ(Fields(), (Names{"host", "mistake", "ts"}));
  under_way.reset();
  Sweep();
  EXPECT_EQ(Fields(), (Names{"host", "ts"}));
}

TEST_F(FieldSweeperTest, WhatALatestRowHasStays) {
  Write("bad", {{"mistake", 1}});
  Settle();
  ASSERT_EQ(world_.Call(DeleteRows, {"METRIC"}, "prefix=bad").status, 200u);
  Sweep();
  EXPECT_EQ(Fields(), (Names{"host", "mistake", "ts"}));
  ASSERT_EQ(world_.Call(DeleteRow, {"NOW", "bad"}).status, 200u);
  Sweep();
  EXPECT_EQ(Fields(), (Names{"host", "ts"}));
}

class NamedFieldsTest : public FieldSweeperTest {
 protected:
  NamedFieldsTest()
      : FieldSweeperTest(R"(
[tables.METRIC]
stream = "s"
pattern = "single-timestamp"
row_key = "{host}#{ts:ms}"
columns = [{ family = "F", fields = ["v", "x*"] }]
families.F = {}
)") {}
};

TEST_F(NamedFieldsTest, WhatTheConfigurationNamesStays) {
  Write("a", {{"v", 1}, {"x1", 1}});
  Settle();
  Remove("host=a");
  Sweep();
  EXPECT_EQ(Fields(), (Names{"host", "ts", "v"}));
}

class BlobTest : public FieldSweeperTest {
 protected:
  BlobTest()
      : FieldSweeperTest(R"(
[tables.METRIC]
stream = "s"
pattern = "single-timestamp-serialized"
row_key = "{host}#{ts:ms}"
families.F = {}
)") {}
};

TEST_F(BlobTest, WhatABlobMayHoldStaysAsLongAsThereIsOne) {
  Write("a", {{"v", 1}});
  Write("bad", {{"mistake", 1}});
  Settle();
  Remove("host=bad");
  Sweep();
  EXPECT_EQ(Fields(), (Names{"host", "mistake", "ts", "v"}));
  Remove("host=a");
  Sweep();
  EXPECT_EQ(Fields(), (Names{"host", "ts"}));
}

}  // namespace
}  // namespace tallyd
