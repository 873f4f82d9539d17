// The data that tests read (tests/data/README.md), or larger data of the same shape.
#ifndef TALLYD_TESTS_INGEST_TEST_DATA_H_
#define TALLYD_TESTS_INGEST_TEST_DATA_H_

#include <cstdlib>
#include <filesystem>

namespace tallyd {

inline std::filesystem::path TestData() {
  if (const char* folder = std::getenv("TALLYD_TEST_DATA")) return folder;
  return TALLYD_SOURCE_DIR "/tests/data";
}

}  // namespace tallyd

#endif  // TALLYD_TESTS_INGEST_TEST_DATA_H_
