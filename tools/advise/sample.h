// A sample of a stream's events, read whole: checked against what the advice is to be about (the
// entity's fields and the time), cut into batches, and summed up. At most kSampleBytes are read.
#ifndef TALLYD_TOOLS_ADVISE_SAMPLE_H_
#define TALLYD_TOOLS_ADVISE_SAMPLE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "config/values/result.h"
#include "config/values/time.h"

namespace tallyd {

inline constexpr uint64_t kSampleBytes = 32u << 20;

// What is measured: events of a stream by their entities.
struct AdviseSubject {
  std::string stream;
  std::string time_field = "ts";
  TimeUnit unit = TimeUnit::kMilliseconds;
  std::vector<std::string> entity;  // Fields, at least one.
};

struct Sample {
  struct Batch {
    std::string body;             // NDJSON, with kBodyPadding bytes of room behind it.
    std::vector<uint64_t> lines;  // By event.
  };
  using Entity = std::vector<std::string>;  // The texts of its fields.

  std::string file;
  std::vector<Batch> batches;
  std::map<Entity, uint64_t> entities;  // With how many events each has.
  uint64_t events = 0;
  uint64_t bytes = 0;
  bool cut = false;   // The file goes on.
  bool timed = true;  // Every event tells its time.
  TimeRange times{};  // [first, behind the last); empty where none tells.

  // Of one entity in so many microseconds, on average; 0 where all have one time.
  double EventsIn(int64_t us) const;
};

// kInvalid names file, line and field: no events at all, what is no event, one without the entity
// or with a time that is none. kNotFound, kIo name the file.
Result<Sample> ReadSample(const std::string& file, const AdviseSubject& subject);

}  // namespace tallyd

#endif  // TALLYD_TOOLS_ADVISE_SAMPLE_H_
