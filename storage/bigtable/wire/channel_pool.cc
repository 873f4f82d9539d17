#include "storage/bigtable/wire/channel_pool.h"

namespace tallyd {
namespace {

constexpr int kMaxMessageBytes = 256 << 20;
constexpr int kKeepaliveMs = 30'000;
constexpr int kKeepaliveTimeoutMs = 10'000;
constexpr int kMaxReconnectMs = 2'000;
// How long a new one has to connect before the old one stays for another while.
constexpr std::chrono::seconds kConnectsIn(2);

}  // namespace

grpc::ChannelArguments ChannelArgumentsOf(int number) {
  grpc::ChannelArguments arguments;
  // Channels of equal arguments would share one connection.
  arguments.SetInt("tallyd.channel", number);
  arguments.SetUserAgentPrefix("tallyd");
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kMaxReconnectMs);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);
  return arguments;
}

ChannelPool::ChannelPool(const ChannelPoolOptions& options)
    : options_(options), random_(std::random_device()()) {
  for (size_t i = 0; i < options_.channels; ++i) {
    places_.push_back({google::bigtable::v2::Bigtable::NewStub(NewChannel()), TimeToExchange()});
  }
  looker_.Start(options_.look_every, [this] {
    ExchangeOld();
    return options_.look_every;
  });
}

std::shared_ptr<grpc::Channel> ChannelPool::NewChannel() {
  return grpc::CreateCustomChannel(options_.address, options_.credentials,
                                   ChannelArgumentsOf(number_++));
}

ChannelPool::Time ChannelPool::TimeToExchange() {
  std::uniform_int_distribution<int64_t> age(options_.least_age.count(), options_.most_age.count());
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(age(random_));
}

ChannelPool::Stub ChannelPool::Next() {
  const std::lock_guard lock(mutex_);
  return places_[next_.fetch_add(1, std::memory_order_relaxed) % places_.size()].stub;
}

// One at a time, so that a service that is away is not waited for by as many as there are.
void ChannelPool::ExchangeOld() {
  size_t old = 0;
  {
    const std::lock_guard lock(mutex_);
    const Time now = std::chrono::steady_clock::now();
    while (old < places_.size() && now < places_[old].exchange_at) ++old;
    if (old == places_.size()) return;
  }
  const std::shared_ptr<grpc::Channel> channel = NewChannel();
  if (!channel->WaitForConnected(std::chrono::system_clock::now() + kConnectsIn)) return;
  Place place{google::bigtable::v2::Bigtable::NewStub(channel), TimeToExchange()};
  if (options_.warm) options_.warm(place.stub.get());
  {
    const std::lock_guard lock(mutex_);
    std::swap(places_[old], place);
  }
  ++exchanged_;
}

}  // namespace tallyd
