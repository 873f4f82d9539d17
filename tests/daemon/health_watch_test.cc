// What systemd and /readyz are told of a store that does not go on, and the real disk's answer.
#include "daemon/health_watch.h"

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "daemon/directory_probe.h"
#include "tests/daemon/notify_socket.h"

namespace tallyd {
namespace {

class AnsweringProbe final : public DiskProbe {
 public:
  explicit AnsweringProbe(bool answers) : answers_(answers) {}
  void Begin() override { is_running_ = !answers_; }
  bool IsRunning() const override { return is_running_; }

 private:
  const bool answers_;
  bool is_running_ = false;
};

class HealthWatchTest : public testing::Test {
 protected:
  HealthWatchTest() {
    spdlog::set_level(spdlog::level::off);
    setenv("WATCHDOG_USEC", "20000000", 1);
    setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
  }
  ~HealthWatchTest() override {
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
  }

  void Watch(bool disk_answers) {
    service_manager_ = std::make_unique<ServiceManager>(true);
    watch_ =
        std::make_unique<HealthWatch>(&progress_, std::make_unique<AnsweringProbe>(disk_answers),
                                      &commits_wait_, service_manager_.get());
  }
  // How often systemd was told that the daemon is alive.
  int ToldAlive(int seconds) {
    int told = 0;
    for (int i = 0; i < seconds; ++i) {
      watch_->Look(now_ += 1'000'000);
      for (std::string text = socket_.Told(); !text.empty(); text = socket_.Told()) {
        EXPECT_EQ(text, "WATCHDOG=1");
        ++told;
      }
    }
    return told;
  }

  NotifySocket socket_;
  CommitProgress progress_;
  std::atomic<bool> commits_wait_{false};
  std::unique_ptr<ServiceManager> service_manager_;
  std::unique_ptr<HealthWatch> watch_;
  int64_t now_ = CommitProgress::NowUs();
};

TEST_F(HealthWatchTest, SystemdIsToldAtHalfOfItsInterval) {
  Watch(true);
  EXPECT_EQ(ToldAlive(60), 6);
  EXPECT_FALSE(commits_wait_);
}

TEST_F(HealthWatchTest, SystemdIsToldNothingMoreOfACommitterThatIsStuck) {
  Watch(true);
  progress_.Begin();
  EXPECT_EQ(ToldAlive(30), 3);
  EXPECT_TRUE(commits_wait_);
  ToldAlive(10);
  EXPECT_EQ(ToldAlive(300), 0);
  progress_.End();
  EXPECT_GE(ToldAlive(10), 1);
  EXPECT_FALSE(commits_wait_);
}

TEST_F(HealthWatchTest, AHungDiskIsNoReasonToBeKilled) {
  Watch(false);
  progress_.Begin();
  EXPECT_EQ(ToldAlive(600), 60);
  EXPECT_TRUE(commits_wait_) << "but the daemon is not ready";
}

TEST(DirectoryProbe, TheDiskAnswersItAndNothingIsLeftInTheDirectory) {
  const std::string directory = testing::TempDir() + "probe-" + std::to_string(::getpid());
  ASSERT_EQ(::mkdir(directory.c_str(), 0700), 0);
  for (const std::string& asked : {directory, directory + "/is-not-there"}) {
    DirectoryProbe probe(asked);
    EXPECT_FALSE(probe.IsRunning());
    probe.Begin();
    while (probe.IsRunning()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(::rmdir(directory.c_str()), 0);
}

}  // namespace
}  // namespace tallyd
