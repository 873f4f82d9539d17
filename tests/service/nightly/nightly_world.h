// A store in a folder of its own with nightly tables and a clock that tests set: events go in as
// JSON, rows come out as text.
#ifndef TALLYD_TESTS_SERVICE_NIGHTLY_NIGHTLY_WORLD_H_
#define TALLYD_TESTS_SERVICE_NIGHTLY_NIGHTLY_WORLD_H_

#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <atomic>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "config/file/config.h"
#include "ingest/decode/decode.h"
#include "ingest/map/mapper.h"
#include "service/nightly/nightly_schema.h"
#include "service/nightly/nightly_tables.h"
#include "storage/leveldb_store.h"
#include "tests/ingest/padded.h"
#include "tests/service/write/test_writer.h"

namespace tallyd {

inline constexpr int64_t kHourUs = 3600 * kUsPerSecond;
inline constexpr int64_t kMinuteUs = 60 * kUsPerSecond;

class SetClock final : public Clock {
 public:
  TimeUs Now() const override { return now; }
  int64_t SteadyUs() const override { return steady; }
  void Pass(int64_t us) {
    steady += us;
    now += us;
  }
  std::atomic<TimeUs> now{0};
  std::atomic<int64_t> steady{0};
};

// The meters of the examples, with a table for each night.
inline std::string SensorConfig(const std::string& daily = "at = \"00:30\"",
                                const std::string& family = "", const std::string& more = "") {
  return "[tables.SENSOR]\nstream = \"meter\"\npattern = \"new-column\"\n"
         "row_key = \"{meter:zero(10)}#{ts:day}\"\n"
         "columns = [{ family = \"METER\", name = \"ID\", value = \"{meter}\" },\n"
         "  { family = \"METER\", name = \"{ts:%H%M}\", value = \"{value}\" }]\n"
         "families.METER = {" +
         family + "}\ndaily = { name = \"SENSOR_{date}\", " + daily + " }\n" + more;
}

class NightlyWorld {
 public:
  // 2017-07-26, from which Show counts times. It is twenty past midnight of the day after.
  static constexpr TimeUs kDay = 17'373 * kUsPerDay;

  explicit NightlyWorld(const std::string& config = SensorConfig()) {
    std::string pattern = std::filesystem::temp_directory_path() / "tallyd-nightly-XXXXXX";
    path_ = mkdtemp(pattern.data());
    clock.now = kDay + kUsPerDay + 20 * kMinuteUs;
    Open(config);
  }
  ~NightlyWorld() {
    Close();
    std::filesystem::remove_all(path_);
  }
  NightlyWorld(const NightlyWorld&) = delete;
  NightlyWorld& operator=(const NightlyWorld&) = delete;

  void Restart(const std::string& config = SensorConfig()) {
    Close();
    Open(config);
  }
  void Reload(const std::string& config) {
    Result<Config> parsed = ParseConfig(config, "test.toml");
    ASSERT_TRUE(parsed) << parsed.error().message();
    configured = parsed->schema;
    const Status taken = PutInForce();
    ASSERT_TRUE(taken) << taken.error().message();
    nightly->Configure(configured);
  }

  // Events of the stream "meter", committed on return.
  void Write(std::string_view json) {
    const Padded body(json);
    EventBatch events;
    const Status decoded = decoder_.Decode(*FindBodyFormat(""), body.view(), shapes_, &events);
    ASSERT_TRUE(decoded) << decoded.error().message();
    std::unique_ptr<Batch> batch = store->NewBatch();
    const MapOutcome outcome = mapper->Map(events, clock.now, batch.get());
    ASSERT_TRUE(outcome.errors.empty()) << outcome.errors.kept().front().detail;
    const Status committed = store->Commit(std::move(batch));
    ASSERT_TRUE(committed) << committed.error().message();
  }
  // A reading of meter 987654 so long after kDay began.
  void Read(int64_t after_us, const std::string& value) {
    Write("{\"meter\": 987654, \"ts\": " + std::to_string((kDay + after_us) / kUsPerMs) +
          ", \"value\": " + value + "}");
  }

  // "KEY: FAMILY:COLUMN=value@time ..." of each row; times in minutes since kDay.
  std::string Show(const std::string& name) {
    const TablePtr table = store->FindTable(name);
    if (table == nullptr) return "no table";
    ScanSpec spec;
    spec.now = clock.now;
    const auto scan = store->Scan(table, spec);
    std::string text;
    for (Result<bool> more = scan->Next(); more && *more; more = scan->Next()) {
      std::map<std::string, std::string> cells;
      for (const RowPart& part : scan->row().parts) {
        for (const CellView& cell : scan->row().CellsOf(part)) {
          const std::string& family = table->families[cell.column.family].name;
          const std::string column = family + ":" + std::string(cell.column.qualifier);
          const std::string minutes = std::to_string((part.time - kDay) / kMinuteUs);
          cells[column + "@" + minutes] = ToText(cell.value);
        }
      }
      text += std::string(scan->row().key) + ":";
      for (const auto& [column, value] : cells) text += " " + column + "=" + value;
      text += "\n";
    }
    return text;
  }

  double Metric(const std::string& name) const {
    double sum = 0;
    for (const prometheus::MetricFamily& family : registry_->Collect()) {
      if (family.name != name) continue;
      for (const auto& metric : family.metric) sum += metric.gauge.value + metric.counter.value;
    }
    return sum;
  }
  size_t Marks() { return store->Memos("late/", 1000)->size(); }

  SetClock clock;
  std::shared_ptr<const Schema> configured;
  std::shared_ptr<const Schema> in_force;
  std::unique_ptr<Store> store;
  std::unique_ptr<TestWriter> writing;
  std::unique_ptr<NightlyTables> nightly;
  std::unique_ptr<Mapper> mapper;
  std::function<void()> on_refresh;

 private:
  void Open(const std::string& config) {
    registry_ = std::make_unique<prometheus::Registry>();
    LevelDbStoreOptions options;
    options.storage.path = path_ + "/data";
    options.storage.ballast = 0;
    options.clock = &clock;
    options.registry = registry_.get();
    store = std::move(*OpenLevelDbStore(options));
    writing = std::make_unique<TestWriter>(*store, clock, *registry_);
    nightly = std::make_unique<NightlyTables>(
        NightlyTables::Parts{store.get(), &clock, registry_.get(), &writing->writer, 1, [this] {
                               if (on_refresh) on_refresh();
                               return PutInForce();
                             }});
    const Status opened = nightly->Open();
    ASSERT_TRUE(opened) << opened.error().message();
    Reload(config);
  }
  void Close() {
    mapper.reset();
    nightly.reset();
    writing.reset();
    store->Close();
    store.reset();
  }
  Status PutInForce() {
    Result<std::shared_ptr<const Schema>> schema = WithNightly(configured, *store);
    if (!schema) return schema.error();
    if (Status adopted = store->Adopt(**schema); !adopted) return adopted;
    in_force = *schema;
    writing->PutInForce(in_force, *store);
    mapper = std::make_unique<Mapper>(in_force, *in_force->FindStream("meter"), *store);
    return {};
  }

  std::string path_;
  std::unique_ptr<prometheus::Registry> registry_;
  ShapeRegistry shapes_;
  EventDecoder decoder_;
};

}  // namespace tallyd

#endif  // TALLYD_TESTS_SERVICE_NIGHTLY_NIGHTLY_WORLD_H_
