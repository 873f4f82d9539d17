// The log as standard error sees it: what no input can forge, and what the journal reads.
#include "daemon/logging.h"

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace tallyd {
namespace {

class LoggingTest : public testing::Test {
 protected:
  LoggingTest() { unsetenv("JOURNAL_STREAM"); }
  ~LoggingTest() override { unsetenv("JOURNAL_STREAM"); }

  // As systemd names the stream that standard error is at the moment.
  static void NameJournalStream() {
    struct stat status {};
    ASSERT_EQ(fstat(STDERR_FILENO, &status), 0);
    const std::string stream = std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
    setenv("JOURNAL_STREAM", stream.c_str(), 1);
  }
  // The line of a message without its time.
  static std::string Logged(const LogConfig& config, const std::string& message) {
    testing::internal::CaptureStderr();
    ConfigureLogging(config);
    spdlog::warn("{}", message);
    FlushLog();
    const std::string line = testing::internal::GetCapturedStderr();
    return line.substr(line.find('Z') + 1);
  }
};

TEST_F(LoggingTest, ALineHasLevelAndMessage) {
  EXPECT_EQ(Logged({}, "gr\u00fcn"), " warning gr\u00fcn\n");
}

TEST_F(LoggingTest, NoMessageForgesALine) {
  EXPECT_EQ(Logged({}, "a\n\"b\\\x1b\x7f"), R"( warning a\u000a\"b\\\u001b\u007f)"
                                            "\n");
}

TEST_F(LoggingTest, BytesThatAreNoTextAreEscaped) {
  EXPECT_EQ(Logged({}, "gr\u00fcn\xff"), R"( warning gr\u00c3\u00bcn\u00ff)"
                                         "\n");
}

TEST_F(LoggingTest, ControlCharactersOfTwoBytesAreEscaped) {
  EXPECT_EQ(Logged({}, "a\u009b\u00a0"), " warning a\\u009b\u00a0\n");
}

TEST_F(LoggingTest, NoMessageForgesAMemberOfJson) {
  EXPECT_TRUE(Logged({.level = "info", .format = "json"}, R"(","level":"x)")
                  .ends_with(R"("message":"\",\"level\":\"x"})"
                             "\n"));
}

TEST_F(LoggingTest, AMistakeForTheJournalIsAnErrorInEachLine) {
  testing::internal::CaptureStderr();
  NameJournalStream();
  EXPECT_TRUE(LogsToJournal());
  PrintError("one\ntwo");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "<3>one\n<3>two\n");
}

TEST_F(LoggingTest, AStreamThatWasRedirectedIsNotTheJournals) {
  setenv("JOURNAL_STREAM", "1:1", 1);
  EXPECT_FALSE(LogsToJournal());
  testing::internal::CaptureStderr();
  PrintError("one");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "one\n");
}

}  // namespace
}  // namespace tallyd
