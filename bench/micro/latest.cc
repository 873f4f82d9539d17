// What the committer does for events of a latest table: groups of events that each write over a row
// with the same columns, and groups that feed wide rows field by field. Items are events. `entries`
// of a history go with them: twins are told by reference.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/random.h"
#include "storage/leveldb/latest/latest_group.h"

namespace tallyd::bench {
namespace {

constexpr TableId kTable = 4;
constexpr uint32_t kSet = 1;
constexpr int kGroupEvents = 2048;
constexpr TimeUs kStart = 1'735'689'600'000'000;

void Commit(LatestGroup* group, std::string* record) {
  record->clear();
  group->AppendChanges(1, record);
  benchmark::DoNotOptimize(record->data());
  group->Publish();
  group->Clear();
}

void OverwriteLatest(benchmark::State& state) {
  const auto rows = static_cast<int>(state.range(0));
  const bool is_twin = state.range(1) != 0;
  ColumnRegistry sets;
  LatestTables tables(sets);
  LatestDeletes deletes;
  LatestGroup group(sets, &tables, &deletes, 2000);
  std::vector<std::string> keys;
  for (int row = 0; row < rows; ++row) keys.push_back("machine" + std::to_string(10'000'000 + row));
  std::string entry{static_cast<char>(EntryTag::kBySet), static_cast<char>(kSet)};
  entry.append(30, 'v');
  uint64_t sequence = 1u << 24;
  const auto put = [&](const std::string& key) {
    ++sequence;
    const Layer layer{kStart + static_cast<TimeUs>(sequence), sequence, entry};
    std::optional<LatestTwin> twin;
    if (is_twin) twin = LatestTwin{layer.time, sequence, sequence, kSet};
    if (!group.Put({kTable, key}, TableMode::kLatestCell, layer, twin)) std::abort();
  };
  const auto foresee = [&](const std::string* first) {
    std::array<LatestKey, LatestGroup::kForeseen> next;
    for (size_t i = 0; i < next.size(); ++i) next[i] = {kTable, first[i]};
    group.Foresee(next);
  };
  std::string record;
  for (const std::string& key : keys) put(key);
  Commit(&group, &record);
  Random random(1, 1);
  std::vector<std::string> chosen(kGroupEvents);
  for (auto _ : state) {
    state.PauseTiming();
    for (std::string& key : chosen) {
      key = keys[static_cast<size_t>(random.Between(0, rows - 1))];
    }
    state.ResumeTiming();
    for (size_t i = 0; i < chosen.size(); ++i) {
      if (i % LatestGroup::kForeseen == 0) foresee(&chosen[i]);
      put(chosen[i]);
    }
    Commit(&group, &record);
  }
  state.SetItemsProcessed(state.iterations() * kGroupEvents);
}
BENCHMARK(OverwriteLatest)
    ->ArgNames({"rows", "twins"})
    ->Args({1000, 0})
    ->Args({1000, 1})
    ->Args({1'000'000, 0})
    ->Args({1'000'000, 1});

// Groups of events of one field each, to four rows that have so many fields.
void FeedLatest(benchmark::State& state) {
  constexpr int kRows = 4;
  constexpr int kEvents = 400;
  const auto fields = static_cast<int>(state.range(0));
  ColumnRegistry sets;
  LatestTables tables(sets);
  LatestDeletes deletes;
  LatestGroup group(sets, &tables, &deletes, 2000);
  TableInfo table;
  table.id = kTable;
  table.families = {{"F", true, {}}};
  table.family_rank = {0};
  std::vector<std::string> entries;
  for (int field = 0; field < fields; ++field) {
    const std::string name = "F" + std::to_string(10'000 + field);
    const ColumnRef column{0, name};
    const Value value = Value::Decimal(1234 + field, 2);
    ByteBuffer entry;
    AppendEntry(*sets.Intern(table, {&column, 1}), {&value, 1}, &entry);
    entries.emplace_back(entry.View(0, entry.size()));
  }
  const std::vector<std::string> keys = {"device0", "device1", "device2", "device3"};
  uint64_t sequence = 1u << 24;
  const auto put = [&](int event, int field) {
    ++sequence;
    const Layer layer{kStart + static_cast<TimeUs>(sequence), sequence,
                      entries[static_cast<size_t>(field)]};
    const LatestKey key{kTable, keys[static_cast<size_t>(event % kRows)]};
    if (!group.Put(key, TableMode::kLatestCell, layer, {})) std::abort();
  };
  std::string record;
  for (int event = 0; event < kRows * fields; ++event) put(event, event / kRows);
  Commit(&group, &record);
  Random random(1, 1);
  for (auto _ : state) {
    for (int event = 0; event < kEvents; ++event)
      put(event, static_cast<int>(random.Below(static_cast<uint32_t>(fields))));
    Commit(&group, &record);
  }
  state.SetItemsProcessed(state.iterations() * kEvents);
}
BENCHMARK(FeedLatest)->ArgNames({"fields"})->Arg(10)->Arg(50)->Arg(1000)->Arg(5000);

}  // namespace
}  // namespace tallyd::bench
