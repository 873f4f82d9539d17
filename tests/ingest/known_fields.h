// A registry that has met so many shapes of these fields that it has a superset of them.
#ifndef TALLYD_TESTS_INGEST_KNOWN_FIELDS_H_
#define TALLYD_TESTS_INGEST_KNOWN_FIELDS_H_

#include <algorithm>
#include <cstddef>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "ingest/decode/shape.h"
#include "ingest/decode/superset_learner.h"

namespace tallyd {

// Where tables refused one it takes longer until there is another. REQUIRES: at least six fields,
// so that there are so many orders of them.
inline void KnowFields(std::vector<std::string_view> fields, ShapeRegistry* shapes) {
  std::mt19937_64 random(fields.size());
  for (size_t i = 0; i < 2 * SupersetLearner::kFirstEvents; ++i) {
    if (shapes->superset() != nullptr) return;
    shapes->Intern(std::span(fields).last(5));
    shapes->Intern(fields);
    std::ranges::shuffle(fields, random);
  }
}

}  // namespace tallyd

#endif  // TALLYD_TESTS_INGEST_KNOWN_FIELDS_H_
