#include "config/lint/finer_times.h"

#include <algorithm>

namespace tallyd {
namespace {

constexpr const char* kWhatBecomes =
    "the engine keeps whole milliseconds: what is finer is cut off, and events of one series "
    "within a millisecond are one";

bool IsFiner(TimeUnit unit) {
  return unit == TimeUnit::kMicroseconds || unit == TimeUnit::kNanoseconds;
}

}  // namespace

std::vector<std::string> FindFinerTimes(const Schema& schema) {
  std::vector<std::string> found;
  for (const Stream& stream : schema.streams) {
    if (!IsFiner(stream.unit)) continue;
    found.push_back("streams." + stream.name + ".unit: " + std::string(ToString(stream.unit)) +
                    " is finer than a millisecond; " + kWhatBecomes);
  }
  for (const Table& table : schema.tables) {
    const bool has_finer =
        std::ranges::any_of(table.row_key.segments(), [](const Segment& segment) {
          return !segment.is_literal() && segment.spec.kind == SpecKind::kMicroseconds;
        });
    if (!has_finer) continue;
    found.push_back("tables." + table.name + ".row_key: " + table.row_key.text() +
                    " tells microseconds; " + kWhatBecomes);
  }
  return found;
}

}  // namespace tallyd
