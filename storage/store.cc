#include "storage/store.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <future>

namespace tallyd {

// The promise is shared: the committer's thread may still be in it when the waiter has gone on.
Status WaitForCommit(const std::function<void(CommitDone)>& submit) {
  auto result = std::make_shared<std::promise<Status>>();
  std::future<Status> committed = result->get_future();
  submit([result](Status status) { result->set_value(std::move(status)); });
  return committed.get();
}

namespace {

prometheus::Counter& MakeCounter(prometheus::Registry& registry, const char* name,
                                 const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

prometheus::Gauge& MakeGauge(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

prometheus::Histogram& MakeHistogram(prometheus::Registry& registry, const char* name,
                                     const char* help,
                                     const prometheus::Histogram::BucketBoundaries& buckets) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({}, buckets);
}

}  // namespace

StoreMetrics::StoreMetrics(prometheus::Registry& registry)
    : commits(MakeCounter(registry, "tallyd_commits_total", "Groups of batches committed.")),
      commit_failures(MakeCounter(registry, "tallyd_commit_failures_total",
                                  "Groups that could not be written.")),
      committed_bytes(MakeCounter(registry, "tallyd_committed_bytes_total",
                                  "Bytes of keys and values committed.")),
      group_batches(MakeHistogram(registry, "tallyd_commit_group_batches",
                                  "Batches that one commit took.",
                                  {1, 2, 4, 8, 16, 32, 64, 128, 256})),
      commit_seconds(
          MakeHistogram(registry, "tallyd_commit_seconds", "Write and fsync of one group.",
                        {0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5})),
      queue_bytes(MakeGauge(registry, "tallyd_commit_queue_bytes",
                            "Bytes of batches that wait to be committed.")),
      queue_batches(
          MakeGauge(registry, "tallyd_commit_queue_batches", "Batches that wait to be committed.")),
      queue_full(MakeCounter(registry, "tallyd_commit_queue_full_total",
                             "Batches refused because the queue was full.")),
      reopens(MakeCounter(registry, "tallyd_store_reopens_total",
                          "Times the files were closed and reopened after a failed write.")),
      writable(MakeGauge(registry, "tallyd_store_writable",
                         "1 while writes are taken; 0 after a failed write or on a full disk.")),
      fsync_seconds(MakeCounter(registry, "tallyd_fsync_seconds_total", "Seconds spent in fsync.")),
      fsyncs(MakeCounter(registry, "tallyd_fsyncs_total", "Calls of fsync.")),
      sealed_entries(MakeCounter(registry, "tallyd_store_sealed_entries_total",
                                 "Entries moved from heads into column blocks.")),
      sealed_heads(
          MakeCounter(registry, "tallyd_store_sealed_heads_total", "Heads that were sealed.")),
      merged_entries(MakeCounter(registry, "tallyd_store_merged_entries_total",
                                 "Entries written again when block files were merged.")),
      sealed_bytes(MakeCounter(registry, "tallyd_store_sealed_bytes_total",
                               "Bytes of block files that heads became.")),
      merged_bytes(MakeCounter(registry, "tallyd_store_merged_bytes_total",
                               "Bytes of block files that other block files became.")),
      stalls(MakeCounter(registry, "tallyd_store_stalls_total",
                         "Writes that were held up because compaction did not keep up.")) {}

}  // namespace tallyd
