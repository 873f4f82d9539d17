// The store's instruments, resolved once at start. Names are in docs/operations.md. Thread-safe as
// prometheus-cpp's are.
#ifndef TALLYD_STORAGE_STORE_METRICS_H_
#define TALLYD_STORAGE_STORE_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

namespace tallyd {

struct StoreMetrics {
  explicit StoreMetrics(prometheus::Registry& registry);

  prometheus::Counter& commits;           // tallyd_commits_total
  prometheus::Counter& commit_failures;   // tallyd_commit_failures_total
  prometheus::Counter& committed_bytes;   // tallyd_committed_bytes_total
  prometheus::Histogram& group_batches;   // tallyd_commit_group_batches
  prometheus::Histogram& commit_seconds;  // tallyd_commit_seconds: write and fsync of one group
  prometheus::Gauge& queue_bytes;         // tallyd_commit_queue_bytes
  prometheus::Gauge& queue_batches;       // tallyd_commit_queue_batches
  prometheus::Counter& queue_full;        // tallyd_commit_queue_full_total
  prometheus::Counter& reopens;           // tallyd_store_reopens_total
  prometheus::Gauge& writable;            // tallyd_store_writable
  prometheus::Counter& fsync_seconds;     // tallyd_fsync_seconds_total
  prometheus::Counter& fsyncs;            // tallyd_fsyncs_total
  prometheus::Counter& sealed_entries;    // tallyd_store_sealed_entries_total
  prometheus::Counter& sealed_heads;      // tallyd_store_sealed_heads_total
  prometheus::Counter& merged_entries;    // tallyd_store_merged_entries_total
  prometheus::Counter& sealed_bytes;      // tallyd_store_sealed_bytes_total
  prometheus::Counter& merged_bytes;      // tallyd_store_merged_bytes_total: written again
  prometheus::Counter& stalls;  // tallyd_store_stalls_total: writes that compaction held up
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_STORE_METRICS_H_
