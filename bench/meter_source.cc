#include <vector>

#include "bench/random.h"
#include "bench/workload.h"

namespace tallyd::bench {
namespace {

constexpr int kMeters = 10000;
constexpr std::int64_t kSlotMs = 15 * 60 * 1000;
constexpr std::int64_t kFirstMeter = 987654;
constexpr std::int64_t kUseMax = 120;  // 1.20 kWh in a quarter of an hour

struct Meter {
  Meter(std::uint64_t seed, std::int64_t number)
      : id(number),
        random(seed, static_cast<std::uint64_t>(number)),
        reading(random.Between(0, 2000)) {}

  std::int64_t id;
  Random random;
  std::int64_t reading;
};

class MeterSource : public EventSource {
 public:
  explicit MeterSource(const SourceOptions& options)
      : EventSource(EventWriter(options.format, "meter", "ts")), slot_ms_(options.start_ms) {
    const int meters = options.entities > 0 ? options.entities : kMeters;
    for (int i = options.connection; i < meters; i += options.connections) {
      meters_.emplace_back(options.seed, kFirstMeter + i);
    }
  }

  std::string_view Stream() const override { return "meter"; }
  int SamplesPerEvent() const override { return 1; }

 protected:
  void WriteEvent(EventWriter* writer) override {
    Meter& meter = meters_[next_];
    meter.reading += meter.random.Between(0, kUseMax);
    writer->BeginEvent(slot_ms_);
    writer->NumberTag("meter", meter.id);
    writer->Hundredths("value", meter.reading);
    writer->EndEvent();
    if (++next_ == meters_.size()) {
      next_ = 0;
      slot_ms_ += kSlotMs;
    }
  }

 private:
  std::int64_t slot_ms_;
  std::size_t next_ = 0;
  std::vector<Meter> meters_;
};

}  // namespace

std::unique_ptr<EventSource> MakeMeterSource(const SourceOptions& options) {
  return std::make_unique<MeterSource>(options);
}

}  // namespace tallyd::bench
