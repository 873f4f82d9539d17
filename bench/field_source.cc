#include <cstdio>
#include <string>
#include <vector>

#include "bench/random.h"
#include "bench/workload.h"

namespace tallyd::bench {
namespace {

constexpr int kDevices = 1000;
constexpr int kFields = 50;
constexpr std::int64_t kValueMax = 10000;  // 100.00

// Devices that report one field at a time, whichever has changed.
class FieldSource : public EventSource {
 public:
  explicit FieldSource(const SourceOptions& options)
      : EventSource(EventWriter(options.format, "device", "ts")),
        now_ms_(options.start_ms),
        random_(options.seed, static_cast<std::uint64_t>(options.connection)) {
    const int devices = options.entities > 0 ? options.entities : kDevices;
    for (int number = options.connection; number < devices; number += options.connections) {
      devices_.push_back("device" + std::to_string(number));
    }
    const int fields = options.metrics > 0 ? options.metrics : kFields;
    for (int number = 0; number < fields; ++number) {
      char text[16];
      std::snprintf(text, sizeof(text), "F%05d", number);
      fields_.emplace_back(text);
    }
  }

  std::string_view Stream() const override { return "device"; }
  int SamplesPerEvent() const override { return 1; }

 protected:
  void WriteEvent(EventWriter* writer) override {
    writer->BeginEvent(now_ms_);
    writer->Tag("device", devices_[next_]);
    const auto field = random_.Below(static_cast<std::uint32_t>(fields_.size()));
    writer->Hundredths(fields_[static_cast<std::size_t>(field)], random_.Between(0, kValueMax));
    writer->EndEvent();
    if (++next_ == devices_.size()) {
      next_ = 0;
      ++now_ms_;
    }
  }

 private:
  std::int64_t now_ms_;
  Random random_;
  std::size_t next_ = 0;
  std::vector<std::string> devices_;
  std::vector<std::string> fields_;
};

}  // namespace

std::unique_ptr<EventSource> MakeFieldSource(const SourceOptions& options) {
  return std::make_unique<FieldSource>(options);
}

}  // namespace tallyd::bench
