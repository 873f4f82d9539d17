#include "daemon/service_manager.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

namespace tallyd {
namespace {

// Takes what systemd would be told.
class ServiceManagerTest : public testing::Test {
 protected:
  ServiceManagerTest() : socket_(::socket(AF_UNIX, SOCK_DGRAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    setenv("NOTIFY_SOCKET", path_.c_str(), 1);
  }
  ~ServiceManagerTest() override {
    unsetenv("NOTIFY_SOCKET");
    ::close(socket_);
    ::unlink(path_.c_str());
  }

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

TEST_F(ServiceManagerTest, AServiceTellsThatItIsReady) {
  ServiceManager(true).Ready("serving");
  EXPECT_EQ(Told(), "READY=1\nSTATUS=serving");
}

TEST_F(ServiceManagerTest, ADaemonInAToolTellsNothing) {
  ServiceManager manager(false);
  manager.Ready("serving");
  manager.Reloading();
  manager.Alive();
  manager.Stopping();
  EXPECT_EQ(Told(), "");
  EXPECT_EQ(manager.alive_interval_us(), 0u);
}

}  // namespace
}  // namespace tallyd
