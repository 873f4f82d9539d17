#include "storage/leveldb/env/space_guard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>

namespace tallyd {
namespace {

constexpr auto kBetweenLooks = std::chrono::milliseconds(100);
constexpr uint64_t kVolumeShare = 16;
constexpr uint64_t kMaxSlack = 16u << 20;
constexpr uint64_t kMinWriteBuffer = 64u << 10;
constexpr mode_t kFileMode = 0600;

// A volume that does not tell is taken to be large and full.
VolumeSpace Ask(const std::string& directory) {
  struct statvfs stat {};
  if (::statvfs(directory.c_str(), &stat) != 0) return {std::numeric_limits<uint64_t>::max(), 0};
  return {uint64_t{stat.f_blocks} * stat.f_frsize, uint64_t{stat.f_bavail} * stat.f_frsize};
}

// Allocates `size` bytes for good, by writing them where the file system cannot otherwise.
int Fill(int descriptor, uint64_t size) {
  if (::fallocate(descriptor, 0, 0, static_cast<off_t>(size)) == 0) return 0;
  if (errno != EOPNOTSUPP && errno != ENOSYS) return errno;
  static constexpr std::array<char, 64u << 10> kZeros{};
  for (uint64_t at = 0; at < size;) {
    const ssize_t r =
        ::pwrite(descriptor, kZeros.data(), std::min<uint64_t>(kZeros.size(), size - at),
                 static_cast<off_t>(at));
    if (r < 0 && errno != EINTR) return errno;
    if (r > 0) at += static_cast<uint64_t>(r);
  }
  return 0;
}

uint64_t Scale(uint64_t part, uint64_t whole, uint64_t limit) {
  return static_cast<uint64_t>(static_cast<double>(part) / static_cast<double>(whole) *
                               static_cast<double>(limit));
}

}  // namespace

SpaceBudget PlanSpace(const StorageConfig& config, uint64_t volume_bytes) {
  SpaceBudget budget{config.free_space_floor, config.ballast, config.write_buffer};
  const uint64_t limit = std::min(kMaxReserve, volume_bytes / kVolumeShare);
  const uint64_t wanted = budget.floor + budget.ballast;
  if (wanted > limit) {
    budget.floor = Scale(budget.floor, wanted, limit);
    budget.ballast = Scale(budget.ballast, wanted, limit);
  }
  if (budget.ballast > 0) {
    // Recovery writes a head's log as a table before the log goes, one head after the other.
    const uint64_t slack = std::min(kMaxSlack, budget.ballast / 3);
    budget.write_buffer =
        std::max(kMinWriteBuffer, std::min(budget.write_buffer, budget.ballast - slack));
  }
  return budget;
}

SpaceGuard::SpaceGuard(const StorageConfig& config, MeasureVolume measure)
    : measure_(measure ? std::move(measure) : Ask),
      directory_(config.path),
      ballast_(config.path + "/" + kBallastName),
      budget_(PlanSpace(config, measure_(directory_).total)) {
  struct stat stat {};
  has_ballast_ = ::stat(ballast_.c_str(), &stat) == 0 &&
                 static_cast<uint64_t>(stat.st_size) == budget_.ballast &&
                 static_cast<uint64_t>(stat.st_blocks) * 512 >= budget_.ballast;
  if (!has_ballast_) Release();
}

Status SpaceGuard::Admit() {
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (now < next_look_) return last_;
  next_look_ = now + kBetweenLooks;
  const bool admitted = last_.has_value();
  last_ = Look();
  if (admitted && !last_) spdlog::warn("store: {}", last_.error().message());
  if (!admitted && last_) spdlog::info("store: the disk has room again");
  return last_;
}

Status SpaceGuard::Look() {
  const uint64_t free = measure_(directory_).free;
  const uint64_t needed = KeepFree();
  if (free < needed) {
    return Error(ErrorCode::kNoSpace,
                 fmt::format("the disk of {} is full: {} bytes are free, {} are needed", directory_,
                             free, needed));
  }
  return has_ballast_ ? Status() : MakeBallast();
}

Status SpaceGuard::MakeBallast() {
  if (budget_.ballast == 0) return {};
  const int descriptor =
      ::open(ballast_.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, kFileMode);
  int failed = descriptor < 0 ? errno : Fill(descriptor, budget_.ballast);
  if (descriptor >= 0) {
    if (failed == 0 && ::fsync(descriptor) != 0) failed = errno;
    ::close(descriptor);
  }
  if (failed != 0) {
    ::unlink(ballast_.c_str());
    return Error(ErrorCode::kNoSpace,
                 fmt::format("{} cannot be made: {}", ballast_, std::strerror(failed)));
  }
  has_ballast_ = true;
  return {};
}

void SpaceGuard::Release() {
  const std::lock_guard lock(mutex_);
  if (::unlink(ballast_.c_str()) == 0) spdlog::info("store: gave up {}", ballast_);
  has_ballast_ = false;
  next_look_ = {};
}

uint64_t SpaceGuard::keep_free() const {
  const std::lock_guard lock(mutex_);
  return KeepFree();
}

uint64_t SpaceGuard::KeepFree() const {
  return budget_.floor + (has_ballast_ ? 0 : budget_.ballast);
}

uint64_t SpaceGuard::free_bytes() const { return measure_(directory_).free; }

}  // namespace tallyd
