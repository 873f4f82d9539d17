// Sockets that systemd opened and hands in (sd_listen_fds(3)): a daemon in a network of its own
// serves them, and one that restarts has lost no connection. They are told apart by the name that
// their unit gives (FileDescriptorName=).
#ifndef TALLYD_DAEMON_HANDED_IN_H_
#define TALLYD_DAEMON_HANDED_IN_H_

#include <vector>

#include "config/values/result.h"

namespace tallyd {

struct HandedIn {
  // Listening TCP sockets; owned by whoever serves them.
  std::vector<int> http;
  std::vector<int> telnet;  // For protocols.opentsdb.telnet.
};

// Takes them from the environment: whoever asks again gets none. None where systemd handed none.
// kInvalid names the socket that nobody here serves, and what would be right. Call before there are
// threads.
Result<HandedIn> TakeHandedIn();

}  // namespace tallyd

#endif  // TALLYD_DAEMON_HANDED_IN_H_
