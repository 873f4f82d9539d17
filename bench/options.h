#ifndef TALLYD_BENCH_OPTIONS_H_
#define TALLYD_BENCH_OPTIONS_H_

// The command line of fleet_bench.

#include <sys/types.h>

#include <string>
#include <vector>

#include "bench/loader.h"

namespace tallyd::bench {

struct Options {
  std::string url = "http://127.0.0.1:8780";
  pid_t pid = 0;
  std::string data_dir;
  LoadOptions load;
  std::vector<std::string> settle = {"POST /-/settle"};
  int idle_seconds = 2;
  int settle_seconds = 120;
  std::vector<std::string> gets;
  int repeat = 15;
  bool json = false;
  bool help = false;
};

// Throws std::invalid_argument that names the option and what it accepts.
Options ParseOptions(int argc, char** argv);

const char* HelpText();

}  // namespace tallyd::bench

#endif  // TALLYD_BENCH_OPTIONS_H_
