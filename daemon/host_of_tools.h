// What this process gives to the tools: its log, and the Daemon as their own.
#ifndef TALLYD_DAEMON_HOST_OF_TOOLS_H_
#define TALLYD_DAEMON_HOST_OF_TOOLS_H_

#include "tools/tool_host.h"

namespace tallyd {

ToolHost HostOfTools();

}  // namespace tallyd

#endif  // TALLYD_DAEMON_HOST_OF_TOOLS_H_
