// Who serves an end of a copy, and which paths are one directory.
#include "tools/copy/copy_end.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace tallyd {
namespace {

class NoDaemon final : public LocalDaemon {
 public:
  std::string url() const override { return "http://127.0.0.1:1"; }
  std::string token() const override { return "own"; }
};

class CopyEndTest : public testing::Test {
 protected:
  CopyEndTest() { config_.storage.path = testing::TempDir() + "end-" + std::to_string(::getpid()); }

  ToolHost Host() {
    const auto serve = [this](const Config& config) -> Result<std::unique_ptr<LocalDaemon>> {
      served_.push_back(config.storage.path);
      return std::unique_ptr<LocalDaemon>(std::make_unique<NoDaemon>());
    };
    return {[](const LogConfig&) {}, serve};
  }

  Config config_;
  std::vector<std::string> served_;
};

TEST_F(CopyEndTest, AStoreThatNobodyServesIsServedByThisProcess) {
  const Result<CopyEnd> end = CopyEnd::Open(config_, EndRole::kTarget, "given", Host());
  ASSERT_TRUE(end) << end.error().message();
  EXPECT_EQ(served_, std::vector<std::string>{config_.storage.path});
  EXPECT_EQ(UrlOf(end->target()), "http://127.0.0.1:1");
  EXPECT_EQ(end->token(), "own") << "what was given is for a daemon that is there";
  EXPECT_FALSE(end->is_served());
}

TEST_F(CopyEndTest, ASourceThatIsNotThereIsNotMade) {
  const Result<CopyEnd> end = CopyEnd::Open(config_, EndRole::kSource, "given", Host());
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code(), ErrorCode::kNotFound);
  EXPECT_TRUE(served_.empty());
}

TEST_F(CopyEndTest, ADirectoryIsKnownByWhateverPathItHas) {
  const std::filesystem::path home = testing::TempDir() + "ends-" + std::to_string(::getpid());
  std::filesystem::create_directories(home / "a");
  std::filesystem::create_directory_symlink(home / "a", home / "link");
  const auto share = [&](const char* one, const char* other) {
    return ShareDirectory((home / one).string(), (home / other).string());
  };
  EXPECT_TRUE(share("a", "link"));
  EXPECT_TRUE(share("a", "a/../a/"));
  EXPECT_TRUE(share("a", "link/inside"));
  EXPECT_TRUE(share("a/x", "a"));
  EXPECT_TRUE(share("none/x", "link/../none"));
  EXPECT_FALSE(share("none/x", "none/y"));
  EXPECT_FALSE(share("a", "ab"));
  EXPECT_FALSE(share("a", "b"));
  std::filesystem::remove_all(home);
}

}  // namespace
}  // namespace tallyd
