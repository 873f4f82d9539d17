// The way of a batch, rung by rung, on bodies of events of 1, 10 and 100 values: each rung does
// what the one before does and one thing more, so the difference is what that thing costs. Items
// are samples. bench/ladder puts HTTP below, and what only a server does above.
#include <benchmark/benchmark.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/micro/fleet_store.h"
#include "ingest/decode/decode.h"
#include "ingest/map/mapper.h"

namespace tallyd::bench {
namespace {

enum class Rung { kDecode, kMap, kEncode, kCommit };

// Takes what is mapped and keeps nothing.
class NoBatch : public Batch {
 public:
  void Put(const TableInfo& /*table*/, std::string_view row_key, TimeUs /*time*/,
           const ColumnSet& /*set*/, std::span<const Value> values) override {
    Take(row_key, values);
  }
  void Put(const TableInfo& /*table*/, std::string_view row_key, TimeUs /*time*/,
           std::span<const ColumnRef> /*columns*/, std::span<const Value> values) override {
    Take(row_key, values);
  }
  void Delete(const TableInfo& /*table*/, const DeleteSpec& /*what*/) override {}
  void AddField(std::string_view /*stream*/, std::string_view /*field*/,
                uint8_t /*type_bits*/) override {}
  void NoteSpelling(std::string_view /*stream*/, std::string_view /*field*/) override {}
  void AddMissed(const TableInfo& /*table*/, std::string_view /*field*/, uint8_t /*how*/) override {
  }
  void PutMemo(std::string_view /*key*/, std::string_view /*value*/, NoteOrder /*order*/) override {
  }
  void DropMemo(std::string_view /*key*/) override {}
  bool empty() const override { return false; }

 private:
  static void Take(std::string_view row_key, std::span<const Value> values) {
    benchmark::DoNotOptimize(row_key.data());
    benchmark::DoNotOptimize(values.data());
  }
};

void Ladder(benchmark::State& state, Rung rung) {
  FleetStore fleet;
  const auto metrics = static_cast<int>(state.range(0));
  const std::vector<std::string> bodies = FleetBodies(100, metrics);
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
    std::unique_ptr<Batch> batch =
        rung == Rung::kMap ? std::make_unique<NoBatch>() : fleet.store().NewBatch();
    benchmark::DoNotOptimize(mapper.Map(events, 0, batch.get()));
    if (rung == Rung::kCommit) fleet.Commit(std::move(batch));
  }
  state.SetItemsProcessed(state.iterations() * kEventsPerBody * metrics);
}

void EventSizes(benchmark::internal::Benchmark* ladder) {
  ladder->ArgName("values")->Arg(1)->Arg(10)->Arg(100);
}

BENCHMARK_CAPTURE(Ladder, parse, Rung::kDecode)->Apply(EventSizes);
BENCHMARK_CAPTURE(Ladder, parse_map, Rung::kMap)->Apply(EventSizes);
BENCHMARK_CAPTURE(Ladder, parse_map_encode, Rung::kEncode)->Apply(EventSizes);
// One batch at a time waits for its own fsync: CPU time, not wall time, is the figure.
BENCHMARK_CAPTURE(Ladder, parse_map_encode_commit, Rung::kCommit)
    ->Apply(EventSizes)
    ->MeasureProcessCPUTime();

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
