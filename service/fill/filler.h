// Filler: makes tables whole again that joined a stream with history, or whose rules changed, from
// a table of the stream that is whole (fill_wish.h). It works in the background, one table at a
// time, and takes `cpu` of one core.
//
//   Filler filler(parts);
//   filler.Open();               // The store is open.
//   filler.Start();              // A thread that looks for what is to be filled; Stop ends it.
//
// When all of it is there it is compared with what it came from (fill_check.h). A table that was
// filled is whole for whoever plans queries from then on (Store::SetWhole). A
// start goes on where the last one ended.
//
// Thread-safe. What Parts name outlives it.
#ifndef TALLYD_SERVICE_FILL_FILLER_H_
#define TALLYD_SERVICE_FILL_FILLER_H_

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "service/fill/fill_pass.h"
#include "service/fill/fill_record.h"
#include "service/fill/fill_wish.h"
#include "service/live_schema.h"
#include "service/pacer.h"

namespace tallyd {

struct FillState {
  enum class Kind : uint8_t {
    kFilling,
    kChecking,
    kWaiting,
    kStuck,
    kDeclined,
    kNotFilled,
    kFilled
  };
  Kind kind = Kind::kWaiting;
  FillRecord record;  // Of what there is so far; its table and source are set.
  std::string why;    // kStuck: what each table lacks. kNotFilled: what went wrong.
};

class Filler {
 public:
  struct Parts {
    Store* store = nullptr;
    const Clock* clock = nullptr;
    const LiveSchema* live_schema = nullptr;
    Writer* writer = nullptr;
    prometheus::Registry* registry = nullptr;
    double cpu = 1;
    int64_t slice_us = kUsPerDay;  // Of time, as the store keeps it apart.
    size_t batch_bytes = 1u << 20;
    // For tests: called before each batch is committed.
    std::function<void()> before_commit = {};
  };

  explicit Filler(Parts parts);
  ~Filler();
  Filler(const Filler&) = delete;
  Filler& operator=(const Filler&) = delete;

  Status Open();
  void Start();
  void Stop();  // Idempotent.

  // What the thread does twice a second: fills what there is to fill.
  void Look();

  // The tables that lack something, and those that were filled; by name.
  std::vector<FillState> States() const;

 private:
  using SteadyTime = std::chrono::steady_clock::time_point;

  void Run();
  // What the wishes were found by: while it is the same, so are they, nearly.
  struct Seen {
    std::shared_ptr<const SchemaSnapshot> snapshot;
    std::vector<TablePtr> tables;
    friend bool operator==(const Seen&, const Seen&) = default;
  };
  bool IsDue();
  void TellOf(const std::vector<FillWish>& wishes);
  Status Fill(const FillWish& wish);
  FillRecord Begin(const FillWish& wish) const;
  FillRecord NewRecord(const FillWish& wish) const;
  bool MayTry(const FillWish& wish);
  Result<TimeUs> WholeFrom(const FillWish& wish) const;
  Status Check(const FillWish& wish, FillRecord* record, SteadyTime* since);
  Status PutRecord(const FillRecord& record);
  Status Progress(const FillRecord& record, SteadyTime* since);

  const Parts parts_;
  prometheus::Gauge& waiting_;
  prometheus::Counter& filled_;
  prometheus::Counter& failed_;
  prometheus::Counter& events_;
  prometheus::Counter& conflicts_;

  std::mutex work_mutex_;  // Of whoever fills; guards the next two.
  Seen seen_;
  SteadyTime look_again_;

  mutable std::mutex mutex_;
  // What follows is guarded by mutex_.
  std::map<std::string, FillState> states_;  // By table.
  bool stopping_ = false;

  std::condition_variable wake_;
  const Pacer pacer_;
  std::thread thread_;
};

}  // namespace tallyd

#endif  // TALLYD_SERVICE_FILL_FILLER_H_
