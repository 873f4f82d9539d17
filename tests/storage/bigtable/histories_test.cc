// Random histories of a store on Bigtable beside the model, which share no code: batches of writes
// and deletes, reopened stores, calls that fail and answers that are lost. What both are asked they
// answer alike.
//
// TALLYD_BIGTABLE_HISTORIES raises their number (make bigtable-test); TALLYD_SEED plays that one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "tests/storage/bigtable/service.h"
#include "tests/storage/conformance/conformance.h"
#include "tests/storage/model_store.h"
#include "tests/storage/store_verbs.h"

namespace tallyd {
namespace {

constexpr uint64_t kHistoriesByDefault = 200;
constexpr uint64_t kHistoriesOfTest = 20;  // So tests may be spread over cores.
constexpr int kSteps = 8;
constexpr int kReadings = 4;  // Behind each step.
constexpr TimeUs kBegin = 1'000'000'000;

uint64_t HistoriesFromEnvironment(const char* name, uint64_t otherwise) {
  const char* const wanted = std::getenv(name);
  return wanted == nullptr ? otherwise : std::strtoull(wanted, nullptr, 10);
}

const uint64_t kOnly = HistoriesFromEnvironment("TALLYD_SEED", 0);
const uint64_t kHistories = kOnly > 0 ? 1
                                      : HistoriesFromEnvironment("TALLYD_BIGTABLE_HISTORIES",
                                                                 kHistoriesByDefault);

class HistoryStore : public StoreVerbs {
 public:
  explicit HistoryStore(StoreHost* host) : host_(host) {}
  Store& store() override { return *store_; }

  void Reopen(const Schema& schema) {
    store_.reset();
    Result<std::unique_ptr<Store>> opened = host_->Open(clock);
    ASSERT_TRUE(opened) << opened.error().message();
    store_ = std::move(*opened);
    const Status adopted = store_->Adopt(schema);
    ASSERT_TRUE(adopted) << adopted.error().message();
  }

 private:
  StoreHost* const host_;
  std::unique_ptr<Store> store_;
};

class BigtableServiceHost final : public StoreHost {
 public:
  BigtableServiceHost(const tablet::FaultRates& rates, bool whole_batches) {
    service_.whole_batches = whole_batches;
    service_.server.faults().Set(rates);
  }
  Result<std::unique_ptr<Store>> Open(const Clock& clock) override {
    return service_.OpenStore(clock);
  }

 private:
  BigtableService service_;
};

class ModelStoreHost final : public StoreHost {
 public:
  Result<std::unique_ptr<Store>> Open(const Clock& clock) override {
    return std::unique_ptr<Store>(std::make_unique<ModelStore>(&disk_, &clock));
  }

 private:
  ModelDisk disk_;
};

class BigtableHistory {
 public:
  BigtableHistory(unsigned seed, const tablet::FaultRates& rates, bool whole_batches)
      : random_(seed), service_(rates, whole_batches) {}

  void Run() {
    Reopen();
    for (int step = 0; step < kSteps && !::testing::Test::HasFailure(); ++step) {
      if (UpTo(7) == 0) Reopen();
      Change();
      for (int i = 0; i < kReadings; ++i) Compare();
    }
  }

 private:
  size_t UpTo(size_t most) { return std::uniform_int_distribution<size_t>(0, most)(random_); }
  bool OneIn(size_t n) { return UpTo(n - 1) == 0; }
  std::string Table() { return std::string(1, "HLRS"[UpTo(3)]); }
  std::string RowKey() {
    std::string key(1 + UpTo(2), 'a');
    for (char& byte : key) byte = static_cast<char>('a' + UpTo(2));
    return key;
  }
  TimeUs Time() { return kBegin + static_cast<TimeUs>(UpTo(9)) * 1000; }
  TimeRange Times() {
    TimeRange times;
    times.from = Time();
    times.to = times.from + static_cast<TimeUs>(1 + UpTo(5)) * 1000;
    return times;
  }
  KeyRange Keys() {
    switch (UpTo(3)) {
      case 0:
        return OneRow(RowKey());
      case 1:
        return PrefixRange(RowKey().substr(0, 1));
      case 2:
        return KeyRange{};
      default:
        return KeyRange{RowKey(), "d"};
    }
  }

