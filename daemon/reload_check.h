// What a reload cannot change: the keys of the file that only a start applies (config/file/keys.h).
#ifndef TALLYD_DAEMON_RELOAD_CHECK_H_
#define TALLYD_DAEMON_RELOAD_CHECK_H_

#include "config/file/config.h"

namespace tallyd {

// Refuses (kConflict) when keys differ that only a restart applies, naming each of them, and what
// makes no table, or has lost the last token, as a file that is half written.
Status CheckReload(const Config& in_force, const Config& loaded);

}  // namespace tallyd

#endif  // TALLYD_DAEMON_RELOAD_CHECK_H_
