#include "tests/storage/store_fixture.h"

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

namespace tallyd {

namespace {

// In memory where there is room: these tests sync by the thousand.
std::filesystem::path TempRoot() {
  constexpr uint64_t kRoom = 1u << 30;
  std::error_code none;
  const auto space = std::filesystem::space("/dev/shm", none);
  if (!none && space.available >= kRoom && ::access("/dev/shm", W_OK) == 0) return "/dev/shm";
  return std::filesystem::temp_directory_path();
}

}  // namespace

TempDir::TempDir() : TempDir(TempRoot()) {}

TempDir::TempDir(const std::filesystem::path& root) {
  std::string pattern = root / "tallyd-storage-XXXXXX";
  path_ = ::mkdtemp(pattern.data());
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

StorageConfig TestStorage(const TempDir& directory) {
  // Tests fail writes by the hundred. TALLYD_TEST_LOG shows what the store says.
  spdlog::set_level(std::getenv("TALLYD_TEST_LOG") ? spdlog::level::trace : spdlog::level::off);
  StorageConfig storage;
  storage.path = directory.path() + "/db";
  storage.write_buffer = 256u << 10;
  storage.block_cache = 1u << 20;
  storage.ballast = 0;
  storage.free_space_floor = 0;
  return storage;
}

StoreHarness::StoreHarness(StoreEnv* env) : config_(TestStorage(dir_)), env_(env) {}

StoreHarness::~StoreHarness() { Close(); }

Status StoreHarness::TryOpen() {
  store_.reset();
  own_registry_ = std::make_unique<prometheus::Registry>();
  LevelDbStoreOptions options;
  options.storage = config_;
  options.clock = &clock;
  options.registry = own_registry_.get();
  options.env = env_;
  options.measure = measure;
  options.rows_at_once = rows_at_once_;
  options.block_columns = block_columns_;
  Result<std::unique_ptr<Store>> opened = OpenLevelDbStore(options);
  if (!opened) return opened.error();
  store_ = std::move(*opened);
  return {};
}

void StoreHarness::Open() {
  const Status opened = TryOpen();
  ASSERT_TRUE(opened) << opened.error().message();
}

void StoreHarness::Reopen() {
  Open();
  if (!store_) return;
  const Status adopted = store_->Adopt(adopted_);
  ASSERT_TRUE(adopted) << adopted.error().message();
}

Status StoreHarness::Adopt(const Schema& schema) {
  Status adopted = store_->Adopt(schema);
  if (adopted) adopted_ = schema;
  return adopted;
}

double StoreHarness::Metric(const std::string& name) const {
  double sum = 0;
  for (const prometheus::MetricFamily& family : own_registry_->Collect()) {
    if (family.name != name) continue;
    for (const auto& metric : family.metric) sum += metric.counter.value + metric.gauge.value;
  }
  return sum;
}

double StoreHarness::Gauge(const std::string& name) {
  double sum = 0;
  for (const StoreGauge& gauge : store_->State().gauges) {
    if (gauge.name == name) sum += gauge.value;
  }
  return sum;
}

void StoreHarness::AwaitPurge() {
  const Status settled = store_->Settle();
  EXPECT_TRUE(settled) << settled.error().message();
  EXPECT_EQ(Told("pending_deletes"), 0u);
}

std::vector<std::pair<std::string, uint64_t>> StoreHarness::CutTails() {
  std::vector<std::pair<std::string, uint64_t>> tails;
  for (const StoreMember& member : store_->State().members) {
    if (member.name != "cut_tails") continue;
    for (const StoreMember& tail : std::get<StoreMember::Members>(member.value)) {
      const auto& told = std::get<StoreMember::Members>(tail.value);
      tails.emplace_back(std::get<std::string>(told[0].value), std::get<uint64_t>(told[1].value));
    }
  }
  return tails;
}

uint64_t StoreHarness::Told(const std::string& member) {
  for (const StoreMember& told : store_->State().members) {
    if (told.name == member) return std::get<uint64_t>(told.value);
  }
  ADD_FAILURE() << member << " is not told";
  return 0;
}

}  // namespace tallyd
