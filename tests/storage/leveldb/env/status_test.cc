#include "storage/leveldb/env/status.h"

#include <gtest/gtest.h>

namespace tallyd {
namespace {

ErrorCode CodeOf(const leveldb::Status& status) { return FromLevelDb(status).error().code(); }

TEST(StatusTest, AFileThatIsLockedIsAConflictAndALockThatFailedIsNot) {
  const auto lock = [](const char* why) { return leveldb::Status::IOError("lock /d/LOCK", why); };
  EXPECT_EQ(CodeOf(lock("already held by process")), ErrorCode::kConflict);
  EXPECT_EQ(CodeOf(lock(std::strerror(EAGAIN))), ErrorCode::kConflict);
  EXPECT_EQ(CodeOf(lock(std::strerror(EACCES))), ErrorCode::kConflict);
  EXPECT_EQ(CodeOf(lock(std::strerror(EIO))), ErrorCode::kIo);
  EXPECT_EQ(CodeOf(lock(std::strerror(ENOLCK))), ErrorCode::kIo);
  EXPECT_EQ(CodeOf(lock(std::strerror(ENOSPC))), ErrorCode::kNoSpace);
}

}  // namespace
}  // namespace tallyd
