#include "api/metrics/process_metrics.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace tallyd {
namespace {

// Fields behind the name, which is the second, counted from 0: the state is the first of them.
constexpr size_t kThreads = 17;
constexpr size_t kStartTicks = 19;
constexpr size_t kVirtualBytes = 20;
constexpr size_t kResidentPages = 21;
constexpr size_t kFields = 22;

using Families = std::vector<prometheus::MetricFamily>;

void Add(const char* name, const char* help, prometheus::MetricType type, double value,
         Families* families) {
  prometheus::MetricFamily& family = families->emplace_back();
  family.name = name;
  family.help = help;
  family.type = type;
  prometheus::ClientMetric& metric = family.metric.emplace_back();
  if (type == prometheus::MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
}

double Seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// Seconds of the epoch, read once: the wall clock may be set later, and the start stays.
double StartSeconds(uint64_t start_ticks, double ticks_per_second) {
  static const double start =
      Seconds(CLOCK_REALTIME) -
      (Seconds(CLOCK_BOOTTIME) - static_cast<double>(start_ticks) / ticks_per_second);
  return start;
}

void AddStat(const ProcessStat& stat, Families* families) {
  using prometheus::MetricType;
  const auto ticks_per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  // The ticks of a stat are a hundredth of a second, and more than a start takes.
  Add("process_cpu_seconds_total", "Seconds of processor time, of the process and of the kernel.",
      MetricType::Counter, Seconds(CLOCK_PROCESS_CPUTIME_ID), families);
  Add("process_start_time_seconds", "When the process started, in seconds of the epoch.",
      MetricType::Gauge, StartSeconds(stat.start_ticks, ticks_per_second), families);
  Add("process_resident_memory_bytes", "Bytes of memory that are resident.", MetricType::Gauge,
      static_cast<double>(stat.resident_pages) * static_cast<double>(sysconf(_SC_PAGESIZE)),
      families);
  Add("process_virtual_memory_bytes", "Bytes of address space.", MetricType::Gauge,
      static_cast<double>(stat.virtual_bytes), families);
  Add("process_threads", "Threads of the process.", MetricType::Gauge,
      static_cast<double>(stat.threads), families);
}

void AddFiles(Families* families) {
  std::error_code failed;
  double open = 0;
  for (std::filesystem::directory_iterator file("/proc/self/fd", failed), end;
       !failed && file != end; file.increment(failed)) {
    ++open;
  }
  if (!failed) {
    Add("process_open_fds", "Open file descriptors.", prometheus::MetricType::Gauge,
        open - 1,  // The one of this listing.
        families);
  }
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  Add("process_max_fds", "The most file descriptors that may be open.",
      prometheus::MetricType::Gauge, static_cast<double>(limit.rlim_cur), families);
}

}  // namespace

std::optional<ProcessStat> ParseProcessStat(std::string_view text) {
  const size_t name_end = text.rfind(')');
  if (name_end == text.npos) return std::nullopt;
  text.remove_prefix(name_end + 1);
  uint64_t fields[kFields] = {};
  for (size_t i = 0; i < kFields; ++i) {
    const size_t begin = text.find_first_not_of(' ');
    if (begin == text.npos) return std::nullopt;
    text.remove_prefix(begin);
    // The state is a letter and some are negative: of those nothing is used.
    std::from_chars(text.data(), text.data() + text.size(), fields[i]);
    text.remove_prefix(std::min(text.find(' '), text.size()));
  }
  return ProcessStat{fields[kThreads], fields[kStartTicks], fields[kVirtualBytes],
                     fields[kResidentPages]};
}

std::vector<prometheus::MetricFamily> CollectProcessMetrics() {
  Families families;
  std::ifstream file("/proc/self/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (const std::optional<ProcessStat> stat = ParseProcessStat(text)) AddStat(*stat, &families);
  AddFiles(&families);
  return families;
}

}  // namespace tallyd
