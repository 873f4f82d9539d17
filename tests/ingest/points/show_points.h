// What was made of data points, to be compared.
#ifndef TALLYD_TESTS_INGEST_POINTS_SHOW_POINTS_H_
#define TALLYD_TESTS_INGEST_POINTS_SHOW_POINTS_H_

#include <fmt/format.h>

#include <string>

#include "ingest/points/data_points.h"
#include "tests/ingest/show_events.h"

namespace tallyd {

// Points keep shapes that they learned, so these live as long as any.
inline ShapeRegistry& ShapesOfPoints() {
  static ShapeRegistry shapes;
  return shapes;
}

inline std::string ShowEventsOf(DataPoints* points) {
  EventBatch batch;
  points->MakeEvents(ShapesOfPoints(), &batch);
  return ShowEvents(batch);
}

inline std::string ShowErrors(const DataPoints& points) {
  std::string all;
  for (const PointError& error : points.errors()) {
    all += fmt::format("{}: {}\n", error.index, error.error);
  }
  return all;
}

}  // namespace tallyd

#endif  // TALLYD_TESTS_INGEST_POINTS_SHOW_POINTS_H_
