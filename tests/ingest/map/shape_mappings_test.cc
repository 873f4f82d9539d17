// Mappings are found by the numbers of their shapes, and never those of another shape.
#include "ingest/map/shape_mappings.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace tallyd {
namespace {

std::unique_ptr<const ShapeMapping> Of(const Shape& shape) {
  auto mapping = std::make_unique<ShapeMapping>();
  mapping->shape = &shape;
  return mapping;
}

Shape Numbered(uint32_t number) {
  Shape shape;
  shape.interned = true;
  shape.number = number;
  return shape;
}

TEST(ShapeMappingsTest, AShapeHasTheMappingThatWasAddedFirst) {
  ShapeMappings mappings;
  const Shape shape = Numbered(7);
  EXPECT_EQ(mappings.Find(shape), nullptr);
  const ShapeMapping& first = mappings.Add(Of(shape));
  EXPECT_EQ(&mappings.Add(Of(shape)), &first);
  EXPECT_EQ(mappings.Find(shape), &first);
}

TEST(ShapeMappingsTest, ShapesOfOneNumberAreToldApart) {
  ShapeMappings mappings;
  // The last is more than any registry has.
  const std::vector<Shape> shapes = {Numbered(5), Numbered(5), Numbered(0), Numbered(4127),
                                     Numbered(1'000'000)};
  for (const Shape& shape : shapes) {
    EXPECT_EQ(mappings.Find(shape), nullptr);
    mappings.Add(Of(shape));
  }
  for (int round = 0; round < 3; ++round) {
    for (const Shape& shape : shapes) EXPECT_EQ(mappings.Find(shape)->shape, &shape);
  }
}

TEST(ShapeMappingsTest, ThreadsFindWhatOthersAdd) {
  ShapeMappings mappings;
  std::vector<Shape> shapes;
  for (uint32_t i = 0; i < 1000; ++i) shapes.push_back(Numbered(i / 2));
  const auto work = [&] {
    for (const Shape& shape : shapes) {
      const ShapeMapping* const known = mappings.Find(shape);
      const ShapeMapping& mapping = known != nullptr ? *known : mappings.Add(Of(shape));
      EXPECT_EQ(mapping.shape, &shape);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tallyd
