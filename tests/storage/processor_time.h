// What the process has spent: a bound that other processes do not move.
#ifndef TALLYD_TESTS_STORAGE_PROCESSOR_TIME_H_
#define TALLYD_TESTS_STORAGE_PROCESSOR_TIME_H_

#include <sys/resource.h>

#include <cstdint>

namespace tallyd {

inline int64_t SpentMicroseconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto us = [](const timeval& time) { return time.tv_sec * 1'000'000 + time.tv_usec; };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

}  // namespace tallyd

#endif  // TALLYD_TESTS_STORAGE_PROCESSOR_TIME_H_
