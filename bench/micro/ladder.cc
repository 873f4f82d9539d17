// The way of a batch, rung by rung, on the fleet's bodies: each rung does what the one before does
// and one thing more, so the difference is what that thing costs. Items are samples. HTTP, the rung
// below all, is the difference between the last rung and `bench/run`.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "bench/micro/fleet_store.h"
#include "ingest/decode/decode.h"
#include "ingest/map/mapper.h"

namespace tallyd::bench {
namespace {

enum class Rung { kDecode, kMap, kCommit };

void Ladder(benchmark::State& state, Rung rung) {
  FleetStore fleet;
  const std::vector<std::string> bodies = FleetBodies(100);
  EventDecoder decoder;
  ShapeRegistry shapes;
  EventBatch events;
  Mapper mapper(fleet.schema(), fleet.schema()->streams.front(), fleet.store());
  size_t next = 0;
  for (auto _ : state) {
    const std::string& body = bodies[next++ % bodies.size()];
    const std::string_view text(body.data(), body.size() - kBodyPadding);
    if (!decoder.Decode(*FindBodyFormat(""), text, shapes, &events)) state.SkipWithError("decode");
    if (rung == Rung::kDecode) continue;
    auto batch = fleet.store().NewBatch();
    benchmark::DoNotOptimize(mapper.Map(events, 0, batch.get()));
    if (rung == Rung::kCommit) fleet.Commit(std::move(batch));
  }
  state.SetItemsProcessed(state.iterations() * kSamplesPerBody);
}

BENCHMARK_CAPTURE(Ladder, parse, Rung::kDecode);
BENCHMARK_CAPTURE(Ladder, parse_map_encode, Rung::kMap);
// One batch at a time waits for its own fsync: CPU time, not wall time, is the figure.
BENCHMARK_CAPTURE(Ladder, parse_map_encode_commit, Rung::kCommit)->MeasureProcessCPUTime();

// One key of a machine and a time. Items are keys.
void RenderRowKey(benchmark::State& state) {
  const FleetStore fleet;
  const RowKeyTemplate& row_key = fleet.schema()->tables.front().row_key;
  const Value hostname = Value::String("server500.bbb.com");
  std::string key;
  TimeUs time = 1'735'689'600'000'000;
  for (auto _ : state) {
    key.clear();
    time += 5'000'000;
    for (const Segment& segment : row_key.segments()) {
      if (segment.is_literal()) {
        key += segment.literal;
      } else if (!row_key.AppendSegment(segment, hostname, time, TimeUnit::kMilliseconds, &key)) {
        state.SkipWithError("render");
      }
    }
    benchmark::DoNotOptimize(key.data());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(RenderRowKey);

}  // namespace
}  // namespace tallyd::bench
