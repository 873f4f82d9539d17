// NotifySocket: takes what systemd would be told (sd_notify), while it lives.
#ifndef TALLYD_TESTS_DAEMON_NOTIFY_SOCKET_H_
#define TALLYD_TESTS_DAEMON_NOTIFY_SOCKET_H_

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

namespace tallyd {

class NotifySocket {
 public:
  NotifySocket() : socket_(::socket(AF_UNIX, SOCK_DGRAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    setenv("NOTIFY_SOCKET", path_.c_str(), 1);
  }
  ~NotifySocket() {
    unsetenv("NOTIFY_SOCKET");
    ::close(socket_);
    ::unlink(path_.c_str());
  }
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;

  // Empty: nothing.
  std::string Told() const {
    std::array<char, 256> bytes;
    const ssize_t got = ::recv(socket_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    return got < 0 ? "" : std::string(bytes.data(), static_cast<size_t>(got));
  }

 private:
  const std::string path_ = testing::TempDir() + "notify-" + std::to_string(::getpid());
  const int socket_;
};

}  // namespace tallyd

#endif  // TALLYD_TESTS_DAEMON_NOTIFY_SOCKET_H_
