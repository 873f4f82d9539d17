#include "daemon/cores.h"

#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>

namespace tallyd {

// Where cores go to a program, which the limit does not bound, the flag does.
void KeepSecretsOutOfCores() {
  const rlimit none{0, 0};
  if (setrlimit(RLIMIT_CORE, &none) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
    spdlog::warn("cores of this process may hold secrets: {}", std::strerror(errno));
  }
}

}  // namespace tallyd
