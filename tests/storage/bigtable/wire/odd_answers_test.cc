// A service that answers as none should.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "storage/bigtable/proto/bigtable_data.grpc.pb.h"
#include "storage/bigtable/wire/client.h"

namespace tallyd {
namespace {

struct Told {
  int64_t index = 0;
  int code = 0;
};

class OddService final : public data_api::Bigtable::Service {
 public:
  grpc::Status MutateRows(grpc::ServerContext*, const data_api::MutateRowsRequest*,
                          grpc::ServerWriter<data_api::MutateRowsResponse>* writer) override {
    for (const Told& one : told) {
      data_api::MutateRowsResponse response;
      auto* const entry = response.add_entries();
      entry->set_index(one.index);
      entry->mutable_status()->set_code(one.code);
      writer->Write(response);
    }
    return grpc::Status::OK;
  }

  std::vector<Told> told;
};

class OddAnswers : public ::testing::Test {
 protected:
  OddAnswers() {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    BigtableConfig config;
    config.project = "p";
    config.instance = "i";
    config.emulator = "127.0.0.1:" + std::to_string(port);
    client_ = std::move(*BigtableClient::Make(config));
  }
  // Of two entries, how each ended.
  std::vector<RpcCode> CodesOf(std::vector<Told> told) {
    service_.told = std::move(told);
    std::vector<MutateRowsTry> tries(1);
    for (const char* key : {"a", "b"}) tries[0].request.add_entries()->set_row_key(key);
    client_->MutateRows(tries, std::chrono::steady_clock::now() + std::chrono::seconds(20));
    std::vector<RpcCode> codes;
    for (const RpcStatus& ended : tries[0].ended) codes.push_back(ended.code);
    return codes;
  }
  using Codes = std::vector<RpcCode>;

  OddService service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<BigtableClient> client_;
};

TEST_F(OddAnswers, WhatIsToldOfNoEntryIsNoAnswer) {
  EXPECT_EQ(CodesOf({{0, 0}, {2, 0}, {-1, 0}, {INT64_MIN, 0}, {INT64_MAX, 0}}),
            (Codes{RpcCode::kOk, RpcCode::kUnavailable}));
  EXPECT_EQ(CodesOf({}), (Codes{RpcCode::kUnavailable, RpcCode::kUnavailable}));
}

TEST_F(OddAnswers, AnEntryIsAcknowledgedOnlyIfNothingElseIsToldOfIt) {
  const Codes refused{RpcCode::kOk, RpcCode::kUnavailable};
  EXPECT_EQ(CodesOf({{0, 0}, {1, 14}, {1, 0}, {0, 0}}), refused);
  EXPECT_EQ(CodesOf({{1, 0}, {0, 0}, {1, 14}}), refused);
}

}  // namespace
}  // namespace tallyd
