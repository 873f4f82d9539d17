// fleet_bench: the load generator behind `make bench`. See --help.

#include <sys/resource.h>

#include <cinttypes>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include "bench/loader.h"
#include "bench/options.h"
#include "bench/process_usage.h"

namespace tallyd::bench {
namespace {

// What the server had used when its last answer came, and when it had settled.
struct Cost {
  double cpu_answered = 0;
  double cpu_settled = 0;
  double settle_seconds = 0;
  bool idle = true;
  std::uint64_t peak_bytes = 0;
  std::uint64_t disk_bytes = 0;
};

double OwnCpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Comes to rest after each step: what is being merged when VictoriaMetrics is told to merge is left
// out of that merge. Returns whether it did.
bool Settle(const Options& options, const Endpoint& endpoint) {
  bool idle = WaitUntilIdle(options.pid, options.idle_seconds, options.settle_seconds);
  for (const std::string& step : options.settle) {
    const std::size_t blank = step.find(' ');
    if (blank == std::string::npos) throw std::invalid_argument("--settle takes \"METHOD PATH\"");
    const std::string path = step.substr(blank + 1);
    HttpClient client(endpoint);
    const Response& response =
        step.starts_with("GET ") ? client.Get(path) : client.Post(path, "text/plain", "");
    if (response.status == 404) continue;
    if (response.status / 100 != 2) {
      throw std::runtime_error(step + ": HTTP " + std::to_string(response.status));
    }
    idle = WaitUntilIdle(options.pid, options.idle_seconds, options.settle_seconds);
  }
  return idle;
}

void PrintLoadJson(const LoadResult& load, const Cost& cost, double own_cpu) {
  std::printf("{\"requests\":%" PRId64 ",\"events\":%" PRId64 ",\"samples\":%" PRId64
              ",\"body_bytes\":%" PRIu64 ",\"retries\":%" PRId64 ",\"late\":%" PRId64
              ",\"wall_s\":%.4f,\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"max_ms\":%.3f,"
              "\"cpu_answered_s\":%.2f,\"cpu_settled_s\":%.2f,\"settle_s\":%.2f,\"idle\":%s,"
              "\"peak_bytes\":%" PRIu64 ",\"disk_bytes\":%" PRIu64 ",\"loader_cpu_s\":%.2f}\n",
              load.requests, load.events, load.samples, load.body_bytes, load.retries, load.late,
              load.wall_seconds, load.latency.Milliseconds(0.5), load.latency.Milliseconds(0.99),
              load.latency.Milliseconds(1), cost.cpu_answered, cost.cpu_settled,
              cost.settle_seconds, cost.idle ? "true" : "false", cost.peak_bytes, cost.disk_bytes,
              own_cpu);
}

void PrintLoadText(const LoadResult& load, const Cost& cost, double own_cpu) {
  const auto samples = static_cast<double>(load.samples);
  std::printf("sent        %" PRId64 " requests, %" PRId64 " events, %" PRId64
              " samples, %.0f MB\n",
              load.requests, load.events, load.samples, static_cast<double>(load.body_bytes) / 1e6);
  std::printf("wall        %.2f s, %.2f M samples/s (the loader used %.2f s of CPU)\n",
              load.wall_seconds, samples / load.wall_seconds / 1e6, own_cpu);
  std::printf("a request   p50 %.2f ms, p99 %.2f ms, max %.2f ms; %" PRId64 " retries\n",
              load.latency.Milliseconds(0.5), load.latency.Milliseconds(0.99),
              load.latency.Milliseconds(1), load.retries);
  if (cost.cpu_settled > 0) {
    std::printf("server CPU  %.2f s, settled %.2f s%s: %.2f M samples per CPU-second\n",
                cost.cpu_answered, cost.cpu_settled, cost.idle ? "" : " (still busy)",
                samples / cost.cpu_settled / 1e6);
    std::printf("memory      %.0f MB at its peak\n", static_cast<double>(cost.peak_bytes) / 1e6);
  }
  if (cost.disk_bytes > 0) {
    std::printf("disk        %.0f MB, %.2f bytes per sample\n",
                static_cast<double>(cost.disk_bytes) / 1e6,
                static_cast<double>(cost.disk_bytes) / samples);
  }
}

void RunLoad(const Options& options, const Endpoint& endpoint) {
  Loader loader(options.load);
  std::fprintf(stderr, "making %" PRId64 " requests\n", options.load.requests);
  loader.Prepare();
  const double own_before = OwnCpuSeconds();
  const double server_before = CpuSeconds(options.pid);
  std::fprintf(stderr, "sending\n");
  const LoadResult load = loader.Send(endpoint);
  Cost cost;
  cost.cpu_answered = CpuSeconds(options.pid) - server_before;
  const double own_cpu = OwnCpuSeconds() - own_before;
  std::fprintf(stderr, "sent in %.1f s; waiting for the server to settle\n", load.wall_seconds);
  const auto answered = Clock::now();
  cost.idle = Settle(options, endpoint);
  cost.settle_seconds = SecondsBetween(answered, Clock::now());
  cost.cpu_settled = CpuSeconds(options.pid) - server_before;
  cost.peak_bytes = PeakMemoryBytes(options.pid);
  cost.disk_bytes = DiskBytes(options.data_dir);
  (options.json ? PrintLoadJson : PrintLoadText)(load, cost, own_cpu);
}

void RunQueries(const Options& options, const Endpoint& endpoint) {
  for (const std::string& target : options.gets) {
    HttpClient client(endpoint);
    const QueryResult result = TimeQuery(&client, target, options.repeat);
    std::printf(options.json ? "{\"median_ms\":%.3f,\"max_ms\":%.3f,\"answer_bytes\":%zu}\n"
                             : "median %.3f ms, max %.3f ms, %zu bytes\n",
                result.median_ms, result.max_ms, result.answer_bytes);
  }
}

int Main(int argc, char** argv) {
  try {
    const Options options = ParseOptions(argc, argv);
    if (options.help) {
      std::fputs(HelpText(), stdout);
      return 0;
    }
    const Endpoint endpoint = ParseUrl(options.url);
    (options.gets.empty() ? RunLoad : RunQueries)(options, endpoint);
    return 0;
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "fleet_bench: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fleet_bench: %s\n", error.what());
    return 1;
  }
}

}  // namespace
}  // namespace tallyd::bench

int main(int argc, char** argv) { return tallyd::bench::Main(argc, argv); }
