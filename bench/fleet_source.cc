#include <stdexcept>
#include <string>
#include <vector>

#include "bench/random.h"
#include "bench/workload.h"

namespace tallyd::bench {
namespace {

constexpr int kMachines = 1000;
constexpr int kGauges = 50;
constexpr int kCounters = 50;
constexpr std::int64_t kTickMs = 5000;
constexpr std::int64_t kGaugeMax = 10000;  // 100.00
constexpr std::int64_t kGaugeStep = 50;    // 0.50
constexpr std::int64_t kCounterStep = 199;

std::vector<std::string> GaugeNames() {
  std::vector<std::string> names;
  for (int cpu = 1; cpu <= 8; ++cpu) {
    for (const char* kind : {"USR", "NICE", "SYS", "IOWAIT", "IDLE"}) {
      names.push_back("CPU/CPU" + std::to_string(cpu) + "_" + kind);
    }
  }
  for (const char* name :
       {"MEM/USED_PCT", "MEM/CACHE_PCT", "MEM/SWAP_PCT", "LOAD/AVG_1M", "LOAD/AVG_5M",
        "LOAD/AVG_15M", "DISK/ROOT_PCT", "DISK/DATA_PCT", "TEMP/CPU", "TEMP/BOARD"}) {
    names.emplace_back(name);
  }
  return names;
}

std::vector<std::string> CounterNames() {
  std::vector<std::string> names;
  for (const char* disk : {"SDA", "SDB", "SDC", "SDD"}) {
    for (const char* kind : {"READ", "WRITE", "READ_OPS", "WRITE_OPS", "BUSY_MS"}) {
      names.push_back(std::string("IO/") + disk + "_" + kind);
    }
  }
  for (const char* port : {"ETH0", "ETH1", "ETH2", "ETH3"}) {
    for (const char* kind : {"RX_BYTES", "TX_BYTES", "RX_PKTS", "TX_PKTS", "DROPS"}) {
      names.push_back(std::string("NET/") + port + "_" + kind);
    }
  }
  for (const char* name : {"VM/PGIN", "VM/PGOUT", "VM/SWAPIN", "VM/SWAPOUT", "VM/FAULTS",
                           "VM/MAJFAULTS", "SYS/CTXT", "SYS/INTR", "SYS/FORKS", "TCP/RETRANS"}) {
    names.emplace_back(name);
  }
  return names;
}

struct Machine {
  // With so many gauges and counters, as there may be millions of machines.
  Machine(std::uint64_t seed, std::int64_t number, int machines, std::int64_t every_ms,
          std::size_t gauge_count, std::size_t counter_count)
      : hostname("server" + std::to_string(number) + ".bbb.com"),
        random(seed, static_cast<std::uint64_t>(number)),
        phase_ms(number * every_ms / machines % every_ms),
        gauges(gauge_count),
        counters(counter_count) {
    for (auto& gauge : gauges) gauge = random.Between(0, kGaugeMax);
    for (auto& counter : counters) counter = random.Between(0, 400'000'000);
  }

  // A step that would leave the scale is turned round, so that every step carries the same
  // information.
  void Advance() {
    for (auto& gauge : gauges) AdvanceGauge(&gauge);
    for (auto& counter : counters) AdvanceCounter(&counter);
  }

  void AdvanceGauge(std::int64_t* gauge) {
    const std::int64_t step = random.Between(-kGaugeStep, kGaugeStep);
    const std::int64_t moved = *gauge + step;
    *gauge = moved < 0 || moved > kGaugeMax ? *gauge - step : moved;
  }
  void AdvanceCounter(std::int64_t* counter) { *counter += random.Between(0, kCounterStep); }

  std::string hostname;
  Random random;
  std::int64_t phase_ms;  // agents do not all wake in the same millisecond
  std::vector<std::int64_t> gauges;
  std::vector<std::int64_t> counters;
};

class FleetSource : public EventSource {
 public:
  explicit FleetSource(const SourceOptions& options)
      : EventSource(EventWriter(options.format, "server", "ts")),
        tick_ms_(options.start_ms),
        every_ms_(options.tick_ms > 0 ? options.tick_ms : kTickMs),
        gauge_names_(GaugeNames()),
        counter_names_(CounterNames()) {
    if (options.metrics > 0) sent_ = options.metrics;
    if (sent_ > kGauges + kCounters || (options.of > 0 && sent_ > options.of)) {
      throw std::invalid_argument("--metrics of the fleet: at most 100, and no more than --of");
    }
    const auto metrics = static_cast<std::size_t>(options.of > 0 ? options.of : sent_);
    gauge_names_.resize((metrics + 1) / 2);
    counter_names_.resize(metrics / 2);
    const int machines = options.entities > 0 ? options.entities : kMachines;
    for (int number = 1 + options.connection; number <= machines; number += options.connections) {
      machines_.emplace_back(options.seed, number, machines, every_ms_, gauge_names_.size(),
                             counter_names_.size());
    }
  }

  std::string_view Stream() const override { return "server"; }
  int SamplesPerEvent() const override { return sent_; }

 protected:
  void WriteEvent(EventWriter* writer) override {
    Machine& machine = machines_[next_];
    writer->BeginEvent(tick_ms_ + machine.phase_ms);
    writer->Tag("hostname", machine.hostname);
    if (static_cast<std::size_t>(sent_) < gauge_names_.size() + counter_names_.size()) {
      WriteSome(&machine, writer);
    } else {
      WriteAll(&machine, writer);
    }
    writer->EndEvent();
    if (++next_ == machines_.size()) {
      next_ = 0;
      tick_ms_ += every_ms_;
    }
  }

 private:
  void WriteAll(Machine* machine, EventWriter* writer) const {
    machine->Advance();
    for (std::size_t i = 0; i < gauge_names_.size(); ++i) {
      writer->Hundredths(gauge_names_[i], machine->gauges[i]);
    }
    for (std::size_t i = 0; i < counter_names_.size(); ++i) {
      writer->Integer(counter_names_[i], machine->counters[i]);
    }
  }

  // Any `sent_` of them, each choice as likely as the others. What is left out stays where it was,
  // so that a value that is sent carries as much information as one of WriteAll.
  void WriteSome(Machine* machine, EventWriter* writer) const {
    const std::size_t gauges = gauge_names_.size();
    auto left = static_cast<std::uint32_t>(gauges + counter_names_.size());
    std::int64_t wanted = sent_;
    for (std::size_t i = 0; wanted > 0; ++i, --left) {
      if (machine->random.Below(left) >= wanted) continue;
      --wanted;
      if (i < gauges) {
        machine->AdvanceGauge(&machine->gauges[i]);
        writer->Hundredths(gauge_names_[i], machine->gauges[i]);
      } else {
        machine->AdvanceCounter(&machine->counters[i - gauges]);
        writer->Integer(counter_names_[i - gauges], machine->counters[i - gauges]);
      }
    }
  }

  std::int64_t tick_ms_;
  const std::int64_t every_ms_;
  std::size_t next_ = 0;
  int sent_ = kGauges + kCounters;  // Values of an event.
  std::vector<Machine> machines_;
  std::vector<std::string> gauge_names_;
  std::vector<std::string> counter_names_;
};

}  // namespace

std::unique_ptr<EventSource> MakeFleetSource(const SourceOptions& options) {
  return std::make_unique<FleetSource>(options);
}

}  // namespace tallyd::bench
