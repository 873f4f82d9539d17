// Column blocks of the fleet's values, and scans over a store of them. Items are samples.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "bench/micro/fleet_store.h"
#include "storage/blocks/block_builder.h"
#include "storage/blocks/column_block.h"

namespace tallyd::bench {
namespace {

constexpr int kColumns = 100;
constexpr int kEntries = 2048;
constexpr int kFilledBodies = 1200;  // Ten minutes of 1,000 machines.

// Entries of machines side by side, so many of each; half gauges, half counters.
class Entries {
 public:
  explicit Entries(int of_one_machine) {
    std::mt19937_64 random(1);
    for (int c = 0; c < kColumns; ++c) set.columns.push_back({0, "metric" + std::to_string(c)});
    std::vector<int64_t> numbers(kColumns);
    for (int i = 0; i < kEntries; ++i) {
      const int machine = i / of_one_machine;
      std::vector<Value>& row = values.emplace_back();
      for (int c = 0; c < kColumns; ++c) {
        int64_t& number = numbers[static_cast<size_t>(c)];
        const bool gauge = c < kColumns / 2;
        if (i % of_one_machine == 0)
          number = static_cast<int64_t>(random() % (gauge ? 9000u : 400'000'000u));
        number += static_cast<int64_t>(random() % (gauge ? 101u : 200u)) - (gauge ? 50 : 0);
        row.push_back(gauge ? Value::Decimal(number, 2) : Value::Int(number));
      }
      times.push_back(1'735'689'600'000'000 + machine * 5000 + i % of_one_machine * 5'000'000);
      keys.push_back("server" + std::to_string(1000 + machine) + ".bbb.com#" +
                     std::to_string(times.back() / 1000));
    }
  }

  BuiltBlock Build(BlockBuilder* builder) const {
    for (size_t i = 0; i < keys.size(); ++i)
      builder->Add({keys[i], times[i], i + 1}, set, values[i]);
    return builder->Finish();
  }

  ColumnSet set;
  std::vector<std::string> keys;
  std::vector<TimeUs> times;
  std::vector<std::vector<Value>> values;
};

void BlockEncode(benchmark::State& state) {
  const Entries entries(static_cast<int>(state.range(0)));
  BlockBuilder builder;
  size_t bytes = 0;
  for (auto _ : state) bytes = entries.Build(&builder).bytes.size();
  state.SetItemsProcessed(state.iterations() * kEntries * kColumns);
  state.counters["bytes_per_sample"] = static_cast<double>(bytes) / (kEntries * kColumns);
}
BENCHMARK(BlockEncode)->ArgName("of_one_machine")->Arg(512)->Arg(256)->Arg(64)->Arg(4);

void BlockDecode(benchmark::State& state) {
  const Entries entries(256);
  BlockBuilder builder;
  const BuiltBlock built = entries.Build(&builder);
  ColumnBlock block;
  ColumnData data;
  const auto columns = static_cast<uint32_t>(state.range(0));
  for (auto _ : state) {
    if (!block.Open(built.bytes.substr(0, built.head_size))) state.SkipWithError("open");
    for (uint32_t c = 0; c < columns; ++c) {
      const ColumnBlock::Stream stream = block.StreamOf(c);
      if (!block.Decode(c, built.bytes.substr(stream.offset, stream.size), &data)) {
        state.SkipWithError("decode");
      }
    }
  }
  state.SetItemsProcessed(state.iterations() * kEntries * columns);
}
BENCHMARK(BlockDecode)->ArgName("columns")->Arg(1)->Arg(kColumns);

constexpr int kFields = 15;

// Entries of four machines, each with kFields of `of` fields, another choice each time.
class OptionalEntries {
 public:
  explicit OptionalEntries(int of) {
    std::mt19937_64 random(1);
    for (int c = 0; c < of; ++c) set.columns.push_back({0, "metric" + std::to_string(c)});
    std::vector<int> order(static_cast<size_t>(of));
    std::iota(order.begin(), order.end(), 0);
    std::vector<int64_t> numbers(static_cast<size_t>(of), 5000);
    for (int i = 0; i < kEntries; ++i) {
      std::shuffle(order.begin(), order.end(), random);
      std::vector<Value>& row = values.emplace_back(static_cast<size_t>(of));
      for (int64_t& number : numbers) number += static_cast<int64_t>(random() % 101) - 50;
      for (int k = 0; k < kFields; ++k) {
        const auto c = static_cast<size_t>(order[static_cast<size_t>(k)]);
        row[c] = Value::Decimal(numbers[c], 2);
      }
      times.push_back(1'735'689'600'000'000 + i % 512 * 5'000'000);
      keys.push_back("server" + std::to_string(i / 512) + "#" +
                     std::to_string(times.back() / 1000));
    }
  }

  BuiltBlock Build(BlockBuilder* builder) const {
    for (size_t i = 0; i < keys.size(); ++i) builder->Add({keys[i], times[i], 7}, set, values[i]);
    return builder->Finish();
  }

  ColumnSet set{1, 1, {}};
  std::vector<std::string> keys;
  std::vector<TimeUs> times;
  std::vector<std::vector<Value>> values;
};

void OptionalEncode(benchmark::State& state) {
  const OptionalEntries entries(static_cast<int>(state.range(0)));
  BlockBuilder builder;
  size_t bytes = 0;
  for (auto _ : state) bytes = entries.Build(&builder).bytes.size();
  state.SetItemsProcessed(state.iterations() * kEntries * kFields);
  state.counters["bytes_per_value"] = static_cast<double>(bytes) / (kEntries * kFields);
}
BENCHMARK(OptionalEncode)->ArgName("of")->Arg(kFields)->Arg(2 * kFields)->Arg(8 * kFields);

// One column, with the times of its values.
void OptionalDecode(benchmark::State& state) {
  const OptionalEntries entries(static_cast<int>(state.range(0)));
  BlockBuilder builder;
  const BuiltBlock built = entries.Build(&builder);
  ColumnBlock block;
  ColumnData data;
  std::vector<TimeUs> times(kEntries);
  size_t values = 0;
  for (auto _ : state) {
    if (!block.Open(built.bytes.substr(0, built.head_size))) state.SkipWithError("open");
    const ColumnBlock::Stream stream = block.StreamOf(0);
    if (!block.Decode(0, built.bytes.substr(stream.offset, stream.size), &data)) {
      state.SkipWithError("decode");
    }
    const Presence* presence = block.PresenceOf(0);
    if (presence != nullptr) presence->Pick(block.times().All(), 0, times.data());
    values += data.size();
    benchmark::DoNotOptimize(times.data());
  }
  state.SetItemsProcessed(static_cast<int64_t>(values));
}
BENCHMARK(OptionalDecode)->ArgName("of")->Arg(kFields)->Arg(2 * kFields);

// Entries of another block, run by run.
void OptionalCopy(benchmark::State& state) {
  const OptionalEntries entries(static_cast<int>(state.range(0)));
  BlockBuilder builder;
  const BuiltBlock built = entries.Build(&builder);
  const std::string bytes(built.bytes);
  ColumnBlock block;
  if (!block.Open(std::string_view(bytes).substr(0, built.head_size))) state.SkipWithError("open");
  std::vector<ColumnData> data(block.schema()->columns.size());
  std::vector<BlockColumn> columns;
  for (uint32_t c = 0; c < data.size(); ++c) {
    const ColumnBlock::Stream stream = block.StreamOf(c);
    if (!block.Decode(c, std::string_view(bytes).substr(stream.offset, stream.size), &data[c])) {
      state.SkipWithError("decode");
    }
    columns.push_back({block.schema()->columns[c].ref(), &data[c], block.PresenceOf(c)});
  }
  for (auto _ : state) {
    for (const KeyRun& run : block.runs()) {
      const uint32_t count = run.end - run.begin;
      builder.AddRun(run,
                     {run.begin, block.times().All().subspan(run.begin, count),
                      block.sequences().subspan(run.begin, count)},
                     columns);
    }
    benchmark::DoNotOptimize(builder.Finish().bytes.data());
  }
  state.SetItemsProcessed(state.iterations() * kEntries * kFields);
}
BENCHMARK(OptionalCopy)->ArgName("of")->Arg(kFields)->Arg(2 * kFields);

FleetStore& Filled() {
  static FleetStore* fleet = [] {
    auto* filled = new FleetStore;
    filled->Fill(kFilledBodies);
    std::atexit([] { delete &Filled(); });
    return filled;
  }();
  return *fleet;
}

int64_t CellsOf(RowScan* scan, benchmark::State& state) {
  int64_t cells = 0;
  while (true) {
    const Result<bool> more = scan->Next();
    if (!more) state.SkipWithError("scan");
    if (!more || !*more) return cells;
    cells += static_cast<int64_t>(scan->row().cells.size());
  }
}

void ScanOneMachine(benchmark::State& state) {
  Store& store = Filled().store();
  const TablePtr table = store.FindTable("METRIC");
  ScanSpec spec;
  spec.ranges = {PrefixRange("server500.bbb.com#")};
  int64_t cells = 0;
  for (auto _ : state) cells += CellsOf(store.Scan(table, spec).get(), state);
  state.SetItemsProcessed(cells);
}
BENCHMARK(ScanOneMachine);

void ScanLatest(benchmark::State& state) {
  Store& store = Filled().store();
  const TablePtr table = store.FindTable("CURRENT_METRIC");
  int64_t cells = 0;
  for (auto _ : state) cells += CellsOf(store.Scan(table, {}).get(), state);
  state.SetItemsProcessed(cells);
}
BENCHMARK(ScanLatest);

// One column of all machines.
void RunsOfOneColumn(benchmark::State& state) {
  Store& store = Filled().store();
  const TablePtr table = store.FindTable("METRIC");
  ScanSpec spec;
  spec.columns = {{"METRIC", "CPU/CPU1_USR"}};
  int64_t values = 0;
  for (auto _ : state) {
    const auto scan = store.ScanRuns(table, spec);
    while (true) {
      const Result<bool> more = scan->Next();
      if (!more) state.SkipWithError("scan");
      if (!more || !*more) break;
      values += scan->run() != nullptr ? static_cast<int64_t>(scan->run()->times.size()) : 1;
    }
  }
  state.SetItemsProcessed(values);
}
BENCHMARK(RunsOfOneColumn);

}  // namespace
}  // namespace tallyd::bench
