#include "storage/bigtable/wire/channel_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/storage/bigtable/service.h"

namespace tallyd {
namespace {

using std::chrono::milliseconds;

ChannelPoolOptions ShortLived(const BigtableService& service) {
  ChannelPoolOptions options;
  options.address = service.server.address();
  options.credentials = grpc::InsecureChannelCredentials();
  options.channels = 2;
  options.least_age = options.most_age = milliseconds(5);
  options.look_every = milliseconds(5);
  return options;
}

grpc::StatusCode Ask(const ChannelPool::Stub& stub) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
  data_api::CheckAndMutateRowRequest request;
  request.set_table_name("projects/p/instances/i/tables/NONE");
  data_api::CheckAndMutateRowResponse response;
  return stub->CheckAndMutateRow(&context, request, &response).error_code();
}

TEST(ChannelPool, ExchangesConnectionsWhileCallsGoOn) {
  const BigtableService service;
  ChannelPool pool(ShortLived(service));
  const ChannelPool::Stub first = pool.Next();
  int calls = 0;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (pool.exchanged() < 3 && std::chrono::steady_clock::now() < until) {
    const grpc::StatusCode code = Ask(pool.Next());
    EXPECT_TRUE(code == grpc::NOT_FOUND || code == grpc::INVALID_ARGUMENT) << code;
    ++calls;
  }
  EXPECT_GE(pool.exchanged(), 3u);
  EXPECT_GT(calls, 0);
  EXPECT_NE(Ask(first), grpc::UNAVAILABLE) << "whoever has one keeps it";
}

TEST(ChannelPool, WarmsASuccessorBeforeItTakesCalls) {
  const BigtableService service;
  ChannelPoolOptions options = ShortLived(service);
  std::atomic<size_t> warmed = 0;
  options.warm = [&](data_api::Bigtable::Stub*) { ++warmed; };
  ChannelPool pool(options);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (pool.exchanged() < 3 && std::chrono::steady_clock::now() < until) {
    EXPECT_LE(pool.exchanged(), warmed);
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_GE(pool.exchanged(), 3u);
}

TEST(ChannelPool, KeepsWhatItHasWhileTheServiceIsAway) {
  BigtableService service;
  service.server.Stop();
  ChannelPool pool(ShortLived(service));
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(pool.exchanged(), 0u);
  EXPECT_NE(pool.Next(), nullptr);
}

}  // namespace
}  // namespace tallyd
