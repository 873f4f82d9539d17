#include "bench/process_usage.h"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

namespace tallyd::bench {
namespace {

std::string ReadProc(pid_t pid, const char* name) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

double CpuSeconds(pid_t pid) {
  if (pid <= 0) return 0;
  const std::string stat = ReadProc(pid, "stat");
  // The command name may hold blanks and parentheses: fields are counted from behind it.
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(stat.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

std::uint64_t PeakMemoryBytes(pid_t pid) {
  if (pid <= 0) return 0;
  const std::string status = ReadProc(pid, "status");
  const std::size_t at = status.find("VmHWM:");
  if (at == std::string::npos) return 0;
  return std::stoull(status.substr(at + 6)) * 1024;
}

std::uint64_t DiskBytes(const std::string& path) {
  if (path.empty()) return 0;
  std::uint64_t bytes = 0;
  std::error_code error;
  using Walk = std::filesystem::recursive_directory_iterator;
  for (Walk it(path, error), end; it != end && !error; it.increment(error)) {
    struct stat file {};
    if (it->path().filename() == "ballast" || lstat(it->path().c_str(), &file) != 0) continue;
    bytes += static_cast<std::uint64_t>(file.st_blocks) * 512;
  }
  return bytes;
}

bool WaitUntilIdle(pid_t pid, int idle_seconds, int seconds_max) {
  constexpr double kIdleShare = 0.03;
  if (pid <= 0) return true;
  int idle = 0;
  for (int second = 0; second < seconds_max; ++second) {
    const double before = CpuSeconds(pid);
    std::this_thread::sleep_for(std::chrono::seconds(1));
    idle = CpuSeconds(pid) - before <= kIdleShare ? idle + 1 : 0;
    if (idle == idle_seconds) return true;
  }
  return false;
}

}  // namespace tallyd::bench
