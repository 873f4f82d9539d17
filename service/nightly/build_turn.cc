#include "service/nightly/build_turn.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <random>
#include <utility>

namespace tallyd {
namespace {

// No Idempotency-Key has the first byte.
const std::string kKey = std::string("\0nightly", 8);
constexpr RepeatingThread::Wait kKeptEvery = Claiming::kClaimLease / 4;
// What a call takes that was begun just before the end.
constexpr std::chrono::seconds kSpare{2};

std::string NewOwner() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

}  // namespace

Result<std::unique_ptr<BuildTurn>> BuildTurn::Take(Claiming* claiming) {
  std::string owner = NewOwner();
  const auto begun = SteadyClock::now();
  const Result<Claiming::Fate> fate = claiming->Claim({kKey, owner});
  if (!fate) return fate.error();
  if (*fate != Claiming::Fate::kOwn) return std::unique_ptr<BuildTurn>();
  return std::unique_ptr<BuildTurn>(new BuildTurn(claiming, begun, std::move(owner)));
}

BuildTurn::BuildTurn(Claiming* claiming, SteadyClock::time_point taken, std::string owner)
    : claiming_(*claiming), held_{kKey, std::move(owner)}, kept_(taken) {
  keeper_.Start(kKeptEvery, [this] {
    Keep();
    return kKeptEvery;
  });
}

BuildTurn::~BuildTurn() {
  keeper_.Stop();
  if (const Status released = claiming_.Release({&held_, 1}); !released) {
    spdlog::debug("nightly tables: the turn lapses: {}", released.error().message());
  }
}

// What ended before it was kept stays ended: it may be another daemon's.
void BuildTurn::Keep() {
  const auto begun = SteadyClock::now();
  const Status kept = claiming_.Keep({&held_, 1});
  if (kept && !IsOver()) kept_ = begun;
}

bool BuildTurn::IsOver() const {
  return SteadyClock::now() - kept_.load() >= Claiming::kClaimLease - kSpare;
}

}  // namespace tallyd
