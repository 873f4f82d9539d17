#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "bench/random.h"
#include "bench/workload.h"

namespace tallyd::bench {
namespace {

constexpr int kCounters = 1000;
constexpr std::int64_t kAddMax = 1000;
constexpr std::int64_t kEventsPerMs = 100;  // Five million adds stay within a minute.

struct Counter {
  Counter(std::uint64_t seed, int number) : random(seed, static_cast<std::uint64_t>(number)) {
    char text[16];
    std::snprintf(text, sizeof(text), "c%07d", number);
    name = text;
  }

  std::string name;
  Random random;
};

// Goes through its counters in one shuffled order, again and again: each has as many adds as the
// others, and neighbours in time are no neighbours in the store.
class CounterSource : public EventSource {
 public:
  explicit CounterSource(const SourceOptions& options)
      : EventSource(EventWriter(options.format, "hits", "ts")),
        start_ms_(options.start_ms),
        connections_(options.connections) {
    const int counters = options.entities > 0 ? options.entities : kCounters;
    for (int number = options.connection; number < counters; number += options.connections) {
      counters_.emplace_back(options.seed, number);
    }
    Random shuffle(options.seed, static_cast<std::uint64_t>(counters + options.connection));
    for (std::size_t i = counters_.size(); i > 1; --i) {
      const auto other = static_cast<std::size_t>(shuffle.Below(static_cast<std::uint32_t>(i)));
      std::swap(counters_[i - 1], counters_[other]);
    }
  }

  std::string_view Stream() const override { return "hits"; }
  int SamplesPerEvent() const override { return 1; }

 protected:
  void WriteEvent(EventWriter* writer) override {
    Counter& counter = counters_[next_];
    writer->BeginEvent(start_ms_ + sent_++ * connections_ / kEventsPerMs);
    writer->Tag("counter", counter.name);
    writer->Integer("n", counter.random.Between(1, kAddMax));
    writer->EndEvent();
    if (++next_ == counters_.size()) next_ = 0;
  }

 private:
  const std::int64_t start_ms_;
  const int connections_;
  std::int64_t sent_ = 0;
  std::size_t next_ = 0;
  std::vector<Counter> counters_;
};

}  // namespace

std::unique_ptr<EventSource> MakeCounterSource(const SourceOptions& options) {
  return std::make_unique<CounterSource>(options);
}

}  // namespace tallyd::bench
