// ChannelPool: the connections for data, taken in turn. The service ends each about once an hour,
// which calls under way may feel; so each is exchanged before that for one that is connected
// already, by a thread of its own. Thread-safe.
#ifndef TALLYD_STORAGE_BIGTABLE_WIRE_CHANNEL_POOL_H_
#define TALLYD_STORAGE_BIGTABLE_WIRE_CHANNEL_POOL_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "config/values/repeating_thread.h"
#include "storage/bigtable/proto/bigtable_data.grpc.pb.h"

namespace tallyd {

struct ChannelPoolOptions {
  std::string address;
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  size_t channels = 1;
  // The age at which one is exchanged, between the two by chance, and how often it is looked.
  std::chrono::milliseconds least_age = std::chrono::minutes(35);
  std::chrono::milliseconds most_age = std::chrono::minutes(45);
  std::chrono::milliseconds look_every = std::chrono::seconds(20);
  // Called with each successor before it takes calls, so that the first one does not wait for what
  // the service does for a new connection. May be empty; blocks for a moment.
  std::function<void(google::bigtable::v2::Bigtable::Stub*)> warm = {};
};

// What all connections to the service have in common. Those of another number are others.
grpc::ChannelArguments ChannelArgumentsOf(int number);

class ChannelPool {
 public:
  // Whoever has one keeps it, for as long as its calls take.
  using Stub = std::shared_ptr<google::bigtable::v2::Bigtable::Stub>;

  explicit ChannelPool(const ChannelPoolOptions& options);
  ~ChannelPool() { looker_.Stop(); }

  Stub Next();
  size_t exchanged() const { return exchanged_; }  // So many, since it began.

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Place {
    Stub stub;
    Time exchange_at;
  };

  std::shared_ptr<grpc::Channel> NewChannel();
  Time TimeToExchange();
  void ExchangeOld();

  const ChannelPoolOptions options_;
  std::atomic<size_t> next_ = 0;
  std::atomic<size_t> exchanged_ = 0;
  int number_ = 0;  // By the thread that looks, once it runs, like the next.
  std::minstd_rand random_;
  std::mutex mutex_;
  std::vector<Place> places_;  // Guarded by mutex_.
  RepeatingThread looker_;     // Last: it uses what stands above.
};

}  // namespace tallyd

#endif  // TALLYD_STORAGE_BIGTABLE_WIRE_CHANNEL_POOL_H_
