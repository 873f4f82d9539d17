// Indexes of series beside a store: what is written, removed and settled, in any order.
#include "service/series/series_keeper.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "config/file/config.h"
#include "tests/storage/model_store.h"

namespace tallyd {
namespace {

class SeriesClock final : public Clock {
 public:
  TimeUs Now() const override { return 1'700'000'000 * kUsPerSecond; }
  int64_t SteadyUs() const override { return 0; }
};

using SeriesTexts = std::set<std::string>;

class SeriesWorld {
 public:
  explicit SeriesWorld(const std::string& bounds = "max_series = 1000000\n")
      : schema_(ParseConfig("[streams.s]\n" + bounds +
                                "[tables.T]\nstream = \"s\"\npattern = \"single-timestamp\"\n"
                                "row_key = \"{all}#{host}#{ts:ms}\"\nfamilies.f = {}\n",
                            "test.toml")
                    ->schema) {
    EXPECT_TRUE(store.Adopt(*schema_));
    table = store.FindTable("T");
    Begin();
  }

  // As a start does.
  void Begin() {
    keeper = std::make_unique<SeriesKeeper>(store, clock_);
    indexes = keeper->IndexesOf(*schema_);
    keeper->InForce(std::chrono::seconds(10));
    index = indexes->Find(table->id);
  }

  SeriesGate::Answer Admit(const std::string& series, SeriesWrite* write, uint64_t most = 0) {
    const SeriesGate::Row row{table->id, series};
    return write->GateOf(indexes.get(), "s", {most, 0})->Admit({&row, 1}, {});
  }
  bool Write(const std::string& series, uint64_t most = 0) {
    SeriesWrite write = keeper->Begin();
    if (Admit(series, &write, most).refusal) return false;
    EXPECT_TRUE(Put(series + "1700000000000"));
    write.Settle(true);
    return true;
  }
  Status Put(const std::string& key) {
    std::unique_ptr<Batch> batch = store.NewBatch();
    const std::vector<ColumnRef> columns = {{0, "v"}};
    const std::vector<Value> values = {Value::Int(1)};
    batch->Put(*table, key, 0, columns, values);
    return store.Commit(std::move(batch));
  }
  void Remove(const KeyRange& rows) {
    std::unique_ptr<Batch> batch = store.NewBatch();
    batch->Delete(*table, {rows, {}, {}, {}});
    EXPECT_TRUE(store.Commit(std::move(batch)));
    keeper->NoteRemoved(table->id, rows);
  }
  SeriesTexts Indexed(const std::string& field = "all", const std::string& value = "x") const {
    const SeriesFilter filter{field, {value}};
    const auto found = index->Match(std::vector{KeyRange{}}, {&filter, 1}, 1'000'000);
    return found ? SeriesTexts(found->series.begin(), found->series.end()) : SeriesTexts();
  }

 private:
  SeriesClock clock_;
  ModelDisk disk_;

 public:
  ModelStore store{&disk_, &clock_};
  TablePtr table;
  std::unique_ptr<SeriesKeeper> keeper;
  std::shared_ptr<const SeriesIndexes> indexes;
  SeriesIndexPtr index;

