// Random streams under random schemas that change while events come: every answer equals a small
// model's, or says that it may not, and says so only where no table holds everything.
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/api/query/schema_model/history.h"

namespace tallyd {
namespace {

// A test plays so many, so that tests may be spread over cores.
constexpr uint64_t kHistoriesOfTest = 20;
// With sanitizers each takes many times as long.
#ifdef __SANITIZE_ADDRESS__
constexpr uint64_t kHistoriesByDefault = 20;
#else
constexpr uint64_t kHistoriesByDefault = 60;
#endif

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* wanted = std::getenv(name);
  return wanted == nullptr ? otherwise : std::strtoull(wanted, nullptr, 10);
}

// TALLYD_HISTORIES raises the number of all (make soak); TALLYD_SEED plays that one.
const uint64_t kOnly = FromEnvironment("TALLYD_SEED", 0);
const uint64_t kHistories =
    kOnly > 0 ? 1 : FromEnvironment("TALLYD_HISTORIES", kHistoriesByDefault);

class SchemaModelTest : public testing::TestWithParam<uint64_t> {
 protected:
  SchemaModelTest() { spdlog::set_level(spdlog::level::off); }
  ~SchemaModelTest() override { spdlog::set_level(spdlog::level::info); }
};

TEST_P(SchemaModelTest, EveryAnswerIsTheModelsOrSaysRightlyThatItMayNotBe) {
  const uint64_t first = kOnly > 0 ? kOnly : 1 + GetParam() * kHistoriesOfTest;
  const uint64_t last = kOnly > 0 ? kOnly : std::min(kHistories, first + kHistoriesOfTest - 1);
  Tally tally;
  for (uint64_t seed = first; seed <= last && !HasFailure(); ++seed) {
    SCOPED_TRACE("TALLYD_SEED=" + std::to_string(seed));
    History history(seed);
    history.Play();
    tally.Add(history.tally());
    if (kOnly > 0 && HasFailure()) std::printf("%s", history.log().c_str());
  }
  for (const auto& [kind, count] : tally.counts) RecordProperty(kind, std::to_string(count));
  if (kOnly == 0) return;
  for (const auto& [kind, count] : tally.counts) std::printf("%8zu %s\n", count, kind.c_str());
}

INSTANTIATE_TEST_SUITE_P(Histories, SchemaModelTest,
                         testing::Range(uint64_t{0},
                                        (kHistories + kHistoriesOfTest - 1) / kHistoriesOfTest));

}  // namespace
}  // namespace tallyd
