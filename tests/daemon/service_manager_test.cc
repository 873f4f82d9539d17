#include "daemon/service_manager.h"

#include <gtest/gtest.h>

#include "tests/daemon/notify_socket.h"

namespace tallyd {
namespace {

TEST(ServiceManager, AServiceTellsThatItIsReady) {
  const NotifySocket socket;
  ServiceManager(true).Ready("serving");
  EXPECT_EQ(socket.Told(), "READY=1\nSTATUS=serving");
}

TEST(ServiceManager, ADaemonInAToolTellsNothing) {
  const NotifySocket socket;
  ServiceManager manager(false);
  manager.Ready("serving");
  manager.Reloading();
  manager.Alive();
  manager.Stopping();
  EXPECT_EQ(socket.Told(), "");
  EXPECT_EQ(manager.alive_interval_us(), 0u);
}

}  // namespace
}  // namespace tallyd
