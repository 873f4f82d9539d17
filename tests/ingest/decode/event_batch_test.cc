#include "ingest/decode/event_batch.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/decode/superset.h"

namespace tallyd {
namespace {

TEST(ShapeRegistryTest, EqualFieldsAreOneShape) {
  ShapeRegistry shapes;
  const std::string_view ab[] = {"a", "b"};
  const std::string_view ba[] = {"b", "a"};
  const std::string_view joined[] = {"ab"};
  const Shape* shape = shapes.Intern(ab);
  EXPECT_EQ(shapes.Intern(ab), shape);
  EXPECT_NE(shapes.Intern(ba), shape);
  EXPECT_NE(shapes.Intern(joined), shape);
  EXPECT_TRUE(shape->interned);
  EXPECT_EQ(shape->Find("b"), 1);
  EXPECT_EQ(shape->Find("c"), std::nullopt);
}

// As mappings are found by them: without gaps, supersets counted.
TEST(ShapeRegistryTest, EachShapeAndSupersetHasANumberOfItsOwn) {
  ShapeRegistry shapes;
  std::set<uint32_t> numbers;
  uint32_t supersets = 0;
  const Superset* last = nullptr;
  for (uint32_t choice = 1; choice < 1024; ++choice) {
    std::vector<std::string> names;
    for (uint32_t i = 0; i < 10; ++i) {
      if ((choice >> i & 1) != 0) names.push_back("f" + std::to_string(i));
    }
    const std::vector<std::string_view> fields(names.begin(), names.end());
    const Shape* const shape = shapes.Intern(fields);
    ASSERT_NE(shape, nullptr);
    EXPECT_TRUE(numbers.insert(shape->number).second) << shape->number;
    if (shapes.superset() == last) continue;
    last = shapes.superset();
    EXPECT_TRUE(numbers.insert(last->shape().number).second) << last->shape().number;
    ++supersets;
  }
  EXPECT_GT(supersets, 0u);
  EXPECT_EQ(numbers.size(), 1023 + supersets);
  EXPECT_EQ(*numbers.rbegin(), numbers.size() - 1);
}

TEST(ShapeRegistryTest, IsBoundedInNumberAndInBytes) {
  ShapeRegistry many;
  size_t interned = 0;
  for (size_t i = 0; i < 2 * ShapeRegistry::kMaxShapes; ++i) {
    const std::string name = std::to_string(i);
    const std::string_view fields[] = {name};
    interned += many.Intern(fields) != nullptr;
  }
  EXPECT_EQ(interned, ShapeRegistry::kMaxShapes);

  ShapeRegistry large;
  size_t bytes = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::string name = std::string(16'000, 'x') + std::to_string(i);
    const std::string_view fields[] = {name};
    if (large.Intern(fields) != nullptr) bytes += name.size();
  }
  EXPECT_LT(bytes, 40u << 20);
}

TEST(EventBatchTest, CopiesStayWhereTheyAre) {
  EventBatch batch;
  std::vector<std::string_view> copies;
  for (int i = 0; i < 20'000; ++i) copies.push_back(batch.Copy(std::to_string(i)));
  copies.push_back(batch.Copy(std::string(1'000'000, 'x')));
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_EQ(copies[static_cast<size_t>(i)], std::to_string(i));
  }
  EXPECT_EQ(copies.back().size(), 1'000'000u);
}

TEST(EventBatchTest, DroppedEventsLeaveTheirIndexAndTheirError) {
  ShapeRegistry shapes;
  const std::string_view fields[] = {"a"};
  const Shape* shape = shapes.Intern(fields);
  EventBatch batch;
  for (int i = 0; i < 4; ++i) {
    batch.BeginEvent();
    batch.AddValue(Value::Int(i));
    if (i % 2 == 0) {
      batch.DropEvent({"a", "bad"});
    } else {
      batch.EndEvent(shape);
    }
  }
  ASSERT_EQ(batch.size(), 2u);
  EXPECT_EQ(batch.event(1).index, 3u);
  EXPECT_EQ(batch.event(1).values[0], Value::Int(3));
  EXPECT_EQ(batch.errors().count(), 2u);
  EXPECT_EQ(batch.errors().kept()[1].index, 2u);
  batch.Clear();
  EXPECT_EQ(batch.seen(), 0u);
  EXPECT_TRUE(batch.errors().empty());
}

TEST(RequestEventsTest, EventsOfSeveralStreamsAreCountedTogether) {
  ShapeRegistry shapes;
  const std::string_view fields[] = {"a"};
  const Shape* shape = shapes.Intern(fields);
  RequestEvents request;
  for (const char* stream : {"s", "t", "s", "s"}) {
    EventBatch& events = request.Of(stream);
    events.BeginEvent();
    events.AddValue(Value::Int(1));
    if (events.size() == 2) {
      events.DropEvent({"a", "bad"});
    } else {
      events.EndEvent(shape);
    }
  }
  ASSERT_EQ(request.parts().size(), 2u);
  EXPECT_EQ(request.seen(), 4u);
  EXPECT_EQ(request.Of("s").event(1).index, 2u);
  EXPECT_EQ(request.Of("s").errors().kept()[0].index, 3u);
  EXPECT_EQ(request.Of("t").event(0).index, 1u);
  request.Clear();
  EXPECT_TRUE(request.parts().empty());
  EXPECT_EQ(request.seen(), 0u);
  EXPECT_EQ(request.Of("u").size(), 0u);
}

TEST(EventErrorsTest, MergedErrorsAreInOrderAndAllAreCounted) {
  EventErrors even, odd;
  for (size_t i = 0; i < 300; i += 2) {
    even.Add(i, {"", "even"});
    odd.Add(i + 1, {"", "odd"});
  }
  even.Merge(odd);
  EXPECT_EQ(even.count(), 300u);
  ASSERT_EQ(even.kept().size(), EventErrors::kMaxKept);
  for (size_t i = 0; i < even.kept().size(); ++i) EXPECT_EQ(even.kept()[i].index, i);
}

}  // namespace
}  // namespace tallyd