  std::vector<TestCell> SomeCells() {
    static const std::vector<Value> kValues = {Value::Int(7),          Value::Int(-1),
                                               Value::Double(0.5),     Value::Double(2),
                                               Value::Bool(true),      Value::String("7"),
                                               Value::String("'q"),    Value::String("true"),
                                               Value::String("text"),  Value::Bytes("\x01\x02"),
                                               Value::Decimal(-15, 1), Value::String("")};
    std::vector<TestCell> cells;
    for (const char* family : {"A", "B"}) {
      for (const char* qualifier : {"x", "y", "z"}) {
        if (OneIn(2)) cells.push_back({family, qualifier, kValues[UpTo(kValues.size() - 1)]});
      }
    }
    if (cells.empty()) cells.push_back({"A", "x", Value::Int(1)});
    return cells;
  }

  // Of S, whose families fold: A sums, B keeps the least.
  std::vector<TestCell> SomeInputs() {
    std::vector<TestCell> cells;
    for (const char* family : {"A", "B"}) {
      const auto input = static_cast<int64_t>(UpTo(90)) - 30;
      cells.push_back({family, OneIn(2) ? "x" : "y", Value::Int(input)});
    }
    return cells;
  }

  static Schema Tables() {
    Schema schema = Conformance::Plain();
    auto sums = MakeTable("S");
    sums.families[0].aggregate = Aggregate::kSum;
    sums.families[1].aggregate = Aggregate::kMin;
    schema.tables.push_back(std::move(sums));
    return schema;
  }

  void Reopen() {
    const Schema schema = Tables();
    store_.Reopen(schema);
    model_.Reopen(schema);
  }

  // A batch, of both.
  void Change() {
    auto batch = store_.NewBatch();
    auto of_model = model_.NewBatch();
    for (size_t i = 1 + UpTo(5); i > 0; --i) {
      const std::string table = Table();
      if (OneIn(6)) {
        DeleteSpec what;
        what.rows = Keys();
        if (OneIn(2)) what.cells = Times();
        store_.Delete(batch.get(), table, what);
        model_.Delete(of_model.get(), table, what);
        continue;
      }
      const std::string row = RowKey();
      const TimeUs time = Time();
      const std::vector<TestCell> cells = table == "S" ? SomeInputs() : SomeCells();
      const bool by_set = OneIn(2);
      store_.Put(batch.get(), table, row, time, cells, by_set);
      model_.Put(of_model.get(), table, row, time, cells, by_set);
    }
    const Status committed = store_.Commit(std::move(batch));
    ASSERT_TRUE(committed) << committed.error().message();
    ASSERT_TRUE(model_.Commit(std::move(of_model)));
  }

  void Compare() {
    ScanSpec spec;
    spec.ranges = {Keys()};
    if (OneIn(2)) spec.cells = Times();
    if (OneIn(3)) spec.limit = 1 + UpTo(3);
    if (OneIn(3)) spec.versions = static_cast<uint32_t>(1 + UpTo(1));
    if (OneIn(3)) spec.columns = {{"A", OneIn(2) ? "*" : "x"}};
    spec.reverse = OneIn(3);
    const std::string table = Table();
    EXPECT_EQ(store_.Read(table, spec), model_.Read(table, spec))
        << table << " [" << spec.ranges[0].start << ", " << spec.ranges[0].end << ") cells "
        << spec.cells.from << " to " << spec.cells.to << " limit " << spec.limit << " versions "
        << spec.versions << (spec.reverse ? " reverse" : "");
  }

  std::mt19937 random_;
  BigtableServiceHost service_;
  ModelStoreHost disk_;
  HistoryStore store_{&service_};
  HistoryStore model_{&disk_};
};

class BigtableHistoriesTest : public ::testing::TestWithParam<uint64_t> {};

TEST_P(BigtableHistoriesTest, AnswersAreTheModels) {
  tablet::FaultRates rates = tablet::FaultRates::All(0.03);
  rates.slow_calls = 0;
  const uint64_t first = kOnly > 0 ? kOnly : 1 + GetParam() * kHistoriesOfTest;
  const uint64_t last = kOnly > 0 ? kOnly : std::min(kHistories, first + kHistoriesOfTest - 1);
  for (uint64_t seed = first; seed <= last && !HasFailure(); ++seed) {
    SCOPED_TRACE("TALLYD_SEED=" + std::to_string(seed));
    const bool faulty = seed % 2 == 0;
    const bool whole_batches = seed % 3 == 0;
    BigtableHistory(static_cast<unsigned>(seed), faulty ? rates : tablet::FaultRates(),
                    whole_batches)
        .Run();
  }
}

INSTANTIATE_TEST_SUITE_P(Histories, BigtableHistoriesTest,
                         ::testing::Range(uint64_t{0},
                                          (kHistories + kHistoriesOfTest - 1) / kHistoriesOfTest));

}  // namespace
}  // namespace tallyd
