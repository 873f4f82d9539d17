// The process's log: one line per event on standard error, as text for people or as JSON. What came
// from outside is escaped before it becomes part of a line.
#ifndef TALLYD_DAEMON_LOGGING_H_
#define TALLYD_DAEMON_LOGGING_H_

#include "config/config.h"

namespace tallyd {

// May be called again (a reload changes the level).
void ConfigureLogging(const LogConfig& config);

}  // namespace tallyd

#endif  // TALLYD_DAEMON_LOGGING_H_
