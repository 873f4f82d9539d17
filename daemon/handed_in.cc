#include "daemon/handed_in.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace tallyd {
namespace {

constexpr std::string_view kHttp = "http";
constexpr std::string_view kTelnet = "telnet";

// Why the daemon does not serve the socket; empty: it does.
std::string WhyNot(int socket, std::string_view name) {
  if (name != kHttp && name != kTelnet) {
    return "accepted: FileDescriptorName=http, or telnet, in its unit";
  }
  if (sd_is_socket_inet(socket, AF_UNSPEC, SOCK_STREAM, 1, 0) <= 0) {
    return "it does not listen for TCP; accepted: ListenStream=ADDRESS:PORT and Accept=no in its "
           "unit";
  }
  return {};
}

}  // namespace

Result<HandedIn> TakeHandedIn() {
  char** names = nullptr;
  const int count = sd_listen_fds_with_names(/*unset_environment=*/1, &names);
  if (count < 0) {
    return Invalid(fmt::format("LISTEN_FDS: {}: these are no sockets that systemd hands in",
                               std::strerror(-count)));
  }
  HandedIn taken;
  std::string wrong;
  for (int i = 0; i < count; ++i) {
    const int socket = SD_LISTEN_FDS_START + i;
    const std::string name = names[i];
    std::free(names[i]);
    if (const std::string why = WhyNot(socket, name); why.empty()) {
      (name == kTelnet ? taken.telnet : taken.http).push_back(socket);
    } else if (wrong.empty()) {
      wrong = fmt::format("the socket \"{}\" that systemd hands in is not served: {}", name, why);
    }
  }
  std::free(names);
  if (!wrong.empty()) return Invalid(std::move(wrong));
  return taken;
}

}  // namespace tallyd
