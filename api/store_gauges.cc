#include "api/store_gauges.h"

#include <string>

namespace tallyd {

namespace {

// LevelDB 1.23 delays every write by 1 ms from 8 files in level 0 on, and stops at 12.
constexpr int kSlowdownFiles = 8;
constexpr int kStopFiles = 12;

prometheus::Gauge& Gauge(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

}  // namespace

StoreGauges::StoreGauges(prometheus::Registry& registry)
    : disk_bytes_(Gauge(registry, "tallyd_store_disk_bytes", "Bytes of data, ballast left out.")),
      free_bytes_(Gauge(registry, "tallyd_store_free_bytes", "Free bytes of the data's volume.")),
      unsealed_bytes_(Gauge(registry, "tallyd_store_unsealed_bytes",
                            "Bytes committed that are not in column blocks yet.")),
      block_files_(Gauge(registry, "tallyd_store_block_files", "Files of column blocks.")),
      cut_tail_bytes_(Gauge(registry, "tallyd_store_cut_tail_bytes",
                            "Bytes at the ends of files that a crash left incomplete.")),
      pending_deletes_(Gauge(registry, "tallyd_store_pending_deletes",
                             "Deleted ranges whose bytes are still on the disk.")),
      slowdown_(
          Gauge(registry, "tallyd_leveldb_slowdown",
                "0: none; 1: LevelDB delays writes (8 files in level 0); 2: it stops them.")),
      retention_time_(Gauge(registry, "tallyd_retention_clock_timestamp_seconds",
                            "The time by which the disk forgets.")),
      retention_lag_(Gauge(registry, "tallyd_retention_clock_lag_seconds",
                           "How far the wall clock is ahead of the retention clock.")) {
  auto& family = prometheus::BuildGauge()
                     .Name("tallyd_leveldb_files")
                     .Help("LevelDB's files, by level.")
                     .Register(registry);
  for (size_t level = 0; level < kLevels; ++level) {
    level_files_[level] = &family.Add({{"level", std::to_string(level)}});
  }
}

void StoreGauges::Update(const StoreState& state) {
  disk_bytes_.Set(static_cast<double>(state.disk_bytes));
  free_bytes_.Set(static_cast<double>(state.free_bytes));
  unsealed_bytes_.Set(static_cast<double>(state.unsealed_bytes));
  block_files_.Set(static_cast<double>(state.block_files));
  uint64_t cut = 0;
  for (const FoundFile& tail : state.cut_tails) cut += tail.bytes;
  cut_tail_bytes_.Set(static_cast<double>(cut));
  pending_deletes_.Set(static_cast<double>(state.pending_deletes));
  for (size_t level = 0; level < kLevels && level < state.level_files.size(); ++level) {
    level_files_[level]->Set(state.level_files[level]);
  }
  const int files = state.level_files.empty() ? 0 : state.level_files[0];
  retention_time_.Set(static_cast<double>(state.retention.time) / kUsPerSecond);
  retention_lag_.Set(static_cast<double>(state.retention.lag_us) / kUsPerSecond);
  slowdown_.Set(files >= kStopFiles ? 2 : files >= kSlowdownFiles ? 1 : 0);
}

}  // namespace tallyd
