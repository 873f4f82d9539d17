#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "bench/random.h"
#include "bench/workload.h"

namespace tallyd::bench {
namespace {

constexpr int kSymbols = 2000;
constexpr double kSkew = 1.25;  // of 2,000 symbols the first 300 carry 90 % of the messages
constexpr std::int64_t kMessagesPerMs =
    4;  // below what would give the first symbol two in a millisecond

struct Symbol {
  Symbol(std::uint64_t seed, int number)
      : name(Name(number)), exchange(number % 2 == 0 ? "NASDAQ" : "NYSE") {
    Random random(seed, static_cast<std::uint64_t>(number));
    bid = random.Between(500, 90000);
  }

  // 0 is AAA, 1 is BAA: three letters name 17,576 symbols.
  static std::string Name(int number) {
    std::string name;
    for (int i = 0; i < 3; ++i, number /= 26) name.push_back(static_cast<char>('A' + number % 26));
    return name;
  }

  std::string name;
  std::string exchange;
  std::int64_t bid;
  std::int64_t volume = 0;
  std::int64_t last_ms = 0;
};

class MarketSource : public EventSource {
 public:
  explicit MarketSource(const SourceOptions& options)
      : EventSource(EventWriter(options.format, "market", "QUOTETIME")),
        start_ms_(options.start_ms),
        connections_(options.connections),
        random_(options.seed, static_cast<std::uint64_t>(kSymbols + options.connection)) {
    double total = 0;
    for (int number = options.connection; number < kSymbols; number += options.connections) {
      symbols_.emplace_back(options.seed, number);
      total += std::pow(number + 1, -kSkew);
      weights_.push_back(total);
    }
  }

  std::string_view Stream() const override { return "market"; }
  int SamplesPerEvent() const override { return 8; }

 protected:
  void WriteEvent(EventWriter* writer) override {
    Symbol& symbol = Pick();
    symbol.bid = std::max<std::int64_t>(100, symbol.bid + random_.Between(-5, 5));
    const std::int64_t spread = random_.Between(1, 5);
    const std::int64_t last_size = 100 * random_.Between(1, 20);
    symbol.volume += last_size;
    // Two messages of a symbol never share a millisecond: they would be the same row.
    const std::int64_t now_ms = start_ms_ + sent_++ * connections_ / kMessagesPerMs;
    symbol.last_ms = std::max(now_ms, symbol.last_ms + 1);
    writer->BeginEvent(symbol.last_ms);
    writer->Tag("EXCHANGE", symbol.exchange);
    writer->Tag("SYMBOL", symbol.name);
    writer->Hundredths("BID", symbol.bid);
    writer->Hundredths("ASK", symbol.bid + spread);
    writer->Integer("BIDSIZE", 100 * random_.Between(1, 50));
    writer->Integer("ASKSIZE", 100 * random_.Between(1, 50));
    writer->Hundredths("LASTSALE", symbol.bid + random_.Between(0, spread));
    writer->Integer("LASTSIZE", last_size);
    writer->Integer("TRADETIME", symbol.last_ms);
    writer->Integer("VOLUME", symbol.volume);
    writer->EndEvent();
  }

 private:
  Symbol& Pick() {
    const double point = random_.Unit() * weights_.back();
    const auto found = std::upper_bound(weights_.begin(), weights_.end(), point);
    const auto index = std::min<std::ptrdiff_t>(found - weights_.begin(), std::ssize(symbols_) - 1);
    return symbols_[static_cast<std::size_t>(index)];
  }

  const std::int64_t start_ms_;
  const int connections_;
  Random random_;
  std::int64_t sent_ = 0;
  std::vector<Symbol> symbols_;
  std::vector<double> weights_;  // cumulative, by rank
};

}  // namespace

std::unique_ptr<EventSource> MakeMarketSource(const SourceOptions& options) {
  return std::make_unique<MarketSource>(options);
}

}  // namespace tallyd::bench