 private:
  const std::shared_ptr<const Schema> schema_;
};

TEST(SeriesKeeper, KnowsASeriesBeforeItsFirstRowIsCommitted) {
  SeriesWorld world;
  SeriesWrite write = world.keeper->Begin();
  EXPECT_FALSE(world.Admit("x#a#", &write).refusal);
  EXPECT_EQ(world.Indexed(), SeriesTexts{"x#a#"});
}

TEST(SeriesKeeper, ForgetsASeriesWhoseWriteCameToNothing) {
  SeriesWorld world;
  {
    SeriesWrite write = world.keeper->Begin();
    EXPECT_FALSE(world.Admit("x#a#", &write).refusal);
  }
  EXPECT_EQ(world.index->size(), 0u);
}

TEST(SeriesKeeper, KeepsASeriesThatAnotherWriteBringsAllTheSame) {
  SeriesWorld world;
  SeriesWrite first = world.keeper->Begin();
  SeriesWrite second = world.keeper->Begin();
  EXPECT_FALSE(world.Admit("x#a#", &first).refusal);
  EXPECT_FALSE(world.Admit("x#a#", &second).refusal);
  first.Settle(false);
  EXPECT_EQ(world.index->size(), 1u);
  second.Settle(true);
  EXPECT_EQ(world.index->size(), 1u);
}

TEST(SeriesKeeper, FindsAfterAStartWhatHasRows) {
  SeriesWorld world;
  EXPECT_TRUE(world.Write("x#a#"));
  EXPECT_TRUE(world.Write("x#b#"));
  world.Begin();
  EXPECT_TRUE(world.index->is_complete());
  EXPECT_EQ(world.Indexed(), (SeriesTexts{"x#a#", "x#b#"}));
  EXPECT_EQ(world.Indexed("host", "b"), SeriesTexts{"x#b#"});
}

TEST(SeriesKeeper, RefusesOneMoreThanThereMayBeAndTakesItWhenThereIsRoom) {
  SeriesWorld world;
  EXPECT_TRUE(world.Write("x#a#", 2));
  EXPECT_TRUE(world.Write("x#b#", 2));
  EXPECT_FALSE(world.Write("x#c#", 2));
  EXPECT_TRUE(world.Write("x#a#", 2));
  world.Remove(PrefixRange("x#b#"));
  ASSERT_TRUE(world.keeper->Settle());
  EXPECT_TRUE(world.Write("x#c#", 2));
  EXPECT_EQ(world.Indexed(), (SeriesTexts{"x#a#", "x#c#"}));
}

TEST(SeriesKeeper, KeepsASeriesOfWhichARowIsLeft) {
  SeriesWorld world;
  EXPECT_TRUE(world.Write("x#a#"));
  ASSERT_TRUE(world.Put("x#a#1700000000001"));
  world.Remove(RangeOfKey("x#a#1700000000000"));
  ASSERT_TRUE(world.keeper->Settle());
  EXPECT_EQ(world.Indexed(), SeriesTexts{"x#a#"});
  world.Remove(RangeOfKey("x#a#1700000000001"));
  ASSERT_TRUE(world.keeper->Settle());
  EXPECT_EQ(world.index->size(), 0u);
}

TEST(SeriesKeeper, AdmitsNoMoreThanThereMayBeHoweverManyWriteAtOnce) {
  SeriesWorld world;
  std::atomic<int> taken = 0;
  std::vector<std::jthread> writers;
  for (int w = 0; w < 4; ++w) {
    writers.emplace_back([&world, &taken, w] {
      for (int i = 0; i < 100; ++i) {
        SeriesWrite write = world.keeper->Begin();
        const std::string series = "x#" + std::to_string(w) + "-" + std::to_string(i) + "#";
        if (world.Admit(series, &write, 150).refusal) continue;
        ++taken;
        write.Settle(true);
      }
    });
  }
  writers.clear();
  EXPECT_EQ(taken, 150);
  EXPECT_EQ(world.index->size(), 150u);
}

TEST(SeriesKeeper, IsTheSetOfSeriesThatHaveRowsAfterEachSettle) {
  std::mt19937 random(11);
  SeriesWorld world;
  SeriesTexts model;
  for (int step = 0; step < 3000; ++step) {
    const std::string series = "x#" + std::to_string(random() % 200) + "#";
    const auto what = random() % 20;
    if (what < 14) {
      EXPECT_TRUE(world.Write(series));
      model.insert(series);
    } else if (what < 16) {
      SeriesWrite write = world.keeper->Begin();
      EXPECT_FALSE(world.Admit(series, &write).refusal);  // And nothing comes of it.
    } else if (what < 18) {
      // Also of ranges that end within a series.
      const std::string prefix = series.substr(0, series.size() - random() % 2);
      world.Remove(PrefixRange(prefix));
      std::erase_if(model, [&](const std::string& each) { return each.starts_with(prefix); });
    } else if (what < 19) {
      ASSERT_TRUE(world.keeper->Settle());
      ASSERT_EQ(world.Indexed(), model);
      ASSERT_EQ(world.index->size(), model.size());
    } else if (random() % 10 == 0) {
      world.Begin();
      ASSERT_EQ(world.Indexed(), model);
    }
    if (step % 16 == 0) {
      const SeriesTexts indexed = world.Indexed();
      for (const std::string& each : model) ASSERT_TRUE(indexed.contains(each));
    }
  }
}

TEST(SeriesKeeper, BoundsTheFieldsOfAStream) {
  SeriesWorld world("max_series = 10\nmax_fields = 2\n");
  SeriesWrite write = world.keeper->Begin();
  EXPECT_EQ(write.GateOf(nullptr, "s", {}), nullptr);
  const auto bound = write.GateOf(world.indexes.get(), "s", {10, 2});
  const std::vector<std::string> two = {"a", "b"};
  const std::vector<std::string> third = {"a", "c"};
  EXPECT_FALSE(bound->Admit({}, two).refusal);
  const SeriesGate::Answer refused = bound->Admit({}, third);
  ASSERT_TRUE(refused.refusal);
  EXPECT_EQ(refused.refusal->field, "c");
  write.Settle(false);
  EXPECT_FALSE(bound->Admit({}, third).refusal);
}

}  // namespace
}  // namespace tallyd
