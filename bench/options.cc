#include "bench/options.h"

#include <charconv>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string_view>

namespace tallyd::bench {
namespace {

constexpr std::int64_t kDefaultStartMs = 1'735'689'600'000;  // 2025-01-01T00:00:00Z

std::int64_t ParseNumber(std::string_view option, const char* text, std::int64_t low,
                         std::int64_t high) {
  std::int64_t value = 0;
  const char* end = text + std::strlen(text);
  const auto parsed = std::from_chars(text, end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end || value < low || value > high) {
    throw std::invalid_argument(std::string(option) + " takes a number from " +
                                std::to_string(low) + " to " + std::to_string(high) + ", got " +
                                text);
  }
  return value;
}

WorkloadKind ParseWorkload(std::string_view text) {
  if (text == "fleet") return WorkloadKind::kFleet;
  if (text == "meters") return WorkloadKind::kMeters;
  if (text == "market") return WorkloadKind::kMarket;
  if (text == "counters") return WorkloadKind::kCounters;
  if (text == "fields") return WorkloadKind::kFields;
  throw std::invalid_argument("--workload takes fleet, meters, market, counters or fields");
}

Format ParseFormat(std::string_view text) {
  if (text == "native") return Format::kNative;
  if (text == "influx-line") return Format::kInfluxLine;
  throw std::invalid_argument("--format takes native or influx-line");
}

void SetOption(std::string_view name, const char* value, Options* options) {
  LoadOptions& load = options->load;
  const auto number = [&](std::int64_t low, std::int64_t high) {
    return ParseNumber(name, value, low, high);
  };
  if (name == "--url") {
    options->url = value;
  } else if (name == "--pid") {
    options->pid = static_cast<pid_t>(number(1, std::numeric_limits<pid_t>::max()));
  } else if (name == "--data-dir") {
    options->data_dir = value;
  } else if (name == "--workload") {
    load.workload = ParseWorkload(value);
  } else if (name == "--format") {
    load.format = ParseFormat(value);
  } else if (name == "--requests") {
    load.requests = number(1, 10'000'000);
  } else if (name == "--connections") {
    load.connections = static_cast<int>(number(1, 256));
  } else if (name == "--events") {
    load.events_per_request = static_cast<int>(number(1, 100'000));
  } else if (name == "--seed") {
    load.seed = static_cast<std::uint64_t>(number(0, std::numeric_limits<std::int64_t>::max()));
  } else if (name == "--start-ms") {
    load.start_ms = number(0, 9'000'000'000'000);
  } else if (name == "--entities") {
    load.entities = static_cast<int>(number(1, 100'000'000));
  } else if (name == "--metrics") {
    load.metrics = static_cast<int>(number(1, 10'000));
  } else if (name == "--of") {
    load.of = static_cast<int>(number(1, 100));
  } else if (name == "--tick-ms") {
    load.tick_ms = number(1, 86'400'000);
  } else if (name == "--rate") {
    load.rate = static_cast<double>(number(1, 100'000'000));
  } else if (name == "--target") {
    load.target = value;
  } else if (name == "--expect") {
    load.expected_status = static_cast<int>(number(100, 599));
  } else if (name == "--settle") {
    options->settle.emplace_back(value);
  } else if (name == "--idle-seconds") {
    options->idle_seconds = static_cast<int>(number(1, 60));
  } else if (name == "--settle-seconds") {
    options->settle_seconds = static_cast<int>(number(0, 3600));
  } else if (name == "--get") {
    options->gets.emplace_back(value);
  } else if (name == "--repeat") {
    options->repeat = static_cast<int>(number(1, 1000));
  } else {
    throw std::invalid_argument("unknown option " + std::string(name) + " (see --help)");
  }
}

}  // namespace

Options ParseOptions(int argc, char** argv) {
  Options options;
  options.load.start_ms = kDefaultStartMs;
  const std::vector<std::string> default_settle = std::move(options.settle);
  options.settle.clear();
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--help" || name == "-h") {
      options.help = true;
    } else if (name == "--json") {
      options.json = true;
    } else if (i + 1 == argc) {
      throw std::invalid_argument(std::string(name) +
                                  ": unknown, or its value is missing (see --help)");
    } else {
      SetOption(name, argv[++i], &options);
    }
  }
  if (options.settle.empty()) options.settle = default_settle;
  return options;
}

const char* HelpText() {
  return R"(fleet_bench: loads a running server and says what that cost it.

  --url URL              the server (http://127.0.0.1:8780); https, with any certificate, is TLS
  --pid PID              its process, for CPU and memory
  --data-dir DIR         its data, for bytes per sample; `ballast` does not count
  --workload KIND        fleet, meters, market, counters or fields (fleet)
  --format FORMAT        native (POST /v1/streams/.../events) or influx-line (POST /write)
  --requests N           how many in all (720: the fleet's six minutes)
  --events N             events per request (100)
  --connections N        connections, one request under way on each (4)
  --seed N               of the data (1)
  --start-ms MS          time of the first event (2025-01-01)
  --entities N           machines, meters, counters or devices, if not the workload's own number
  --metrics N            of a machine of the fleet (100), fields of a device (50)
  --of N                 an event of the fleet has --metrics of N, another choice each time
  --tick-ms MS           between the events of a machine of the fleet (5000)
  --rate N               events per second: bodies are made as they are sent, and a request's time
                         counts from the moment at which it was due
  --target PATH          where to POST, if not the format's own
  --expect STATUS        what every answer must be, if not any 2xx
  --settle "METHOD PATH" asked after the last answer, may repeat; 404 is ignored (POST /-/settle)
  --idle-seconds N       it has come to rest when it is idle for so long (2)
  --settle-seconds N     how long to wait for that (120)
  --json                 one line of JSON instead of text

  --get PATH             times this query instead of loading; may repeat
  --repeat N             how often (15)

All bodies are made before the clock starts: 240 KB each for the fleet, so 7,200 requests (an hour)
need 1.7 GB of memory.
)";
}

}  // namespace tallyd::bench
