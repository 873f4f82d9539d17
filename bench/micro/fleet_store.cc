#include "bench/micro/fleet_store.h"

#include <spdlog/spdlog.h>

#include <filesystem>
#include <stdexcept>

#include "bench/workload.h"
#include "config/file/config.h"
#include "ingest/decode/decode.h"
#include "ingest/map/mapper.h"
#include "storage/leveldb_store.h"

namespace tallyd::bench {
namespace {

constexpr std::int64_t kStartMs = 1'735'689'600'000;
constexpr const char* kConfig = R"(
[tables.METRIC]
stream  = "server"
pattern = "single-timestamp"
row_key = "{hostname}#{ts:ms}"
families.METRIC = {}
[tables.CURRENT_METRIC]
stream  = "server"
pattern = "latest"
row_key = "{hostname}"
families.METRIC = {}
)";

void Check(const Status& status) {
  if (!status) throw std::runtime_error(status.error().message());
}

}  // namespace

std::vector<std::string> FleetBodies(int count, int metrics) {
  const auto source = MakeSource(WorkloadKind::kFleet, {.start_ms = kStartMs, .metrics = metrics});
  std::vector<std::string> bodies;
  for (int i = 0; i < count; ++i) {
    source->FillBody(kEventsPerBody, &bodies.emplace_back());
    bodies.back().append(kBodyPadding, ' ');
  }
  return bodies;
}

FleetStore::FleetStore() {
  spdlog::set_level(spdlog::level::err);
  // Beside the working directory, not in /tmp, which may be memory: an fsync must cost what it
  // costs.
  path_ = (std::filesystem::current_path() / "micro_bench.XXXXXX").string();
  if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no scratch folder: " + path_);
  Result<Config> config = ParseConfig(kConfig, "bench");
  if (!config) throw std::runtime_error(config.error().message());
  schema_ = config->schema;
  LevelDbStoreOptions options;
  options.storage = config->storage;
  options.storage.path = path_;
  options.clock = &clock_;
  options.registry = &registry_;
  Result<std::unique_ptr<Store>> opened = OpenLevelDbStore(options);
  if (!opened) throw std::runtime_error(opened.error().message());
  store_ = std::move(*opened);
  Check(store_->Adopt(*schema_));
}

FleetStore::~FleetStore() {
  store_.reset();
  std::error_code gone;
  std::filesystem::remove_all(path_, gone);
}

void FleetStore::Commit(std::unique_ptr<Batch> batch) { Check(store_->Commit(std::move(batch))); }

void FleetStore::Fill(int bodies) {
  EventDecoder decoder;
  ShapeRegistry shapes;
  EventBatch events;
  Mapper mapper(schema_, schema_->streams.front(), *store_);
  for (const std::string& body : FleetBodies(bodies)) {
    const std::string_view text(body.data(), body.size() - kBodyPadding);
    Check(decoder.Decode(*FindBodyFormat(""), text, shapes, &events));
    auto batch = store_->NewBatch();
    mapper.Map(events, 0, batch.get());
    Commit(std::move(batch));
  }
  Check(store_->Settle());
}

}  // namespace tallyd::bench
