// ToolHost: what a tool is given by the process that runs it: the process's log, and a daemon in
// this process where none serves the store.
#ifndef TALLYD_TOOLS_TOOL_HOST_H_
#define TALLYD_TOOLS_TOOL_HOST_H_

#include <functional>
#include <memory>
#include <string>

#include "config/file/config.h"
#include "config/values/result.h"

namespace tallyd {

// A daemon that answers HTTP for as long as this lives, and then ends in order: nothing that it
// acknowledged is lost.
class LocalDaemon {
 public:
  virtual ~LocalDaemon() = default;
  virtual std::string url() const = 0;
  virtual std::string token() const = 0;  // It answers to nobody else. Empty: it asks for none.
};

// Both are there. For one thread.
struct ToolHost {
  // The log is as configured, but says no more than warnings.
  std::function<void(const LogConfig&)> log_warnings;
  // On the configuration's store, and on a free port of the loopback, whatever the configuration
  // says of that, for whoever has its token, which nobody else has. It adopts the configuration and
  // keeps the store as every daemon does, but makes no nightly tables, and what passes is not
  // counted as load. Errors are those of a daemon's start.
  std::function<Result<std::unique_ptr<LocalDaemon>>(const Config&)> serve;
};

}  // namespace tallyd

#endif  // TALLYD_TOOLS_TOOL_HOST_H_
