// A writer over a store that a test opened, and all that the writer works with.
#ifndef TALLYD_TESTS_SERVICE_WRITE_TEST_WRITER_H_
#define TALLYD_TESTS_SERVICE_WRITE_TEST_WRITER_H_

#include <prometheus/registry.h>

#include <chrono>
#include <memory>

#include "service/write/writer.h"

namespace tallyd {

struct TestWriter {
  TestWriter(Store& store, const Clock& clock, prometheus::Registry& registry)
      : metrics(registry),
        arrivals(&store),
        writer({store, clock, live_schema, metrics, heat, row_sizes, counters, arrivals, views}) {}

  // The schema is the store's.
  void PutInForce(std::shared_ptr<const Schema> schema, Store& store) {
    auto snapshot = std::make_shared<SchemaSnapshot>();
    snapshot->schema = schema;
    for (const Stream& stream : schema->streams) {
      snapshot->mappers.emplace(stream.name, std::make_unique<Mapper>(schema, stream, store));
    }
    snapshot->series = writer.series().IndexesOf(*schema);
    live_schema.Set(std::move(snapshot));
    writer.series().InForce(std::chrono::seconds(5));
  }

  ServiceMetrics metrics;
  HeatMap heat;
  RowSizes row_sizes;
  HeldCounters counters;
  Arrivals arrivals;
  LiveSchema live_schema;
  SchemaViews views;
  Writer writer;
};

}  // namespace tallyd

#endif  // TALLYD_TESTS_SERVICE_WRITE_TEST_WRITER_H_
