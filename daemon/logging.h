// The process's log: one line per event on standard error, as text for people or as JSON. What came
// from outside is escaped before it becomes part of a line. Where standard error is the journal's,
// each line begins with its priority, "<4>", which the journal takes off.
//
// Whoever logs never waits for standard error: lines are written by a thread of their own, and are
// dropped and counted where they come faster than it takes them (log_queue.h).
#ifndef TALLYD_DAEMON_LOGGING_H_
#define TALLYD_DAEMON_LOGGING_H_

#include <string_view>

#include "config/file/config.h"

namespace prometheus {
class Counter;
}

namespace tallyd {

// Whether systemd connected standard error with the journal.
bool LogsToJournal();

// Lines for standard error as they are, for mistakes that are found before a log is configured; the
// journal takes them for errors.
void PrintError(std::string_view lines);

// Waits, for two seconds at most, until what was logged is written.
void FlushLog();
// The same, before the process ends: what is logged afterwards may be lost.
void FinishLogging();

// Where lines that are dropped from now on are counted; null: nowhere. On return nobody uses the
// one that was set before.
void CountDroppedLines(prometheus::Counter* counter);

// May be called again while other threads log (a reload changes the level). By one at a time.
void ConfigureLogging(const LogConfig& config);

}  // namespace tallyd

#endif  // TALLYD_DAEMON_LOGGING_H_
