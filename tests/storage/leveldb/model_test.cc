// Random histories: a store answers like the model, whatever it lives through.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/storage/leveldb/random_history.h"

namespace tallyd {
namespace {

// A test runs so many, so that tests may be spread over cores.
constexpr unsigned kSequencesOfTest = 20;

// TALLYD_MODEL_SEQUENCES raises the number of all (make soak); TALLYD_MODEL_SEED runs that one.
unsigned FromEnvironment(const char* name, unsigned otherwise) {
  const char* wanted = std::getenv(name);
  return wanted ? static_cast<unsigned>(std::atoi(wanted)) : otherwise;
}

class ModelTest : public ::testing::TestWithParam<unsigned> {};

TEST_P(ModelTest, AStoreAnswersLikeTheModelWhateverItLivesThrough) {
  const unsigned only = FromEnvironment("TALLYD_MODEL_SEED", 0);
  const unsigned first = only > 0 ? only : 1 + GetParam() * kSequencesOfTest;
  const unsigned count = only > 0 ? 1 : kSequencesOfTest;
  for (unsigned seed = first; seed < first + count && !HasFailure(); ++seed) {
    RandomHistory(seed).Run();
  }
}

INSTANTIATE_TEST_SUITE_P(Sequences, ModelTest,
                         ::testing::Range(0u, FromEnvironment("TALLYD_MODEL_SEQUENCES", 200) /
                                                  kSequencesOfTest));

}  // namespace
}  // namespace tallyd
