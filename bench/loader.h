#ifndef TALLYD_BENCH_LOADER_H_
#define TALLYD_BENCH_LOADER_H_

// The load: every body is made before the clock starts, then each connection sends its own as fast
// as the server acknowledges them, one at a time. With a rate, bodies are made as they are sent,
// each request has a moment at which it is due, and its time counts from there.
//
// Connections share a thread for each processor, as those of a machine elsewhere take none of the
// server's: a thread of its own that each answer wakes costs the server, which wakes it, as much as
// a small request. With a rate each has its thread, which sleeps until a request is due.
//
// Use: Prepare(), then Send() once; QueryLatencies() is independent of both. Throw
// std::runtime_error on any answer that is not a success: a benchmark that dropped data has no
// result. The constructor throws std::invalid_argument on options that do not go together.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/http_client.h"
#include "bench/latency.h"
#include "bench/workload.h"

namespace tallyd::bench {

struct LoadOptions {
  WorkloadKind workload = WorkloadKind::kFleet;
  Format format = Format::kNative;
  std::int64_t requests = 720;
  int connections = 4;
  int events_per_request = 100;
  std::uint64_t seed = 1;
  std::int64_t start_ms = 0;
  std::string target;        // empty: the format's own
  int expected_status = 0;   // 0: any 2xx.
  int entities = 0;          // 0: the workload's own number
  int metrics = 0;           // the same
  int of = 0;                // see SourceOptions
  std::int64_t tick_ms = 0;  // the same
  double rate = 0;           // events per second, over all connections; 0: as fast as it goes
};

struct LoadResult {
  std::int64_t requests = 0;
  std::int64_t events = 0;
  std::int64_t samples = 0;
  std::uint64_t body_bytes = 0;
  std::int64_t retries = 0;
  std::int64_t late = 0;  // With a rate: sent more than a second after they were due.
  double wall_seconds = 0;
  Latency latency;
};

class Loader {
 public:
  explicit Loader(LoadOptions options);

  // Makes all bodies, one thread per connection.
  void Prepare();
  LoadResult Send(const Endpoint& endpoint);

 private:
  // What one connection sends, and what came of it.
  struct Lane {
    std::vector<std::string> bodies;
    std::int64_t sent = 0;
    std::uint64_t bytes = 0;
    std::int64_t retries = 0;
    std::int64_t late = 0;
    Latency latency;
    std::string failure;
  };

  // A connection that shares its thread.
  struct Turn {
    HttpClient* client = nullptr;
    Lane* lane = nullptr;
    std::size_t next = 0;  // Of the bodies, the one that is to be sent or was.
    int tries = 0;  // Of it, that were turned away.
    Clock::time_point began = {};
    Clock::time_point due = {};  // Of one that was turned away: when it is tried again.
    int polled = 0;  // Of the connections of the client, the one that the poller knows.
  };
  class Poller;

  void FillLane(int connection);
  void RunLanes(std::vector<Turn> turns) const;
  void Begin(Turn* turn, Poller* poller) const;
  // Whether the connection has nothing left to send.
  bool Finish(Turn* turn, Poller* poller) const;
  void RunPaced(HttpClient* client, int connection, Clock::time_point start, Lane* lane) const;
  void Post(HttpClient* client, const std::string& body, Clock::time_point began, Lane* lane) const;
  void Take(const Response& response, const std::string& body, Clock::time_point began,
            Lane* lane) const;
  std::string_view content_type() const {
    return options_.format == Format::kNative ? "application/json" : "text/plain";
  }
  SourceOptions SourceOf(int connection) const;

  LoadOptions options_;
  std::string stream_;
  int samples_per_event_ = 0;
  std::vector<Lane> lanes_;
};

// Median time of `repeat` GETs of `target`, after one that is not counted; and the bytes of its
// answer.
struct QueryResult {
  double median_ms = 0;
  double max_ms = 0;
  std::size_t answer_bytes = 0;
};
QueryResult TimeQuery(HttpClient* client, std::string_view target, int repeat);

}  // namespace tallyd::bench

#endif  // TALLYD_BENCH_LOADER_H_
