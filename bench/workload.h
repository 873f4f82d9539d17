#ifndef TALLYD_BENCH_WORKLOAD_H_
#define TALLYD_BENCH_WORKLOAD_H_

// A workload is an endless run of events, dealt out to connections by entity: an entity's events
// leave in time order over one connection, as an agent's would. Its data depends on the seed alone.
//
//   fleet     1,000 machines x 100 metrics every 5 s; half gauges with two decimals that wander by
//             up to half a unit (101 steps, 6.66 bits), half counters that grow by 0 to 199 (200
//             steps, 7.64 bits), which makes 0.894 bytes of information a value
//   meters    10,000 meters, one reading each per 15 minutes
//   market    quotes and trades of 2,000 symbols, of which a few hundred carry 90 % of the messages
//   counters  adds of 1 to 1,000 to 1,000 counters, as many to each
//   fields    1,000 devices of 50 fields, an event per field that changes
//
// Use: MakeSource() once per connection, then FillBody() per request. One thread per source.
// Options that a workload cannot have throw std::invalid_argument.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "bench/event_writer.h"

namespace tallyd::bench {

enum class WorkloadKind { kFleet, kMeters, kMarket, kCounters, kFields };

struct SourceOptions {
  Format format = Format::kNative;
  std::uint64_t seed = 1;
  std::int64_t start_ms = 0;
  int connection = 0;
  int connections = 1;
  int entities = 0;          // Machines, meters, counters, devices; 0: as above.
  int metrics = 0;           // Of a machine or device; 0: as above.
  int of = 0;                // Of the fleet: an event has `metrics` of so many, others each time.
  std::int64_t tick_ms = 0;  // Between a machine's events; 0: as above.
};

// Yields the events of one connection.
class EventSource {
 public:
  virtual ~EventSource() = default;

  virtual std::string_view Stream() const = 0;
  virtual int SamplesPerEvent() const = 0;

  // Appends a whole request body of `events` events.
  void FillBody(int events, std::string* out);

 protected:
  explicit EventSource(EventWriter writer) : writer_(std::move(writer)) {}

  virtual void WriteEvent(EventWriter* writer) = 0;

 private:
  EventWriter writer_;
};

std::unique_ptr<EventSource> MakeSource(WorkloadKind kind, const SourceOptions& options);

// The makers behind MakeSource, each in a file of its own.
std::unique_ptr<EventSource> MakeFleetSource(const SourceOptions& options);
std::unique_ptr<EventSource> MakeMeterSource(const SourceOptions& options);
std::unique_ptr<EventSource> MakeMarketSource(const SourceOptions& options);
std::unique_ptr<EventSource> MakeCounterSource(const SourceOptions& options);
std::unique_ptr<EventSource> MakeFieldSource(const SourceOptions& options);

}  // namespace tallyd::bench

#endif  // TALLYD_BENCH_WORKLOAD_H_
