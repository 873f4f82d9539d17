// A queue of lines in front of a descriptor that takes them, or does not.
#include "daemon/log_queue.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

namespace tallyd {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kSoon(10'000);

// The queue and its pipe stay: its thread is nobody's to join.
class LogQueueTest : public testing::Test {
 protected:
  LogQueueTest() {
    EXPECT_EQ(::pipe(ends_), 0);
    queue_ = new LogQueue(ends_[1], [this](uint64_t dropped) {
      told_ += dropped;
      queue_->Put("dropped\n");
    });
  }

  std::string ReadAll(size_t bytes) const {
    std::string text;
    char buffer[4096];
    while (text.size() < bytes) {
      const ssize_t read = ::read(ends_[0], buffer, sizeof(buffer));
      if (read <= 0) break;
      text.append(buffer, static_cast<size_t>(read));
    }
    return text;
  }

  int ends_[2] = {-1, -1};
  std::atomic<uint64_t> told_ = 0;
  LogQueue* queue_ = nullptr;
};

TEST_F(LogQueueTest, LinesAreWrittenInTheirOrder) {
  queue_->Put("one\n");
  queue_->Put("two\n");
  EXPECT_TRUE(queue_->Drain(kSoon));
  EXPECT_EQ(ReadAll(8), "one\ntwo\n");
  EXPECT_EQ(queue_->dropped(), 0u);
}

TEST_F(LogQueueTest, WhoPutsDoesNotWaitForADescriptorThatTakesNothing) {
  const std::string line(999, 'x');
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 5000; ++i) queue_->Put(line + "\n");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_GT(queue_->dropped(), 1000u);
  EXPECT_FALSE(queue_->Drain(milliseconds(50)));

  // Once it takes some again it is told how many there were, and what was kept is whole.
  const uint64_t dropped = queue_->dropped();
  std::thread reader([&] {
    const std::string text = ReadAll((5000 - dropped) * 1000 + 8);
    EXPECT_NE(text.find("dropped\n"), std::string::npos);
    for (size_t at = 0; at < text.size();) {
      const std::string read = text.substr(at, text.find('\n', at) - at);
      EXPECT_TRUE(read == line || read == "dropped") << read.size();
      at += read.size() + 1;
    }
  });
  reader.join();
  EXPECT_TRUE(queue_->Drain(kSoon));
  EXPECT_EQ(told_, dropped);
}

TEST_F(LogQueueTest, ADescriptorThatIsBrokenHoldsNobodyUp) {
  ::close(ends_[1]);
  queue_->Put("one\n");
  EXPECT_TRUE(queue_->Drain(kSoon));
}

}  // namespace
}  // namespace tallyd
